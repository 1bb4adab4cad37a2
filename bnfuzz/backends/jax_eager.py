"""Backend `jax-eager`: the same function as `jax`, run operation by operation (no fusion, other roundings)."""

from __future__ import annotations

from bnfuzz.backends.base import Backend, Program
from bnfuzz.backends.jax_scratch import differentiated, plain_forward, program_of, scratch_conventions
from bnfuzz.case import Spec


class JaxEager(Backend):
    label = "jax-eager"
    framework = "jax"
    packages: tuple[str, ...] = ("jax", "jaxlib")
    slow = True
    conventions = scratch_conventions("bnfuzz/backends/jax_eager.py")

    def compile(self, spec: Spec) -> Program:
        import jax

        step_by_step = differentiated(spec, plain_forward(spec, self.conventions))
        return program_of(lambda arrays: step_by_step(jax.device_put(arrays)))
