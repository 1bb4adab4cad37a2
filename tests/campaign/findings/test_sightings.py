"""What a unit sees of a block: every failing trial is counted, the worst of each signature found, once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from bnfuzz.backends.pool import Limits, Pool
from bnfuzz.campaign.findings import sightings
from bnfuzz.campaign.findings.sightings import CLEARER, Settled, Sighting, Sightings
from bnfuzz.case import Inputs, Spec, batch_norm_spec
from bnfuzz.corpus.known import KnownFinding
from bnfuzz.evaluation import Result, evaluate_block

FUNCTIONS = """
import pathlib
import numpy as np


def sound(x, gamma, beta, *, eps, axis):
    centred = x - x.mean(0, keepdims=True)
    scale = np.sqrt((centred * centred).mean(0, keepdims=True) + x.dtype.type(eps))
    return centred / scale * gamma + beta


def scaled(x, gamma, beta, *, eps, axis):
    return sound(x, gamma, beta, eps=eps, axis=axis) * (1 + np.minimum(np.abs(x).max(), 8) / 64).astype(x.dtype)


def picky(x, gamma, beta, *, eps, axis):
    if np.abs(x).max() > 6:
        raise ValueError("that is too much")
    return sound(x, gamma, beta, eps=eps, axis=axis)


def moody(x, gamma, beta, *, eps, axis):
    mark = pathlib.Path(__file__).with_name("raised")
    if not mark.exists():
        mark.touch()
        raise ValueError("not today")
    return sound(x, gamma, beta, eps=eps, axis=axis)
"""

SPEC = batch_norm_spec((3, 1), has_running=False, cotangent="sum")
LARGEST = (2.0, 7.0, 4.0)
"""Of each trial; `scaled` errs in proportion to it, and `picky` refuses the second."""

Look = Callable[..., tuple[Sightings, list[Sighting], Result]]


@pytest.fixture(scope="module")
def workers() -> Iterator[Pool]:
    with Pool(Limits(call_seconds=5.0, compile_seconds=20.0)) as pool:
        yield pool


def block() -> Inputs:
    x = np.array([[1.0], [0.0], [0.5]]) * np.array(LARGEST).reshape(3, 1, 1)
    ones = np.ones((3, 1), np.float32)
    return Inputs(x=x.astype(np.float32), gamma=ones, beta=ones * 0)


@pytest.fixture
def look(workers: Pool, tmp_path: Path) -> Look:
    """Looks so many times at the block on one of the functions: the sightings, what was found, and the result."""
    file = tmp_path / "planted.py"
    file.write_text(FUNCTIONS)

    def run(
        name: str, settled: Settled | None = None, outputs: tuple[str, ...] = (), times: int = 1, spec: Spec = SPEC
    ) -> tuple[Sightings, list[Sighting], Result]:
        backend, inputs, found = f"target:{file}:{name}", block(), list[Sighting]()
        seen = Sightings(workers, settled or Settled(), origin="a test", found=found.append)
        for _ in range(times):
            (result,) = evaluate_block(workers, (backend,), spec, inputs).values()
            seen.look(result, spec, inputs, outputs)
        return seen, found, result

    return run


def is_trial(sighting: Sighting, trial: int) -> bool:
    return np.array_equal(sighting.finding.case.inputs.x, block().x[trial : trial + 1])


def test_a_sound_function_is_not_seen(look: Look) -> None:
    seen, found, _ = look("sound")
    assert found == []
    assert seen.counts == {}


def test_the_worst_trial_stands_for_all_and_is_confirmed_once(look: Look) -> None:
    seen, found, result = look("scaled", times=2)
    (one,) = found
    assert is_trial(one, int(np.argmax(LARGEST)))
    assert one.finding.confirmed
    assert not one.doubted
    assert seen.counts == {one.identity: 2 * len(LARGEST)}
    assert seen.outputs == {one.identity: frozenset({"y"})}
    assert seen.backends == {one.identity: result.backend}
    assert not seen.clearest[one.identity].confirmed
    assert np.array_equal(seen.clearest[one.identity].case.inputs.x, one.finding.case.inputs.x)


def test_what_mpmath_does_not_confirm_is_told_as_doubted(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sightings, "confirmed_by_mpmath", lambda *_: None)
    seen, (one,), _ = look("scaled")
    assert one.doubted
    assert not one.finding.confirmed
    assert seen.counts == {one.identity: len(LARGEST)}


def test_what_is_settled_is_counted_and_not_confirmed_again(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    _, (one,), result = look("scaled")
    worst = max(verdict.severity for trial in range(3) for verdict in result.verdicts(trial))
    monkeypatch.setattr(sightings, "confirmed_by_mpmath", None)
    listed = Settled(known=(KnownFinding(signature=one.identity, reason="it is scaled"),))
    for settled, clearer in (
        (Settled(shown={one.identity: math.inf}), False),
        (Settled(shown={one.identity: worst}), False),
        (Settled(shown={one.identity: worst / (2 * CLEARER)}), True),
        (listed, False),
    ):
        seen, found, _ = look("scaled", settled)
        assert found == []
        assert seen.counts == {one.identity: len(LARGEST)}
        assert (one.identity in seen.clearest) == clearer


def test_other_outputs_than_those_asked_for_are_not_seen(look: Look) -> None:
    seen, found, _ = look("scaled", outputs=("dx",))
    assert found == []
    assert seen.counts == {}


def test_a_call_that_fails_is_blamed_on_the_trial_that_fails_alone(look: Look) -> None:
    _, (one,), result = look("picky")
    assert not result.judged
    assert is_trial(one, LARGEST.index(7.0))
    assert one.finding.confirmed
    assert one.finding.verdicts[0].kind == "error"


def test_a_call_that_fails_once_is_told_all_the_same(look: Look) -> None:
    _, (one,), _ = look("moody")
    assert not one.finding.confirmed
    assert not one.doubted
    assert "not today" in one.finding.verdicts[0].why
    assert one.finding.verdicts[0].why.endswith("it did not come again when the trials were run one by one")
