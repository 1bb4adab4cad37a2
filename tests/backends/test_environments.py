"""Isolated environments: found by their marker, made once, and plain words when they cannot be made."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from bnfuzz.backends import doctor, environments, registry
from bnfuzz.cli.backends import backends
from bnfuzz.errors import InfrastructureError, UsageError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(environments.OVERRIDE, str(tmp_path / "made"))
    return tmp_path / "made"


@pytest.fixture
def fake_commands(monkeypatch):
    """Stands in for venv and pip: makes the folder, and counts."""
    commands: list[list[str]] = []

    def run(command: list[str], name: str) -> None:
        commands.append(command)
        if "venv" in command:
            Path(command[-1]).mkdir(parents=True)

    monkeypatch.setattr(environments, "_run", run)
    return commands


def test_main_is_the_running_interpreter():
    main = environments.locate("main")
    assert (main.python, main.isolated) == (Path(sys.executable), False)


def test_an_absent_one_names_the_remedy(folder):
    with pytest.raises(InfrastructureError, match="bnfuzz backends install mxnet"):
        environments.locate("mxnet")
    assert "install mxnet" in (environments.absence(registry.get("mxnet")) or "")


def test_unknown_names_list_the_known_ones(folder):
    for name in ("tensorflow", "tensorflow@2", "jax", "main"):
        with pytest.raises(UsageError, match="mxnet, torch"):
            environments.install(name)


def test_install_makes_it_once(folder, fake_commands):
    lines: list[str] = []
    made = environments.install("mxnet", lines.append)
    assert made.python == folder / "mxnet" / "bin" / "python"
    assert made.isolated
    assert str(folder) in lines[0]
    assert any("mxnet==1.9.1" in command for command in fake_commands)
    count = len(fake_commands)
    assert environments.install("mxnet", lines.append) == made == environments.locate("mxnet")
    assert len(fake_commands) == count


def test_another_version_stands_beside_it(folder, fake_commands):
    environments.install("mxnet@1.8.0.post0")
    assert "mxnet==1.8.0.post0" in fake_commands[-1]
    assert environments.locate("mxnet@1.8.0.post0").python.is_relative_to(folder / "mxnet@1.8.0.post0")


def test_one_without_a_marker_or_from_another_list_is_made_again(folder, fake_commands):
    (folder / "mxnet").mkdir(parents=True)
    (folder / "mxnet" / "half").touch()
    environments.install("mxnet")
    assert not (folder / "mxnet" / "half").exists()
    marker = folder / "mxnet" / environments.MARKER
    marker.write_text(json.dumps({"requirements": ["mxnet==0.1"]}), encoding="utf-8")
    with pytest.raises(InfrastructureError):
        environments.locate("mxnet")
    environments.install("mxnet")
    assert environments.locate("mxnet").isolated


def test_two_at_once_make_it_once(folder, fake_commands):
    threads = [threading.Thread(target=environments.install, args=("mxnet",)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum("venv" in command for command in fake_commands) == 1


def test_a_failure_quotes_the_last_lines(folder, monkeypatch):
    noise = "import sys; print('gathering'); sys.exit('no matching distribution')"
    original = environments._run
    monkeypatch.setattr(environments, "_run", lambda command, name: original([sys.executable, "-c", noise], name))
    with pytest.raises(InfrastructureError, match="exit code 1; its last lines:\ngathering\nno matching distribution"):
        environments.install("mxnet")
    assert not (folder / "mxnet" / environments.MARKER).exists()


def test_a_folder_that_cannot_be_made(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv(environments.OVERRIDE, str(tmp_path / "file" / "below"))
    with pytest.raises(InfrastructureError, match=environments.OVERRIDE):
        environments.install("mxnet")


def test_the_doctor_tells_ready_from_absent(folder):
    ready, absent = doctor.describe(("numpy", "mxnet"))
    assert (ready.state, ready.environment, ready.reason) == ("ready", "main", "")
    assert ready.version
    assert (absent.state, absent.version) == ("absent", "")
    assert "bnfuzz backends install mxnet" in absent.reason


def test_the_command_prints_a_table_and_the_reasons(folder):
    result = CliRunner().invoke(backends)
    assert result.exit_code == 0
    for name in registry.names():
        assert f"\n{name} " in result.output
    assert "install it with: bnfuzz backends install mxnet" in result.output
    assert str(folder) in result.output


def test_the_command_installs(folder, fake_commands):
    result = CliRunner().invoke(backends, ["install", "mxnet"])
    assert result.exit_code == 0
    assert "mxnet is installed" in result.output
