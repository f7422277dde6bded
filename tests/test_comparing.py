"""A comparison shows what every method reaches by itself, in any number of processes."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import omdt
from omdt import InputError, cli, compare, errors, planning
from omdt.comparing import MEANING, Comparison
from omdt.comparing.all_methods import _summary
from omdt.comparing.jobs import Job, one_by_one
from omdt.errors import LostWorkerError, MissingExtraError
from omdt.solution import Stop
from omdt.watch import Watch
from strategies import environment
from worker_processes import workers_of

pytestmark = pytest.mark.needs("sklearn")

ROWS = [name for name in MEANING if name != "milp"]
"""The rows without milp, which takes part on request only."""


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compare(environment("frozenlake_4x4"), max_depth=2, seeds=3, time_limit=5)


def without_times(comparison: Comparison) -> list:
    return [replace(row, seconds=0.0) for row in comparison.rows]


def test_every_method_has_its_row_in_order(comparison):
    assert [row.method for row in comparison.rows] == ROWS
    assert (comparison.problem, comparison.max_depth, comparison.max_leaf_nodes) == ("frozenlake_4x4", 2, None)
    assert not comparison.interrupted


def test_the_references_are_what_planning_says(comparison):
    mdp = environment("frozenlake_4x4")
    optimal = planning.expected_return(mdp, planning.optimal_values(mdp)).value
    random = planning.expected_return(mdp, planning.policy_values(mdp, planning.random_policy(mdp))).value
    assert (comparison["optimal"].value, comparison["random"].value) == (optimal, random)
    assert (comparison["optimal"].normalized_return, comparison["random"].normalized_return) == (1.0, 0.0)
    for name in ("optimal", "random"):
        row = comparison[name]
        assert (row.bound, row.proven, row.decision_nodes, row.value_error) == (None, None, None, None)


@pytest.mark.parametrize("method", ["search", "iddt"])
def test_a_row_is_what_solve_gives(comparison, method):
    solution = omdt.solve(environment("frozenlake_4x4"), max_depth=2, method=method)
    row = comparison[method]
    assert (row.value, row.bound, row.proven) == (solution.value, solution.shown_bound, solution.proven)
    assert (row.runs, row.value_error, row.decision_nodes) == (1, None, solution.tree.n_decision_nodes)


def test_viper_is_the_mean_over_its_seeds(comparison):
    runs = [omdt.solve(environment("frozenlake_4x4"), max_depth=2, method="viper", seed=seed) for seed in range(3)]
    row = comparison["viper"]
    values = np.array([solution.value for solution in runs])
    assert row.runs == 3
    assert row.value == pytest.approx(values.mean())
    assert row.value_error == pytest.approx(np.sqrt(((values - values.mean()) ** 2).sum() / 2 / 3))
    assert row.decision_nodes == pytest.approx(np.mean([solution.tree.n_decision_nodes for solution in runs]))


def test_a_spread_shows_as_standard_error():
    solution = omdt.solve(environment("frozenlake_4x4"), method="copy")
    row = _summary("viper", [replace(solution, value=solution.value * factor) for factor in (0.5, 0.75, 1.0)])
    assert row.value == pytest.approx(0.75 * solution.value)
    assert row.value_error == pytest.approx(0.25 * solution.value / np.sqrt(3))
    assert row.normalized_error == pytest.approx(row.value_error / (solution.optimal_return - solution.random_return))


def test_the_comparison_tells_the_story_of_the_paper(comparison):
    assert comparison["search"].value > comparison["viper"].value > comparison["random"].value
    for copying in ("copy", "copy-any"):
        assert comparison[copying].normalized_return == pytest.approx(1.0)
        assert comparison[copying].proven
    assert comparison["copy-any"].decision_nodes < comparison["copy"].decision_nodes
    assert comparison["search"].proven


def test_json_and_csv_hold_the_same_figures(comparison, tmp_path):
    data = json.loads(comparison.to_json())
    assert data["format"] == "omdt-comparison-1"
    lines = list(csv.DictReader(io.StringIO(comparison.to_csv())))
    assert [line["method"] for line in lines] == [row["method"] for row in data["rows"]] == ROWS
    for line, row, original in zip(lines, data["rows"], comparison.rows, strict=True):
        assert line["problem"] == "frozenlake_4x4"
        assert float(line["value"]) == row["value"] == original.value
        assert (line["bound"] == "") == (row["bound"] is None) == (original.bound is None)
    comparison.save(tmp_path / "table.csv")
    comparison.save(tmp_path / "table.json")
    assert (tmp_path / "table.csv").read_text() == comparison.to_csv()
    assert (tmp_path / "table.json").read_text() == comparison.to_json()


def test_odd_names_survive_csv(comparison):
    odd = replace(comparison, problem='a,"b"\nc')
    assert {line["problem"] for line in csv.DictReader(io.StringIO(odd.to_csv()))} == {'a,"b"\nc'}


def test_processes_do_not_change_the_figures():
    mdp, heard = environment("frozenlake_4x4"), []
    limits = {"max_leaf_nodes": 2, "seeds": 2, "time_limit": 300}
    alone = compare(mdp, **limits, progress=lambda *point: heard.append(point))
    together = compare(mdp, **limits, processes=2)
    assert without_times(alone) == without_times(together)
    assert [point[0] for point in heard] == list(range(1, 7))
    assert {point[1] for point in heard} == {6}
    assert {point[2] for point in heard} == set(ROWS) - {"random", "optimal"}


def test_after_an_interrupt_no_further_run_starts():
    watch = Watch()
    watch.interrupt()
    jobs = [Job("copy", "copy"), Job("copy-any", "copy", options={"ties": "any"})]
    assert [job.row for job, _ in one_by_one(environment("xor"), jobs, watch)] == ["copy"]


INTERRUPTED = """
import omdt
comparison = omdt.compare(
    omdt.make("frozenlake_12x12"), max_depth=4, seeds=1, time_limit=300, processes=2,
    progress=lambda done, total, last: print(done, last, flush=True),
)
print(comparison.interrupted, *(row.method for row in comparison.rows))
"""


def test_ctrl_c_shows_what_there_is():
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Where the tests run in the background, the program would inherit that interrupts are ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "1 iddt\n"
        # To the parent alone, as from another program: its processes must hear of it through the parent.
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    interrupted, *methods = out.splitlines()[-1].split()
    assert interrupted == "True"
    assert {"random", "iddt", "search", "optimal"} <= set(methods)


WHILE_STARTING = """
import os, signal, threading, time
import omdt
from worker_processes import workers_of

