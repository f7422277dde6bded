"""The listed trees are all that there are: compared with every policy of every tree, on random MDPs of every shape."""

from typing import NamedTuple

import numpy as np
import pytest

import omdt
from brute_force import returns, threshold_questions, tree_policies
from omdt import MDP
from omdt.tradeoffs import alternatives_branching, alternatives_consistency
from omdt.tradeoffs.alternatives_branching import ByStates, ByTrees
from omdt.tradeoffs.alternatives_losses import ByLosses
from omdt.tradeoffs.alternatives_result import Alternatives
from omdt.tradeoffs.alternatives_search import Enumeration
from random_mdps import random_model, shaped_mdp
from thorough import sampled
from total_values import exact_totals, random_total_mdp

Key = tuple[tuple[int, int], ...]
"""What is played in the visited states in which it matters."""

CLEARLY, SURELY = 1e-13, 1e-9
"""Parts of the largest return by which a value may fall short of the limit: no less than the first must be listed, no
more than the second may be."""


class Brute(NamedTuple):
    """All policies of trees: the value of each, and its least number of leaves."""

    values: dict[Key, float]
    leaves: dict[Key, int]


def what_is_played(mdp: MDP) -> np.ndarray:
    """[S, A] the action that is played where each one is named."""
    played = np.tile(np.arange(mdp.n_actions), (mdp.n_states, 1))
    fallback = None if mdp.fallback is None else mdp.action_names.index(mdp.fallback)
    for s, a in np.argwhere(~mdp.available):
        instead = fallback is not None and mdp.available[s, fallback]
        played[s, a] = fallback if instead else np.flatnonzero(mdp.available[s])[0]
    return played


def key_of(mdp: MDP, P: np.ndarray, played: np.ndarray, policy: np.ndarray) -> Key:
    """What a policy does where it goes; where all actions do the same, none counts."""
    visited, waiting = set(), set(np.flatnonzero(mdp.initial).tolist())
    while waiting:
        s = waiting.pop()
        visited.add(s)
        waiting |= set(np.flatnonzero(P[s, policy[s]]).tolist()) - visited
    matters = [s for s in sorted(visited) if (P[s] != P[s, 0]).any() or (mdp.rewards[s] != mdp.rewards[s, 0]).any()]
    return tuple((s, int(played[s, policy[s]])) for s in matters)


def all_policies(
    mdp: MDP,
    depth: int,
    leaves: int,
    *,
    questions: set[frozenset[int]] | None = None,
    allowed: np.ndarray | None = None,
) -> Brute:
    """The values of all policies of trees, by default over thresholds, by trying all of them.

    Args:
        mdp: the problem.
        depth: maximum depth.
        leaves: maximum number of leaves.
        questions: the states on the left of each question.
        allowed: [S, A] what a leaf with each state may name.
    """
    questions = threshold_questions(mdp.features) if questions is None else questions
    P, played = mdp.transitions.toarray().reshape(*mdp.rewards.shape, -1), what_is_played(mdp)
    values: dict[Key, float] = {}
    least: dict[Key, int] = {}
    for n in range(1, leaves + 1):
        policies = tree_policies(questions, *mdp.rewards.shape, depth, n)
        if allowed is not None:
            policies = policies[allowed[np.arange(mdp.n_states), policies].all(axis=1)]
        found = returns(P, mdp.rewards, mdp.initial, mdp.discount, policies) if mdp.discount < 1 else None
        for i, policy in enumerate(policies):
            key = key_of(mdp, P, played, policy)
            if key not in values:
                values[key] = float(found[i]) if found is not None else total(mdp, policy)
                least[key] = n
    return Brute(values, least)


def total(mdp: MDP, policy: np.ndarray) -> float:
    """The total reward of a policy from the first states."""
    values = exact_totals(mdp, policy)
    return float(sum(float(mdp.initial[s]) * float(values[s]) for s in np.flatnonzero(mdp.initial)))


def keys(mdp: MDP, result: Alternatives, observations: np.ndarray) -> list[Key]:
    """What each listed tree does."""
    P, played = mdp.transitions.toarray().reshape(*mdp.rewards.shape, -1), what_is_played(mdp)
    return [key_of(mdp, P, played, tree.actions(observations)) for tree in result.trees]


