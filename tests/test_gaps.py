"""Gaps that mean something: proofs where the best return is next to nothing, and figures that people can read."""

import re
from dataclasses import replace

import numpy as np
import pytest

import omdt
from omdt import MDP
from omdt.solution import SMALL, Solution, Stop, relative_gap, tolerated_excess
from strategies import environment


def lent_money(discount: float, scale: float = 1.0) -> MDP:
    """Whatever is lent in one of three states is paid back in the next one: every policy returns 0."""
    # What is paid back depends on what was lent, so the two actions lead to states of their own.
    P, rewards = np.zeros((9, 2, 9)), np.zeros((9, 2))
    for s in range(3):
        for a in range(2):
            lent = scale * (s + 1) / (1 + 2 * a)
            P[s, a, 3 + 2 * s + a] = 1.0
            rewards[s, a] = lent
            P[3 + 2 * s + a, :, (s + 1) % 3] = 1.0
            rewards[3 + 2 * s + a] = -lent / discount
    X = np.stack([np.arange(9) % 3, np.arange(9)], axis=1)
    return MDP.from_dense(P, rewards, np.eye(9)[0], X, discount=discount)


@pytest.mark.parametrize("discount", [0.5, 0.9, 0.99, 0.9999])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_nothing_to_earn_is_proven_at_once(discount: float, scale: float, depth: int) -> None:
    solution = omdt.solve(lent_money(discount, scale), max_depth=depth)
    assert abs(solution.value) < 1e-9 * scale
    assert solution.proven
    assert solution.stop is Stop.COMPLETE
    assert solution.tree.n_leaves == 1
    assert solution.indifferent


@pytest.mark.parametrize("method", ["search", "milp"])
def test_no_rewards_at_all_are_proven(method: str) -> None:
    mdp = MDP.from_dense(np.full((4, 2, 4), 0.25), np.zeros((4, 2)), np.eye(4)[0], np.arange(4)[:, None])
    solution = omdt.solve(mdp, max_depth=2, method=method)
    assert solution.value == 0
    assert solution.proven


def test_a_zero_beside_large_values_elsewhere_is_proven() -> None:
    """The tree that stays earns nothing; other states are worth 100, and the bound is rounded at that scale."""
    P = np.zeros((4, 2, 4))
    P[0, 0, 0] = P[0, 1, 1] = P[1, :, 2] = P[2, :, 1] = P[3, :, 3] = 1.0
    rewards = np.array([[0.0, -200.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    solution = omdt.solve(MDP.from_dense(P, rewards, np.eye(4)[0], np.arange(4)[:, None]), max_depth=1)
    assert solution.value == 0
    assert solution.proven


def test_a_wide_gap_of_a_small_value_is_no_proof() -> None:
    """Next to nothing is relative: at the scale of 1, a value of 0.001 with a bound of 0.002 is not proven."""
    solution = omdt.solve(environment("frozenlake_4x4"), max_depth=1)
    assert not replace(solution, value=0.001, bound=0.002, scale=1.0).proven
    assert not replace(solution, value=0.0, bound=1e-8, scale=1.0).proven
    assert replace(solution, value=0.0, bound=0.9e-9, scale=1.0).proven


@pytest.mark.parametrize("value", [0.0, 1e-9, -1.0, 1e6])
@pytest.mark.parametrize("scale", [0.0, 1e-3, 1e8])
def test_what_is_tolerated_has_the_requested_gap(value: float, scale: float) -> None:
    for gap in (0.0, 1e-4, 0.1):
        excess = tolerated_excess(value, gap, scale)
        assert relative_gap(value, value + excess, scale) <= max(gap, 1e-12 / SMALL) * (1 + 1e-6) + 1e-6 * gap


def shown(run, *words: object) -> str:
    status, out, _ = run(*words)
    assert status == 0
    return out


def test_a_gap_is_shown_in_units_and_between_random_and_optimal(run) -> None:
    out = shown(run, "solve", "frozenlake", "--set", "size=30", "--depth", "1", "--node-limit", "1")
    assert "not proven: a better tree may return up to" in out
    assert re.search(r"of the way from random to optimal \(search, 1 node\)", out)
    assert max(float(share) for share in re.findall(r"([\d.]+)%", out)) <= 100
    assert "no policy returns more; nothing lower is known for a tree of depth ≤ 1" in out


def test_no_bound_is_shown_above_the_optimum(run, tmp_path) -> None:
    words = ("solve", "frozenlake_8x8", "--leaves", "40", "--certificate", tmp_path / "proof")
    figures = dict(re.findall(r"^(bound|optimal) +([\d.]+)", shown(run, *words, "--output", tmp_path / "s.json"), re.M))
    assert figures["bound"] == figures["optimal"]
    status, out, _ = run("check", tmp_path / "s.json", "--certificate", tmp_path / "proof")
    assert (status, out[:8]) == (0, "VERIFIED")


def test_a_problem_without_a_choice_has_no_normalised_return(run, tmp_path) -> None:
    omdt.write(lent_money(0.9), tmp_path / "lent.npz")
    out = shown(run, "solve", tmp_path / "lent.npz", "--depth", "1")
    assert re.search(r"normalised +– +even the random policy is optimal", out)
    assert "1.0000" not in out
    assert "proven optimal" in out


@pytest.mark.needs("sklearn")
def test_a_comparison_without_a_choice_has_no_normalised_returns(run, tmp_path) -> None:
    mdp = MDP.from_dense(np.full((2, 2, 2), 0.5), np.ones((2, 2)), [1, 0], [[0], [1]])
    omdt.write(mdp, tmp_path / "same.npz")
    out = shown(run, "compare", tmp_path / "same.npz", "--depth", "1", "--seeds", "1", "--processes", "1")
    assert "1.0000" not in out
    assert out.count(" – ") == 7


def test_one_leaf_is_one_leaf(run) -> None:
    out = shown(run, "solve", "frozenlake_4x4", "--leaves", "1")
    assert "0 decision nodes, 1 leaf, depth 0" in out
    assert "at most 1 leaf returns more" in out


def test_a_value_that_is_not_known_is_shown_with_its_error() -> None:
    from omdt.printing import show
    from omdt.terminal import console

    solution = replace(omdt.solve(environment("frozenlake_4x4"), max_depth=1), value_error=0.1)
    output = console()
    with output.capture() as captured:
        show(solution, output)
    assert "± 0.1: time was up before it was known better" in captured.get()
    assert isinstance(Solution.from_dict(solution.to_dict()).value_error, float)
