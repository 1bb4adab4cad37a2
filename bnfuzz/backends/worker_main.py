"""What a worker's interpreter runs: registers the package from its folder, then serves.

`python worker_main.py FD PARENT_PID`. Another environment's interpreter finds nothing of the parent's
site-packages: the package `bnfuzz` is loaded by an import spec, no folder is put on the path.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path


def register_package() -> None:
    folder = Path(__file__).resolve().parent.parent
    spec = importlib.util.spec_from_file_location(
        "bnfuzz", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"no package can be loaded from {folder}")
    package = importlib.util.module_from_spec(spec)
    sys.modules["bnfuzz"] = package
    spec.loader.exec_module(package)


if __name__ == "__main__":
    register_package()
    from bnfuzz.backends.worker import main

    main(int(sys.argv[1]), int(sys.argv[2]))
