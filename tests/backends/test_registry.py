"""Names lead to adapters, and adapters load without their framework."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bnfuzz.backends import registry
from bnfuzz.errors import UsageError


@pytest.mark.parametrize("name", registry.names())
def test_names_are_the_adapters_own(name):
    backend = registry.get(name)
    assert backend.name == name
    assert backend.conventions.source
    assert backend.device == "cpu"


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(UsageError, match="'tensorflow' is unknown; use one of numpy, jax"):
        registry.get("tensorflow")


def test_one_version_of_several():
    backend = registry.get("mxnet-gluon@1.8.0.post0")
    assert (backend.name, backend.environment) == ("mxnet-gluon@1.8.0.post0", "mxnet@1.8.0.post0")
    assert registry.get("jax-pmean@0.4.35").environment == "jax@0.4.35"
    with pytest.raises(UsageError, match="leave the version out"):
        registry.get("numpy@1.26.4")


def test_numpy_is_always_available():
    assert "numpy" in registry.available()


def test_no_framework_is_imported_by_the_parent():
    script = (
        "import sys\n"
        "from bnfuzz.backends import pool, registry\n"
        "for name in registry.names():\n"
        "    registry.get(name).conventions\n"
        "registry.available()\n"
        "assert not {'jax', 'flax', 'torch', 'mxnet'} & set(sys.modules), sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
