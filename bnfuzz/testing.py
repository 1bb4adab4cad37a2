"""`bnfuzz.check(f)`: one line in a test suite that holds a batch norm against the certified reference.

    def test_my_batch_norm():
        bnfuzz.check(my_batch_norm, framework="jax")

It runs in the process of the tests, draws what campaigns draw, and judges with the same bounds.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

from bnfuzz.backends.function_backend import FRAMEWORKS, FunctionBackend
from bnfuzz.backends.target import guessed_framework
from bnfuzz.case import Case, Mode
from bnfuzz.check_result import CheckResult
from bnfuzz.checking import Asked, Check, CheckFailure
from bnfuzz.contract import Contract
from bnfuzz.conventions import Conventions, FormatTriple
from bnfuzz.corpus import Corpus
from bnfuzz.errors import UsageError
from bnfuzz.formats import FORMATS, FormatName
from bnfuzz.strategies.value_recipes import ValueName

__all__ = ["CheckFailure", "CheckResult", "check"]

Function = Callable[..., Any]

DEFAULT_TRIALS = 1000


def check(
    f: Function,
    *,
    framework: str | None = None,
    backward: Function | None = None,
    conventions: Conventions | dict[str, Any] | None = None,
    formats: Sequence[FormatName] | None = None,
    shapes: Sequence[tuple[int, ...]] | None = None,
    channel_axis: int | None = None,
    modes: Sequence[Mode] | None = None,
    families: Sequence[ValueName] | None = None,
    cases: Iterable[Case | str | Path] = (),
    trials: int = DEFAULT_TRIALS,
    seed: int = 0,
    ulps: float | None = None,
    accept: Sequence[str] = (),
    save: str | Path | None = None,
) -> CheckResult:
    """Judges f on drawn trials; returns what was checked, raises CheckFailure (an AssertionError) where f is wrong.

        f(x, gamma, beta, *, eps, axis) -> y
        f(x, gamma, beta, running_mean, running_var, *, eps, momentum, axis, training) -> (y, mean, var)

    * ``framework``: numpy, jax, torch or mxnet; by default what f's code names, or its file imports.
    * ``backward``: (x, gamma, beta, cotangent, *, eps, axis) -> (dx, dgamma, dbeta); by default ``f.backward``, else
      the function ``backward`` of the module that f is written in, else the framework's gradients are judged (in NumPy
      none).
    * ``conventions``: what f does differently by intention, as fields of `bnfuzz.Conventions`; by default
      ``f.conventions``.
    * ``formats``: of x; by default all that f takes (float32, and float64 where the framework has it switched on).
    * ``shapes``, ``channel_axis``, ``modes``, ``families``: restrict what is drawn.
    * ``cases``: cases or case files to judge first, whatever is drawn afterwards.
    * ``trials``: how many trials are drawn; ``seed`` decides which, so that a check gives the same every time.
    * ``ulps``, ``accept``: a looser contract, printed with the result: errors of so many units in the last place of
      the exact value, and kinds of verdicts (such as "unstable"), pass.
    * ``save``: folder of case files that a failing case is added to.

    Raises UsageError for arguments that do not fit together, and for a function that cannot be called.
    """
    __tracebackhide__ = True
    contract = Contract(ulps=ulps, accept=tuple(accept))
    backend = _backend(f, framework, backward, conventions)
    taken = _formats(backend, formats)
    drawn = _shapes(shapes)
    asked = Asked(
        shapes=drawn, axis=_axis(channel_axis, drawn), modes=_modes(backend, modes), families=tuple(families or ())
    )
    if not isinstance(trials, int) or trials < 1 or seed < 0:
        raise UsageError(f"trials={trials!r} must be at least 1, and seed={seed!r} not negative")
    if isinstance(cases, (str, Path, Case)) or not isinstance(cases, Iterable):
        raise UsageError(f"cases={cases!r} is no list; give a list of cases or of case files")
    folder = None if save is None else Path(save)
    if folder is not None:
        # A failure is not the moment to learn that its case cannot be kept.
        Corpus(folder).check_ready()
    result = CheckResult(
        name=backend.name,
        framework=backend.framework,
        contract=contract,
        formats=taken,
        seed=seed,
        forward_only="dx" not in backend.conventions.outputs,
    )
    hunt = Check(backend, result)
    for case in cases:
        hunt.look(case.spec, case.inputs) if isinstance(case, Case) else hunt.look_at_file(case)
    if not hunt.failing:
        hunt.draw(asked, trials)
    failure = hunt.failure(folder)
    if failure is not None:
        raise failure from None
    if not result.tally.judged:
        raise UsageError(f"nothing of {backend.name} could be judged: {hunt.refusal or 'no trial is left'}")
    return result


def _backend(f: Function, framework: str | None, backward: Function | None, conventions: object) -> FunctionBackend:
    if not callable(f):
        raise UsageError(f"check takes a function, not a {type(f).__name__}")
    written = backward if backward is not None else _backward_beside(f)
    if written is not None and not callable(written):
        raise UsageError(f"backward is of type {type(written).__name__}, not a function")
    name = getattr(f, "__qualname__", type(f).__name__)
    chosen = framework or _framework_of(f)
    backend = FunctionBackend(
        f,
        name=name,
        framework=chosen,
        backward=written,
        conventions=conventions if conventions is not None else getattr(f, "conventions", None),
    )
    try:
        importlib.import_module(chosen)
    except ImportError as error:
        raise UsageError(f"framework {chosen!r} cannot be imported here ({error}); install it beside bnfuzz") from None
    return backend


def _backward_beside(f: Function) -> object:
    """Its attribute, or the function `backward` written in the same module, as `bnfuzz fuzz --target` takes it."""
    scope = getattr(inspect.unwrap(f), "__globals__", {})
    beside = scope.get("backward")
    # One that is imported belongs to something else.
    here = getattr(beside, "__module__", None) == scope.get("__name__")
    return getattr(f, "backward", None) or (beside if here else None)


def _framework_of(f: Function) -> str:
    """The framework that f's own code names, else what its file imports; NumPy where there is neither."""
    function = inspect.unwrap(f)
    scope, code = getattr(function, "__globals__", {}), getattr(function, "__code__", None)
    for name in () if code is None else code.co_names:
        module = scope.get(name)
        top = getattr(module, "__name__", "").partition(".")[0] if inspect.ismodule(module) else ""
        if top in FRAMEWORKS and top != "numpy":
            return top
    try:
        file = inspect.getsourcefile(function)
    except TypeError:
        file = inspect.getsourcefile(type(f))
    return "numpy" if file is None else guessed_framework(Path(file))


