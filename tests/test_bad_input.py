"""Malformed files and words: a message that names the culprit, status 2, no traceback, bounded memory."""

import json
import os
import resource
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import omdt
from malformed import FILES, WORDS, Bad, archive, good_members, npy_claiming
from strategies import environment

MEMORY = 2 << 30
"""Bytes of address space in which every refusal must fit, with all libraries; models may be as large as memory."""


def assert_refused(status: int, out: str, err: str) -> None:
    """Status 2 and a message for people: no traceback, and no control characters for the terminal."""
    assert (status, out) == (2, ""), err[-2000:]
    assert "Traceback" not in err
    assert err.strip()
    assert all(c.isprintable() or c == "\n" for c in err), repr(err[-500:])
    assert len(err) < 20_000


@pytest.mark.parametrize("kind", FILES)
def test_malformed_files_are_refused_by_name(run, tmp_path, kind):
    bad = FILES[kind]
    for name, content in bad.files.items():
        (tmp_path / name).write_bytes(content)
    path = tmp_path / bad.name
    words = ("export", path, "--to", "text") if bad.name.endswith(".json") else ("info", path, "--json")
    status, out, err = run(*words)
    assert_refused(status, out, err)
    assert any(str(tmp_path / Path(name).stem) in err for name in bad.files)
    assert all(text in err for text in bad.says)
    # Numpy advises to load what it does not understand unsafely.
    assert "pickle" not in err
    assert "safe" not in err


@pytest.mark.parametrize("kind", WORDS)
def test_words_that_make_no_sense_are_refused(run, tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.json").write_text(json.dumps({}), encoding="utf-8")
    before = sorted(tmp_path.iterdir())
    assert_refused(*run(*WORDS[kind]))
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--depth", "-1"),
        ("--leaves", "0"),
        ("--time-limit", "0"),
        ("--gap", "nan"),
        ("--seed", "-1"),
        ("--threads", "0"),
        ("--memory-limit", "0"),
        ("--node-limit", "0"),
        ("--discount", "1.5"),
    ],
)
@pytest.mark.parametrize("problem", ["xor", "model.csv"])
def test_a_limit_is_called_by_the_option_that_sets_it(run, tmp_path, monkeypatch, option, value, problem):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.csv").write_text("x,action,next x,probability\n0,a,0,1\n", encoding="utf-8")
    size = () if option == "--depth" else ("--depth", "1")
    status, _, err = run("solve", problem, *size, option, value)
    assert status == 2
    assert err.startswith(f"omdt: {option} is {value}")


def test_a_limit_of_a_comparison_is_called_by_its_option(run):
    for option in ("--seeds", "--processes", "--leaves"):
        status, _, err = run("compare", "xor", "--depth", "1", option, "0")
        assert status == 2
        assert err.startswith(f"omdt: {option} is 0; ")


def test_a_constant_given_as_a_parameter_is_answered_with_the_right_words(run, tmp_path):
    for name in ("model.prism", "model.jani"):
        status, _, err = run("info", tmp_path / name, "--set", "slip=0.2")
        assert status == 2
        assert "takes no parameter 'slip'" in err
        assert "on the command line --set constants=slip=0.2" in err


def test_the_corpus_is_large():
    distinct = {tuple(bad.files.items()) for bad in FILES.values()} | set(WORDS.values())
    assert len(distinct) >= 300


def test_a_bomb_is_refused_before_it_goes_off(tmp_path):
    """Directory and array claim three gigabytes, which a few bytes cannot hold however they are packed."""
    claim = 3 << 30
    content = npy_claiming(f"({claim // 8},)", content=bytes(1000))
    packed = bytearray(archive(good_members() | {"rewards.npy": content}))
    size = struct.pack("<I", len(content))
    assert packed.count(size) == 2
    for _ in range(2):
        place = packed.index(size)
        packed[place : place + 4] = struct.pack("<I", claim + 1000)
    path = tmp_path / "model.npz"
    path.write_bytes(packed)
    assert_small(path, f"rewards claims {claim:,} bytes, more than there are in the file")


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_of_packing_are_refused(run, tmp_path, compression):
    path = tmp_path / "model.npz"
    path.write_bytes(archive(good_members(), compression))
    status, out, err = run("info", path)
    assert_refused(status, out, err)
    assert "is packed in a way that numpy does not use" in err


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(FILES["npz data claims (10**12,)"], id="npz"),
        pytest.param(FILES["npz rewards claims (2**62, 2**62)"], id="npz of many axes"),
        pytest.param(FILES["tra billions of states"], id="tra"),
        pytest.param(FILES["drn more states"], id="drn"),
        pytest.param(FILES["csv a long line"], id="csv"),
        pytest.param(FILES["solution deep"], id="solution"),
        pytest.param(FILES["solution tree of enormous depth"], id="tree"),
    ],
)
def test_what_claims_much_takes_little_memory(tmp_path, bad: Bad):
    for name, content in bad.files.items():
        (tmp_path / name).write_bytes(content)
    assert_small(tmp_path / bad.name, str(tmp_path))


def assert_small(path: Path, message: str) -> None:
    """The command refuses a file in a process whose memory is limited."""
    words = ("export", path, "--to", "text") if path.suffix == ".json" else ("info", path, "--json")
    done = subprocess.run(
        [sys.executable, "-c", "from omdt.cli import main; main()", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    assert_refused(done.returncode, done.stdout, done.stderr)
    assert message in done.stderr


def test_the_limit_on_memory_lets_good_input_pass(tmp_path):
    path = tmp_path / "model.npz"
    omdt.write(environment("frozenlake_4x4"), path)
    with pytest.raises(AssertionError):
        assert_small(path, "")
