"""Stored cases run again: all of the corpus, and with more patience the open findings of the nights."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from bnfuzz.backends.pool import Pool
from bnfuzz.casefile import CaseFile
from bnfuzz.corpus import Corpus, Entry
from bnfuzz.judge.verdict import Verdict
from bnfuzz.night import Replayed
from bnfuzz.nightly.ledger import Again
from bnfuzz.replay import Outcome, replay
from bnfuzz.signature import first_failing, signature

REPEATS = 3
"""How often an open finding is run: often enough for a flaky one to show that it is."""

COSTLY = frozenset({"crash", "hang"})
"""Kinds that are not asked for a second time."""

Pair = tuple[Path, str]
"""(case file, backend)"""


@dataclass(frozen=True, eq=False)
class Failure:
    """A stored case that fails otherwise than recorded."""

    entry: Entry
    outcome: Outcome
    signature: str


@dataclass(eq=False)
class CorpusReplay:
    """What replaying the corpus came to.

    signatures   of the failures that were seen, and of recorded ones that were not (`mended`)
    resume_at    the case at which time ran out; empty where it did not
    """

    rows: list[Replayed] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    signatures: set[str] = field(default_factory=set)
    mended: set[str] = field(default_factory=set)
    left: int = 0
    resume_at: str = ""


def replay_corpus(
    pool: Pool,
    corpus: Corpus,
    backends: tuple[str, ...],
    *,
    begin: str,
    without: Collection[Pair],
    over: Callable[[], bool],
) -> CorpusReplay:
    """Every case on every backend but the pairs in `without`, from the case `begin` on and then from the first one."""
    done = CorpusReplay()
    for path, entry, names in _in_turn(corpus, backends, begin, without):
        if over():
            done.left += 1
            done.resume_at = done.resume_at or path
            continue
        for name, outcome in replay(pool, entry.file, names, corpus.known_list).items():
            done.rows.append(
                Replayed(
                    case=path,
                    backend=name,
                    standing=outcome.standing,
                    reason=outcome.reason,
                    link=outcome.link,
                    title=entry.file.origin.title,
                )
            )
            _sort_in(done, entry, outcome)
    return done


def _in_turn(
    corpus: Corpus, backends: tuple[str, ...], begin: str, without: Collection[Pair]
) -> list[tuple[str, Entry, tuple[str, ...]]]:
    turns = []
    for entry in corpus.entries:
        names = tuple(name for name in backends if (entry.path, name) not in without)
        if names:
            turns.append((entry.path.relative_to(corpus.folder).as_posix(), entry, names))
    return [turn for turn in turns if turn[0] >= begin] + [turn for turn in turns if turn[0] < begin]


def _sort_in(done: CorpusReplay, entry: Entry, outcome: Outcome) -> None:
    shown = signature(entry.file.case.spec, outcome.backend, outcome.verdicts)
    if outcome.standing in ("known", "failed") and shown is not None:
        done.signatures.add(shown)
    if outcome.standing == "failed" and shown is not None:
        done.failures.append(Failure(entry, outcome, shown))
    if outcome.standing == "fixed":
        recorded = entry.file.expected(outcome.backend, outcome.version)
        done.mended |= {expectation.signature for expectation in recorded if expectation.signature}


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What an open finding showed when it was run again.

    again       `same` also where it failed otherwise than recorded:
    signature   of the failure, its verdicts, and the one that names it
    """

    again: Again
    note: str = ""
    signature: str = ""
    verdict: Verdict | None = None
    verdicts: tuple[Verdict, ...] = ()


def run_again(pool: Pool, file: CaseFile, backend: str) -> Shown:
    """Runs the stored case of an open finding several times."""
    outcomes: list[Outcome] = []
    for _ in range(REPEATS):
        outcomes.append(replay(pool, file, (backend,))[backend])
        if any(verdict.kind in COSTLY for verdict in outcomes[-1].verdicts):
            break
    last = outcomes[-1]
    if last.standing == "unsupported":
        return Shown(again="unseen", note=f"the backend does not take the case: {last.reason}")
    shown = [signature(file.case.spec, backend, outcome.verdicts) for outcome in outcomes]
    failing = [name for name in shown if name is not None]
    if not failing:
        if any(outcome.standing == "undecided" for outcome in outcomes):
            # The finest reference, which confirmed the finding, may tell what a coarser one cannot.
            finest = replay(pool, file, (backend,), rung="mpmath")[backend]
            if finest.standing not in ("undecided", "unsupported"):
                again = signature(file.case.spec, backend, finest.verdicts)
                named = first_failing(finest.verdicts)
                return Shown(
                    again="same" if again else "gone", signature=again or "", verdict=named, verdicts=finest.verdicts
                )
            return Shown(again="unseen", note=f"nothing can be said: {last.reason}")
        return Shown(again="gone")
    verdicts = next(o.verdicts for o, name in zip(outcomes, shown, strict=True) if name is not None)
    verdict = first_failing(verdicts)
    if len(set(shown)) > 1:
        often = f"{len(failing)} of {len(shown)} runs fail"
        kinds = "" if len(set(failing)) == 1 else ", not all in the same way"
        return Shown(again="flaky", note=often + kinds, signature=failing[0], verdict=verdict, verdicts=verdicts)
    return Shown(again="same", signature=failing[0], verdict=verdict, verdicts=verdicts)
