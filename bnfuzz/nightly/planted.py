"""The planted fault of a night: a function with a known fault goes the way of every implementation under test.

Its own short search uses the campaign, the list of known findings and the budget's kind of tonight. Where the fault
does not come out at the other end, nothing that the night says can be trusted.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from bnfuzz.campaign.run import Report
from bnfuzz.campaign.settings import Settings
from bnfuzz.case import Outputs
from bnfuzz.casefile.atomic import make_folder, write_atomic
from bnfuzz.corpus import KNOWN_FILE
from bnfuzz.faults.catalogue import CATALOGUE
from bnfuzz.faults.fault import Fault
from bnfuzz.formats import FormatName
from bnfuzz.judge.compare import judge
from bnfuzz.judge.verdict import FAILING
from bnfuzz.night import Planted
from bnfuzz.nightly.planted_function import CONVENTIONS, planted
from bnfuzz.numerics.reference import evaluate
from bnfuzz.numerics.rules import rules_of

FILE = "planted.py"
BUDGETS = (64, 512, 4096)
"""Judged trials of the searches, one after the other until the fault is found: most need the first only."""

TRIALS = 8
"""Of a plan: nothing is compiled here, so another plan tells more than another trial of the same."""

FORMAT: FormatName = "float32"
"""The one that every eligible fault shows in; the reference is quick in it."""

Search = Callable[[Settings, Path], Report]
"""Runs one campaign on a corpus folder."""

_TEXT = '''"""Written by `bnfuzz nightly`: a batch norm with a fault planted, which the night has to find.

{description}
"""

from bnfuzz.nightly.planted_function import planted

{name} = planted("{name}")
'''


def shows(fault: Fault) -> bool:
    """Whether one step of a function shows the fault, on its own example and in outputs that a function has."""
    spec = fault.example.spec()
    if fault.judged not in ("wrong", "unstable", "nonfinite") or fault.mode not in ("training", "inference"):
        return False
    if fault.conventions(CONVENTIONS) != CONVENTIONS or CONVENTIONS.unsupported(spec) is not None:
        return False
    inputs = fault.example.case(CONVENTIONS).inputs
    arrays = {name: array[0].copy() for name, array in inputs.items()}
    cotangent = arrays.pop("cotangent")
    function = planted(fault.name)
    axis = spec.affine_axes[0]
    seen = dict(
        zip(
            ("y", "new_running_mean", "new_running_var"),
            function(**arrays, eps=spec.eps, momentum=spec.momentum, axis=axis, training=spec.mode == "training"),
            strict=True,
        )
    )
    if spec.mode == "training":
        affine = (arrays["x"], arrays["gamma"], arrays["beta"])
        gradients = function.backward(*affine, cotangent, eps=spec.eps, axis=axis)  # type: ignore[attr-defined]  # set by function_of
        seen |= dict(zip(("dx", "dgamma", "dbeta"), gradients, strict=True))
    reference = evaluate(spec, inputs, rules_of(spec, CONVENTIONS))
    judged = judge(reference, Outputs(**{name: array[None] for name, array in seen.items()}))
    return any(verdict.kind in FAILING for verdict in judged.verdicts(0))


def choose(seed: int) -> Fault:
    """The fault of the night with this seed: the first of a shuffled catalogue that is eligible."""
    names = random.Random(seed).sample(tuple(CATALOGUE), len(CATALOGUE))
    return next(CATALOGUE[name] for name in names if shows(CATALOGUE[name]))


def plant(folder: Path, fault: Fault, corpus: Path) -> str:
    """Writes the function's file and a corpus with the known findings of `corpus`; the backend's name."""
    shutil.rmtree(folder, ignore_errors=True)
    make_folder(folder / "corpus")
    write_atomic(folder / FILE, _TEXT.format(name=fault.name, description=fault.description))
    known = corpus / KNOWN_FILE
    if known.is_file():
        write_atomic(folder / "corpus" / KNOWN_FILE, known.read_text("utf-8"))
    return f"target:{folder / FILE}:{fault.name}"


def hunt(folder: Path, fault: Fault, corpus: Path, search: Search, *, seed: int) -> Planted:
    """Plants the fault in `folder` and searches for it; what was found of it."""
    backend = plant(folder, fault, corpus)
    hunted = Planted(fault=fault.name, description=fault.description)
    for cases in BUDGETS:
        asked = Settings(
            backends=(backend,), seed=seed, cases=cases, trials=TRIALS, formats=(FORMAT,), shrink_share=0.0
        )
        report = search(asked, folder / "corpus")
        found = sorted({discovery.finding.signature for discovery in report.discoveries.failing})
        hunted = replace(hunted, trials=hunted.trials + report.tally.judged, signatures=tuple(found))
        # What known.toml swallows is lost, however long the search.
        if hunted.arrived or report.discoveries.known:
            break
    return hunted
