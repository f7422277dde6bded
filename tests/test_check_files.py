"""What the checker reads: certificates, solutions and models that are not what they should be, and its commands."""

import ast
import gzip
import hashlib
import inspect
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import omdt
from certificates import lines, packed, read
from omdt import check, cli
from omdt.certificate import model_of
from omdt.errors import InputError
from omdt.mdp import MDP


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A directory with the solution, the certificate and the model of a small problem."""
    mdp = omdt.make("frozenlake_4x4")
    omdt.solve(mdp, max_depth=1, certificate=tmp_path / "c").save(tmp_path / "s.json")
    omdt.write(mdp, tmp_path / "m.npz")
    return tmp_path


def begun(whole: bytes) -> bytes:
    """The first line of a certificate."""
    return gzip.decompress(whole).partition(b"\n")[0] + b"\n"


HEAD = [check.FORMAT, {}]
BAD_CERTIFICATES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda whole: b"",
    "no gzip": lambda whole: b"hello",
    "cut off": lambda whole: whole[: len(whole) // 2],
    "without its end": lambda whole: packed(gzip.decompress(whole).rsplit(b"\n", 2)[0] + b"\n"),
    "more after its end": lambda whole: packed(gzip.decompress(whole) + b"[]\n"),
    "another format": lambda whole: packed(lines(["omdt-certificate-0", {}])),
    "no list": lambda whole: packed(lines({"a": 1})),
    "no JSON": lambda whole: packed(b"hello\n"),
    "deep JSON": lambda whole: packed(b"[" * 100_000 + b"\n"),
    "no text": lambda whole: packed(b'["\xff\xff"]\n'),
    "an endless line": lambda whole: packed(b" " * (check.MAX_LINE + 1)),
    "a huge number": lambda whole: packed(lines(HEAD)[:-1] + b"\n[" + b"9" * 10_000 + b"]\n"),
    "a huge number in a record": lambda whole: packed(begun(whole) + b'["region",' + b"9" * 10_000 + b",0,0,0]\n"),
    "a record of nothing": lambda whole: packed(begun(whole) + b"[]\n"),
}


@pytest.mark.parametrize("case", BAD_CERTIFICATES)
def test_bad_certificates_are_bad_input(case: str, files: Path) -> None:
    path = files / "c"
    path.write_bytes(BAD_CERTIFICATES[case](path.read_bytes()))
    mdp, solution = omdt.make("frozenlake_4x4"), json.loads((files / "s.json").read_text())
    with pytest.raises((check.UnreadableError, check.RejectedError)):
        check.check(model_of(mdp), solution, path)


@pytest.mark.parametrize(
    "record",
    [
        ["unknown", 0],
        ["follow", 0],
        ["branch", 0],
        ["branch", 0, 0, [], 10**9],
        ["branch", 0, 0, [], -1],
        ["branch", "0", 0, [], 0],
        ["branch", 0, True, [], 0],
        ["branch", 0, [], [], 0],
        ["branch", 0, 0, [["action", 0, 0]], 0],
        ["branch", 0, 0, 5, 0],
        ["region", 0, 10**30, 0, 0],
        ["region", 0, 0, 2, 0],
        ["loss", 0, [[0, 99]], 1.0, 1.0, 0],
        ["conflict", 0, [[0, 0]], 0],
        ["claim", 0, 0, 10**9, 10**9, [], 0],
        ["claim", 0, 0, -1, 1, [], 0],
        ["close", 0, 0, [], 0],
        ["close", 0, 0, ["c", 0], 0],
        ["close", 0, 0, ["options"], 0],
        ["close", 0, 0, ["value"], 0],
        ["close", 0, 10**9, ["s", [], [-1]], 0],
        ["close", {}, 0, ["s", [], [-1]], 0],
        ["close", 0, None, ["options"], 0],
        ["close", 0, 0, "options", 0],
        ["close", 0, 0, ["b", 0], 0],
        ["close", 0.0, 0, ["s", [], [-1]], 0],
        ["context", 7, 0],
        ["symmetry", 0],
        ["without", 0, 99, 0],
    ],
    ids=str,
)
def test_records_that_make_no_sense(record: list[Any], files: Path) -> None:
    path = files / "c"
    head = read(path)[0][0]
    content = lines(head, record)
    digest = hashlib.sha256(content).hexdigest()
    path.write_bytes(packed(content + lines(["end", digest])))
    mdp, solution = omdt.make("frozenlake_4x4"), json.loads((files / "s.json").read_text())
    with pytest.raises((check.UnreadableError, check.RejectedError)):
        check.check(model_of(mdp), solution, path)


def test_every_kind_of_record_and_step_is_followed() -> None:
    """The tables name what the checker can follow, and nothing else."""
    problem = check.Problem(model_of(omdt.make("frozenlake_4x4")))
    checker = check.Checker(problem, check.Size(1, 2), 1.0)
    for kind, entries in check.RECORD.items():
        names = list(inspect.signature(getattr(checker, f"_{kind}")).parameters)
        assert len(names) == 1 + len(entries), kind
    assert set(check.STEP) == {"b", "s", "h", "x", "c", "options", "value"}


@pytest.mark.parametrize(
    ("value", "shape", "fitting"),
    [
        (1, int, True),
        (True, int, False),
        (1.0, int, False),
        (float("nan"), int | float, False),
        (1e251, int | float, False),
        (10**300, int, False),
        (None, int | None, True),
        ([], [int], True),
        ([1, 2], [int], True),
        ([1, "2"], [int], False),
        ([1, 2], (int, int), True),
        ([1], (int, int), False),
        ("xy", (str, str), False),
        ("xy", [str], False),
        (["s", [], [-1]], check.STEP, True),
        (["s", []], check.STEP, False),
        ([], check.STEP, False),
        ([["s"]], check.STEP, False),
        ("x", check.STEP, False),
    ],
    ids=str,
)
def test_shapes_of_records(value: Any, shape: Any, fitting: bool) -> None:
    problem = check.Problem(model_of(omdt.make("frozenlake_4x4")))
    checker = check.Checker(problem, check.Size(1, 2), 1.0)
    if fitting:
        checker._parsed(value, shape)
        return
    with pytest.raises(check.UnreadableError):
        checker._parsed(value, shape)


def test_the_command_line(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    run = CliRunner().invoke
    words = ["check", "s.json", "frozenlake_4x4"]
    assert "was not checked" in run(cli.app, words).output
    for more in ([], ["--exact"]):
        accepted = run(cli.app, [*words, "--certificate", "c", *more])
        assert accepted.exit_code == 0
        assert accepted.output.startswith("VERIFIED")
    solution = json.loads(Path("s.json").read_text())
    Path("false.json").write_text(json.dumps(solution | {"bound": solution["value"] / 2}))
    rejected = run(cli.app, ["check", "false.json", "frozenlake_4x4", "--certificate", "c"])
    assert rejected.exit_code == 1
    assert rejected.output.startswith("NOT VERIFIED")
    unreadable = run(cli.app, [*words, "--certificate", "m.npz"])
    assert isinstance(unreadable.exception, InputError)
    assert isinstance(run(cli.app, ["check", "m.npz", "frozenlake_4x4"]).exception, InputError)
    assert isinstance(run(cli.app, ["check", "nothing.json", "frozenlake_4x4"]).exception, InputError)
    solved = run(cli.app, ["solve", "xor", "--depth", "1", "--method", "milp", "--certificate", "d"])
    assert isinstance(solved.exception, InputError)


def test_the_discount_of_the_solution_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    words = ["solve", "frozenlake_4x4", "--depth", "1", "--discount", "0.9", "--output", "s", "--certificate", "c"]
    assert run(cli.app, words).exit_code == 0
    verified = run(cli.app, ["check", "s", "frozenlake_4x4", "--certificate", "c"])
    assert verified.exit_code == 0
    assert "the discount is 0.9, as in the solution, not 0.99" in verified.output


@pytest.mark.parametrize("content", ["{}", "[]", '{"format": "omdt-front-1"}'])
def test_files_that_are_no_solutions_are_refused_in_the_same_words(tmp_path: Path, run, content) -> None:
    path = tmp_path / "z.json"
    path.write_text(content)
    checked, exported = run("check", path), run("export", path, "--to", "text")
    assert checked == exported
    assert checked[0] == 2
    assert "its format is not 'omdt-solution-1'" in checked[2]


TABLE = "x,action,next x,probability,reward\n0,go,1,1,1\n1,go,0,1,0\n"


@pytest.mark.parametrize(
    ("discount", "told"),
    [("0.5", ["omdt: the discount is 0.5, as in the solution"]), ("0.99", [])],
)
def test_the_discount_of_a_table_is_told_once(tmp_path: Path, monkeypatch, run, discount, told) -> None:
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_text(TABLE)
    assert run("solve", "table.csv", "--depth", 1, "--discount", discount, "--output", "s")[0] == 0
    status, out, err = run("check", "s", "table.csv")
    assert (status, err.splitlines()) == (0, told)
    assert out


ALONE = """
import runpy, sys
sys.path.insert(0, ".")
sys.modules["omdt"] = None
runpy.run_module("alone", run_name="__main__", alter_sys=True)
"""


def test_the_checker_needs_numpy_alone(files: Path) -> None:
    """It runs from a directory of its own, where nothing of the package can be imported."""
    sources = Path(check.__file__).parent
    imported = [
        node
        for source in sources.glob("*.py")
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    names = {name.split(".")[0] for node in imported for name in modules(node)}
    assert names - sys.stdlib_module_names == {"numpy"}
    shutil.copytree(sources, files / "alone")
    for solution, status in (("s.json", 0), ("false.json", 1), ("m.npz", 2)):
        content = json.loads((files / "s.json").read_text())
        (files / "false.json").write_text(json.dumps(content | {"value": content["value"] + 1}))
        command = [sys.executable, "-P", "-c", ALONE, solution, "m.npz", "--certificate", "c"]
        done = subprocess.run(command, cwd=files, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr


def modules(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom):
        # What begins with a dot is another file of the checker.
        yield from [] if node.level == 1 else [node.module or ""]
    else:
        yield from (alias.name for alias in node.names)


def test_bad_models_are_bad_input(files: Path) -> None:
    with np.load(files / "m.npz") as archive:
        arrays = {name: archive[name] for name in archive.files}
    for name, array in (
        ("data", arrays["data"] * 0.9),
        ("indices", arrays["indices"] + 5),
        ("indptr", arrays["indptr"][:-1]),
        ("rewards", arrays["rewards"][0]),
        ("initial", arrays["initial"] * 2),
        ("discount", np.float64(2)),
        ("action_names", np.array(["a"])),
        ("action_names", arrays["action_names"][None]),
        ("feature_names", np.array("X")),
        ("indptr", np.array(0)),
        ("discount", np.array([0.9, 0.9])),
        ("features", np.full_like(arrays["features"], np.nan)),
    ):
        np.savez(files / "bad.npz", **(arrays | {name: array}))
        with pytest.raises(check.UnreadableError):
            check.read_model(files / "bad.npz")
    (files / "bad.npz").write_bytes(b"hello")
    with pytest.raises(check.UnreadableError):
        check.read_model(files / "bad.npz")


MASK = np.array([[1, 1], [0, 1], [1, 0]], dtype=bool)


def limited(**changes: Any) -> MDP:
    """Both actions lead from state 0 to state 1 and from there back; state 2 is out of reach."""
    P = np.zeros((3, 2, 3))
    P[0, :, 1] = P[1, :, 0] = P[2, :, 2] = 1
    return MDP.from_dense(P, [[1, 0], [0, 2], [0, 0]], [1, 0, 0], np.arange(3.0), **({"available": MASK} | changes))


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        ({"available": MASK.T}, "its shape is"),
        ({"available": MASK.ravel()}, "its shape is"),
        ({"available": MASK * 2}, "truth values"),
        ({"available": MASK * 0.5}, "truth values"),
        ({"available": MASK.astype(str)}, "truth values"),
        ({"available": MASK & False}, "a state has no available action"),
        ({"fallback": np.array("fly")}, "the fallback 'fly' is not an action"),
    ],
)
def test_what_is_available_must_fit_the_model(tmp_path: Path, change: dict[str, Any], fragment: str) -> None:
    path = tmp_path / "m.npz"
    omdt.write(limited(fallback="action_1"), path)
    with np.load(path) as archive:
        arrays = dict(archive)
    np.testing.assert_array_equal(check.read_model(path).available, MASK)
    np.savez(path, **(arrays | {"available": MASK.astype(np.int8)}))
    np.testing.assert_array_equal(check.read_model(path).available, MASK)
    np.savez(path, **(arrays | change))
    with pytest.raises(check.UnreadableError, match=fragment):
        check.read_model(path)
    omdt.write(limited(available=()), path)
    with pytest.raises(check.UnreadableError, match="the fallback 'fly' is not an action"):
        check.read_model(path, "fly")


def test_a_forbidden_name_is_rejected(tmp_path: Path, run: Any) -> None:
    mdp, model, path = limited(), tmp_path / "m.npz", tmp_path / "s.json"
    omdt.write(mdp, model)
    solution = omdt.solve(mdp, max_depth=1, unavailable="forbid").to_dict()
    path.write_text(json.dumps(solution))
    status, out, err = run("check", path, model)
    assert status == 0
    assert "2 of 3 states offer some but not all of the 2 actions" in err
    assert "VERIFIED, and the tree names no unavailable action; the bound was not checked" in out
    # State 2 does not offer the second action, but nothing leads there.
    for leaf, allowed in (("action_1", True), ("action_0", False)):
        tree = omdt.TreePolicy.leaf(mdp.action_names.index(leaf), mdp.feature_names, mdp.action_names)
        false = solution | {"tree": tree.to_dict(), "value": omdt.evaluate(mdp, tree)}
        path.write_text(json.dumps(false))
        status, out, _ = run("check", path, model)
        assert status == (0 if allowed else 1)
        assert check.check(check.read_model(model), false | {"unavailable": "fallback"}, None).forbid is False
        for plain in (model_of(mdp), check.read_model(model)):
            if allowed:
                assert check.check(plain, false, None).forbid
                continue
            with pytest.raises(check.RejectedError, match="in state 1 the tree names 'action_0', which is not avail"):
                check.check(plain, false, None)
    with pytest.raises(check.UnreadableError, match="'ignore', not fallback or forbid"):
        check.check(model_of(mdp), solution | {"unavailable": "ignore"}, None)


def test_words_say_that_unavailable_names_are_forbidden() -> None:
    verdict = check.Verdict(1.0, 1.0, 1, forbid=True)
    assert "VERIFIED: the tree names no unavailable action and returns 1, and no tree" in check.words(verdict)