def interrupt():
    while not workers_of(os.getpid()):
        time.sleep(0.001)
    os.killpg(0, signal.SIGINT)

mdp = omdt.make("frozenlake_12x12")
threading.Thread(target=interrupt, daemon=True).start()
comparison = omdt.compare(mdp, max_depth=4, time_limit=300, processes=2)
print(comparison.interrupted, *(row.method for row in comparison.rows))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is that of Linux")
def test_ctrl_c_while_processes_start_is_answered():
    # A group of its own, for a terminal's Ctrl-C goes to a whole group.
    with subprocess.Popen(
        [sys.executable, "-c", WHILE_STARTING],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    ) as process:
        try:
            # Long before the time limit of the comparison.
            out, err = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    assert (process.returncode, err) == (0, "")
    # A worker that was ready already returns what it has.
    interrupted, *methods = out.split()
    assert interrupted == "True"
    assert {"random", "optimal"} <= set(methods)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is that of Linux")
def test_a_killed_process_ends_the_comparison_with_a_message():
    def kill_one(*_):
        os.kill(workers_of(os.getpid())[0], signal.SIGKILL)

    with pytest.raises(LostWorkerError, match=r"a process was lost \(exit status -9\); was there enough memory\?"):
        compare(environment("frozenlake_12x12"), max_depth=4, time_limit=300, processes=2, progress=kill_one)
    assert workers_of(os.getpid()) == []


def test_the_command_ends_with_status_130_after_an_interrupt(monkeypatch, capsys):
    solution = omdt.solve(environment("xor"), method="copy")
    monkeypatch.setattr(Job, "run", lambda self, mdp: replace(solution, stop=Stop.INTERRUPTED))
    monkeypatch.setattr(sys, "argv", ["omdt", "compare", "xor", "--depth", "1", "--processes", "1"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 130
    assert "search" in capsys.readouterr().out


def test_a_lost_process_is_told_with_status_1(monkeypatch, capsys):
    def lose(self, mdp):
        raise LostWorkerError("a process was lost")

    monkeypatch.setattr(Job, "run", lose)
    monkeypatch.setattr(sys, "argv", ["omdt", "compare", "xor", "--depth", "1", "--processes", "1"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 1
    assert "omdt: a process was lost\n" in capsys.readouterr().err


def test_an_interrupted_run_marks_the_comparison(monkeypatch):
    solution = omdt.solve(environment("xor"), method="copy")
    monkeypatch.setattr(Job, "run", lambda self, mdp: replace(solution, stop=Stop.INTERRUPTED))
    comparison = compare(environment("xor"), max_depth=1)
    assert comparison.interrupted
    assert [row.method for row in comparison.rows] == ["random", "search", "optimal"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "needs a size limit"),
        ({"max_depth": -1}, "max_depth is -1"),
        ({"max_depth": 1, "seeds": 0}, "seeds is 0"),
        ({"max_depth": 1, "processes": 0}, "processes is 0"),
        ({"max_depth": 1, "time_limit": 0}, "time_limit is 0"),
    ],
)
def test_calls_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        compare(environment("xor"), **arguments)


def test_a_missing_scikit_learn_is_named_before_the_work(monkeypatch):
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"comparison with VIPER needs sklearn.*omdt\[sklearn\]"):
        compare(environment("xor"), max_depth=1)


def test_a_row_that_is_not_there_is_a_key_error(comparison):
    with pytest.raises(KeyError, match="milp"):
        comparison["milp"]