def assert_same(
    mdp: MDP, result: Alternatives, brute: Brute, tolerance: float, observations: np.ndarray | None = None
) -> bool:
    """Compare a complete list with brute force; whether rounding leaves no doubt about any policy."""
    best = max(brute.values.values())
    scale = max([abs(v) for v in brute.values.values() if np.isfinite(v)], default=0.0)
    scale = max(scale, 1e-3 * float(np.abs(mdp.rewards).max()))
    least = best if np.isinf(best) else best - tolerance
    must = {key for key, v in brute.values.items() if v >= least - CLEARLY * scale}
    may = {key for key, v in brute.values.items() if v >= least - SURELY * scale}
    found = keys(mdp, result, mdp.features if observations is None else observations)
    assert len(set(found)) == len(found)
    assert result.complete
    assert must <= set(found) <= may
    for key, value, tree in zip(found, result.values, result.trees, strict=True):
        assert value == pytest.approx(brute.values[key], rel=1e-7, abs=SURELY * scale)
        assert tree.n_leaves == brute.leaves[key]
    assert all(a >= b - SURELY * scale or a == b for a, b in zip(result.values, result.values[1:], strict=False))
    return must == may


def blocks(seeds: int, size: int) -> list[range]:
    """All seeds in blocks of one test each."""
    return [range(first, first + size) for first in range(0, seeds, size)]


@pytest.mark.parametrize("seeds", sampled(blocks(300, 30), 5))
def test_the_list_equals_brute_force(seeds: range) -> None:
    certain = 0
    for seed in seeds:
        rng = np.random.default_rng([19, seed])
        mdp = shaped_mdp(rng)
        depth = int(rng.integers(0, 4))
        leaves = int(rng.integers(1, 2**depth + 1))
        brute = all_policies(mdp, depth, leaves)
        within = float(rng.choice([0.0, 0.01, 0.1, 0.5]))
        result = omdt.alternatives(mdp, max_depth=depth, max_leaf_nodes=leaves, within=within, limit=10_000)
        certain += assert_same(mdp, result, brute, within * abs(result.best - result.random_return))
    assert certain >= len(seeds) - 3


@pytest.mark.parametrize("seeds", sampled(blocks(30, 10), 3))
@pytest.mark.parametrize("way", [ByStates, ByTrees, ByLosses])
def test_each_way_finds_everything_by_itself(way: type, seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Enumeration, "_ways", lambda self: [(way(self._parts), 50)])
    for seed in seeds:
        rng = np.random.default_rng([27, seed])
        mdp = shaped_mdp(rng)
        if len(omdt.Splits.of(mdp)) == 0 and way is ByLosses:
            continue
        leaves = int(rng.integers(2, 4))
        brute = all_policies(mdp, leaves - 1, leaves)
        result = omdt.alternatives(mdp, max_leaf_nodes=leaves, within=0.05, limit=10_000)
        assert_same(mdp, result, brute, 0.05 * abs(result.best - result.random_return))


@pytest.mark.parametrize("seeds", sampled(blocks(100, 20), 2))
def test_the_list_equals_brute_force_without_a_discount(seeds: range) -> None:
    for seed in seeds:
        rng = np.random.default_rng([20, seed])
        mdp = random_total_mdp(rng)
        depth = int(rng.integers(1, 3))
        brute = all_policies(mdp, depth, 2**depth)
        within = float(rng.choice([0.0, 0.1, 1.0]))
        result = omdt.alternatives(mdp, max_depth=depth, within=within, absolute=True, limit=10_000)
        assert_same(mdp, result, brute, within)


@pytest.mark.parametrize("seeds", sampled(blocks(40, 10), 4))
def test_a_list_that_is_cut_off_has_the_best_and_says_so(seeds: range) -> None:
    cut = 0
    for seed in seeds:
        rng = np.random.default_rng([21, seed])
        mdp = shaped_mdp(rng)
        brute = all_policies(mdp, 2, 4)
        ordered = sorted(brute.values.values(), reverse=True)
        limit = int(rng.integers(1, 5))
        result = omdt.alternatives(mdp, max_depth=2, within=1e300, absolute=True, limit=limit)
        assert len(result) == min(limit, len(ordered))
        assert result.values == pytest.approx(ordered[:limit], rel=1e-7, abs=1e-9 * max(map(abs, ordered)))
        assert result.complete == (len(ordered) <= limit)
        assert ("there are others" in result.words) == (not result.complete)
        cut += not result.complete
    assert cut > len(seeds) / 2


