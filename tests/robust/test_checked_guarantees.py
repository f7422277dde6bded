"""The checker computes guaranteed returns by itself: it agrees with the solver, and rejects what is too good."""

import json

import numpy as np
import pytest
from interval_cases import exact_return, random_intervals

import omdt
from omdt import check
from omdt.check import intervals as checker
from omdt.check.__main__ import main
from omdt.robust.values import WorstCase


@pytest.mark.parametrize("seed", range(6))
def test_the_worst_case_agrees_with_that_of_the_solver(seed, tmp_path):
    problem = random_intervals(seed, states=4 + 2 * seed, actions=2)
    problem.save(tmp_path / "known.npz")
    worlds = check.read_intervals(tmp_path / "known.npz")
    policy = np.random.default_rng(seed).integers(0, 2, problem.n_states)
    low, high, _ = checker.guaranteed(worlds, policy)
    found = WorstCase(problem).of_policy(policy)
    assert low <= found.upper
    assert found.lower <= high
    assert high - low < 1e-9 * (1 + abs(low))
    exact = checker.guaranteed(worlds, policy, exact=True)
    assert low <= exact[1]
    assert exact[0] <= high
    assert exact[1] - exact[0] < 1e-9 * (1 + abs(low))


@pytest.mark.parametrize("seed", range(3))
def test_in_exact_arithmetic_it_is_the_least_over_all_corners_of_what_nature_may_choose(seed, tmp_path):
    problem = random_intervals(seed, states=3, discount=0.75, digits=2)
    problem.save(tmp_path / "known.npz")
    policy = (0, 1, 0)
    low, high, _ = checker.guaranteed(check.read_intervals(tmp_path / "known.npz"), np.array(policy), exact=True)
    assert low <= float(exact_return(problem, policy)) <= high
    assert high - low < 1e-12


@pytest.fixture
def solved(tmp_path):
    """A solution of an interval MDP and the file of that."""
    lake = omdt.IntervalMDP.around(omdt.make("frozenlake_4x4"), 0.05)
    lake.save(tmp_path / "lake.npz")
    omdt.solve(lake, max_depth=1).save(tmp_path / "tree.json")
    return tmp_path / "tree.json", tmp_path / "lake.npz"


def promising_more(path, by, *keys):
    """The file of a solution in which an entry is larger than it was."""
    data = json.loads(path.read_text())
    place = data
    for key in keys:
        place = place[key]
    place["value"] += by
    other = path.with_name("more.json")
    other.write_text(json.dumps(data))
    return other


def test_the_solution_of_an_interval_mdp_is_verified_and_one_that_claims_more_is_not(run, solved, capsys):
    tree, lake = solved
    status, output, error = run("check", tree, lake)
    assert (status, error) == (0, "")
    assert output.startswith("guaranteed discounted return ")
    assert "VERIFIED; the bound was not checked" in output
    assert main([str(tree), str(lake)]) == 0
    assert capsys.readouterr().out == output
    status, output, _ = run("check", promising_more(tree, 1e-7), lake)
    assert status == 1
    assert "NOT VERIFIED: the tree is guaranteed" in output


def test_what_cannot_be_checked_is_said_with_what_can(run, solved, tmp_path):
    tree, lake = solved
    status, _, error = run("check", tree)
    assert status == 2
    assert f"name the file that IntervalMDP.save wrote: omdt check {tree} FILE.npz" in error
    status, _, error = run("check", tree, lake, "--certificate", tmp_path / "proof")
    assert status == 2
    assert "there are no certificates" in error
    omdt.write(omdt.make("frozenlake_4x4"), tmp_path / "plain.npz")
    status, _, error = run("check", tree, tmp_path / "plain.npz")
    assert status == 2
    assert "holds no interval MDP" in error


def test_a_file_whose_ends_hold_no_distribution_is_unreadable(solved):
    _, lake = solved
    arrays = dict(np.load(lake))
    for changes in ({"upper": arrays["upper"] * 0.5}, {"lower": -arrays["lower"]}, {"indptr": arrays["indptr"][:-1]}):
        np.savez(lake, **{**arrays, **changes})
        with pytest.raises(check.UnreadableError, match="has no readable intervals"):
            check.read_intervals(lake)


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A tree that was learned from a log, and its model."""
    folder = tmp_path_factory.mktemp("log")
    rng = np.random.default_rng(0)
    n = 3000
    x, action = rng.integers(0, 3, n), rng.integers(0, 2, n)
    earned = ((x == 2) == action).astype(float)
    log = {"x": x, "action": action, "reward": earned, "next_x": rng.integers(0, 3, n), "done": x > 5}
    found = omdt.learn(log, max_depth=1, discount=0.8)
    found.save(folder / "tree.json", model=folder / "model.npz")
    return found, folder / "tree.json", folder / "model.npz"


def test_the_guarantee_of_a_log_is_verified_and_a_better_one_is_not(run, learned):
    found, tree, model = learned
    status, output, error = run("check", tree)
    assert (status, error) == (0, "")
    assert f"guaranteed return of at least {found.guarantee.value:.7g}"[:-1] in output
    assert "that the log leaves no others, and the bounds, were not checked" in output
    assert main([str(tree), str(model)]) == 0
    status, output, _ = run("check", promising_more(tree, 1e-6, "experience", "guarantee"), model)
    assert status == 1
    assert "NOT VERIFIED: the tree is guaranteed" in output


def test_a_model_without_its_worlds_leaves_the_guarantee_unchecked(run, learned, tmp_path):
    found, tree, _ = learned
    omdt.write(found.model, tmp_path / "alone.npz")
    status, output, error = run("check", tree, tmp_path / "alone.npz")
    assert status == 0
    assert "VERIFIED" in output
    assert "the guaranteed return was not checked" in error
