"""`bnfuzz corpus`, command by command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner, Result

from bnfuzz.case import Case, Inputs, batch_norm_spec
from bnfuzz.casefile import dumps, from_finding, read
from bnfuzz.cli.corpus import corpus
from bnfuzz.corpus import Corpus
from bnfuzz.corpus.known import read as read_known
from bnfuzz.errors import UsageError
from bnfuzz.finding import Finding
from bnfuzz.judge.verdict import Verdict

SIGNATURE = "v1/flax/batch_norm/training/y/wrong/float32-float32-float32/offset"


def finding(first: float = 10000.195, severity: float = 1e5) -> Finding:
    spec = batch_norm_spec((2, 1), has_gamma=False, has_beta=False, has_running=False, cotangent="sum")
    verdict = Verdict(output="y", kind="wrong", severity=severity, index=(0, 0), exact=2.99984, observed=290.9)
    return Finding(
        case=Case(spec=spec, inputs=Inputs(x=np.array([[[first], [9999.581]]], dtype=np.float32))),
        backend="flax",
        verdicts=(verdict,),
        signature=SIGNATURE,
        environment={"python": "CPython 3.11"},
        origin="seed 7",
        cause="one-pass variance",
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Corpus(tmp_path / "corpus").add_finding(finding())
    return tmp_path / "corpus"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(corpus, [str(argument) for argument in arguments])


def output(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


def refusal(*arguments: object) -> str:
    result = run(*arguments)
    assert isinstance(result.exception, UsageError)
    return str(result.exception)


def test_list(folder: Path) -> None:
    (folder / "bad.json").write_text("{")
    text = output("list", "--corpus", folder)
    assert "open      1e+05  2x1           flax: y wrong  found/flax-y-wrong-" in text
    assert "bad.json: at line 1 column 2" in text
    assert text.endswith("1 of 1 case, 1 unreadable file\n")
    assert output("list", "--corpus", folder, "--state", "fixed").endswith("0 of 1 case, 1 unreadable file\n")
    assert output("list", "--corpus", folder, "--backend", "jax").endswith("0 of 1 case, 1 unreadable file\n")
    for option, value, count in (
        ("--kind", "wrong", 1),
        ("--kind", "crash", 0),
        ("--signature", SIGNATURE, 1),
        ("--signature", "v1/flax/*/offset", 1),
        ("--signature", "v1/jax/*", 0),
    ):
        assert f"{count} of 1 case" in output("list", "--corpus", folder, option, value)
    assert "is no folder; name the corpus with --corpus" in refusal("list", "--corpus", folder / "no")


def test_list_for_other_programs(folder: Path) -> None:
    (entry,) = Corpus(folder).entries
    (told,) = json.loads(output("list", "--corpus", folder, "--json"))
    assert (told["id"], told["state"], told["severity"], told["shape"]) == (entry.file.id, "open", 1e5, [2, 1])
    assert folder / told["file"] == entry.path
    assert told["expectations"] == [
        {
            "backend": "flax",
            "versions": "",
            "expect": {"y": "wrong"},
            "signature": SIGNATURE,
            "explanation": "one-pass variance",
        }
    ]
    assert json.loads(output("list", "--corpus", folder, "--json", "--state", "seed")) == []


def test_show_by_path_name_and_id(folder: Path) -> None:
    (entry,) = Corpus(folder).entries
    texts = [output("show", "--corpus", folder, name) for name in (entry.path, entry.path.name, entry.file.id[:6])]
    assert texts[0] == texts[1] == texts[2]
    for part in (
        "open: it shows a known fault",
        "statistics over axis 0 (2 values each), no gamma, no beta",
        "10000.195",
        "expected of flax: y wrong",
        SIGNATURE,
        "cause: one-pass variance",
        "flax y wrong: at [0, 0] exact 2.99984, observed 290.9, 1e+05 times the bound",
        "python = CPython 3.11",
    ):
        assert part in texts[0]
    assert "is no file and no case of" in refusal("show", "--corpus", folder, "0000000")


def test_check(folder: Path) -> None:
    assert output("check", "--corpus", folder) == "1 case and 0 entries of known.toml are readable, 0 remarks\n"
    for name in ("a.json", "b.json"):
        (folder / name).write_text("[]")
    result = run("check", "--corpus", folder)
    assert result.exit_code == 2
    assert "a.json: at $: [] is no case file" in result.output
    assert "b.json: at $: [] is no case file" in result.output
    (folder / "known.toml").write_text("[[finding]]\n")
    assert "known.toml: finding 1: field signature is missing" in refusal("check", "--corpus", folder)


def test_check_remarks_on_what_is_odd(folder: Path) -> None:
    (entry,) = Corpus(folder).entries
    text = entry.path.read_text()
    entry.path.with_name("flax-y-wrong.json").write_text(text)
    other = entry.path.with_name("old.json")
    other.write_text(text.replace('"schema": 2', '"schema": 1').replace('      "cause": "one-pass variance",\n', ""))
    other.rename(folder / "old.json")
    seed = replace(from_finding(finding(3.0)), state="seed")
    (folder / "seed.json").write_text(dumps(seed))
    bare = replace(from_finding(finding(4.0)), expectations=())
    (folder / "bare.json").write_text(dumps(bare))
    (folder / "known.toml").write_text(
        '[[finding]]\nsignature = "v1/flax/*"\nreason = "r"\n'
        '[[finding]]\nsignature = "v1/flax/batch_norm/*"\nreason = "r"\n'
        '[[finding]]\nsignature = "v1/jax/*"\nreason = "r"\n'
    )
    told = output("check", "--corpus", folder)
    remarks = [line for line in told.splitlines() if line.startswith("remark: ")]
    for part in (
        "flax-y-wrong.json: the name does not end in the id of its case",
        "flax-y-wrong.json: holds the same case as ",
        "old.json: is of an older structure; `bnfuzz corpus migrate` rewrites it",
        "old.json: holds the same case as ",
        'seed.json: is a seed, but records a failure; set "state" to "open"',
        "bare.json: is open, but records no failure",
        "finding 2 (v1/flax/batch_norm/*) is covered by an earlier one",
        "finding 3 (v1/jax/*) matches no stored case",
    ):
        assert sum(part in remark for remark in remarks) == 1, (part, told)
    assert len(remarks) == 8
    assert run("check", "--corpus", folder, "--strict").exit_code == 1


def test_accept_and_ignore(folder: Path) -> None:
    (entry,) = Corpus(folder).entries
    options = ["--corpus", folder, "--reason", "one pass", "--versions", "<0.13", "--link", "https://example.org/1"]
    output("accept", *options, entry.file.id)
    output("ignore", "--corpus", folder, "--reason", "old", "v1/torch/*")
    first, second = read_known(folder / "known.toml")
    assert (first.signature, first.versions, first.status) == (SIGNATURE, "<0.13", "accepted")
    assert (second.signature, second.status) == ("v1/torch/*", "ignored")
    assert "says the same already" in refusal("accept", *options, SIGNATURE)
    assert "versions='new' is no version range" in refusal("accept", "--reason", "x", "--versions", "new", SIGNATURE)


def test_unaccept(folder: Path) -> None:
    (entry,) = Corpus(folder).entries
    known = folder / "known.toml"
    known.write_text("# Ours.\n\n# Flax's.\n")
    output("accept", "--corpus", folder, "--reason", "pattern", "v1/flax/*")
    output("accept", "--corpus", folder, "--reason", "case", "--backend", "flax", entry.file.id)
    assert [found.backend for found in read_known(known)] == ["*", "flax"]
    assert "no longer accepted " + SIGNATURE in output("unaccept", "--corpus", folder, entry.file.id)
    assert [found.signature for found in read_known(known)] == ["v1/flax/*"]
    assert "it is covered by v1/flax/*, which may be taken out" in refusal("unaccept", "--corpus", folder, SIGNATURE)
    output("unaccept", "--corpus", folder, "v1/flax/*")
    assert read_known(known) == ()
    assert known.read_text().startswith("# Ours.\n")
    assert "does not list v1/flax/*; nothing covers it" in refusal("unaccept", "--corpus", folder, "v1/flax/*")


def test_a_case_of_several_backends_is_accepted_for_one(folder: Path) -> None:
    other = SIGNATURE.replace("flax", "jax")
    Corpus(folder).add_finding(replace(finding(), backend="jax", signature=other))
    (entry,) = Corpus(folder).entries
    options = ("--corpus", folder, "--reason", "r", entry.file.id)
    assert f"holds 2 signatures; give the one that is meant: {SIGNATURE}, {other}" in refusal("accept", *options)
    output("accept", "--backend", "jax", *options)
    assert [found.signature for found in read_known(folder / "known.toml")] == [other]


def test_merge_with_what_is_known(folder: Path, tmp_path: Path) -> None:
    output("accept", "--corpus", folder, "--reason", "one pass", SIGNATURE)
    target = tmp_path / "other"
    output("merge", folder, target)
    assert read_known(target / "known.toml") == ()
    assert f"accepted {SIGNATURE}" in output("merge", "--known", folder, target)
    assert read_known(target / "known.toml") == read_known(folder / "known.toml")
    assert "accepted" not in output("merge", "--known", folder, target)


def test_merge(folder: Path, tmp_path: Path) -> None:
    (folder / "bad.json").write_text("[]")
    target = tmp_path / "other" / "corpus"
    assert "1 added, 0 extended, 0 unchanged, 1 unreadable file left out" in output("merge", folder, target)
    assert "0 added, 0 extended, 1 unchanged" in output("merge", folder, target)
    Corpus(folder).add_finding(replace(finding(), backend="jax"))
    assert "0 added, 1 extended, 0 unchanged" in output("merge", folder, target)
    assert len(Corpus(target).entries) == 1


def test_prune_only_names_them_without_yes(folder: Path) -> None:
    for severity in (1e6, 10.0):
        Corpus(folder).add_finding(finding(10000.0 + severity, severity))
    assert output("prune", "--corpus", folder).endswith("1 of 3 cases; --yes removes them\n")
    assert len(Corpus(folder).entries) == 3
    assert output("prune", "--corpus", folder, "--yes").endswith("1 of 3 cases\n")
    assert len(Corpus(folder).entries) == 2
    assert output("prune", "--corpus", folder) == "0 of 2 cases\n"


def test_migrate_restores_layout_and_id(folder: Path) -> None:
    (entry,) = Corpus(folder).entries
    text = entry.path.read_text()
    by_hand = "\n".join(line.strip() for line in text.splitlines() if '"id"' not in line)
    entry.path.write_text(by_hand)
    assert output("migrate", "--corpus", folder).endswith("1 file rewritten, 0 unreadable\n")
    assert entry.path.read_text() == text
    (folder / "bad.json").write_text("[]")
    result = run("migrate", "--corpus", folder)
    assert result.exit_code == 2
    assert (folder / "bad.json").read_text() == "[]"


def test_add_from_arrays(tmp_path: Path) -> None:
    x = np.array([[1.0, 2.0], [3.0, -0.0]]).astype(ml_dtypes.bfloat16)
    np.savez(tmp_path / "a.npz", x=x, gamma=np.ones(2, ">f4"), cotangent=x)
    options = ["--corpus", tmp_path / "corpus", "--eps", "1e-3", "--title", "two rows", "--name", "mine"]
    path = Path(output("add", *options, tmp_path / "a.npz").strip())
    file = read(path)
    assert (path.parent.name, path.name) == ("reports", f"mine-{file.id[:8]}.json")
    assert file.case.spec.formats == ("bfloat16", "float32", "bfloat16")
    assert (file.case.spec.eps, file.case.spec.momentum, file.case.spec.has_beta) == (1e-3, None, False)
    assert file.case.inputs.x[0].tolist() == x.tolist()
    assert (file.state, file.origin.title) == ("seed", "two rows")
    assert "leaves the corpus" in refusal("add", *options, "--folder", "../out", tmp_path / "a.npz")


def test_add_from_a_python_file(tmp_path: Path) -> None:
    options = ("--corpus", tmp_path / "corpus", "--eps", "1e-3", "--channel-axis", "0")
    (tmp_path / "arrays.py").write_text(
        "import numpy as np\nx = np.float32([[1, 2], [3, 5]])\ngamma = None\nbeta = np.zeros(2)\n"
    )
    spec = read(output("add", *options, tmp_path / "arrays.py").strip()).case.spec
    assert (spec.formats, spec.eps, spec.has_gamma, spec.has_beta) == (
        ("float32", "float64", "float32"),
        1e-3,
        False,
        True,
    )
    assert spec.reduced_axes == (1,)
    (tmp_path / "whole.py").write_text(
        "import numpy as np\nfrom bnfuzz.case import Case, Inputs, batch_norm_spec\n"
        "spec = batch_norm_spec((2, 1), has_gamma=False, has_beta=False, has_running=False, cotangent='sum')\n"
        "case = Case(spec=spec, inputs=Inputs(x=np.float32([[[1], [2]]])))\n"
    )
    path = output("add", "--corpus", tmp_path / "corpus", "--title", "whole", tmp_path / "whole.py").strip()
    assert read(path).origin.title == "whole"
    assert "holds a whole case, which says that; leave it out" in refusal("add", *options, tmp_path / "whole.py")
    (tmp_path / "empty.py").write_text("y = 1\n")
    assert "has neither x nor case, a bnfuzz.Case" in refusal("add", *options, tmp_path / "empty.py")
    (tmp_path / "raises.py").write_text("raise ValueError('no')\n")
    assert "cannot be imported: ValueError: no" in refusal("add", *options, tmp_path / "raises.py")


def test_add_from_a_case_file_keeps_all_that_it_says(folder: Path, tmp_path: Path) -> None:
    (entry,) = Corpus(folder).entries
    path = Path(output("add", "--corpus", tmp_path / "new", entry.path).strip())
    assert path.read_text() == entry.path.read_text()
    assert path.parent == tmp_path / "new" / "reports"
    assert "--eps: " in refusal("add", "--corpus", tmp_path / "new", "--eps", "1", entry.path)
    (tmp_path / "bad.json").write_text("{")
    assert "at line 1 column 2" in refusal("add", "--corpus", tmp_path / "new", tmp_path / "bad.json")


def test_arrays_that_are_no_case(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(b"hello")
    assert "is no readable .npz file" in refusal("add", path)
    np.savez(path, x=np.array([object()]))
    assert "is no readable .npz file" in refusal("add", path)
    np.savez(path, y=np.zeros(2))
    assert "holds 'y'; name the arrays x, gamma" in refusal("add", path)
    np.savez(path, gamma=np.zeros(2))
    assert "holds no x" in refusal("add", path)
    np.savez(path, x=np.zeros((2, 2), int))
    assert "format 'int64' is unknown" in refusal("add", path)
    np.savez(path, x=np.zeros((2, 2)), gamma=np.zeros(3))
    assert "gamma has shape (1, 3); it must be (1, 2)" in refusal("add", path)


def test_a_finding_without_signature_cannot_be_accepted_by_case(tmp_path: Path) -> None:
    path = Corpus(tmp_path).add(replace(from_finding(finding()), expectations=()))
    assert "holds 0 signatures; give the one that is meant" in refusal("accept", "--reason", "x", path)
