"""A night as JUnit XML: one test case per stored case and backend, and per new finding."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from bnfuzz.errors import printable
from bnfuzz.night import NightReport, Replayed

_NO_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold."""


def junit(report: NightReport) -> str:
    """The document. What is known, or was new in an earlier night, is skipped with the reason; it fails nothing."""
    night = report.night
    root = ElementTree.Element("testsuites", name="bnfuzz", time=f"{night.seconds:.3f}")
    stored = ElementTree.SubElement(root, "testsuite", name="corpus", timestamp=night.started)
    new = {finding.signature for finding in report.news}
    for row in report.replayed:
        _replayed(stored, row)
    for file in report.unreadable:
        case = _case(stored, file.case, "can be read")
        _said(case, "error", file.problem, kind="unreadable")
    findings = ElementTree.SubElement(root, "testsuite", name="findings", timestamp=night.started)
    for finding in report.findings:
        if finding.signature in new:
            case = _case(findings, finding.backend, finding.signature)
            word = "failure" if finding.fails else "skipped"
            _said(
                case,
                word,
                f"{finding.standing}: {finding.output} {finding.kind}",
                kind=finding.kind,
                text=finding.cause,
            )
    trust = ElementTree.SubElement(root, "testsuite", name="the night itself", timestamp=night.started)
    case = _case(trust, "planted fault", night.planted.fault)
    if night.planted.arrived:
        ElementTree.SubElement(case, "system-out").text = _clean("\n".join(night.planted.signatures))
    else:
        _said(case, "error", f"not found in {night.planted.trials} trials", kind="infrastructure")
    for trouble in night.troubles:
        _said(_case(trust, "trouble", trouble), "error", trouble, kind="infrastructure")
    for suite in root:
        _count(suite)
    _count(root)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _replayed(suite: ElementTree.Element, row: Replayed) -> None:
    case = _case(suite, row.case, row.backend)
    if row.standing == "failed":
        _said(case, "failure", row.reason or "fails, and nothing is recorded", kind="failed")
    elif row.standing == "fixed":
        text = f"passes although a finding is {row.reason}; mark it fixed if it is"
        ElementTree.SubElement(case, "system-out").text = _clean(text)
    elif row.standing != "ok":
        _said(case, "skipped", f"{row.standing}: {row.reason}".rstrip(": "), kind="")


def _case(suite: ElementTree.Element, classname: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=_clean(classname), name=_clean(name))


def _said(case: ElementTree.Element, word: str, message: str, *, kind: str, text: str = "") -> None:
    attributes = {"message": _clean(message), **({"type": _clean(kind)} if kind else {})}
    ElementTree.SubElement(case, word, attributes).text = _clean(text or message)


def _count(suite: ElementTree.Element) -> None:
    suite.set("tests", str(len(suite.findall(".//testcase"))))
    for name, word in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f".//testcase/{word}"))))


def _clean(text: str) -> str:
    return _NO_XML.sub("�", printable(text))
