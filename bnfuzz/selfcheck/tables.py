"""The self-check's tables, as rows of text: what was found and how, what was judged and how near the bounds it came."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence

from bnfuzz.case import OUTPUT_NAMES, Spec
from bnfuzz.faults.fault import Fault
from bnfuzz.selfcheck.hunt import Found, Hunt
from bnfuzz.selfcheck.naming import Named
from bnfuzz.selfcheck.soundness import Soundness
from bnfuzz.selfcheck.tally import Alarm, OutputTally, PairTally

Rows = list[Sequence[str]]

FAULTS_HEADER = (
    "fault",
    "found by",
    "trials",
    "seconds",
    "mode",
    "family",
    "stated",
    "seen",
    "explained by",
    "regimes",
    "signatures",
)
SOUND_HEADER = ("formats", "output", "checks", "informative", "limit only", "vacuous", "uncertain", "largest ratio")
ALARMS_HEADER = ("kernel", "verdict allowed", "false alarms", "trials so called")


def fault_rows(hunt: Hunt, named: Iterable[Named] = ()) -> Rows:
    """One row per fault, in the order of the catalogue; the last two cells from `named`, empty without it."""
    rows: Rows = [FAULTS_HEADER]
    names = {one.fault: one for one in named}
    for name, fault in hunt.faults.items():
        found = hunt.found.get(name)
        row = _missed(fault, hunt.trials[name]) if found is None else _found(fault, found)
        rows.append((*row, *_names(names.get(name))))
    return rows


def _names(named: Named | None) -> Sequence[str]:
    return ("", "") if named is None or not named.places else (f"{named.places:,}", f"{named.most}")


def naming_summary(named: Sequence[Named]) -> str:
    """One sentence: in how many regimes the faults were named, and how many of their trials differ by themselves."""
    places, several = sum(one.places for one in named), sum(one.several for one in named)
    most = max((one.most for one in named), default=0)
    share = several / places if places else 0.0
    return (
        f"{sum(one.trials for one in named):,} failing trials of {len(named)} faults in {places:,} regimes: "
        f"at most {most} signature{'s' * (most != 1)} in each; "
        f"taken one by one, the trials of {share:.0%} of the regimes have several"
    )


def _missed(fault: Fault, trials: int) -> Sequence[str]:
    return (fault.name, "MISSED", f"{trials:,}", "", fault.mode, "", fault.judged, "", "")


def _found(fault: Fault, found: Found) -> Sequence[str]:
    verdict = found.verdict
    return (
        fault.name,
        verdict.output,
        f"{found.trials:,}",
        f"{found.seconds:.1f}",
        mode_of(found.spec),
        ", ".join(found.families),
        fault.judged,
        verdict.kind,
        verdict.why,
    )


def mode_of(spec: Spec) -> str:
    """Operation where it is not batch norm, steps, and layouts where they are not C order."""
    words = [] if spec.operation == "batch_norm" else [spec.operation.replace("_", " ")]
    words.append("+".join(spec.steps))
    layouts = (("x", spec.layout_x), ("cotangent", spec.layout_cotangent))
    words += [f"{name} {layout}" for name, layout in layouts if layout != "contiguous"]
    return ", ".join(words)


def hunt_summary(hunt: Hunt) -> str:
    """Two lines: how many were found, in how much time, after how many trials."""
    trials = [found.trials for found in hunt.found.values()]
    seconds = [found.seconds for found in hunt.found.values()]
    lines = [f"seed {hunt.seed}: {len(hunt.found)} of {len(hunt.faults)} faults found in {hunt.plans} plans"]
    if trials:
        per_ten = 10 * max(seconds) / len(trials)
        lines.append(
            f"median {statistics.median(trials):g} trials, most {max(trials):,}; the last one after "
            f"{max(seconds):.1f} s ({per_ten:.1f} s per 10 faults)"
        )
    return "\n".join(lines)


def sound_rows(tallies: Mapping[str, PairTally]) -> Rows:
    """One row per format pair and output."""
    rows: Rows = [SOUND_HEADER]
    for pair, tally in tallies.items():
        for output in OUTPUT_NAMES:
            if output in tally.outputs:
                rows.append(_sound(pair, output, tally.outputs[output]))
    return rows


def _sound(pair: str, output: str, counts: OutputTally) -> Sequence[str]:
    told = [counts.told[kind] for kind in ("informative", "limit only", "vacuous")]
    return (
        pair,
        output,
        *(f"{number:,}" for number in (counts.checks, *told, counts.uncertain)),
        f"{counts.worst:.3f}",
    )


def ratio_rows(tallies: Mapping[str, PairTally]) -> Rows:
    """Largest ratio by decade of n, over all outputs of a pair; and the share of vacuous checks where n·u <= 1/16."""
    decades = sorted({d for tally in tallies.values() for counts in tally.outputs.values() for d in counts.ratios})
    rows: Rows = [
        ("formats", *(_decade(decade) for decade in decades), "vacuous, n·u ≤ 1/16", "limit only, n·u ≤ 1/16")
    ]
    for pair, tally in tallies.items():
        if not tally.outputs:
            continue
        worst = [max(counts.ratios.get(decade, 0.0) for counts in tally.outputs.values()) for decade in decades]
        rows.append((pair, *(f"{ratio:.3f}" if ratio else "" for ratio in worst), *_shares(tally)))
    return rows


def _decade(decade: int) -> str:
    return f"n < {10 ** (decade + 1):,}"


def _shares(tally: PairTally) -> tuple[str, str]:
    checks = sum(counts.told_short.total() for counts in tally.outputs.values())
    if not checks:
        return "", ""
    shares = [
        sum(counts.told_short[kind] for counts in tally.outputs.values()) / checks for kind in ("vacuous", "limit only")
    ]
    return f"{shares[0]:.2%}", f"{shares[1]:.2%}"


def kernel_rows(run: Soundness) -> Rows:
    """One row per sound kernel."""
    rows: Rows = [ALARMS_HEADER]
    for sound in run.kernels:
        stray = f"{run.strayed.get(sound.name, 0):,}" if sound.verdict != "ok" else ""
        rows.append((sound.name, sound.verdict, f"{run.alarmed.get(sound.name, 0):,}", stray))
    return rows


def sound_summary(run: Soundness) -> str:
    alarms = sum(run.alarmed.values())
    vacuous = sum(tally.vacuous for tally in run.tallies.values())
    rate = run.judged / run.elapsed if run.elapsed > 0 else 0.0
    return (
        f"seed {run.seed}: {run.judged:,} judged trials on {len(run.kernels)} kernels in {run.elapsed:.0f} s "
        f"({rate:,.0f}/s), {vacuous:,} wholly vacuous ones apart; false alarms: {alarms:,}"
    )


def alarm_lines(alarms: Iterable[Alarm]) -> list[str]:
    """One line per false alarm: what was said, of what, and by how much."""
    return [
        f"FALSE ALARM {alarm.signature}  {alarm.verdict.severity:.3g} bounds  observed {alarm.verdict.observed!r}, "
        f"exact {alarm.verdict.exact!r}, bound {alarm.verdict.bound:.3g} {alarm.verdict.why}".rstrip()
        for alarm in alarms
    ]


def markdown(rows: Rows) -> str:
    """Rows as a table of a markdown page; the first row is its head."""
    head, *body = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [" | ".join(head), " | ".join("---" for _ in head), *(" | ".join(row) for row in body)]
    return "\n".join(f"| {line} |" for line in lines)
