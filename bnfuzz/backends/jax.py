"""Backend `jax`: batch norm from scratch, compiled with jit, gradients by vjp."""

from __future__ import annotations

from bnfuzz.backends.base import Backend, Program
from bnfuzz.backends.jax_scratch import differentiated, plain_forward, program_of, scratch_conventions
from bnfuzz.case import Spec


class Jax(Backend):
    label = "jax"
    framework = "jax"
    packages: tuple[str, ...] = ("jax", "jaxlib")
    conventions = scratch_conventions("bnfuzz/backends/jax.py")

    def compile(self, spec: Spec) -> Program:
        import jax

        return program_of(jax.jit(differentiated(spec, plain_forward(spec, self.conventions))))
