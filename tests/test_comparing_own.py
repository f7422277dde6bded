"""A comparison shows policies of the user's own, and milp on request, in a table of 80 columns and as a chart."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import omdt
from data_frames import use_pandas
from omdt import planning
from omdt.comparing import MEANING, Comparison, Row
from omdt.comparing.own import own_runs
from omdt.printing import text_of
from omdt.printing.comparisons import WIDTH, show_comparison
from omdt.task import Size, Task
from strategies import environment, refusal

pytestmark = pytest.mark.needs("sklearn")


class Model:
    """A model as those of Stable-Baselines3 are."""

    def __init__(self, actions: object) -> None:
        self._actions = actions

    def predict(self, observations: object) -> tuple[object, None]:
        return self._actions, None


def rows_of(extra: dict, seeds: int = 2, name: str = "frozenlake_4x4") -> list:
    task = Task.over_thresholds(environment(name), Size(2, None))
    return list(own_runs(task, extra, seeds))


def test_every_form_of_a_policy_has_its_value():
    mdp = environment("frozenlake_4x4")
    solution = omdt.solve(mdp, max_depth=2)
    actions = solution.tree.actions(mdp.features)
    names = [mdp.action_names[a] for a in actions]
    extra = {
        "tree": solution.tree,
        "solution": solution,
        "indices": actions,
        "names": names,
        "probabilities": np.eye(mdp.n_actions)[actions],
        "model": Model(actions),
        "function": lambda problem: omdt.solve(problem, max_depth=2).tree,
    }
    runs = rows_of(extra)
    assert [run.name for run in runs] == list(extra)
    for run in runs:
        assert run.value == pytest.approx(solution.value, rel=1e-12)
    assert [run.decision_nodes for run in runs] == [3, 3, None, None, None, None, 3]
    assert runs[0].seconds == 0 < runs[-1].seconds


def test_a_function_with_a_seed_is_called_once_per_seed():
    heard = []

    def method(mdp: omdt.MDP, seed: int = 7) -> list[int]:
        heard.append(seed)
        return [seed] * mdp.n_states

    assert [run.name for run in rows_of({"mine": method}, seeds=3)] == ["mine"] * 3
    assert heard == [0, 1, 2]


def test_a_random_policy_is_that_of_planning():
    mdp = environment("frozenlake_4x4")
    (run,) = rows_of({"mine": planning.random_policy(mdp)})
    expected = planning.expected_return(mdp, planning.policy_values(mdp, planning.random_policy(mdp))).value
    assert run.value == expected


@pytest.mark.parametrize(
    ("own", "fragment"),
    [
        ([0, 1], "'mine' is no policy of this MDP: expected a tree, 16 actions, or probabilities of shape [16, 4]"),
        ([4] * 16, "'mine' plays 4, which is no action; the actions are Left"),
        (["left"] * 16, "'mine' plays 'left', which is no action"),
        (np.full((16, 4), 0.5), "'mine' has probabilities of actions that are negative or do not sum to 1"),
        (lambda mdp: None, "'mine' is no policy of this MDP"),
        (Model("?"), "'mine' is no policy of this MDP"),
    ],
)
def test_what_is_no_policy_is_refused(own, fragment):
    assert fragment in str(refusal(lambda: rows_of({"mine": own})))


def test_a_tree_of_another_problem_is_refused():
    tree = omdt.solve(environment("xor"), max_depth=1).tree
    assert "the tree 'mine' has other actions than the MDP" in str(refusal(lambda: rows_of({"mine": tree})))


@pytest.mark.parametrize(
    ("name", "fragment"), [("search", "which is one of random"), ("", "non-empty"), (3, "non-empty")]
)
def test_names_must_differ_from_those_of_the_methods(name, fragment):
    message = str(refusal(lambda: omdt.compare(environment("xor"), max_depth=1, extra={name: [0] * 200})))
    assert fragment in message


@pytest.mark.needs("highspy")
def test_own_rows_and_milp_stand_where_they_belong(tmp_path, monkeypatch):
    mdp, heard = environment("frozenlake_4x4"), []
    found = omdt.compare(
        mdp,
        max_leaf_nodes=2,
        seeds=1,
        time_limit=60,
        milp="highs",
        extra={"mine": lambda mdp, seed: [seed] * mdp.n_states, "left": ["Left"] * 16},
        progress=lambda *point: heard.append(point),
    )
    names = [row.method for row in found.rows]
    assert names == [*list(MEANING)[:-1], "mine", "left", "optimal"]
    assert found["milp"].value == pytest.approx(found["search"].value, abs=1e-6)
    assert (found["left"].bound, found["left"].proven) == (None, None)
    span = found["optimal"].value - found["random"].value
    share = (found["left"].value - found["random"].value) / span
    assert found["left"].normalized_return == pytest.approx(share)
    assert [point[:2] for point in heard] == [(i, 8) for i in range(1, 9)]
    assert use_pandas(monkeypatch)(found.to_frame())["method"] == names
    assert len(found.to_csv().splitlines()) == 1 + len(names)


def test_an_unknown_solver_of_milp_is_refused_before_the_work():
    message = str(refusal(lambda: omdt.compare(environment("xor"), max_depth=1, milp="cplex")))
    assert message == "milp is 'cplex'; it must be highs, scip or gurobi"


def nasty(method: str, value: float, error: float | None) -> Row:
    """A row whose figures are as long as they get."""
    return Row(method, 3, value, error, -9.98765, error, -0.000172132777, True, 123456.789, 98765.4321)


def made(*rows: Row) -> Comparison:
    ends = [
        Row(name, 1, value, None, 0.0, None, None, None, None, 0.1) for name, value in (("random", 0), ("optimal", 1))
    ]
    return Comparison("p" * 30, 12, 345, 0.99, (ends[0], *rows, ends[1]), False)


@pytest.mark.parametrize("error", [None, 0.00031234])
@pytest.mark.parametrize("value", [-0.000172132777, -1.23456789e-05, -123456.789, math.inf])
def test_the_table_fits_80_columns(value, error):
    rows = [nasty("copy-any", value, error), nasty("a method with a long name", value, error)]
    text = text_of(show_comparison, made(*rows))
    title, _, *table, _, first, second, third, fourth = text.split("\n")
    assert title.endswith("trees of depth ≤ 12 and at most 345 leaves")
    assert max(map(len, table)) <= WIDTH
    assert table[0].split() == ["method", "return", "normalised", "bound", "proven", "nodes", "seconds"]
    assert table[3].startswith("a method … ")
    assert "your own, mean of 3 seeds" in third
    assert [line.split()[0] for line in (first, second, fourth)] == ["random", "copy-any", "optimal"]


@pytest.mark.needs("matplotlib")
def test_the_chart_has_a_point_per_method_and_ticks_for_bounds():
    from matplotlib.figure import Figure

    found = made(nasty("viper", 0.5, 0.1), replace(nasty("$mine$\n", 0.25, None), bound=None))
    ax = Figure().add_subplot()
    assert found.plot(ax=ax) is ax
    assert [label.get_text() for label in ax.get_yticklabels()] == ["random", "viper", r"\$mine\$\n", "optimal"]
    places = [line.get_ydata()[0] for line in ax.lines if line.get_marker() == "o"]
    assert places == [0, 1, 2, 3]
    assert [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "|" and line.get_markersize() == 12] == [
        found["viper"].bound
    ]


@pytest.mark.needs("matplotlib")
@pytest.mark.parametrize(("ending", "start"), [(".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_the_command_line_has_own_trees_and_a_chart(tmp_path: Path, monkeypatch, run, ending, start):
    monkeypatch.chdir(tmp_path)
    omdt.solve(environment("xor"), max_depth=1).save("policy.json")
    flags = ("--depth", "1", "--seeds", "1", "--time-limit", "5", "--processes", "1")
    status, output, error = run("compare", "xor", *flags, "--extra", "mine=policy.json", "--plot", f"chart{ending}")
    assert (status, error) == (0, "")
    assert "mine" in output
    assert Path(f"chart{ending}").read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("flags", "fragment"),
    [
        (("--extra", "mine"), "--extra is 'mine'; it must be NAME=FILE"),
        (("--extra", "mine=missing.json"), "missing.json"),
        (("--plot", "chart.gif"), "must end in .svg, .png or .pdf"),
        (("--plot", "a.svg", "--output", "a.svg"), "--output and --plot are both a.svg"),
        (("--milp", "cplex"), "--milp is 'cplex'"),
        (("--extra", "search=policy.json"), "extra has the name 'search'"),
        (("--extra", "a=policy.json", "--extra", "a=policy.json"), "two rows 'a'"),
    ],
)
def test_wrong_flags_are_refused(tmp_path, monkeypatch, run, flags, fragment):
    monkeypatch.chdir(tmp_path)
    omdt.solve(environment("xor"), max_depth=1).save("policy.json")
    status, output, error = run("compare", "xor", "--depth", "1", *flags)
    assert (status, output) == (2, "")
    assert fragment in error
