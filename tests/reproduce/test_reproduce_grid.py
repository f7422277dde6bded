"""The grid: every run of the paper once, with a key that changes with all that determines its result."""

from collections import Counter
from dataclasses import replace

import pytest

from omdt.environments import PAPER
from omdt.errors import InputError
from omdt.reproduce.figures import FIGURES
from omdt.reproduce.grid import Grid, Run, digest_of, key, problem, problem_digest
from omdt.reproduce.pieces import NAMES, PIECES
from omdt.reproduce.tables import TABLES


def test_all_is_the_whole_grid():
    grid = Grid()
    runs = grid.runs(grid.pieces("all"))
    assert len(set(runs)) == len(runs)
    assert Counter(run.method for run in runs) == {"search": 156, "milp": 156, "viper": 156, "copy": 13}
    assert {(run.environment, run.depth) for run in runs if run.method == "viper"} == {
        (environment, depth) for environment in PAPER for depth in (1, 2, 3, 4)
    }
    assert {run.seed for run in runs} == {0, 1, 2}


def test_the_budget_is_for_the_methods_that_do_not_end_by_themselves():
    grid = Grid(budget=7.0, seeds=1)
    runs = grid.runs(grid.pieces("all"))
    assert {(run.method, run.budget) for run in runs} == {
        ("search", 7.0),
        ("milp", 7.0),
        ("viper", None),
        ("copy", None),
    }
    assert Counter(run.method for run in runs)["viper"] == 156


def test_every_piece_is_made_by_something():
    assert set(PIECES) == {*TABLES, *FIGURES}
    assert NAMES == ("all", *PIECES)


@pytest.mark.parametrize(
    ("piece", "runs"),
    [
        ("table-main", 13 * 9),
        ("table-depths", 52 * 9),
        ("table-runtimes", 52 * 9),
        ("figure-tradeoff", 13 * 4),
        ("figure-paths", 6),
        ("figure-trees", 13 * 6),
        ("figure-topologies", 0),
        ("figure-example", 3),
    ],
)
def test_a_piece_needs_only_its_own_runs(piece, runs):
    grid = Grid()
    assert len(grid.runs(grid.pieces(piece))) == runs


def test_with_few_environments_all_is_what_they_allow():
    assert "figure-paths" not in Grid(("xor",)).pieces("all")
    assert "figure-paths" in Grid(("xor", "frozenlake_12x12")).pieces("all")
    with pytest.raises(InputError, match="figure-paths shows frozenlake_12x12"):
        Grid(("xor",)).pieces("figure-paths")


def test_what_does_not_exist_is_refused():
    with pytest.raises(InputError, match="table-main"):
        Grid().pieces("table-of-contents")
    with pytest.raises(InputError, match="no environment of the paper"):
        Grid(("frozenlake",))
    with pytest.raises(InputError, match="seeds is 0"):
        Grid(seeds=0)
    for budget in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="budget"):
            Grid(budget=budget)


def test_the_key_changes_with_all_that_determines_the_result():
    run = Run("xor", "search", 2, 0, 5.0)
    others = [
        (replace(run, method="milp"), "d", "1"),
        (replace(run, depth=3), "d", "1"),
        (replace(run, seed=1), "d", "1"),
        (replace(run, budget=6.0), "d", "1"),
        (run, "e", "1"),
        (run, "d", "2"),
    ]
    keys = {key(run, "d", "1"), *(key(*other) for other in others)}
    assert len(keys) == 1 + len(others)
    assert key(run, "d", "1") == key(Run("xor", "search", 2, 0, 5.0), "d", "1")


def test_digests_tell_problems_apart_and_not_machines():
    assert len({problem_digest(name) for name in PAPER}) == len(PAPER)
    mdp = problem("xor")
    nearly = replace(mdp, rewards=mdp.rewards * (1 + 1e-15))
    other = replace(mdp, rewards=mdp.rewards * (1 + 1e-6))
    assert digest_of(nearly) == digest_of(mdp) == problem_digest("xor")
    assert digest_of(other) != digest_of(mdp)
