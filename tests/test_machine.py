"""The description of the machine: what is in it, and what is not."""

from __future__ import annotations

import getpass
import os
import platform
import re
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bnfuzz
from bnfuzz import machine

# Sets the control register of the floating-point unit, as a library built with fast-math does when it is loaded.
FLUSHING = """
import ctypes, mmap
from bnfuzz.machine import flush_to_zero
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("897c24fc0fae5424fcc3"))  # mov [rsp-4], edi; ldmxcsr [rsp-4]; ret
load = ctypes.CFUNCTYPE(None, ctypes.c_uint)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
for register in (0x1F80, 0x9F80, 0x1FC0, 0x9FC0):
    load(register)
    seen = flush_to_zero()
    load(0x1F80)
    print(seen)
"""


def test_what_is_described() -> None:
    found = machine.describe({"flax": "0.12.8", "jax@0.4.35": "0.4.35"})
    assert list(found) == sorted(found)
    assert all(isinstance(value, str) and value for value in found.values())
    assert found["package.numpy"] == np.__version__
    assert found["package.bnfuzz"] == bnfuzz.__version__
    assert found["python"].endswith(platform.python_version())
    assert found["backend.jax@0.4.35"] == "0.4.35"
    assert found["flush_to_zero"] == "off"
    assert re.fullmatch(r"\d+ of \d+", found["threads"])


def test_it_names_no_machine_no_person_and_no_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=/home/me/dump --xla_cpu_enable_fast_math=true")
    monkeypatch.setenv("HOME_OF_SECRETS", "not asked for")
    found = machine.describe()
    assert found["flag.XLA_FLAGS"] == "--xla_dump_to=<path> --xla_cpu_enable_fast_math=true"
    text = " ".join([*found, *found.values()]).split()
    assert socket.gethostname() not in text
    assert getpass.getuser() not in text
    assert not any(os.sep in word and word != "<path>" for word in text)
    assert "asked" not in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("--a=1 --b=off", "--a=1 --b=off"),
        ("--a=/x/y,--b=~/z", "--a=<path>,--b=<path>"),
        (r"C:\Users\me;1", "<path>;1"),
        ("../up ./here", "<path> <path>"),
    ],
)
def test_without_paths(text: str, expected: str) -> None:
    assert machine.without_paths(text) == expected


def test_features_of_both_families() -> None:
    assert machine.cpu_features({"flags": "fpu avx2 fma vme avx"}) == "avx avx2 fma"
    assert machine.cpu_features({"Features": "fp asimd bf16"}) == "asimd bf16"
    assert machine.cpu_features({}) == ""


def test_a_system_without_the_usual_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    read_text = Path.read_text

    def elsewhere(path: Path, *arguments: str, **options: str) -> str:
        if path.parts[:2] == ("/", "proc"):
            raise FileNotFoundError
        return read_text(path, *arguments, **options)

    monkeypatch.setattr(Path, "read_text", elsewhere)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(platform, "processor", lambda: "")
    found = machine.describe()
    assert "cpu" not in found
    assert "cpu_features" not in found
    assert found["threads"] == f"{os.cpu_count()} of {os.cpu_count()}"


@pytest.mark.skipif(platform.machine() != "x86_64" or sys.platform != "linux", reason="sets an x86-64 register")
def test_flush_to_zero_is_seen_when_it_is_on() -> None:
    environment = os.environ | {"PYTHONPATH": str(Path(bnfuzz.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", FLUSHING], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.splitlines() == ["off", "results", "inputs", "results and inputs"]