def _formats(backend: FunctionBackend, asked: Sequence[FormatName] | None) -> tuple[FormatTriple, ...]:
    """The format triples that are judged. Raises UsageError where the framework cannot have them."""
    offered = backend.conventions.formats
    for name in asked or ():
        if name not in FORMATS:
            raise UsageError(f"formats holds {name!r}, which is no format; use some of {', '.join(FORMATS)}")
        if not any(triple[0] == name for triple in offered):
            stated = ", ".join(sorted({triple[0] for triple in offered}))
            raise UsageError(f"formats holds {name}, and {backend.name} takes {stated}; state more in conventions=")
    wanted = tuple(triple for triple in offered if not asked or triple[0] in asked)
    if backend.framework == "jax" and "float64" in {name for triple in wanted for name in triple} and not _has_x64():
        if asked and "float64" in asked:
            raise UsageError(
                'formats holds float64, which JAX has off; jax.config.update("jax_enable_x64", True) first'
            )
        wanted = tuple(triple for triple in wanted if "float64" not in triple)
    return wanted


def _has_x64() -> bool:
    import jax

    return bool(jax.config.jax_enable_x64)


def _shapes(shapes: Sequence[tuple[int, ...]] | None) -> tuple[tuple[int, ...], ...]:
    if shapes is not None and not isinstance(shapes, Sequence):
        raise UsageError(f"shapes={shapes!r} is no list; give a list of tuples of sizes, such as [(8, 3, 4, 4)]")
    found: list[tuple[int, ...]] = []
    for shape in shapes or ():
        if not isinstance(shape, (tuple, list)) or not shape or any(not isinstance(n, int) or n < 1 for n in shape):
            raise UsageError(f"shapes holds {shape!r}; give tuples of positive sizes, such as (8, 3, 4, 4)")
        found.append(tuple(shape))
    return tuple(found)


def _axis(channel_axis: int | None, shapes: Sequence[tuple[int, ...]]) -> int | None:
    """An axis that every shape asked for has."""
    if channel_axis is None:
        return None
    if not isinstance(channel_axis, int):
        raise UsageError(f"channel_axis={channel_axis!r} is no int; give the place of the channels, such as 1 or -1")
    for shape in shapes:
        if not -len(shape) <= channel_axis < len(shape):
            raise UsageError(f"channel_axis={channel_axis}: shapes holds {shape}, which has no such axis")
    return channel_axis


def _modes(backend: FunctionBackend, modes: Sequence[Mode] | None) -> tuple[Mode, ...]:
    offered = backend.conventions.modes
    for mode in modes or ():
        if mode not in get_args(Mode):
            raise UsageError(f"modes holds {mode!r}; use some of {', '.join(get_args(Mode))}")
        if mode not in offered:
            raise UsageError(f"modes holds {mode}, and {backend.name} has no such mode: it takes no running statistics")
    return tuple(modes or offered)
