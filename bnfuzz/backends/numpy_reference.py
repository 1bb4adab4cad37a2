"""Backend `numpy`: this project's readable kernel, two passes and the closed-form gradient.

It computes in the data's format (float16 and bfloat16: in float32) and stores as the Spec says; there is no
hidden wider accumulation, so its errors are those of an honest implementation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bnfuzz import formats
from bnfuzz.backends.base import Arrays, Backend, Computed, Program
from bnfuzz.case import Array, Spec
from bnfuzz.conventions import ALL_FORMATS, MIXED_FORMATS, Conventions
from bnfuzz.formats import FormatName

HALF: tuple[tuple[FormatName, FormatName], ...] = (("float16", "float32"), ("bfloat16", "float32"))


class NumpyReference(Backend):
    label = "numpy"
    framework = "numpy"
    packages: tuple[str, ...] = ()
    conventions = Conventions(
        source="bnfuzz/backends/numpy_reference.py",
        formats=ALL_FORMATS + MIXED_FORMATS,
        compute=HALF,
        ranks=(1, 8),
        outputs=(
            "batch_mean",
            "batch_var",
            "y",
            "dgamma",
            "dbeta",
            "dx",
            "new_running_mean",
            "new_running_var",
        ),
        empty="value",
        empty_statistics="nan",
        variance_formula="two-pass",
    )

    def compile(self, spec: Spec) -> Program:
        kernel = Kernel.of(spec, self.conventions)

        def program(arrays: Arrays) -> Computed:
            # Overflow and invalid values are outcomes to be judged, not warnings.
            with np.errstate(all="ignore"):
                return Computed(outputs=kernel(arrays))

        return program


class Statistics(NamedTuple):
    """Mean and variance with the reduced axes kept as 1, in the compute format."""

    mean: Array
    var: Array


class Kernel(NamedTuple):
    """The computation of one Spec. `compute` is the NumPy dtype of every intermediate."""

    spec: Spec
    compute: np.dtype[Any]
    eps: float
    momentum: float

    @classmethod
    def of(cls, spec: Spec, conventions: Conventions) -> Kernel:
        compute = conventions.compute_format(spec.data_format).dtype
        return cls(spec, compute, conventions.eps_given(spec), conventions.momentum_given(spec))

    def __call__(self, arrays: Arrays) -> dict[str, Array]:
        spec = self.spec
        x = arrays["x"].astype(self.compute)
        batch = self.batch_statistics(x) if spec.mode == "training" else None
        statistics = batch or Statistics(
            self.along_kept(arrays["running_mean"]), self.along_kept(arrays["running_var"])
        )
        one = self.compute.type(1)
        r = one / np.sqrt(statistics.var + self.compute.type(self.eps))
        xhat = (x - statistics.mean) * r
        gamma = self.along_affine(arrays["gamma"]) if spec.has_gamma else None
        y = xhat if gamma is None else xhat * gamma
        if spec.has_beta:
            y = y + self.along_affine(arrays["beta"])
        stored = y.astype(formats.named(spec.data_format).dtype)
        outputs = {"y": stored}
        outputs |= self.gradients(self.cotangent(arrays, stored), xhat, r, gamma)
        if batch is not None:
            outputs |= self.stored_statistics("batch_mean", "batch_var", batch)
        if spec.has_running:
            outputs |= self.running(arrays, batch)
        return outputs

    def mean(self, values: Array) -> Array:
        total: Array = values.sum(axis=self.spec.reduced_axes, keepdims=True, dtype=self.compute)
        return total / self.compute.type(self.spec.n)

    def batch_statistics(self, x: Array) -> Statistics:
        mean = self.mean(x)
        deviation = x - mean
        return Statistics(mean, self.mean(deviation * deviation))

    def cotangent(self, arrays: Arrays, y: Array) -> Array:
        """dL/dy in y's own format, for the loss sum(y), mean(y*y) or as given."""
        if self.spec.cotangent == "explicit":
            given = arrays["cotangent"]
        elif self.spec.cotangent == "sum":
            given = np.ones_like(y)
        else:
            given = y * y.dtype.type(2.0 / max(self.spec.size, 1))
        return given.astype(self.compute)

    def gradients(self, g: Array, xhat: Array, r: Array, gamma: Array | None) -> dict[str, Array]:
        """dx = gamma r (g - mean g - xhat mean(g xhat)); with constant statistics gamma r g."""
        spec = self.spec
        centred = g
        if spec.mode == "training":
            centred = g - self.mean(g) - xhat * self.mean(g * xhat)
        scale = r if gamma is None else gamma * r
        parameter = formats.named(spec.parameter_format).dtype
        outputs = {"dx": (scale * centred).astype(formats.named(spec.data_format).dtype)}
        if spec.has_gamma:
            outputs["dgamma"] = self.summed_to_parameters(g * xhat).astype(parameter)
        if spec.has_beta:
            outputs["dbeta"] = self.summed_to_parameters(g).astype(parameter)
        return outputs

    def running(self, arrays: Arrays, batch: Statistics | None) -> dict[str, Array]:
        """momentum weighs the new statistic; inference hands the old ones back."""
        if batch is None:
            return {"new_running_mean": arrays["running_mean"], "new_running_var": arrays["running_var"]}
        new = self.compute.type(self.momentum)
        old = self.compute.type(1) - new
        return self.stored_statistics(
            "new_running_mean",
            "new_running_var",
            Statistics(
                old * self.along_kept(arrays["running_mean"]) + new * batch.mean,
                old * self.along_kept(arrays["running_var"]) + new * batch.var,
            ),
        )

    def stored_statistics(self, mean: str, var: str, values: Statistics) -> dict[str, Array]:
        dtype = formats.named(self.spec.statistics_format).dtype
        shape = self.spec.statistics_shape
        return {mean: values.mean.astype(dtype).reshape(shape), var: values.var.astype(dtype).reshape(shape)}

    def along_kept(self, statistic: Array) -> Array:
        return np.expand_dims(statistic.astype(self.compute), self.spec.reduced_axes)

    def along_affine(self, parameter: Array) -> Array:
        """gamma or beta, its axes where parameter_axes says and 1 elsewhere."""
        axes = self.spec.affine_axes
        ordered = parameter.astype(self.compute).transpose(np.argsort(axes))
        shape = [size if axis in axes else 1 for axis, size in enumerate(self.spec.shape)]
        return ordered.reshape(shape)

    def summed_to_parameters(self, values: Array) -> Array:
        axes = self.spec.affine_axes
        others = tuple(axis for axis in range(self.spec.rank) if axis not in axes)
        summed: Array = values.sum(axis=others, dtype=self.compute)
        return summed.transpose(np.argsort(np.argsort(axes)))
