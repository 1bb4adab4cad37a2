"""Blocks of random trials that look for trouble: offsets, tiny and no spread, outliers, ties, extreme scales."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bnfuzz import formats
from bnfuzz.case import Inputs, batch_norm_spec, expected_arrays
from bnfuzz.conventions import Conventions, Summation

TRIPLES = {
    "float32": (("float32",) * 3, ()),
    "float16 over float32": (("float16", "float32", "float32"), (("float16", "float32"),)),
    "bfloat16 over float32": (("bfloat16", "float32", "float32"), (("bfloat16", "float32"),)),
    "pure float16": (("float16",) * 3, ()),
    "pure bfloat16": (("bfloat16",) * 3, ()),
    "float64": (("float64",) * 3, ()),
}
"""name -> (data, parameters, statistics) formats, and the compute formats of its conventions."""

SIZES = (1, 2, 2, 3, 3, 4, 5, 7, 8, 12, 16, 31, 64)
EPSILONS = (0.0, 1e-12, 1e-8, 1e-5, 1e-5, 1e-3, 1.0)
PLAIN = Conventions(source="test")


def conventions_of(rng: np.random.Generator, compute) -> Conventions:
    return replace(
        PLAIN,
        compute=compute,
        running_ddof=int(rng.integers(2)),
        momentum_weighs=str(rng.choice(["new", "old"])),
        single_value_variance=str(rng.choice(["keep", "biased"])),
        summation=Summation("any"),
    )


def block(
    rng: np.random.Generator, triple, trials: int, *, largest_exponent: float = 15.0, extreme: bool = False, **fixed
):
    """(Spec, Inputs) of random trials of one shape (n, C); `extreme`: each array at any scale of its format."""
    data, parameters, statistics = triple
    options = {
        "eps": float(rng.choice(EPSILONS)),
        "momentum": float(rng.choice([0.0, 0.1, 0.01, 0.9, 0.999, 1.0])),
        "has_gamma": bool(rng.random() < 0.9),
        "has_beta": bool(rng.random() < 0.9),
        "steps": ("inference",) if rng.random() < 0.2 else ("training",),
        "cotangent": str(rng.choice(["explicit", "explicit", "sum", "mean_square"])),
        "shape": (int(rng.choice(SIZES)), int(rng.integers(1, 3))),
    }
    options |= fixed
    spec = batch_norm_spec(
        options.pop("shape"),
        1,
        data_format=data,
        parameter_format=parameters,
        statistics_format=statistics,
        **options,
    )
    made = {"x": _data, "cotangent": _cotangents, "gamma": _parameter, "beta": _parameter}
    made |= {"running_mean": _data_like_mean, "running_var": _variances}
    arrays: dict[str, np.ndarray] = {}
    for name, (shape, format_name) in expected_arrays(spec).items():
        values = made[name](rng, (trials, *shape), arrays, largest_exponent)
        fmt = formats.named(format_name)
        reach = min(fmt.largest, 1e30) / 4
        if extreme:
            values = values * _scales(rng, trials, len(shape), *((-9, 3) if fmt.emax < 16 else (-30, 25)))
        arrays[name] = np.clip(values, -reach, reach).astype(fmt.dtype)
    return spec, Inputs(**arrays)


def _scales(rng, trials, rank, low, high):
    return 10.0 ** rng.uniform(low, high, (trials, *(1,) * rank))


def _data(rng, shape, _arrays, largest_exponent):
    trials, rank = shape[0], len(shape) - 1
    per_channel = (trials, *(1,) * (rank - 1), shape[-1])
    offset = rng.choice([-1.0, 0.0, 1.0], per_channel) * _scales(rng, trials, rank, -3, largest_exponent)
    spread = rng.choice([0.0, 1.0, 1.0, 1.0], per_channel) * _scales(rng, trials, rank, -7, 3)
    spread = np.where(rng.random(per_channel) < 0.4, spread, np.abs(offset) * _scales(rng, trials, rank, -9, 1))
    kind = rng.integers(5, size=per_channel)
    shapes = [
        rng.standard_normal(shape),
        rng.uniform(-1, 1, shape),
        rng.choice([-1.0, 1.0], shape),
        np.where(rng.random(shape) < 1 / max(shape[1], 1), 1.0, 0.0),
        rng.integers(-3, 4, shape).astype(np.float64),
    ]
    noise = np.select([kind == i for i in range(5)], shapes)
    return offset + spread * noise


def _cotangents(rng, shape, arrays, _largest):
    trials, rank = shape[0], len(shape) - 1
    x = arrays["x"].astype(np.float64)
    centred = x - x.mean(axis=1, keepdims=True)
    top = np.abs(centred).max(axis=1, keepdims=True, initial=0.0)
    aligned = centred / np.where(top > 0, top, 1.0)
    kind = rng.integers(5, size=(trials, *(1,) * rank))
    normal = rng.standard_normal(shape)
    shapes = [
        normal,
        np.broadcast_to(rng.standard_normal((trials, *(1,) * rank)), shape),
        np.where(rng.random(shape) < 0.2, normal, 0.0),
        aligned,
        100.0 + normal,
    ]
    scale = np.where(rng.random((trials, *(1,) * rank)) < 0.6, 1.0, _scales(rng, trials, rank, -6, 3))
    return scale * np.select([kind == i for i in range(5)], shapes)


def _parameter(rng, shape, _arrays, _largest):
    values = rng.standard_normal(shape) * _scales(rng, shape[0], len(shape) - 1, -4, 3)
    return np.where(rng.random(shape) < 0.3, rng.choice([0.0, 1.0, -1.0, 3.0], shape), values)


def _data_like_mean(rng, shape, arrays, _largest):
    near = arrays["x"].astype(np.float64).mean(axis=1)
    return np.where(rng.random(shape) < 0.7, near * (1 + 1e-3 * rng.standard_normal(shape)), rng.standard_normal(shape))


def _variances(rng, shape, _arrays, _largest):
    values = np.abs(rng.standard_normal(shape)) * _scales(rng, shape[0], len(shape) - 1, -10, 8)
    return np.where(rng.random(shape) < 0.1, 0.0, values)
