"""The command line prints what it promises where it promises, and ends with the promised status."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import omdt
from conftest import without_progress
from fakes import fake
from omdt import planning, solving
from omdt.environments import PAPER
from omdt.export import EXPORTS, export_tree
from omdt.formats import read_endings
from omdt.methods.registry import METHODS
from omdt.solution import Claim, Stop
from strategies import BAD_MODELS, environment, good_arrays, mdp_from

REFERENCE = {
    name: figures
    for name, figures in json.loads((Path(__file__).parent / "data" / "reference.json").read_text())[
        "environments"
    ].items()
    if name in PAPER
}
SIZED = ("admission", "cart_pole", "maintenance", "mountain_car")
SCRIPT = Path(sys.executable).with_name("omdt")


def script(*arguments: object, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command."""
    clean = {key: value for key, value in os.environ.items() if key not in ("FORCE_COLOR", "GITHUB_ACTIONS")}
    return subprocess.run(
        [SCRIPT, *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env=clean | environ,
    )


@pytest.fixture
def model(tmp_path) -> Path:
    path = tmp_path / "model.npz"
    omdt.write(mdp_from(good_arrays()), path)
    return path


def test_the_script_solves_and_prints_one_json_object():
    done = script("solve", "frozenlake_4x4", "--method", "copy", "--json")
    assert done.returncode == 0
    data = json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    assert data["format"] == "omdt-solution-1"
    assert data["value"] == pytest.approx(REFERENCE["frozenlake_4x4"]["optimal_return"], abs=1e-6)
    assert data["proven"] is True


def test_the_script_writes_plain_text_into_a_pipe():
    done = script("solve", "frozenlake_4x4", "--method", "copy")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout + done.stderr
    assert without_progress(done.stderr) == ""
    assert "proven optimal" in done.stdout


def test_the_script_ends_with_status_2_on_bad_input():
    done = script("solve", "frozenlake_5x5")
    assert (done.returncode, done.stdout) == (2, "")
    assert "frozenlake_5x5" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_the_script_survives_a_narrow_output_encoding(encoding):
    done = subprocess.run(
        [SCRIPT, "solve", "frozenlake_4x4", "--method", "copy"],
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
    )
    assert done.returncode == 0
    assert b"proven optimal" in done.stdout
    assert b"Traceback" not in done.stderr


def test_help_lists_the_commands(run):
    status, out, _ = run("--help")
    assert status == 0
    words = re.findall(r"^│ (\w+) |^╭─ (\w+) ", out, flags=re.M)
    listed = [command or f"{heading}:" for command, heading in words]
    commands = ["solve", "learn", "front", "alternatives", "compare", "export", "report", "check", "reproduce"]
    assert listed == ["Options:", "Problems:", "envs", "info", "Trees:", *commands, "Installation:", "doctor"]


@pytest.mark.parametrize("command", ["envs", "info", "solve", "learn", "compare", "alternatives", "doctor"])
def test_every_command_has_help(run, command):
    status, out, _ = run(command, "--help")
    assert status == 0
    assert "--json" in out


@pytest.mark.parametrize("command", ["info", "solve", "compare", "alternatives"])
def test_help_calls_the_argument_by_its_promised_name(command):
    assert re.search(rf"omdt {command} \[OPTIONS\] {{?PROBLEM", script(command, "--help").stdout)


@pytest.mark.parametrize("command", ["solve", "info", "compare", "alternatives"])
def test_help_names_every_ending_that_is_read(run, command):
    out = run(command, "--help")[1]
    assert all(re.search(rf"{re.escape(ending)}\b", out) for ending in read_endings())


def test_version(run):
    assert run("--version") == (0, f"omdt {omdt.__version__}\n", "")


def test_envs_as_json_equals_the_reference(run):
    status, out, _ = run("envs", "--json")
    rows = {row["problem"]: row for row in json.loads(out)}
    assert status == 0
    assert tuple(rows) == (*PAPER, *SIZED)
    for name in SIZED:
        assert 900 < rows[name]["states"] < 1300
        assert rows[name]["random_return"] < rows[name]["optimal_return"]
    for name in PAPER:
        row, expected = rows[name], REFERENCE[name]
        assert (row["states"], row["actions"], row["features"]) == tuple(
            expected[key] for key in ("n_states", "n_actions", "n_features")
        )
        for key in ("optimal_return", "random_return"):
            assert row[key] == pytest.approx(expected[key], abs=1e-6)


def test_the_table_of_envs_equals_the_reference(run):
    status, out, _ = run("envs")
    assert status == 0
    assert "\x1b" not in out
    lines = {line.split()[0]: line.split() for line in out.splitlines() if line.strip()}
    for name, expected in REFERENCE.items():
        states, actions, features, optimal, random = (float(cell.replace(",", "")) for cell in lines[name][1:])
        assert (states, actions, features) == (expected["n_states"], expected["n_actions"], expected["n_features"])
        assert optimal == pytest.approx(expected["optimal_return"], abs=1.5e-6)
        assert random == pytest.approx(expected["random_return"], abs=1.5e-6)


@pytest.mark.parametrize("columns", [40, 80])
def test_the_table_of_envs_cuts_nothing_on_a_narrow_terminal(run, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("omdt.cli.envs.console", lambda stderr=False: Console(stderr=stderr, width=columns))
    status, out, _ = run("envs")
    assert status == 0
    assert "…" not in out
    table = out.partition("\n\n")[0].splitlines()
    assert [line.split()[0] for line in table] == ["environment", *PAPER, *SIZED]
    assert all(len(line.split()) == 6 and len(line) <= 80 for line in table)


def test_info_tells_sizes_and_returns(run):
    status, out, err = run("info", "frozenlake_4x4")
    assert (status, err) == (0, "")
    assert "\x1b" not in out
    for part in (
        "frozenlake_4x4",
        "16",
        "Left, Down, Right, Up",
        "X, Y",
        "0.542",
        "candidate splits",
        "MiB",
        "What it models",
    ):
        assert part.lower() in out.lower()


def test_info_as_json(run):
    mdp = environment("blackjack")
    status, out, _ = run("info", "blackjack", "--json")
    data = json.loads(out)
    assert status == 0
    assert data["problem"] == "blackjack"
    assert (data["states"], data["actions"], data["features"]) == (*mdp.rewards.shape, mdp.n_features)
    assert data["transitions"] == mdp.transitions.nnz
    assert data["terminal_states"] == int(mdp.terminal.sum())
    assert data["candidate_splits"] == len(omdt.Splits.of(mdp))
    assert data["feature_names"] == list(mdp.feature_names)
    for key in ("optimal_return", "random_return", "worst_return"):
        assert data[key] == pytest.approx(REFERENCE["blackjack"][key], abs=1e-6)


def test_solve_draws_the_tree_with_its_figures(run):
    status, out, err = run("solve", "xor", "--method", "copy")
    solution = omdt.solve(environment("xor"), method="copy")
    assert (status, err) == (0, "")
    assert solution.tree.to_text() in out
    for figure in (solution.value, solution.optimal_return, solution.random_return):
        assert f"{figure:.9g}" in out
    assert "no tree of any size returns more" in out
    assert "proven optimal" in out
    assert f"{solution.tree.n_leaves} leaves" in out


def test_solve_as_json_equals_the_python_solution(run):
    status, out, err = run("solve", "xor", "--method", "copy", "--json", "--gap", "0.01")
    data = json.loads(out)
    expected = omdt.solve(environment("xor"), method="copy", gap=0.01).to_dict()
    assert (status, err) == (0, "")
    for key in ("seconds", "trace"):
        del data[key], expected[key]
    assert data == expected


def test_a_solution_without_proof_ends_with_status_0(run, monkeypatch, model):
    mdp = mdp_from(good_arrays())
    tree = omdt.TreePolicy.leaf(0, mdp.feature_names, mdp.action_names)
    bound = planning.expected_return(mdp, planning.optimal_values(mdp)).upper
    monkeypatch.setitem(METHODS, "fake", fake(lambda _: Claim(tree, bound, Stop.TIME)))
    status, out, _ = run("solve", model, "--method", "fake", "--depth", 3, "--leaves", 5)
    assert status == 0
    assert "not proven" in out
    assert "nothing lower is known for a tree of depth ≤ 3 and at most 5 leaves" in out
    assert json.loads(run("solve", model, "--method", "fake", "--json")[1])["proven"] is False


def test_output_holds_the_same_object(run, tmp_path):
    path = tmp_path / "policy.json"
    status, out, _ = run("solve", "xor", "--method", "copy", "--json", "--output", path)
    assert status == 0
    assert path.read_text(encoding="utf-8") == out
    assert omdt.load(path).problem == "xor"
    assert list(tmp_path.iterdir()) == [path]


def test_output_without_json_still_draws(run, tmp_path):
    path = tmp_path / "policy.json"
    status, out, _ = run("solve", "xor", "--method", "copy", "--output", path)
    assert status == 0
    assert "proven optimal" in out
    assert omdt.load(path).tree.to_text() in out


def test_a_file_is_solved_under_its_own_name(run, model):
    status, out, _ = run("solve", model, "--method", "copy", "--json")
    data = json.loads(out)
    assert status == 0
    assert data["problem"] == str(model)
    assert data["value"] == pytest.approx(omdt.solve(mdp_from(good_arrays()), method="copy").value)


def test_the_discount_can_be_overridden(run, model):
    assert json.loads(run("info", model, "--discount", "0.5", "--json")[1])["discount"] == 0.5
    assert json.loads(run("solve", model, "--method", "copy", "--discount", "0.5", "--json")[1])["discount"] == 0.5


def test_parameters_reach_the_environment(run):
    status, out, _ = run("info", "frozenlake", "--set", "size=6", "--set", "seed=3", "--json")
    assert status == 0
    expected = omdt.make("frozenlake", size=6, seed=3)
    assert json.loads(out)["states"] == expected.n_states
    assert json.loads(out)["transitions"] == expected.transitions.nnz


def test_python_and_the_command_line_give_the_same_tree():
    done = script("solve", "traffic_intersection", "--method", "copy", "--json")
    assert (
        json.loads(done.stdout)["tree"] == omdt.solve(environment("traffic_intersection"), method="copy").tree.to_dict()
    )


REFUSED = {
    "no such environment": (["info", "frozenlake_9x9"], ["frozenlake_9x9", "frozenlake_8x8"]),
    "no such environment at all": (["solve", "zzz"], ["zzz"]),
    "unknown parameter": (["info", "xor", "--set", "colour=red"], ["colour", "xor"]),
    "fixed parameter": (["info", "frozenlake_4x4", "--set", "size=3"], ["size", "frozenlake"]),
    "bad value": (["info", "frozenlake", "--set", "size=many"], ["size", "many", "whole number"]),
    "no value": (["info", "frozenlake", "--set", "size"], ["size", "NAME=VALUE"]),
    "twice the same": (["info", "frozenlake", "--set", "size=4", "--set", "size=5"], ["size", "twice"]),
    "discount too large": (["solve", "xor", "--discount", "1.5"], ["discount", "above 0 and at most 1"]),
    "discount too small": (["info", "xor", "--discount", "0"], ["discount", "above 0 and at most 1"]),
    "discount that is no number": (["info", "xor", "--discount", "nan"], ["discount", "nan"]),
    "discount that is a word": (["info", "xor", "--discount", "high"], ["--discount", "number"]),
    "missing file": (["solve", "missing.npz"], ["missing.npz", "No such file"]),
    "missing file in a folder": (["solve", "some/where"], ["some/where"]),
    "unknown ending": (["solve", "model.xyz"], ["model.xyz", ".npz"]),
    "unknown method": (["solve", "xor", "--method", "magic"], ["magic", "copy"]),
    "depth with copy": (["solve", "xor", "--depth", "2", "--method", "copy"], ["copy", "size limit"]),
    "leaves with copy": (["solve", "xor", "--leaves", "2", "--method", "copy"], ["copy", "size limit"]),
    "negative depth": (["solve", "xor", "--depth", "-1"], ["depth", "-1"]),
    "depth that is a word": (["solve", "xor", "--depth", "deep"], ["--depth", "integer"]),
    "no leaves": (["solve", "xor", "--leaves", "0"], ["0", "at least 1"]),
    "negative gap": (["solve", "xor", "--gap", "-1"], ["gap", "-1"]),
    "gap that is no number": (["solve", "xor", "--gap", "nan"], ["gap", "nan"]),
    "unknown command": (["solves", "xor"], ["solves"]),
    "unknown option": (["solve", "xor", "--colour"], ["--colour"]),
    "no problem": (["solve"], ["Missing argument"]),
    "endless name": (["info", "n" * 300], ["n" * 40]),
    "empty name": (["info", ""], [""]),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_bad_input_ends_with_status_2_and_a_message(run, tmp_path, monkeypatch, kind):
    arguments, fragments = REFUSED[kind]
    monkeypatch.chdir(tmp_path)
    output = ["--output", "policy.json", "--json"] if arguments[0] == "solve" else []
    status, out, err = run(*arguments, *output)
    assert (status, out) == (2, "")
    assert "Traceback" not in err
    assert err.strip()
    for fragment in fragments:
        assert fragment in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", BAD_MODELS)
@pytest.mark.parametrize("command", ["info", "solve"])
def test_bad_models_end_with_status_2_and_their_message(run, tmp_path, command, kind):
    changes, fragments = BAD_MODELS[kind]
    path = tmp_path / "model.npz"
    np.savez(path, **good_arrays() | changes)
    status, out, err = run(command, path, "--json")
    assert (status, out) == (2, "")
    for fragment in (str(path), *fragments):
        assert fragment in err


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04 cut"])
def test_files_that_are_no_models_end_with_status_2(run, tmp_path, content):
    path = tmp_path / "model.npz"
    path.write_bytes(content)
    status, out, err = run("solve", path, "--method", "copy")
    assert (status, out) == (2, "")
    assert str(path) in err


def test_parameters_of_a_file_are_refused(run, model):
    status, out, err = run("info", model, "--set", "size=3")
    assert (status, out) == (2, "")
    assert "'size'" in err
    assert str(model) in err


@pytest.mark.parametrize("place", ["nowhere/policy.json", "."])
def test_output_that_cannot_be_written_is_refused_before_the_work(run, tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(solving, "solve", lambda *_, **__: pytest.fail("the work was started"))
    status, out, err = run("solve", "xor", "--method", "copy", "--output", place)
    assert (status, out) == (2, "")
    assert "cannot write" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("certificate", ["both", "./both", "link"])
def test_one_file_for_solution_and_certificate_is_refused_before_the_work(run, tmp_path, monkeypatch, certificate):
    monkeypatch.chdir(tmp_path)
    Path("both").write_text("old")
    Path("link").symlink_to("both")
    status, out, err = run("solve", "xor", "--depth", 1, "--output", "both", "--certificate", certificate)
    assert (status, out) == (2, "")
    assert err == "omdt: --output and --certificate are both both; name two files\n"
    assert Path("both").read_text() == "old"


def test_a_write_that_fails_leaves_the_old_file_and_status_1_and_shows_the_tree(run, tmp_path, monkeypatch):
    path = tmp_path / "policy.json"
    path.write_text("old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    status, out, err = run("solve", "xor", "--method", "copy", "--output", path)
    assert status == 1
    assert "No space left" in err
    assert "proven optimal" in out
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_false_claim_ends_with_status_1(tmp_path):
    code = (
        f"import sys; sys.path.append({str(Path(__file__).parent)!r})\n"
        "from fakes import register; from omdt import cli, TreePolicy; from omdt.solution import Claim, Stop\n"
        "leaf = lambda mdp: TreePolicy.leaf(0, mdp.feature_names, mdp.action_names)\n"
        "register(lambda task: Claim(leaf(task.mdp), -1e9, Stop.COMPLETE))\n"
        "sys.argv = ['omdt', 'solve', 'xor', '--method', 'fake', '--json', '--output', 'policy.json']\n"
        "cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no tree returns more than" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_ends_with_status_130(run, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(solving, "solve", interrupt)
    status, out, _ = run("solve", "xor", "--method", "copy")
    assert (status, out) == (130, "")


def test_a_reader_that_leaves_early_is_no_crash():
    with subprocess.Popen([SCRIPT, "info", "xor"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        errors = process.stderr.read()
        process.wait()
    assert b"Traceback" not in errors


ODD_NAMES = ["[red]x[/red]", "[/bold]", "[[x", "back\\slash\\", ":smile:", "a\x1b[31mb", "two\nlines", "ünïcödé"]


@pytest.mark.parametrize("name", ODD_NAMES)
@pytest.mark.parametrize("command", ["info", "solve"])
def test_odd_names_appear_literally(run, tmp_path, command, name):
    arrays = good_arrays() | {"feature_names": np.array([name, "y"]), "action_names": np.array([name + "!", "go"])}
    path = tmp_path / "model.npz"
    omdt.write(mdp_from(arrays), path)
    status, out, err = run(command, path, *(["--method", "copy"] if command == "solve" else []))
    assert status == 0, err
    assert "\x1b" not in out
    shown = name.replace("\x1b", r"\x1b").replace("\n", r"\n")
    assert shown in out
    assert f"{shown}!" in out


@pytest.mark.parametrize("name", ["[red]x[/red]", "[/red]", "[x", ":smile:", "with space"])
@pytest.mark.parametrize("command", ["info", "solve"])
def test_odd_file_names_appear_literally(run, tmp_path, monkeypatch, command, name):
    monkeypatch.chdir(tmp_path)
    path = Path(name.replace("/", "_") + ".npz") if command == "info" else Path(name + ".npz")
    path.parent.mkdir(exist_ok=True)
    omdt.write(mdp_from(good_arrays()), path)
    status, out, err = run(command, path, *(["--method", "copy"] if command == "solve" else []))
    assert status == 0, err
    assert str(path) in out


def test_long_names_are_not_folded_in_a_pipe(run, tmp_path):
    name = "n" * 500
    arrays = good_arrays() | {"feature_names": np.array([name, "y"]), "action_names": np.array(["a" * 500, "go"])}
    path = tmp_path / "model.npz"
    omdt.write(mdp_from(arrays), path)
    for command in ("info", "solve"):
        _, out, _ = run(command, path, *(["--method", "copy"] if command == "solve" else []))
        assert name in out
        assert "a" * 500 in out


def test_numbers_in_text_and_json_agree(run):
    out = run("info", "tiger_vs_antelope")[1]
    data = json.loads(run("info", "tiger_vs_antelope", "--json")[1])
    for key in ("optimal_return", "random_return", "worst_return"):
        (shown,) = re.findall(rf"{key.replace('_', ' ')}\s+(\S+)", out)
        assert float(shown) == pytest.approx(data[key], rel=1e-8)


def test_solve_searches_by_default(run):
    status, out, err = run("solve", "frozenlake_4x4", "--depth", 2)
    assert status == 0, err
    assert "proven optimal" in out
    assert "no tree of depth ≤ 2 returns more" in out
    data = json.loads(run("solve", "frozenlake_4x4", "--leaves", 3, "--json")[1])
    assert data["method"] == "search"
    assert data["max_leaf_nodes"] == 3
    assert data["proven"]


@pytest.mark.needs("highspy")
def test_milp_and_search_agree_from_the_command_line(run):
    by_milp = json.loads(run("solve", "frozenlake_4x4", "--depth", 2, "--method", "milp", "--json")[1])
    by_search = json.loads(run("solve", "frozenlake_4x4", "--depth", 2, "--json")[1])
    assert by_milp["proven"]
    assert by_milp["value"] == pytest.approx(by_search["value"], rel=1e-4)


def test_a_backend_belongs_to_milp(run):
    status, out, err = run("solve", "xor", "--depth", 1, "--backend", "scip")
    assert (status, out) == (2, "")
    known = "it has --scheduler and --certificate"
    assert err == f"omdt: the method search has no option --backend, which is one of milp; {known}\n"


QUICK_COMPARISON = ("--depth", "1", "--seeds", "2", "--processes", "1", "--time-limit", "5")


@pytest.mark.needs("sklearn")
def test_compare_prints_a_row_for_every_method(run, tmp_path):
    status, out, err = run("compare", "frozenlake_4x4", *QUICK_COMPARISON, "--output", tmp_path / "table.csv")
    assert (status, err) == (0, "")
    assert "\x1b" not in out
    title, table, meanings = out.split("\n\n")
    assert title == "frozenlake_4x4  trees of depth ≤ 1"
    lines = {line.split()[0]: line for line in table.splitlines()}
    for row in omdt.compare(environment("frozenlake_4x4"), max_depth=1, seeds=2).rows:
        assert f"{row.value:.{3 if row.method == 'viper' else 6}g}" in lines[row.method]
        assert ("±" in lines[row.method]) == (row.method == "viper")
        assert f"\n{row.method} " in f"\n{meanings}"
    assert (tmp_path / "table.csv").read_text().count("\n") == len(lines)


@pytest.mark.needs("sklearn")
def test_compare_prints_json_or_csv_and_nothing_else(run):
    status, out, err = run("compare", "frozenlake_4x4", *QUICK_COMPARISON, "--json")
    assert (status, err) == (0, "")
    methods = [row["method"] for row in json.loads(out)["rows"]]
    status, out, err = run("compare", "frozenlake_4x4", *QUICK_COMPARISON, "--csv")
    assert (status, err) == (0, "")
    assert [line.split(",")[1] for line in out.splitlines()] == ["method", *methods]


@pytest.mark.needs("sklearn")
@pytest.mark.parametrize(
    ("arguments", "message"), [((), "size limit"), (("--json", "--csv"), "exclude"), (("--output", "."), "directory")]
)
def test_compare_refuses_what_does_not_fit(run, model, arguments, message):
    status, out, err = run("compare", model, *arguments)
    assert (status, out) == (2, "")
    assert message in err


def test_ties_belong_to_copy(run):
    status, out, _ = run("solve", "frozenlake_4x4", "--method", "copy", "--ties", "any")
    assert status == 0
    assert "7 decision nodes" in out
    status, _, err = run("solve", "frozenlake_4x4", "--depth", "1", "--ties", "any")
    assert status == 2
    assert (
        err
        == "omdt: the method search has no option --ties, which is one of copy; it has --scheduler and --certificate\n"
    )
    status, _, err = run("solve", "frozenlake_4x4", "--method", "copy", "--ties", "some")
    assert status == 2
    assert err.startswith("omdt: --ties is 'some'; it must be lowest or any")


MODELS = Path(__file__).parent / "data" / "models"


@pytest.mark.parametrize(
    ("problem", "arguments"),
    [
        ("robot.drn", ["--set", "reward=steps"]),
        ("robot.tra", ["--set", "cost=energy"]),
        ("machine.csv", []),
        ("machine-log.csv", []),
        pytest.param(
            "robot.prism", ["--set", "cost=energy", "--set", "constants=dry=0.75"], marks=pytest.mark.needs("stormpy")
        ),
    ],
)
def test_every_kind_of_file_is_solved_in_one_line(run, problem, arguments):
    status, out, _ = run("solve", MODELS / problem, *arguments, "--depth", 2, "--json")
    data = json.loads(out)
    assert status == 0
    assert data["problem"] == str(MODELS / problem)
    assert data["discount"] == 0.99
    assert data["proven"] is True


@pytest.mark.needs("gymnasium")
def test_a_gymnasium_environment_is_solved_in_one_line(run):
    status, out, err = run("solve", "gym:CliffWalking-v1", "--depth", 3, "--discount", 0.9, "--json")
    assert (status, err) == (0, "")
    assert json.loads(out)["value"] == pytest.approx(-(1 - 0.9**13) / 0.1)


@pytest.mark.needs("gymnasium")
def test_parameters_of_a_gymnasium_environment_are_passed_on(run):
    arguments = ("--discount", 0.9, "--set", "is_slippery=false", "--set", "map_name=8x8", "--json")
    status, out, _ = run("info", "gym:FrozenLake-v1", *arguments)
    assert status == 0
    assert json.loads(out)["optimal_return"] == pytest.approx(0.9**13)


def test_what_is_assumed_about_a_file_is_said_on_standard_error(run):
    status, out, err = run("info", MODELS / "robot.drn", "--set", "reward=steps", "--json")
    assert status == 0
    assert json.loads(out)["problem"] == str(MODELS / "robot.drn")
    assert [line.startswith("omdt: ") for line in err.splitlines()] == [True, True, True]
    assert "0.99 is assumed, and discount (on the command line --discount) sets another" in err
    assert "some but not all" in err
    _, _, err = run("info", MODELS / "machine.csv", "--discount", 0.9)
    assert "0.99" not in err
    assert "the first available one of run, repair is played" in err


@pytest.mark.parametrize(
    ("problem", "settings", "fragment"),
    [
        ("robot.drn", ["reward=time"], "not 'time'"),
        ("robot.drn", ["rewards=steps"], "no parameter 'rewards'; it takes reward, cost"),
        ("robot.drn", ["reward=steps", "reward=energy"], "set twice"),
        ("robot.drn", ["discount=0.5"], "--discount"),
        ("robot.drn", ["fallback=east"], "--fallback"),
        ("robot.drn", ["reward"], "NAME=VALUE"),
        ("machine.csv", ["reward=steps"], "no parameter 'reward'; it takes none"),
        ("missing.tra", [], "no such file"),
        ("missing.csv", [], "No such file"),
        ("missing.xyz", [], "its name must end in"),
    ],
)
def test_bad_files_and_parameters_end_with_status_2(run, problem, settings, fragment):
    options = [part for setting in settings for part in ("--set", setting)]
    status, out, err = run("info", MODELS / problem, *options)
    assert (status, out) == (2, "")
    assert fragment in err
    assert err.count("\n") == 1


@pytest.fixture
def policy(tmp_path) -> Path:
    path = tmp_path / "policy.json"
    omdt.solve(environment("frozenlake_4x4"), max_depth=2).save(path)
    return path


def test_export_writes_text_to_standard_output_or_into_a_file(run, policy, tmp_path):
    tree = omdt.load(policy).tree
    assert run("export", policy, "--to", "text") == (0, tree.to_text() + "\n", "")
    assert run("export", policy, "--to", "c", "--output", tmp_path / "policy.c") == (0, "", "")
    assert (tmp_path / "policy.c").read_text(encoding="utf-8") == export_tree(tree, "c")


@pytest.mark.needs("matplotlib")
@pytest.mark.needs("onnx")
def test_every_export_can_be_written(run, policy, tmp_path):
    for to in EXPORTS:
        status, out, err = run("export", policy, "--to", to, "--output", tmp_path / "out")
        assert (status, out, err) == (0, "", ""), to
        exported = export_tree(omdt.load(policy).tree, to)
        assert (tmp_path / "out").read_bytes() == (exported if isinstance(exported, bytes) else exported.encode())


def test_exported_text_is_utf_8_whatever_the_terminal_speaks(policy):
    done = subprocess.run(
        [SCRIPT, "export", policy, "--to", "text"],
        capture_output=True,
        check=True,
        env=os.environ | {"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"},
    )
    assert done.stdout.decode("utf-8") == omdt.load(policy).tree.to_text() + "\n"


@pytest.mark.needs("matplotlib")
def test_binary_exports_go_into_pipes_but_not_onto_terminals(policy):
    done = subprocess.run([SCRIPT, "export", policy, "--to", "png"], capture_output=True, check=True)
    assert done.stdout.startswith(b"\x89PNG")
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [SCRIPT, "export", policy, "--to", "png"], stdout=theirs, stderr=subprocess.PIPE, text=True, check=False
        )
    finally:
        os.close(theirs)
        os.close(ours)
    assert done.returncode == 2
    assert "--output" in done.stderr


def test_export_refuses_what_it_cannot_do(run, policy, tmp_path, model):
    status, out, err = run("export", policy, "--to", "cobol")
    assert (status, out) == (2, "")
    for to in EXPORTS:
        assert to in err
    for solution in (tmp_path / "missing.json", model):
        status, out, err = run("export", solution, "--to", "text")
        assert (status, out) == (2, "")
        assert str(solution) in err
    assert run("export", policy)[0] == 2
    status, out, err = run("export", policy, "--to", "text", "--output", tmp_path / "no" / "folder")
    assert (status, out) == (2, "")
    assert "no directory" in err


def test_help_of_export_names_every_format(run):
    out = run("export", "--help")[1]
    assert all(re.search(rf"\b{to}\b", out) for to in EXPORTS)


@pytest.mark.needs("jinja2")
def test_report_writes_a_page_beside_the_solution(run, policy, tmp_path):
    page = policy.with_suffix(".html")
    assert run("report", policy) == (0, f"{page}\n", "")
    text = page.read_text(encoding="utf-8")
    assert "Proven optimal" in text
    assert f"omdt solve frozenlake_4x4 --depth 2 --method search --discount 0.99 --seed 0 --output {policy}" in text
    assert f"omdt report {policy}\n" in text.replace("</code>", "\n")
    other = tmp_path / "other.html"
    assert run("report", policy, "--output", other, "--discount", 0.99) == (0, f"{other}\n", "")


@pytest.mark.needs("jinja2")
def test_report_finds_the_problem_that_was_solved(run, model, tmp_path):
    solution = tmp_path / "policy.json"
    assert run("solve", model, "--depth", 1, "--discount", 0.8, "--output", solution)[0] == 0
    for arguments in ((), (model,)):
        assert run("report", solution, *arguments) == (0, f"{solution.with_suffix('.html')}\n", "")
    assert f"--discount 0.8 --seed 0 --output {solution}" in solution.with_suffix(".html").read_text(encoding="utf-8")
    assert run("solve", "frozenlake", "--set", "size=5", "--depth", 1, "--output", solution)[0] == 0
    status, out, err = run("report", solution, "--set", "size=6")
    assert (status, out) == (2, "")
    assert "not the problem that was solved" in err
    assert "--set" in err
    assert run("report", solution)[0] == 0
    assert run("report", solution, "--set", "size=5")[0] == 0
    assert "--set size=5 --depth 1" in solution.with_suffix(".html").read_text(encoding="utf-8")


@pytest.mark.needs("jinja2")
def test_report_refuses_what_does_not_fit(run, policy, tmp_path, model):
    for arguments, message in (
        ((policy, "xor"), "those of xor are"),
        ((policy, "--discount", 0.5), "discount"),
        ((policy, "--output", tmp_path / "no" / "page.html"), "no directory"),
        ((tmp_path / "missing.json",), "missing.json"),
        ((model,), str(model)),
    ):
        status, out, err = run("report", *arguments)
        assert (status, out) == (2, "")
        assert message in err
    assert not list(tmp_path.glob("*.html"))
    page = policy.rename(tmp_path / "policy.html")
    status, out, err = run("report", page)
    assert (status, out) == (2, "")
    assert "--output" in err
    assert omdt.load(page).problem == "frozenlake_4x4"
