"""Bounds without a discount: never below the best completion, and as low as a policy supports."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import omdt
from coarse_parts import completions, random_coarse_tree
from exact_chains import Number
from omdt.mdp import MDP
from omdt.methods.search.coarse.coarse_tree import Undecided
from omdt.methods.search.coarse.ladders import Ladders
from omdt.methods.search.coarse.lowering import Sweeping, lower
from omdt.methods.search.coarse.relaxation import Relaxation
from omdt.methods.search.coarse.support import comes_to_unsupported, deflate, supporting_actions
from omdt.methods.search.model import Arrays, Model
from omdt.methods.search.partial_tree import Leaf
from omdt.methods.search.ranks import Ranks
from omdt.methods.search.settings import SearchSettings
from omdt.watch import Watch
from total_tasks import TotalTask

SWEEPS = ({}, {"coarse_sweeps": 2}, {"coarse_sweeps": 0}, {"coarse_sweeps": 1000, "coarse_settled": 0.0})


def shown(task: TotalTask, bound: float) -> Number:
    """A bound as users see it, exactly."""
    figure = task.asked.shown_bound(bound)
    return figure if math.isinf(figure) else Fraction(figure)


def relaxation_of(task: TotalTask, **fields: object) -> tuple[Relaxation, Ladders, Ranks]:
    model = Model.of(task.asked, SearchSettings(**fields), Watch())  # type: ignore[arg-type]
    questions = Ranks(model.task.splits)
    ladders = Ladders(questions)
    return Relaxation(model, ladders), ladders, questions


@pytest.mark.parametrize("block", range(8))
def test_the_bound_is_above_every_completion(block: int) -> None:
    for seed in range(25 * block, 25 * block + 25):
        rng = np.random.default_rng([seed, 8])
        task = TotalTask.random(rng)
        relaxation, ladders, questions = relaxation_of(task, **SWEEPS[seed % 4])
        tree = random_coarse_tree(ladders, task.mdp.n_actions, 1, rng)
        target = float(rng.choice([-np.inf, -1.0, 0.0, 0.5]))
        bound, values, _ = relaxation.bound(tree, relaxation.model.optimal.upper, target, Watch())
        states = np.arange(task.mdp.n_states)
        assert not np.isnan(values).any(), seed
        for policy in {
            questions.actions(it, states).tobytes() for it in completions(tree, ladders, task.mdp.n_actions)
        }:
            value = task.value(np.frombuffer(policy, dtype=np.int64))
            assert not task.better(value, shown(task, bound)), seed


@pytest.mark.parametrize("seed", range(120))
def test_a_leaf_is_bounded_by_what_it_is_worth(seed: int) -> None:
    """With everything decided nothing is left to bound: circles must not hold values up."""
    task = TotalTask.random(np.random.default_rng([seed, 9]))
    relaxation, *_ = relaxation_of(task, coarse_settled=1e-9)
    action = seed % task.mdp.n_actions
    bound, *_ = relaxation.bound(Leaf(action), relaxation.model.optimal.upper, -np.inf, Watch())
    value = task.value(np.full(task.mdp.n_states, action))
    assert task.asked.shown(bound) == pytest.approx(float(value), rel=1e-6, abs=1e-6)


def circle() -> MDP:
    """Two states that lead to one another, or with action 1 from the second one to a goal or a trap.

    The objective is the probability to reach the goal, as rewards of the last step.
    """
    P = np.zeros((4, 2, 4))
    P[0, :, 1] = 1.0
    P[1, 0, 0] = 1.0
    P[1, 1] = [0.5, 0.0, 0.25, 0.25]
    P[2, :, 2] = P[3, :, 3] = 1.0
    rewards = np.zeros((4, 2))
    rewards[1, 1] = 0.25
    mdp = MDP.from_dense(P, rewards, [1, 0, 0, 0], np.arange(4)[:, None], discount=0.9)
    return replace(mdp, discount=1.0)


def test_values_in_a_circle_are_deflated_to_the_best_way_out() -> None:
    mdp = circle()
    arrays, sweeping = Arrays.of(mdp), Sweeping.of(mdp)
    V = np.array([1.0, 1.0, 0.0, 0.0])
    for choices, truth in ((np.ones((4, 2), dtype=np.bool_), 0.5), (np.arange(2) == [[0]] * 4, 0.0)):
        active = np.ones(4, dtype=np.bool_)
        assert not lower(arrays, sweeping, choices, V.copy(), active, 1e-9, True)
        action = supporting_actions(arrays, sweeping, choices, V, V <= 0, 1e-9)
        assert action.tolist() == [-1, -1, 2, 2]
        assert comes_to_unsupported(arrays, action, np.array([0]))
        found = V.copy()
        assert deflate(arrays, sweeping, choices, found, action < 0) == pytest.approx(1 - truth)
        assert found == pytest.approx([truth, truth, 0, 0])
        assert np.all(found >= [truth, truth, 0, 0])
        action = supporting_actions(arrays, sweeping, choices, found, found <= 0, 1e-9)
        assert not comes_to_unsupported(arrays, action, np.array([0]))


@pytest.mark.parametrize(("reward", "endless", "worth"), [(1, None, np.inf), (-1, None, -np.inf), (0, None, 0.0)])
def test_an_action_that_never_leaves_is_worth_what_it_earns_for_ever(
    reward: float, endless: float | None, worth: float
) -> None:
    P = np.zeros((2, 2, 2))
    P[0, 0, 0] = P[0, 1, 1] = P[1, :, 1] = 1.0
    rewards = np.array([[reward, -5.0], [0.0, 0.0]])
    mdp = MDP.from_dense(P, rewards, [1, 0], [[0], [1]], discount=0.9)
    mdp = replace(mdp, discount=1.0, endless=endless)
    V = np.array([np.inf, 0.0])
    lower(Arrays.of(mdp), Sweeping.of(mdp), np.ones((2, 2), dtype=np.bool_), V, ~mdp.terminal, 0.0, True)
    assert V == pytest.approx([max(worth, -5.0), 0.0])


def test_staying_without_an_end_is_no_way_out() -> None:
    """The first action stays for nothing; since the goal must be reached, what the second one costs counts."""
    P = np.zeros((2, 2, 2))
    P[0, 0, 0] = P[0, 1, 1] = P[1, :, 1] = 1.0
    mdp = MDP.from_dense(P, [[0.0, 5.0], [0.0, 0.0]], [1, 0], [[0], [1]], discount=0.9)
    objective = omdt.Objective.total(until=np.array([False, True]), maximise=False)
    solution = omdt.solve(mdp, max_depth=1, objective=objective)
    assert (solution.value, solution.proven) == (5.0, True)


def test_what_is_undecided_is_bounded_by_the_optimum() -> None:
    for seed in range(20):
        task = TotalTask.random(np.random.default_rng([seed, 10]))
        relaxation, *_ = relaxation_of(task)
        bound, *_ = relaxation.bound(Undecided(1), relaxation.model.optimal.upper, -np.inf, Watch())
        optimum = relaxation.model.optimal_return.value
        assert bound == pytest.approx(optimum, rel=1e-6, abs=1e-9)
