"""The planted fault: visible through a function's outputs, harmless without the fault, another every night."""

from __future__ import annotations

from pathlib import Path

import pytest

from bnfuzz.backends.pool import Pool
from bnfuzz.campaign.run import Campaign
from bnfuzz.campaign.settings import Settings
from bnfuzz.corpus import Corpus
from bnfuzz.errors import UsageError
from bnfuzz.faults.catalogue import CATALOGUE
from bnfuzz.nightly import planted as planting
from bnfuzz.nightly.planted_function import planted

CLEAN = """
from bnfuzz.faults.textbook import CLEAN
from bnfuzz.nightly.planted_function import function_of

clean = function_of(CLEAN)
"""


def test_without_its_fault_the_function_is_not_accused(tmp_path: Path) -> None:
    path = tmp_path / "clean.py"
    path.write_text(CLEAN)
    asked = Settings(backends=(f"target:{path}:clean",), seed=5, cases=400, trials=8, formats=("float32",))
    with Pool() as pool:
        report = Campaign(asked, pool, None, announce=lambda _: None, tick=lambda _: None).run()
    assert not report.failed, [found.finding.signature for found in report.discoveries.failing]
    outputs = set(report.tally.backends[asked.backends[0]].outputs)
    assert outputs == {"y", "dgamma", "dbeta", "dx", "new_running_mean", "new_running_var"}


def test_nights_plant_different_faults_that_a_function_can_show() -> None:
    eligible = {name for name, fault in CATALOGUE.items() if planting.shows(fault)}
    chosen = [planting.choose(seed).name for seed in range(9)]
    assert set(chosen) <= eligible
    assert len(set(chosen)) > 5
    assert planting.choose(0).name == chosen[0]
    assert {"onepass", "dx_no_mean_term", "rv_std", "eps_missing", "eval_uses_batch"} <= eligible
    # These show in several steps, or in memory only.
    assert not {"gradient_accumulates", "grad_layout", "alias_x"} & eligible


@pytest.mark.parametrize("name", ["eps_missing", "dx_no_var_term", "rv_not_updated"])
def test_a_planted_fault_is_found(tmp_path: Path, name: str) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    with Pool() as pool:

        def search(asked: Settings, folder: Path) -> object:
            return Campaign(asked, pool, Corpus(folder), announce=lambda _: None, tick=lambda _: None).run()

        found = planting.hunt(tmp_path / "planted", CATALOGUE[name], corpus, search, seed=3)  # type: ignore[arg-type]  # a Report
    assert found.arrived
    assert all(signature.startswith(f"v1/target:planted.py:{name}/") for signature in found.signatures)
    assert not (corpus / "found").exists()


def test_a_fault_that_is_not_in_the_catalogue_is_refused() -> None:
    with pytest.raises(UsageError, match="not in the catalogue"):
        planted("nothing")
