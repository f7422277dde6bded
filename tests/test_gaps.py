"""Gaps that mean something: proofs where the best return is next to nothing, and figures that people can read."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import omdt
from brute_force import best_return
from omdt import MDP, TreePolicy, check, planning
from omdt.certificate import model_of
from omdt.methods.shrinking import shrunk
from omdt.solution import Solution, Stop, relative_gap, tolerated_excess
from omdt.solution.gaps import SMALL
from omdt.task import Size, Task
from omdt.watch import Watch
from random_mdps import any_mdp, sparse_rows
from strategies import environment
from tasks import RandomTask, dense


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
    assert re.search(r"of the way from random to optimal \(search, \d+ nodes?\)", out)
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


def starts_apart(pit: float, penalty: float, weights: list[float], *, avoidable: bool, bonus: float = 0.0) -> MDP:
    """First states with a wrong action each, an end, and a pit that nobody enters or that a third action leads to."""
    n = len(weights)
    P, rewards = np.zeros((n + 2, 3, n + 2)), np.zeros((n + 2, 3))
    P[:n, :, n] = P[n, :, n] = P[n + 1, :, n + 1] = 1.0
    for s in range(n):
        rewards[s] = bonus
        rewards[s, 1 - s % 2] -= penalty
        if avoidable:
            P[s, 2] = np.eye(n + 2)[n + 1]
        else:
            rewards[s, 2] = rewards[s, 0]
    rewards[n + 1] = -pit
    return MDP.from_dense(P, rewards, [*weights, 0, 0], np.arange(n + 2)[:, None])


def best_of(mdp: MDP, depth: int) -> float:
    P, rewards, initial, discount = dense(mdp)
    return best_return(P, rewards, initial, mdp.features, discount, max_depth=depth)


@pytest.mark.parametrize("avoidable", [False, True])
@pytest.mark.parametrize(("pit", "penalty", "bonus"), [(7e3, 1.0, 0.0), (7e9, 1.0, 0.0), (0.0, 1e-17, 2e-17)])
def test_what_happens_elsewhere_and_how_small_rewards_are_hides_no_difference(
    avoidable: bool, pit: float, penalty: float, bonus: float
) -> None:
    """With the error of the worst state as the scale, trees that lose more than twice as much were called proven."""
    for weights in ([0.9992, 2e-4, 3e-4, 3e-4], [1 - 8e-7, 2e-7, 3e-7, 3e-7], [0.4, 0.2, 0.3, 0.1]):
        mdp = starts_apart(pit, penalty, weights, avoidable=avoidable, bonus=bonus)
        solution = omdt.solve(mdp, max_depth=1)
        best = best_of(mdp, 1)
        assert solution.bound >= best - 1e-12 * abs(best)
        if solution.proven:
            assert best - solution.value <= 1.01e-4 * max(abs(solution.value), 1e-30)


def beside_penalties(penalty: float, discount: float) -> MDP:
    """300 ordinary states, and 300 that nobody comes to and that cost much."""
    rng = np.random.default_rng(4)
    S = 600
    P = sparse.block_diag([sparse_rows(rng, S, 300, successors=3) for _ in range(2)], format="csr")
    rewards = rng.random((S, 2))
    rewards[300:] = -penalty * rng.random((300, 2))
    return MDP(P, rewards, np.eye(1, S)[0], np.arange(S), discount=discount)


@pytest.mark.parametrize("penalty", [1.0, 1e6, 1e9])
def test_states_that_are_never_visited_do_not_change_a_value(penalty: float) -> None:
    mdp = beside_penalties(penalty, 0.999)
    tree = TreePolicy.leaf(0, mdp.feature_names, mdp.action_names)
    alone = mdp.reachable()
    P, r = planning.markov_chain(alone, np.zeros(alone.n_states, dtype=np.int64))
    values = np.linalg.solve(np.eye(alone.n_states) - 0.999 * P.toarray(), r)
    assert omdt.evaluate(mdp, tree) == pytest.approx(float(alone.initial @ values), rel=1e-11)


def test_a_certificate_needs_no_gap_to_have_room_for_rounding(tmp_path) -> None:
    """Where the best tree returns next to nothing beside values in the thousands."""
    rng = np.random.default_rng(8)
    for seed in range(25):
        task = RandomTask.random(rng, any_mdp)
        shifted = replace(task.mdp, rewards=task.mdp.rewards - (1 - task.mdp.discount) * task.best)
        moved = replace(task, mdp=shifted)
        solution = moved.solve(certificate=tmp_path / f"{seed}")
        verdict = check.check(model_of(shifted), solution.to_dict(), tmp_path / f"{seed}")
        assert verdict.bound is not None, seed
        assert verdict.bound <= solution.bound


@pytest.mark.parametrize("limit", ["1e-9", "0.001"])
def test_no_estimate_is_shown_as_a_bound(run, tmp_path, limit: str) -> None:
    """After a limit that ends planning the optimum is not known; a number below it was shown as the bound."""
    words = ("solve", "frozenlake_12x12", "--depth", "2", "--time-limit", limit, "--output", tmp_path / "cut.json")
    out = shown(run, *words)
    mdp = environment("frozenlake_12x12")
    optimum = planning.expected_return(mdp, planning.optimal_values(mdp))
    assert float(re.search(r"^bound +([\d.e+-]+)", out, re.M)[1]) >= optimum.value * (1 - 1e-9)
    status, _, err = run("report", tmp_path / "cut.json")
    assert (status, err) == (0, "")


def test_what_is_cut_off_is_not_proven() -> None:
    """The error of an optimum of 7e-13 that was cut off counted as rounding, and so did everything below it."""
    mdp = omdt.make("frozenlake", size=100)
    for limit in (0.3, 0.5, 0.8):
        solution = omdt.solve(replace(mdp, discount=0.99), max_depth=1, time_limit=limit)
        assert not (solution.proven and solution.stop is not Stop.COMPLETE)
        assert not solution.proven or solution.value >= 0.9999 * solution.bound


def test_large_trees_are_shrunk_one_candidate_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """All smaller trees were built before the first was looked at, whatever the time."""
    built: list[int] = []
    with_leaf = TreePolicy.with_leaf
    monkeypatch.setattr(TreePolicy, "with_leaf", lambda tree, *rest: built.append(1) or with_leaf(tree, *rest))
    mdp = environment("frozenlake_12x12")
    tree = omdt.solve(mdp, method="copy").tree
    late = Watch(1.0)
    late.interrupt()
    assert shrunk(tree, Task.over_thresholds(mdp, Size(9)), late).n_leaves <= tree.n_leaves
    assert len(built) <= 1


@pytest.mark.needs("highspy")
def test_a_program_that_holds_an_allowed_tree_returns_it() -> None:
    P, rewards = np.zeros((4, 2, 4)), np.zeros((4, 2))
    P[0, 0, 1] = P[0, 1, 2] = rewards[0, 0] = 1.0
    P[1:, :, 3] = 1.0
    available = [[1, 1], [1, 1], [0, 1], [1, 1]]
    mdp = MDP.from_dense(P, rewards, [1, 0, 0, 0], np.arange(4)[:, None], discount=0.9, available=available)
    for method in ("search", "milp"):
        solution = omdt.solve(mdp, max_depth=1, method=method, unavailable="forbid")
        assert (solution.value, solution.tree.n_leaves) == (1.0, 2)


def test_zero_rewards_are_known_to_be_zero(run, tmp_path) -> None:
    mdp = MDP.from_dense(np.ones((1, 1, 1)), [[0.0]], [1], [[0]])
    omdt.write(mdp, tmp_path / "zero.npz")
    out = shown(run, "solve", tmp_path / "zero.npz", "--depth", "1")
    assert "time was up" not in out
    assert "proven optimal (" in out


def test_a_certificate_does_not_make_the_terminal_contradict_itself(run, tmp_path) -> None:
    omdt.write(MDP.from_dense(np.ones((1, 1, 1)), [[5.0]], [1], [[0]]), tmp_path / "five.npz")
    out = shown(run, "solve", tmp_path / "five.npz", "--depth", "1", "--certificate", tmp_path / "proof")
    assert re.search(r"^bound +500 ", out, re.M)
    assert "proven optimal (" in out