def reached(mdp: MDP) -> np.ndarray:
    """[S] whether some policy comes to each state."""
    P = mdp.transitions.toarray().reshape(*mdp.rewards.shape, -1).any(axis=1)
    found = mdp.initial > 0
    for _ in range(mdp.n_states):
        found = found | P[found].any(axis=0)
    return found


@pytest.mark.parametrize("seeds", sampled(blocks(27, 9), 3))
@pytest.mark.parametrize("way", [ByStates, ByTrees, ByLosses])
def test_the_list_equals_brute_force_where_unavailable_actions_are_forbidden(
    way: type, seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Enumeration, "_ways", lambda self: [(way(self._parts), 50)])
    restricted = 0
    for seed in seeds:
        rng = np.random.default_rng([22, seed])
        mdp = random_model(rng, states=int(rng.integers(3, 7)), actions=3, absorbing=0.2, unavailable=0.3).mdp()
        allowed = mdp.available | ~reached(mdp)[:, None]
        brute = all_policies(mdp, 2, 4, allowed=allowed)
        asked = {"max_depth": 2, "within": 0.1, "limit": 10_000, "unavailable": "forbid"}
        if not brute.values:
            with pytest.raises(omdt.InputError, match="no tree"):
                omdt.alternatives(mdp, **asked)
            continue
        result = omdt.alternatives(mdp, **asked)
        assert_same(mdp, result, brute, 0.1 * abs(result.best - result.random_return))
        for tree in result.trees:
            assert allowed[np.arange(mdp.n_states), tree.actions(mdp.features)].all()
        restricted += 1
    assert restricted > len(seeds) / 3


@pytest.mark.parametrize("seeds", sampled(blocks(40, 10), 4))
def test_the_list_equals_brute_force_over_other_questions(seeds: range) -> None:
    for seed in seeds:
        rng = np.random.default_rng([23, seed])
        mdp = shaped_mdp(rng)
        S = mdp.n_states
        predicates = rng.random((S, 2)) < 0.5
        splits = omdt.Splits.of(mdp, categorical=["feature_0"], predicates=predicates, labels=["p", "q"])
        questions = threshold_questions(mdp.features[:, 1:])
        questions |= {
            frozenset(np.flatnonzero(mdp.features[:, 0] == x).tolist()) for x in np.unique(mdp.features[:, 0])
        }
        questions |= {frozenset(np.flatnonzero(~holds).tolist()) for holds in predicates.T}
        brute = all_policies(mdp, 2, 4, questions=questions)
        result = omdt.alternatives(mdp, max_depth=2, within=0.1, limit=10_000, splits=splits)
        tolerance = 0.1 * abs(result.best - result.random_return)
        assert_same(mdp, result, brute, tolerance, splits.observations)


@pytest.mark.parametrize("seeds", sampled(blocks(30, 10), 3))
def test_hardly_any_memory_and_slow_loops_give_the_same(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alternatives_branching, "NODE_BYTES", 2**21)
    monkeypatch.setattr(alternatives_consistency, "LONG", 0)
    for seed in seeds:
        rng = np.random.default_rng([24, seed])
        mdp = shaped_mdp(rng)
        depth = int(rng.integers(2, 4))
        brute = all_policies(mdp, depth, 2**depth)
        result = omdt.alternatives(mdp, max_depth=depth, within=0.2, limit=10_000, memory_limit=1)
        assert_same(mdp, result, brute, 0.2 * abs(result.best - result.random_return))


def test_more_actions_than_bits_in_a_word() -> None:
    for seed in range(3):
        rng = np.random.default_rng([25, seed])
        S, A = 4, 70
        P = rng.dirichlet(np.ones(S), size=(S, A))
        mdp = MDP.from_dense(P, rng.normal(size=(S, A)), np.eye(S)[0], np.arange(S)[:, None], discount=0.9)
        brute = all_policies(mdp, 1, 2)
        result = omdt.alternatives(mdp, max_depth=1, within=0.2, limit=10_000)
        assert_same(mdp, result, brute, 0.2 * abs(result.best - result.random_return))
