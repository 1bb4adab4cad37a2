"""The closing table of a campaign, and the list of what it found."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from bnfuzz.campaign.findings.discover import Discovery
from bnfuzz.campaign.run import Report
from bnfuzz.campaign.search import SLOW_PLANS, SLOW_TRIALS
from bnfuzz.case import OUTPUT_NAMES
from bnfuzz.report.columns import aligned
from bnfuzz.signature import parts_of

HEADER = ("backend", "output", "checks", "informative", "limit only", "vacuous", "uncertain", "findings", "worst ratio")


def closing_table(report: Report) -> str:
    """Per backend and output: checks, how much they said, findings, and the largest error/bound."""
    rows: list[Sequence[str]] = [HEADER]
    for name, tally in report.tally.backends.items():
        for output in OUTPUT_NAMES:
            if output not in tally.outputs:
                continue
            counts = tally.outputs[output]
            rows.append(
                (
                    name,
                    output,
                    f"{counts.cases:,}",
                    f"{counts.informative:,}",
                    f"{counts.limit_only:,}",
                    f"{counts.vacuous:,}",
                    f"{counts.uncertain:,}",
                    f"{counts.findings:,}",
                    f"{counts.worst:.3g}",
                )
            )
    return "\n\n".join([aligned(rows), _backends(report), _drawn(report), _summary(report)])


def _backends(report: Report) -> str:
    rows: list[Sequence[str]] = [
        ("backend", "version", "judged trials", "refused", "failed calls", "vacuous", "seconds", "note")
    ]
    for name, tally in report.tally.backends.items():
        versions = ", ".join(f"{package} {version}" for package, version in report.versions[name].items())
        note = f"slow: {SLOW_TRIALS} trials of every {SLOW_PLANS}th plan" if tally.slow else ""
        if tally.hung:
            note = "left out after a call that hung"
        rows.append(
            (
                name,
                versions,
                f"{tally.judged:,}",
                f"{tally.refused:,}",
                f"{tally.failed_calls:,}",
                f"{tally.vacuous:,}",
                f"{tally.seconds + tally.compile_seconds:.1f}",
                note,
            )
        )
    return aligned(rows)


def _drawn(report: Report) -> str:
    """What was tried: the share of plans by label, most frequent first, one line per kind of label."""
    groups: dict[str, list[str]] = {}
    plans = max(report.tally.plans, 1)
    for label, count in report.tally.drawn.most_common():
        kind, _, value = label.partition(": ")
        groups.setdefault(kind, []).append(f"{value} {100 * count / plans:.0f} %")
    return "\n".join(f"{kind}: {', '.join(values)}" for kind, values in groups.items())


def _summary(report: Report) -> str:
    tally, found = report.tally, report.discoveries
    trials = max(sum(tally.sizes.values()), 1)
    rate = tally.judged / report.elapsed if report.elapsed > 0 else 0.0
    lines = [
        f"seed {report.asked.seed}: {tally.judged:,} judged trials in {report.elapsed:.1f} s ({rate:,.0f}/s), "
        f"{tally.plans} plans of {report.asked.trials} trials over {tally.specs} Specs in {tally.rounds + 1} rounds",
        f"{100 * tally.sizes[True] / trials:.0f} % of trials with n·C ≤ 512; "
        f"{report.shrink_seconds:.1f} s on new findings",
        f"findings: {len(found.distinct)} new signatures ({len(found.failing)} failing), "
        f"{len(found.known)} known, {sum(found.counts.values()):,} failing trials in all",
    ]
    if found.unconfirmed:
        lines.append(f"not confirmed by mpmath, and so not reported: {', '.join(sorted(found.unconfirmed))}")
    lines += [f"lost: {line}" for line in report.lost]
    if report.interrupted:
        lines.append("interrupted before the budget was spent")
    return "\n".join(lines)


def discovery_line(discovery: Discovery) -> str:
    """One line for a new finding, printed as soon as it is saved, and again when it is shrunk."""
    first, spec = discovery.first, discovery.finding.case.spec
    where = f"  {discovery.path}" if discovery.path else ""
    size = f"{spec.size} values"
    why = f"  ({discovery.finding.cause or first.why})" if discovery.finding.cause or first.why else ""
    others = [name for name in OUTPUT_NAMES if name in discovery.outputs - {first.output}]
    too = f"  fails {', '.join(others)} too" if others else ""
    before = [parts_of(signature) for signature in discovery.earlier[-1:] if not discovery.shrunk]
    was = "".join(f"  (until now {parts.output} {parts.kind})" for parts in before if parts)
    word = "SHRUNK" if discovery.shrunk else "NEW"
    # A call that failed has no bound to be measured by.
    far = f"{first.severity:.3g} bounds, " if first.severity else ""
    return f"{word} {discovery.finding.signature}  {far}{size}{why}{too}{was}{where}"


def follow_up(report: Report) -> list[str]:
    """The commands that say more of a new finding, for the first; a case does not hold where a function is."""
    saved = [discovery for discovery in report.discoveries.distinct if discovery.path is not None]
    if not saved:
        return []
    first = next((discovery for discovery in saved if discovery.fails), saved[0])
    named = f"{shlex.quote(str(first.path))} --backend {shlex.quote(first.finding.backend)}"
    lines = [f"its cause, for example: bnfuzz explain {named}", f"a report to paste: bnfuzz report {named}"]
    without = sum(1 for discovery in saved if discovery.fails and not discovery.finding.cause)
    if without:
        lines.append(f"{without} of the new findings have no cause so far: explain looks for it with no deadline")
    return lines


def known_lines(report: Report) -> list[str]:
    """One line per known signature that was seen again: how often, and why it is known."""
    found = report.discoveries
    lines = []
    for signature, known in sorted(found.known.items()):
        if known.status == "ignored":
            continue
        link = f"  {known.link}" if known.link else ""
        lines.append(f"known {signature}  {found.counts[signature]:,} trials: {known.reason}{link}")
    return lines
