"""What the corpus knew when a campaign began: the list of accepted findings, and the open cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bnfuzz.campaign.findings.sameness import Symptoms, covers
from bnfuzz.casefile.versions import within
from bnfuzz.corpus import Corpus
from bnfuzz.corpus.known import KnownFinding
from bnfuzz.signature import parts_of, portable


class Recorded:
    """`versions`: backend -> version of its framework.

    listed  the entries of known.toml, which speak of the very signatures that they match
    open    signatures of the open cases that speak of these versions
    """

    def __init__(self, corpus: Corpus | None, versions: Mapping[str, str | None]) -> None:
        self._corpus = corpus
        self._cases = tuple(dict.fromkeys(_open_cases(corpus, versions)))
        self.listed = () if corpus is None else corpus.known_list
        self.open = tuple(dict.fromkeys(case.signature for case in self._cases))

    def known(self, symptoms: Symptoms, version: str | None) -> tuple[str, KnownFinding] | None:
        """(the signature that stands for these trials, what is known of it), or None.

        An open case also stands for trials of another signature that show no more than it records: fewer outputs
        fail, none earlier in the flow of data, and with no worse kind.
        """
        if self._corpus is None:
            return None
        found = self._corpus.known(symptoms.signature, version)
        if found is not None:
            return symptoms.signature, found
        for case in self._cases:
            if covers(case, symptoms):
                found = self._corpus.known(case.signature, version)
                if found is not None:
                    return case.signature, found
        return None


def _open_cases(corpus: Corpus | None, versions: Mapping[str, str | None]) -> Iterator[Symptoms]:
    ours = {portable(backend): version for backend, version in versions.items()}
    for entry in () if corpus is None else corpus.entries:
        for expectation in entry.file.expectations if entry.file.state in ("open", "flaky") else ():
            parts = parts_of(expectation.signature)
            if parts is None or parts.backend not in ours:
                continue
            if within(ours[parts.backend], expectation.versions):
                yield Symptoms(
                    signature=expectation.signature, outputs=frozenset((*expectation.findings, *expectation.also))
                )
