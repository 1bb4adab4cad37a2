"""Explanations: planted faults are named, what is no known fault is not, and the words say what was seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from bnfuzz.case import Array, Case, Inputs, Outputs, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.diagnosis.causes.hypothesis import SOUND, learns_from_inverse, replaced_steps, single_hypotheses, together
from bnfuzz.diagnosis.causes.observation import calling
from bnfuzz.diagnosis.explain import explain, explain_stored
from bnfuzz.diagnosis.explanation import UNKNOWN, Explanation
from bnfuzz.evaluation import References
from bnfuzz.faults import sound, sums, textbook
from bnfuzz.faults.backend import CONVENTIONS, run
from bnfuzz.faults.catalogue import CATALOGUE
from bnfuzz.faults.kernel import Kernel, Pass
from bnfuzz.faults.textbook import CLEAN
from bnfuzz.judge.compare import judge

Function = Callable[[Spec, Inputs], Outputs]


def function_of(kernel: Kernel, conventions: Conventions) -> Function:
    return lambda spec, inputs: run(kernel, spec, inputs, conventions)


def otherwise(kernel: Kernel) -> Kernel:
    """The same fault, its other steps written in another sound way than the model's."""
    steps: dict[str, object] = {"total": sums.sequential, "affine": sound.scale_first}
    if kernel.statistics is CLEAN.statistics:
        steps["dx"] = sound.autodiff_dx
    return replace(  # type: ignore[arg-type]
        kernel, **{name: step for name, step in steps.items() if getattr(kernel, name) is getattr(CLEAN, name)}
    )


def explained(
    kernel: Kernel, case: Case, conventions: Conventions = CONVENTIONS, *, probing: bool = True
) -> Explanation:
    function = function_of(kernel, conventions)
    answer = calling(function)(case.spec, case.inputs)
    assert answer is not None
    return explain(
        case,
        answer.outputs,
        conventions,
        run=function if probing else None,
        raised=answer.raised,
        mutated=answer.mutated,
    )


def names(explanation: Explanation) -> tuple[str, ...]:
    return tuple(cause.name for cause in explanation.causes)


SAME_NUMBERS = {"dx_no_var_term", "dx_stopgrad_var"}
"""Two names of the catalogue for one computation."""

LONG = {"naive_mean", "accumulate_in_half"}
"""Shown by thousands of values only: seconds each."""


@pytest.mark.parametrize("name", sorted(set(CATALOGUE) - LONG))
def test_every_fault_is_named_from_its_answers_alone(name: str) -> None:
    fault = CATALOGUE[name]
    conventions = fault.conventions(CONVENTIONS)
    single = ("float32", "float32", "float32")
    in_single = fault.scope(conventions.compute_format("float32"), single)  # type: ignore[arg-type]
    triple = single if in_single else ("float16", "float32", "float32")
    case = fault.example.case(conventions, triple, seed=2)  # type: ignore[arg-type]
    kernel = fault.kernel if "unstable" in fault.judged else otherwise(fault.kernel)
    found = names(explained(kernel, case, conventions))
    assert set(found) == (SAME_NUMBERS if name in SAME_NUMBERS else {name})


def test_two_faults_together_are_named_as_two() -> None:
    first, second = CATALOGUE["eps_outside"], CATALOGUE["ddof1_norm"]
    steps = {name: getattr(second.kernel, name) for name in replaced_steps(second.kernel)}
    kernel = replace(first.kernel, **steps)
    found = explained(kernel, second.example.case(CONVENTIONS))
    assert names(found) == ("ddof1_norm + eps_outside",)
    assert found.causes[0].kind == "several"


@pytest.mark.parametrize(
    "steps",
    [
        {"inverse_deviation": lambda p: p.scalar(1.0) / p.scalar(1.0) * textbook.inverse_deviation(p) * p.scalar(1.01)},
        {"dx": lambda p: textbook.dx(p) * p.scalar(1.01)},
        {"gamma": lambda p: textbook.gamma(p) * textbook.gamma(p)},
    ],
    ids=["root times 1.01", "dx times 1.01", "gamma squared"],
)
def test_what_the_catalogue_does_not_have_gets_no_name(steps: dict[str, object]) -> None:
    found = explained(replace(CLEAN, **steps), CATALOGUE["dx_sign"].example.case(CONVENTIONS))  # type: ignore[arg-type]
    assert found.failing
    assert found.sentence == UNKNOWN
    assert "cause: no known cause" in list(found.lines())


def own_gradient(p: Pass) -> Array:
    """dx of a batch that is normalised with n/(n − 1) times its variance, as a framework differentiates it."""
    if not p.training:
        return textbook.dx(p)
    n = p.geometry.n
    return p.scale * (p.h - p.mean_h - p.xhat * p.mean_hx * p.scalar(n / (n - 1)))


