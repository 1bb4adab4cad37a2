"""The catalogue as implementations under test: `fault:NAME` and `sound:NAME`, run in process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bnfuzz import layouts
from bnfuzz.case import Array, Inputs, Outputs, Spec, check_inputs
from bnfuzz.conventions import ALL_FORMATS, MIXED_FORMATS, Conventions
from bnfuzz.errors import UsageError
from bnfuzz.faults.catalogue import CATALOGUE, OUT_OF_REACH
from bnfuzz.faults.fault import Fault
from bnfuzz.faults.kernel import Kernel
from bnfuzz.faults.run import run_steps
from bnfuzz.faults.sound import SOUND, Sound

CONVENTIONS = Conventions(
    source="the textbook kernel of bnfuzz.faults",
    formats=ALL_FORMATS + MIXED_FORMATS,
    compute=(("float16", "float32"), ("bfloat16", "float32")),
    ranks=(1, 8),
    outputs=("batch_mean", "batch_var", "y", "dgamma", "dbeta", "dx", "new_running_mean", "new_running_var"),
    empty="value",
    empty_statistics="keep",
)
"""What the kernels keep: half formats are computed in float32. `replace(CONVENTIONS, compute=())` computes in them."""

Entry = Fault | Sound


def names() -> tuple[str, ...]:
    """All names, faults first."""
    return (*(f"fault:{name}" for name in CATALOGUE), *(f"sound:{name}" for name in SOUND))


def entry(name: str) -> Entry:
    """The catalogue's entry called `fault:NAME` or `sound:NAME`."""
    kind, _, rest = name.partition(":")
    tables: Mapping[str, Mapping[str, Any]] = {"fault": CATALOGUE, "sound": SOUND}
    if kind not in tables:
        raise UsageError(f"{name!r} is no kernel of the catalogue; write fault:NAME or sound:NAME")
    if rest not in tables[kind]:
        reason = f" ({OUT_OF_REACH[rest]})" if rest in OUT_OF_REACH else ""
        raise UsageError(f"{name!r} is not in the catalogue{reason}; use one of {', '.join(tables[kind])}")
    found: Entry = tables[kind][rest]
    return found


def run(kernel: Kernel, spec: Spec, inputs: Inputs, conventions: Conventions = CONVENTIONS) -> Outputs:
    """The outputs of K trials, one after the other; with several steps each array is (K, steps, …).

    Of a sequence, only what every step gives is there. The arrays are handed over in the Spec's layout; where that is
    contiguous, x itself is, so a fault that overwrites it shows in `inputs`.
    """
    check_inputs(spec, inputs)
    trials = [_trial(kernel, spec, inputs, k, conventions) for k in range(inputs.trials)]
    shared = [name for name in trials[0][0] if name in conventions.outputs and all(name in step for step in trials[0])]
    stacked = {name: np.stack([np.stack([step[name] for step in steps]) for steps in trials]) for name in shared}
    return Outputs(**{name: array if len(spec.steps) > 1 else array[:, 0] for name, array in stacked.items()})


def _trial(kernel: Kernel, spec: Spec, inputs: Inputs, k: int, conventions: Conventions) -> list[dict[str, Array]]:
    def laid_out(arrays: Mapping[str, Array]) -> Mapping[str, Array]:
        handed = dict(arrays)
        for name, layout in (("x", spec.layout_x), ("cotangent", spec.layout_cotangent)):
            if layout != "contiguous" and name in handed:
                handed[name] = layouts.lay_out(handed[name], layout)
        return handed

    arrays = {name: array[k] for name, array in inputs.items()}
    return run_steps(kernel, spec, arrays, conventions, hand_over=laid_out)
