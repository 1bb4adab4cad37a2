"""One batch norm read from outside: under which conventions all that it gives agrees with the exact values.

It is run on the case at hand and on varied trials. First its eps (and whether gamma is taken as 1) is found from the
normalised outputs, then the weights and ddof of its running statistics; each candidate is judged by the bounds that
verdicts come from. Where none agrees, the cause is looked for among the known faults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from bnfuzz.backends.pool import Pool
from bnfuzz.case import Case, Inputs, Mode, Outputs, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.diagnosis.contrast.fit import NORMALISED, RUNNING, Answer, Fit
from bnfuzz.diagnosis.contrast.trials import OTHER_EPS, offset_inputs, varied_inputs, varied_spec, with_other_scalars
from bnfuzz.diagnosis.documented import DEFAULTS, USUAL
from bnfuzz.diagnosis.explain import explain, explain_case
from bnfuzz.diagnosis.explanation import Explanation
from bnfuzz.errors import UsageError
from bnfuzz.judge.verdict import Kind, precedence

About = Literal["case", "varied", "other scalars", "offset", "inference"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Reading:
    """What one side is.

    claimed     the conventions that it states
    followed    those that its outputs agree with: the claimed ones, with its own eps as default_eps, …
    takes_eps   an eps can be given; keeps_eps: and that one acts (None: not to be told)
    keeps_momentum   likewise a given momentum
    mutated     inputs that it changed
    answers     what it gave; trouble: why it gave nothing there
    fits        its answers under `followed`
    cause       of what does not agree under `followed`; None where all does
    culprit     a case on which that shows
    """

    backend: str
    framework: str
    version: str
    claimed: Conventions
    followed: Conventions
    takes_eps: bool
    keeps_eps: bool | None
    keeps_momentum: bool | None
    answers: dict[About, Answer]
    trouble: dict[About, str] = field(default_factory=dict)
    mutated: tuple[str, ...] = ()
    fits: dict[About, Fit] = field(default_factory=dict)
    cause: Explanation | None = None
    culprit: Case | None = None

    @property
    def sound(self) -> bool:
        """All that it gave agrees with one set of conventions."""
        return not self.trouble and not self.mutated and all(fit.agrees for fit in self.fits.values())

    @property
    def failing(self) -> tuple[str, ...]:
        """Outputs that do not, over all answers."""
        return tuple(dict.fromkeys(name for fit in self.fits.values() for name in fit.failing))

    @property
    def kind(self) -> Kind:
        """The gravest kind of what fails."""
        return min((kind for fit in self.fits.values() for kind in fit.failing.values()), key=precedence)

    @property
    def worst(self) -> float:
        """The largest error/bound under the conventions that it follows."""
        return max((fit.worst for fit in self.fits.values()), default=0.0)

    @property
    def eps(self) -> float:
        """The eps that acts on the case at hand."""
        return self.followed.default_eps

    def judged_as(self, other: Conventions, names: tuple[str, ...], about: About = "varied") -> Fit | None:
        """Its answer under the semantic conventions of another; None where there is none."""
        answer = self.answers.get(about)
        if answer is None:
            return None
        taken = replace(self.followed, **{name: getattr(other, name) for name in SEMANTIC})
        return answer.fit(taken, own_eps=True, own_momentum=True).of(names)


_DDOF: Mapping[int, tuple[Literal[0, 1], ...]] = MappingProxyType({0: (0, 1), 1: (1, 0)})
"""The claimed ddof, then the other one."""

SEMANTIC = ("default_eps", "fix_gamma", "running_ddof", "default_momentum", "momentum_weighs")
"""Conventions by which two implementations compute something else."""


def read(pool: Pool, name: str, case: Case, *, seed: int) -> Reading:
    """The reading of one backend, on the case and on varied trials.

    Raises UsageError where it cannot express the case.
    """
    side = _Side(pool, name)
    side.ask("case", case.spec, case.inputs)
    modes: list[Mode] = [mode for mode in ("training", "inference") if mode in side.claimed.modes]
    for mode in modes:
        about: About = "varied" if mode == "training" else "inference"
        if mode == "inference" and not (case.spec.has_running or case.spec.mode == "inference"):
            continue
        side.ask_varied(about, varied_spec(case.spec, mode), case.spec.shape, seed)
        if mode == "training" and "varied" in side.answered:
            spec = side.answered["varied"].spec
            compute = side.claimed.compute_format(spec.data_format)
            side.ask("offset", spec, offset_inputs(spec, compute, seed=seed))
        if mode == "training" and (side.takes_eps or side.takes_momentum):
            other = with_other_scalars(varied_spec(case.spec, mode))
            side.ask_varied("other scalars", other, case.spec.shape, seed)
    return side.reading()


class _Side:
    def __init__(self, pool: Pool, name: str) -> None:
        self._pool, self._name = pool, name
        self.claimed = pool.conventions(name)
        self.takes_eps = "eps" not in self.claimed.fixed_scalars
        self.takes_momentum = "momentum" not in self.claimed.fixed_scalars and self._learns
        self.answered: dict[About, Answer] = {}
        self._trouble: dict[About, str] = {}
        self._mutated: set[str] = set()

    @property
    def _learns(self) -> bool:
        return any(name in self.claimed.outputs for name in RUNNING)

    def ask(self, about: About, spec: Spec, inputs: Inputs) -> bool:
        """Runs the trials; False where an exception, a death or a deadline was the answer."""
        spec = replace(
            spec,
            eps=spec.eps if self.takes_eps else None,
            momentum=spec.momentum if "momentum" not in self.claimed.fixed_scalars else None,
        )
        reply = self._pool.run([self._name], spec, inputs)[self._name]
        if reply.status == "unsupported":
            if about == "case":
                raise UsageError(f"{self._name} cannot express this: {reply.message}")
            return True
        if reply.status != "ok" or reply.outputs is None:
            self._trouble[about] = f"{reply.status}: {reply.message}"
            return False
        self._trouble.pop(about, None)
        self._mutated.update(reply.mutated)
        self.answered[about] = Answer(spec, inputs, reply.outputs)
        return True

    def ask_varied(self, about: About, spec: Spec, whole: tuple[int, ...], seed: int) -> None:
        """Varied trials; where a function cannot take fewer values, of the case's own shape."""
        if not self.ask(about, spec, varied_inputs(spec, seed=seed)) and spec.shape != whole:
            spec = replace(varied_spec(spec, spec.mode, shape=whole), eps=spec.eps, momentum=spec.momentum)
            self.ask(about, spec, varied_inputs(spec, seed=seed).select(slice(0, 3)))

    def reading(self) -> Reading:
        followed = self.claimed
        if self.answered:
            left = self.answered.get("varied") or self.answered.get("inference") or self.answered["case"]
            followed = self._running(left, self._normalised(left))
        keeps_eps, keeps_momentum = self._keeps(followed)
        judged_under = dict.fromkeys(self.answered, followed)
        if "other scalars" in self.answered:
            judged_under["other scalars"] = self._with_other_scalars(followed, keeps_eps, keeps_momentum)
        fits = {
            about: answer.fit(judged_under[about], own_eps=True, own_momentum=True)
            for about, answer in self.answered.items()
        }
        cause, culprit = self._cause(fits, judged_under)
        return Reading(
            backend=self._name,
            framework=self._pool.backend(self._name).framework,
            version=self._pool.version(self._name) or "",
            claimed=self.claimed,
            followed=followed,
            takes_eps=self.takes_eps,
            keeps_eps=keeps_eps,
            keeps_momentum=keeps_momentum,
            answers=self.answered,
            trouble=self._trouble,
            mutated=tuple(sorted(self._mutated)),
            fits=fits,
            cause=cause,
            culprit=culprit,
        )

    def _keeps(self, followed: Conventions) -> tuple[bool | None, bool | None]:
        """Whether a given eps acts, and a given momentum; None where neither that one nor its own agrees."""
        answer = self.answered.get("other scalars")
        if answer is None:
            return None, None

        def told(first: Conventions, names: tuple[str, ...]) -> bool | None:
            if answer.fit(first, own_eps=True, own_momentum=True).of(names).agrees:
                return True
            return False if answer.fit(followed, own_eps=True, own_momentum=True).of(names).agrees else None

        given = self._with_other_scalars(followed, True, True)
        eps = told(given, ("y",)) if self.takes_eps else None
        return eps, told(given, RUNNING) if self.takes_momentum else None

    def _with_other_scalars(self, followed: Conventions, eps: bool | None, momentum: bool | None) -> Conventions:
        """`followed`, with the other eps and momentum where they are given and not known to be ignored."""
        argument = self.claimed.momentum_argument(self.answered["other scalars"].spec)
        return replace(
            followed,
            default_eps=OTHER_EPS if self.takes_eps and eps is not False else followed.default_eps,
            default_momentum=argument if self.takes_momentum and momentum is not False else followed.default_momentum,
        )

    def _normalised(self, answer: Answer) -> Conventions:
        """eps and fix_gamma: the first candidate under which every normalised output agrees, else y alone."""
        nearest: Conventions | None = None
        for eps in dict.fromkeys(self._eps_candidates(answer)):
            for fix_gamma in (self.claimed.fix_gamma, not self.claimed.fix_gamma):
                candidate = replace(self.claimed, default_eps=eps, scalar_format=None, fix_gamma=fix_gamma)
                fit = answer.fit(candidate, own_eps=True).of(NORMALISED)
                if fit.agrees:
                    return candidate
                if nearest is None and fit.of(("y",)).agrees:
                    nearest = candidate
        return nearest or replace(self.claimed, default_eps=self.claimed.eps_given(answer.spec), scalar_format=None)

    def _eps_candidates(self, answer: Answer) -> Iterator[float]:
        yield self.claimed.eps_given(answer.spec)
        yield self.claimed.default_eps
        yield from (entry.eps for entry in DEFAULTS)
        yield from USUAL
        yield from answer.eps_estimates(self.claimed)

    def _running(self, answer: Answer, followed: Conventions) -> Conventions:
        """The weight of the new statistic and ddof under which the running statistics agree."""
        argument = self.claimed.momentum_argument(answer.spec)
        claimed = replace(followed, default_momentum=argument)
        if answer.spec.mode != "training" or not self._learns or not answer.spec.has_running:
            return claimed
        flipped: Literal["new", "old"] = "old" if self.claimed.momentum_weighs == "new" else "new"
        seen = answer.new_weight()
        candidates = [claimed, replace(claimed, momentum_weighs=flipped)]
        if seen is not None:
            candidates.append(replace(claimed, default_momentum=seen, momentum_weighs="new"))
        for candidate in candidates:
            for ddof in _DDOF[self.claimed.running_ddof]:
                tried = replace(candidate, running_ddof=ddof)
                if answer.fit(tried, own_eps=True, own_momentum=True).of(RUNNING).agrees:
                    return tried
        return claimed

    def _cause(
        self, fits: dict[About, Fit], judged_under: dict[About, Conventions]
    ) -> tuple[Explanation | None, Case | None]:
        """What explains the first answer that does not agree, the varied ones first, and a case of it."""
        order: tuple[About, ...] = ("varied", "other scalars", "inference", "offset", "case")
        for about in order:
            if about not in fits or fits[about].agrees:
                continue
            answer = self.answered[about]
            failing = answer.judged(judged_under[about], own_eps=True, own_momentum=True).failing()
            culprit = Case(spec=answer.spec, inputs=answer.inputs.trial(int(failing[0])))
            return self._explained(culprit, judged_under[about]), culprit
        return None, None

    def _explained(self, culprit: Case, followed: Conventions) -> Explanation:
        """The cause beside the scalars that a call cannot change: those are settled, and count as conventions."""
        if not self.claimed.fixed_scalars:
            return explain_case(self._pool, self._name, culprit)

        def run(spec: Spec, inputs: Inputs) -> Outputs | None:
            reply = self._pool.run([self._name], spec, inputs)[self._name]
            if reply.status not in ("ok", "unsupported"):
                raise RuntimeError(reply.message)
            return reply.outputs

        return explain(culprit, run(culprit.spec, culprit.inputs), followed, run=run)
