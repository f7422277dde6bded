"""Symmetries: they are found, leave returns and questions as they are, and almost symmetric is not symmetric."""

from dataclasses import replace

import numpy as np
import pytest

import omdt
from omdt import MDP, planning
from omdt.methods.search import symmetry
from omdt.methods.search.symmetry import Symmetries, find
from random_mdps import random_mdp, symmetric_mdp
from search_parts import model_of
from strategies import environment


def test_symmetries_are_found_and_leave_returns_as_they_are() -> None:
    rng = np.random.default_rng(4)
    for _ in range(40):
        mdp = symmetric_mdp(rng)
        model = model_of(mdp)
        found = find(model)
        assert len(found) == {2: 1, 3: 5}[mdp.n_actions]
        assert found.error < 1e-12
        policy = rng.integers(mdp.n_actions, size=mdp.n_states)
        value = planning.expected_return(mdp, planning.policy_values(mdp, policy)).value
        for states, actions, questions in zip(found.states, found.actions, found.questions, strict=True):
            turned = np.empty_like(policy)
            turned[states] = actions[policy]
            assert planning.expected_return(mdp, planning.policy_values(mdp, turned)).value == pytest.approx(value)
            for k, other in enumerate(questions):
                one = model.sides[: mdp.n_states - 1, k]
                two = model.sides[states[: mdp.n_states - 1], other]
                assert np.array_equal(one, two) or np.array_equal(one, ~two)


@pytest.mark.parametrize(
    ("name", "count", "different"),
    [
        ("system_administrator_tree", 7, 3),
        ("tictactoe_vs_random", 7, 10),
        ("tiger_vs_antelope", 7, 5),
        ("frozenlake_8x8", 0, 14),
        ("xor", 0, 398),
    ],
)
def test_symmetries_of_the_environments(name: str, count: int, different: int) -> None:
    model = model_of(omdt.make(name))
    found = find(model)
    assert len(found) == count
    assert len({min([k, *found.questions[:, k]]) for k in range(model.sides.shape[1])}) == different


def test_almost_symmetric_is_not_symmetric() -> None:
    mdp = symmetric_mdp(np.random.default_rng(0))
    rewards = mdp.rewards.copy()
    rewards[1, 0] += 1e-6
    assert len(find(model_of(mdp))) > 0
    assert len(find(model_of(replace(mdp, rewards=rewards)))) == 0


def test_what_rounding_hides_counts_for_the_error() -> None:
    """A difference in the tenth digit is taken for rounding; no return may change by more than the error says."""
    mdp = symmetric_mdp(np.random.default_rng(0))
    rewards = mdp.rewards.copy()
    rewards[1, 0] += 1e-10
    almost = replace(mdp, rewards=rewards)
    found = find(model_of(almost))
    assert 0 < found.error < 1e-8
    policy = np.zeros(mdp.n_states, dtype=np.int64)
    value = planning.policy_return(almost, policy).value
    for states, actions in zip(found.states, found.actions, strict=True):
        turned = np.empty_like(policy)
        turned[states] = actions[policy]
        assert abs(planning.policy_return(almost, turned).value - value) <= found.error


@pytest.mark.parametrize(
    "fields", [{"max_symmetry_work": 0}, {"max_symmetry_work": 3000}, {"max_colourings": 1}, {"max_renamings": 1}]
)
def test_limited_work_finds_fewer_symmetries(fields: dict[str, int]) -> None:
    mdp = next(it for seed in range(50) if (it := symmetric_mdp(np.random.default_rng(seed))).n_actions == 3)
    assert len(find(model_of(mdp))) == 5
    assert len(find(model_of(mdp, **fields))) < 5


def test_only_renamings_that_keep_every_region_and_leaf_fix_a_node() -> None:
    mdp = next(it for seed in range(50) if (it := symmetric_mdp(np.random.default_rng(seed))).n_actions == 3)
    found = find(model_of(mdp))
    everything, nothing = np.zeros(mdp.n_states, dtype=np.int64), np.zeros(0, dtype=np.int64)
    assert found.fixing(everything, nothing).tolist() == [0, 1, 2, 3, 4]
    fixed = found.fixing(everything, np.array([0]))
    assert (found.actions[fixed, 0] == 0).all()
    assert len(fixed) == 1
    assert found.fixing(np.arange(mdp.n_states), nothing).tolist() == []
    sides = model_of(mdp).sides[:, 0].astype(np.int64)
    for g in found.fixing(sides, nothing):
        assert np.array_equal(sides[found.states[g]], sides)


@pytest.mark.parametrize("S", [1, 3])
def test_without_decisions_there_is_nothing_to_rename(S: int) -> None:
    P = np.full((S, 2, S), 1 / S)
    model = model_of(MDP.from_dense(P, np.ones((S, 2)), np.full(S, 1 / S), np.zeros((S, 1))))
    found = find(model)
    assert len(found) == 0
    assert [it.shape for it in (found.states, found.actions, found.questions)] == [(0, S), (0, 2), (0, 0)]


def test_whatever_is_found_among_ties_is_a_renaming() -> None:
    """Where nothing is earned many states look alike; entry by entry a renaming leaves the MDP as it is."""
    several = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        mdp = symmetric_mdp(rng) if seed % 3 == 0 else random_mdp(rng)
        mdp = replace(mdp, rewards=np.zeros_like(mdp.rewards))
        found = find(model_of(mdp))
        several += len(found) > 0
        P = mdp.transitions.toarray().reshape(*mdp.rewards.shape, mdp.n_states)
        for states, actions in zip(found.states, found.actions, strict=True):
            assert P[np.ix_(states, actions, states)] == pytest.approx(P, abs=1e-9)
            assert mdp.initial[states] == pytest.approx(mdp.initial, abs=1e-9)
    none = Symmetries.none(model_of(mdp))
    assert (len(none), none.error) == (0, 0.0)
    assert several > 20


def test_questions_that_renaming_leaves_without_a_partner_end_the_search_for_it() -> None:
    """Two bits may be exchanged, but one of them is asked for and the other is not."""
    mdp = next(it for seed in range(50) if (it := symmetric_mdp(np.random.default_rng(seed))).n_actions == 2)
    splits = omdt.Splits.of(mdp)
    first = replace(splits, feature=splits.feature[:1], threshold=splits.threshold[:1], equality=splits.equality[:1])
    assert len(find(model_of(mdp))) == 1
    assert len(find(model_of(mdp, splits=first))) == 0


def test_questions_that_divide_the_states_alike_are_no_work() -> None:
    """In blackjack many questions are the same wherever it matters what one does."""
    model = model_of(environment("blackjack"), max_symmetry_work=10**6)
    finder = symmetry._Finder(model)
    assert finder.pairs() == []
    assert finder.work < 10**6
    assert len(finder.number) < len(model.task.splits)
