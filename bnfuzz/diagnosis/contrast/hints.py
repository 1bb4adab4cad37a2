"""What is worth knowing beside the answer: traps near the ones that were asked about."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bnfuzz.backends import registry
from bnfuzz.backends.target import parsed
from bnfuzz.diagnosis.contrast.contrast import Contrast
from bnfuzz.diagnosis.contrast.reading import Reading
from bnfuzz.diagnosis.documented import told


def hints(found: Contrast) -> Iterator[str]:
    """One sentence each."""
    sides = {"A": found.a, "B": found.b}
    yield from _mean_square(found)
    for who, side in sides.items():
        names = _names(side.backend)
        calls_operator = "BatchNorm" in names and side.framework == "mxnet"
        if (calls_operator or side.backend == "mxnet") and not side.followed.fix_gamma and "y" not in side.failing:
            yield (
                f"fix_gamma would be the next trap: mx.nd.BatchNorm takes gamma as 1 and gives it no gradient unless "
                f"fix_gamma=False is given, as {who} does (varied gamma shows it)."
            )
        if names & {"pmean", "psum"} or side.backend == "jax-pmean":
            n = found.case.spec.shape[0]
            yield (
                f"{who} shares its statistics between examples: differentiate outside vmap, as here. grad INSIDE vmap "
                f"would give {n} times the gradient (one example's loss counts in all {n})."
            )
        if side.followed.momentum_weighs == "old" and side.claimed.momentum_weighs == "new":
            m = side.followed.default_momentum
            yield f"{who}'s momentum weighs the OLD value: new = {m:g}·old + {1 - m:g}·batch."


def _mean_square(found: Contrast) -> Iterator[str]:
    spec = found.case.spec
    if spec.cotangent != "mean_square" or spec.mode != "training" or "case" not in found.a.answers:
        return
    channels = found.a.answers["case"].judged(found.a.followed, own_eps=True).reference.channels
    eps = found.a.eps
    share = float(np.median(eps / (channels.variance + eps))) if eps > 0 else 0.0
    beta = found.case.inputs.beta
    if share < 0.01 and (beta is None or not np.any(beta)):
        yield (
            f"mean(y·y) gives x almost no gradient: all but about eps/(σ²+eps) = {share:.1g} of it cancels "
            f"(eps {told(eps)}); a varied cotangent tests dx."
        )


def _names(backend: str) -> frozenset[str]:
    """The names that a target's code mentions; none of a built-in backend's, or where it cannot be read."""
    if not backend.startswith(registry.TARGET):
        return frozenset()
    try:
        tree = ast.parse(Path(parsed(backend)[0]).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return frozenset()
    nodes = tuple(ast.walk(tree))
    return frozenset(
        {node.id for node in nodes if isinstance(node, ast.Name)}
        | {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    )


def title(side: Reading) -> str:
    """`mine.py:batch_norm (numpy 2.4.6)`."""
    return f"{side.backend.removeprefix(registry.TARGET)} ({side.framework} {side.version})"
