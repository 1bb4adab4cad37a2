"""Hypotheses: what an implementation may be doing, each a kernel of the catalogue under given conventions.

The order of simplicity, which names the first survivor: another convention, one deviating step, an unstable
evaluation of the right formula, two of these together; within a kind fewer replaced steps first, then the catalogue's
own order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from types import MappingProxyType

import numpy as np

from bnfuzz.case import Array, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.diagnosis.explanation import CauseKind
from bnfuzz.faults import sound, textbook
from bnfuzz.faults.catalogue import CATALOGUE
from bnfuzz.faults.deviation import hard_wired
from bnfuzz.faults.fault import Judged
from bnfuzz.faults.kernel import Kernel, Pass
from bnfuzz.faults.textbook import CLEAN
from bnfuzz.judge.compare import CENTRE
from bnfuzz.judge.unstable import FOLDED, ONE_PASS, ORDER, STORAGE

KIND_ORDER: tuple[CauseKind, ...] = ("convention", "fault", "algorithm", "several")

CONVENTIONS_OF = MappingProxyType(
    {
        "momentum_swapped": "momentum weighs the other statistic (PyTorch documents it as the weight of the new one, "
        "Flax, Keras, MXNet and ONNX of the old one)",
        "rv_biased": "the running variance learns the variance with ddof 0, as Flax, Keras, MXNet and ONNX document",
        "rv_unbiased": "the running variance learns the variance with ddof 1, as PyTorch and TensorFlow's fused "
        "operator document",
        "fix_gamma": "gamma is taken as 1 and dgamma as 0, as mx.nd.BatchNorm documents for its default fix_gamma=True",
        "eps_hard1e_5": "eps is 1e-5 whatever is asked for, the default of PyTorch, Flax and ONNX",
        "eps_default_1e_3": "eps is 1e-3 whatever is asked for, the default of Keras and mx.nd.BatchNorm",
        "bessel_n1": "the running variance becomes NaN at n = 1, where n/(n-1) has no value, as "
        "torch.native_batch_norm leaves it",
        "empty_updates_stats": "the mean of nothing, NaN, is written to the buffers, as several frameworks do",
    }
)
"""Entries of the catalogue that are another implementation's documented choice, and whose."""

OTHER_EPS = MappingProxyType(
    {
        1e-4: "Theano's default",
        2e-5: "Chainer's default",
        1e-6: "a usual default of layer norm",
        1e-8: "a usual choice in code written by hand",
        1e-12: "BERT's layer norm",
    }
)

OTHER_MOMENTUM = MappingProxyType(
    {0.1: "the default of PyTorch and MXNet, as weight of the new statistic", 0.01: "that of Flax and Keras"}
)

ALGORITHMS = MappingProxyType(
    {
        "onepass": (ONE_PASS,),
        "onepass_clamp": (ONE_PASS,),
        "affine_rewrite": (FOLDED, CENTRE),
        "accumulate_in_half": (STORAGE,),
        "naive_mean": (ORDER,),
        "welford": (CENTRE,),
        "chan": (CENTRE,),
        "corrected_two_pass": (CENTRE,),
        "shifted_one_pass": (ONE_PASS,),
        "stored_parts": (),
    }
)
"""Unstable evaluations, and what the judge calls them where it knows their bound."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Hypothesis:
    """One thing that an implementation may be doing.

    kernel     the textbook kernel with the steps in question replaced
    momentum   weight of the new statistic that is used whatever the Spec says
    judged     kind of verdict that it earns
    labels     what the judge calls it, for an unstable evaluation
    place      in the catalogue
    """

    name: str
    sentence: str
    kind: CauseKind
    kernel: Kernel
    momentum: float | None = None
    judged: tuple[Judged, ...] = ("wrong",)
    labels: tuple[str, ...] = ()
    place: int = 0

    @property
    def replaced(self) -> frozenset[str]:
        """The steps that are not the textbook's."""
        return replaced_steps(self.kernel) | ({"momentum"} if self.momentum is not None else set())

    @property
    def exact_elsewhere(self) -> bool:
        """It computes other values, and what it does not change it computes soundly."""
        return not self.labels and "unstable" not in self.judged

    @property
    def simplicity(self) -> tuple[int, int, int]:
        """Sorts the simplest first."""
        return KIND_ORDER.index(self.kind), len(self.replaced), self.place

    def rules(self, spec: Spec, conventions: Conventions) -> tuple[Spec, Conventions]:
        """The Spec and conventions that the kernel is run under."""
        if self.momentum is None or not spec.has_running:
            return spec, conventions
        weight = self.momentum if conventions.momentum_weighs == "new" else 1.0 - self.momentum
        return replace(spec, momentum=None), replace(conventions, default_momentum=weight)


