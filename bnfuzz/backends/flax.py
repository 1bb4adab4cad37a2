"""Backend `flax`: flax.linen.BatchNorm with its default settings, so with the one-pass variance E[x²] - E[x]²."""

from __future__ import annotations

from bnfuzz.backends.base import Backend, Program
from bnfuzz.backends.flax_layer import CONVENTIONS, flax_program
from bnfuzz.case import Spec


class Flax(Backend):
    label = "flax"
    framework = "flax"
    packages: tuple[str, ...] = ("jax", "jaxlib", "flax")
    conventions = CONVENTIONS

    def compile(self, spec: Spec) -> Program:
        return flax_program(spec, self.conventions)
