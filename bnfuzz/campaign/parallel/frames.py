"""What travels between a campaign and its shards: settings, Specs, counts, and findings as the text of case files.

Plain records of numbers and text only: arrays and live objects stay where they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bnfuzz import __version__
from bnfuzz.backends.pool import Limits, Pool
from bnfuzz.campaign.findings.sightings import Judge, Settled, Sighting
from bnfuzz.campaign.scatter import Scatter
from bnfuzz.campaign.settings import Settings
from bnfuzz.campaign.tally import Tally
from bnfuzz.campaign.units import Unit
from bnfuzz.casefile import dumps, from_finding, loads
from bnfuzz.conventions import Conventions
from bnfuzz.errors import InfrastructureError
from bnfuzz.finding import Finding
from bnfuzz.signature import portable


@dataclass(frozen=True, kw_only=True)
class Described:
    """A backend as a shard has it. `version`: of its framework; `slow` as `Backend.slow` says."""

    conventions: Conventions
    versions: Mapping[str, str]
    version: str | None
    slow: bool


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What is the same for everything that a campaign asks of its shards.

    versions  backend -> package versions that its findings are to be of
    bnfuzz    version of this package
    """

    asked: Settings
    limits: Limits
    versions: Mapping[str, Mapping[str, str]]
    bnfuzz: str = __version__

    def check(self, pool: Pool) -> None:
        """Raises InfrastructureError where this process has other versions: its findings would be others too."""
        if self.bnfuzz != __version__:
            raise InfrastructureError(
                f"a worker has bnfuzz {__version__}, the campaign {self.bnfuzz}; install the same version on both"
            )
        self.compare({name: pool.versions(name) for name in self.versions})

    def compare(self, versions: Mapping[str, Mapping[str, str]]) -> None:
        """Raises InfrastructureError where a worker's package versions are others."""
        for name, expected in self.versions.items():
            if versions[name] != expected:
                raise InfrastructureError(
                    f"backend {name} is {_listed(versions[name])} on one worker and {_listed(expected)} on another; "
                    "install the same versions on all"
                )


def _listed(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{package} {version}" for package, version in sorted(versions.items()))


@dataclass(frozen=True, kw_only=True)
class SearchOrder:
    """A unit to be searched.

    hung     backends that are left out
    cases    tried trials after which it ends; seconds from its start after which it ends; None: neither
    """

    terms: Terms
    unit: Unit
    settled: Settled
    hung: frozenset[str]
    cases: int | None
    seconds: float | None


@dataclass(frozen=True, kw_only=True)
class SentFinding:
    """A Finding as the text of its case file; `backend` with its folder, which the file does without."""

    backend: str
    text: str

    @classmethod
    def of(cls, finding: Finding) -> SentFinding:
        return cls(backend=finding.backend, text=dumps(from_finding(finding)))

    def finding(self) -> Finding:
        file = loads(self.text, "a finding of a shard")
        (expectation,) = file.expectations
        return Finding(
            case=file.case,
            backend=self.backend,
            verdicts=file.verdicts[portable(self.backend)],
            signature=expectation.signature,
            environment=dict(file.environment),
            confirmed=expectation.confirmed,
            cause=expectation.cause,
            also=expectation.also,
            origin=file.origin.link or file.origin.campaign,
            descent=file.descent,
        )


@dataclass(frozen=True, kw_only=True)
class SentSighting:
    """A Sighting on its way."""

    identity: str
    finding: SentFinding
    judge: Judge
    doubted: bool

    @classmethod
    def of(cls, sighting: Sighting) -> SentSighting:
        sent = SentFinding.of(sighting.finding)
        return cls(identity=sighting.identity, finding=sent, judge=sighting.judge, doubted=sighting.doubted)

    def sighting(self) -> Sighting:
        return Sighting(identity=self.identity, finding=self.finding.finding(), judge=self.judge, doubted=self.doubted)


@dataclass(frozen=True, kw_only=True)
class Searched:
    """What a unit came to (see `Sightings` for the fields)."""

    tally: Tally
    scatter: Scatter
    sightings: tuple[SentSighting, ...]
    counts: Mapping[str, int]
    backends: Mapping[str, str]
    outputs: Mapping[str, frozenset[str]]
    clearest: Mapping[str, SentFinding] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ShrinkOrder:
    """A finding to be shrunk within so many seconds."""

    terms: Terms
    finding: SentFinding
    clearer: SentFinding | None
    judge: Judge
    seconds: float
