"""Backends named `target:FILE.py:FUNCTION`: a function in the user's own file, loaded in a worker.

`@FRAMEWORK` at the end says whose arrays it takes (numpy, jax, mxnet, torch); otherwise it is the first of
those that the file imports besides NumPy, or NumPy.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType

from bnfuzz.backends.base import Backend, Program
from bnfuzz.backends.function_backend import FRAMEWORKS, FunctionBackend, start_framework
from bnfuzz.case import Spec
from bnfuzz.conventions import Conventions
from bnfuzz.errors import InternalError, UsageError

FORM = "target:FILE.py:FUNCTION, perhaps with @FRAMEWORK at the end"


class Target(Backend):
    """Made in the parent from its name alone; `start`, in the worker, loads the file."""

    def __init__(self, name: str) -> None:
        super().__init__()
        file, function, framework = parsed(name)
        self.label = name
        self.path = Path(file)
        if not self.path.is_file():
            raise UsageError(f"{name}: there is no file {self.path.absolute()}; give {FORM}")
        self.framework = framework or guessed_framework(self.path)
        self.packages = () if self.framework == "numpy" else (self.framework,)
        self.isolated = FRAMEWORKS[self.framework]
        self._function = function
        self._loaded: FunctionBackend | None = None

    @property
    def conventions(self) -> Conventions:
        return self._backend().conventions

    def start(self) -> None:
        """Raises UsageError with the user's own traceback where the file or the function cannot be had."""
        # The framework first: the file's folder goes on the path, and must not shadow it.
        start_framework(self.framework)
        module = loaded(self.path)
        function = getattr(module, self._function, None)
        if function is None:
            offered = sorted(name for name, value in vars(module).items() if callable(value) and name[0] != "_")
            raise UsageError(
                f"{self.path} has no {self._function}; it has {', '.join(offered) or 'no functions at all'}"
            )
        if not callable(function):
            raise UsageError(f"{self._function} in {self.path} is of type {type(function).__name__}, not a function")
        backward = getattr(function, "backward", None) or getattr(module, "backward", None)
        if backward is not None and not callable(backward):
            raise UsageError(f"backward in {self.path} is of type {type(backward).__name__}, not a function")
        record = getattr(function, "conventions", getattr(module, "conventions", None))
        self._loaded = FunctionBackend(
            function, name=self.label, framework=self.framework, backward=backward, conventions=record
        )

    def compile(self, spec: Spec) -> Program:
        return self._backend().compile(spec)

    def _backend(self) -> FunctionBackend:
        if self._loaded is None:
            raise InternalError(f"{self.label} is loaded in its worker only; ask the pool for its conventions")
        return self._loaded


def parsed(name: str) -> tuple[str, str, str]:
    """(file, function, framework or "") of a target's name; raises UsageError where it has another form."""
    rest, at, framework = name.removeprefix("target:").rpartition("@")
    if not at or framework not in FRAMEWORKS:
        rest, framework = name.removeprefix("target:"), ""
    file, _, function = rest.rpartition(":")
    if not file or not function.isidentifier():
        raise UsageError(f"{name!r} names no function; give {FORM} (frameworks: {', '.join(FRAMEWORKS)})")
    return file, function, framework


def guessed_framework(path: Path) -> str:
    """The first framework that the file imports at any level, NumPy where it imports none (or cannot be parsed)."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return "numpy"
    for node in ast.walk(tree):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            modules = [node.module or ""]
        for module in modules:
            top = module.partition(".")[0]
            if top in FRAMEWORKS and top != "numpy":
                return top
    return "numpy"


def loaded(path: Path) -> ModuleType:
    """The file as a module, its folder on the path as for a script; raises UsageError with the traceback."""
    spec = importlib.util.spec_from_file_location(f"bnfuzz_target_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is no Python file; give {FORM}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.absolute().parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        told = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise UsageError(f"{path} cannot be imported: {told}\n{traceback.format_exc()}") from error
    return module