def learns_from_inverse(p: Pass, old: Array) -> Array:
    """The variance recovered from r = 1/sqrt(var + eps), eps kept as the wider number that it was given as."""
    n, ddof = p.geometry.n, p.conventions.running_ddof
    r = p.inverse_deviation
    recovered = (p.scalar(1.0) / (r * r)).astype(np.float64) - p.conventions.eps_given(p.spec)
    variance = recovered.astype(p.dtype)
    return textbook.blend(p, old, variance * p.scalar(n / (n - ddof)) if n > ddof else variance)


SOUND = Hypothesis(name="sound", sentence="nothing deviates", kind="fault", kernel=CLEAN, judged=())
"""What every other hypothesis must be told from."""


def replaced_steps(kernel: Kernel) -> frozenset[str]:
    """Names of the kernel's steps that are not the textbook's."""
    return frozenset(
        field.name for field in fields(Kernel) if getattr(kernel, field.name) is not getattr(CLEAN, field.name)
    )


def single_hypotheses(spec: Spec, conventions: Conventions) -> tuple[Hypothesis, ...]:
    """Every single hypothesis for an operation in these formats, simplest first."""
    return tuple(sorted(_singles(spec, conventions), key=lambda one: one.simplicity))


def _singles(spec: Spec, conventions: Conventions) -> Iterator[Hypothesis]:
    place = 0
    compute = conventions.compute_format(spec.data_format)
    for name, fault in CATALOGUE.items():
        place += 1
        # What a fault of groups does to other axes, or an unstable sum in formats where it is the sound one, is no
        # hypothesis.
        if fault.example.operation not in ("batch_norm", spec.operation):
            continue
        if name in ALGORITHMS and not fault.scope(compute, spec.formats):
            continue
        if name in ALGORITHMS:
            kind: CauseKind = "algorithm"
        else:
            kind = "convention" if name in CONVENTIONS_OF else "fault"
        yield Hypothesis(
            name=name,
            sentence=CONVENTIONS_OF.get(name, fault.description),
            kind=kind,
            kernel=fault.kernel,
            judged=(fault.judged,),
            labels=ALGORITHMS.get(name, ()),
            place=place,
        )
    for value, whose in OTHER_EPS.items():
        place += 1
        yield Hypothesis(
            name=f"eps_is_{value:.0e}".replace("e-0", "e-"),
            sentence=f"eps is {value:g} whatever is asked for, {whose}",
            kind="convention",
            kernel=replace(CLEAN, eps=hard_wired(value)),
            place=place,
        )
    for weight, whose in OTHER_MOMENTUM.items():
        place += 1
        yield Hypothesis(
            name=f"momentum_is_{weight:g}",
            sentence=f"the new statistic has the weight {weight:g} whatever is asked for, {whose}",
            kind="convention",
            kernel=CLEAN,
            momentum=weight,
            place=place,
        )
    yield Hypothesis(
        name="rv_from_inverse",
        sentence="the running variance learns 1/r**2 - eps, which is off by roundings of eps (oneDNN hands back r)",
        kind="algorithm",
        kernel=replace(CLEAN, running_var=learns_from_inverse),
        judged=("unstable",),
        place=place + 1,
    )
    for name, variant in sound.SOUND.items():
        place += 1
        if name in ALGORITHMS:
            yield Hypothesis(
                name=name,
                sentence=variant.description,
                kind="algorithm",
                kernel=variant.kernel,
                judged=("unstable",),
                labels=ALGORITHMS[name],
                place=place,
            )


def together(first: Hypothesis, second: Hypothesis) -> Hypothesis | None:
    """Both at once; None where they replace the same step."""
    if first.replaced & second.replaced:
        return None
    steps = {name: getattr(second.kernel, name) for name in replaced_steps(second.kernel)}
    return Hypothesis(
        name=f"{first.name} + {second.name}",
        sentence=f"{first.sentence}; and {second.sentence}",
        kind="several",
        kernel=replace(first.kernel, **steps),
        momentum=first.momentum if first.momentum is not None else second.momentum,
        judged=(*first.judged, *second.judged),
        labels=(*first.labels, *second.labels),
        place=1000 * first.place + second.place,
    )
