"""Backend `flax-slow-variance`: flax.linen.BatchNorm with use_fast_variance=False, the two-pass variance."""

from __future__ import annotations

from dataclasses import replace

from bnfuzz.backends.base import Backend, Program
from bnfuzz.backends.flax_layer import CONVENTIONS, flax_program
from bnfuzz.case import Spec


class FlaxSlowVariance(Backend):
    label = "flax-slow-variance"
    framework = "flax"
    packages: tuple[str, ...] = ("jax", "jaxlib", "flax")
    conventions = replace(CONVENTIONS, variance_formula="two-pass")

    def compile(self, spec: Spec) -> Program:
        return flax_program(spec, self.conventions, use_fast_variance=False)