def test_a_forward_whose_own_gradient_was_taken_is_named_by_its_forward() -> None:
    fault = CATALOGUE["ddof1_norm"]
    kernel = replace(fault.kernel, dx=own_gradient)
    case = fault.example.case(CONVENTIONS)
    found = explained(kernel, case)
    assert names(found) == ("ddof1_norm",)
    assert "by the forward outputs alone" in found.note
    assert any(line.startswith("dx") for line in found.failing)
    assert "by the forward outputs alone" not in explained(fault.kernel, case).note


def test_nothing_is_explained_where_nothing_fails() -> None:
    found = explained(otherwise(CLEAN), CATALOGUE["ddof1_norm"].example.case(CONVENTIONS))
    assert not found.failing
    assert not found.causes
    assert list(found.lines()) == ["nothing fails: all outputs are within their bounds"]


def test_a_convention_is_called_one() -> None:
    found = explained(CATALOGUE["momentum_swapped"].kernel, CATALOGUE["momentum_swapped"].example.case(CONVENTIONS))
    assert found.causes[0].kind == "convention"
    assert "PyTorch" in found.sentence


def test_without_asking_the_tie_is_listed() -> None:
    fault = CATALOGUE["eval_no_eps"]
    found = explained(fault.kernel, fault.example.case(CONVENTIONS), probing=False)
    assert {"eval_no_eps", "eps_missing"} <= set(names(found))
    assert not found.asked
    assert "not asked" in found.note


def test_asking_tells_them_apart_and_says_by_what() -> None:
    fault = CATALOGUE["eval_no_eps"]
    found = explained(fault.kernel, fault.example.case(CONVENTIONS))
    assert names(found) == ("eval_no_eps",)
    assert any(line.startswith("eps_missing: training") for line in found.excluded)


def test_the_evidence_holds_what_was_observed_and_what_is_exact() -> None:
    fault = CATALOGUE["eps_outside"]
    case = fault.example.case(CONVENTIONS)
    outputs = run(fault.kernel, case.spec, case.inputs)
    found = explained(fault.kernel, case)
    judged = judge(References(case.inputs).of(case.spec, CONVENTIONS), outputs)
    worst = next(verdict for verdict in judged.verdicts(0) if verdict.output == "y")
    assert f"{worst.observed:.9g}" in found.causes[0].evidence[0]
    assert f"{worst.exact:.9g}" in found.causes[0].evidence[0]


def test_an_overflow_on_the_way_is_no_fault() -> None:
    case = CATALOGUE["ddof1_norm"].example.case(CONVENTIONS)
    wide = replace(case, inputs=replace(case.inputs, x=case.inputs.x * case.inputs.x.dtype.type(1e25)))
    found = explained(CLEAN, wide)
    assert names(found) == ("range",)


def test_a_variance_recovered_from_the_root_is_told_from_a_wrong_one() -> None:
    case = CATALOGUE["rv_std"].example.case(CONVENTIONS)
    inputs = case.inputs
    small = replace(inputs, x=inputs.x * inputs.x.dtype.type(1e-9), running_var=inputs.x[:, 0] * 0)
    tiny = Case(spec=replace(case.spec, eps=1e-5), inputs=small)
    found = explained(replace(CLEAN, running_var=learns_from_inverse), tiny)
    assert names(found) == ("rv_from_inverse",)
    assert found.causes[0].kind == "algorithm"


def test_an_exception_no_hypothesis_predicts() -> None:
    def broken(spec: Spec, inputs: Inputs) -> Outputs:
        raise RuntimeError("no")

    case = CATALOGUE["ddof1_norm"].example.case(CONVENTIONS)
    found = explain(case, None, CONVENTIONS, run=broken, raised="RuntimeError: no")
    assert found.failing == ("call error: RuntimeError: no",)
    assert not found.causes


def test_stored_verdicts_tell_what_they_can() -> None:
    fault = CATALOGUE["dx_no_gamma"]
    case = fault.example.case(CONVENTIONS)
    verdicts = judge(References(case.inputs).of(case.spec, CONVENTIONS), run(fault.kernel, case.spec, case.inputs))
    found = explain_stored(case, CONVENTIONS, verdicts.verdicts(0))
    assert "dx_no_gamma" in names(found)
    assert "run the backend" in found.note


def test_only_steps_that_do_not_clash_go_together() -> None:
    singles = {one.name: one for one in single_hypotheses(CATALOGUE["onepass"].example.spec(), CONVENTIONS)}
    assert together(singles["eps_outside"], singles["eps_missing"]) is None
    both = together(singles["eps_outside"], singles["dx_sign"])
    assert both is not None
    assert both.replaced == singles["eps_outside"].replaced | singles["dx_sign"].replaced
    assert max(singles.values(), key=lambda one: one.simplicity).simplicity < both.simplicity
    assert not SOUND.replaced
