"""Vectors of a certificate: few digits where there is room, accepted by the checker, and the same when read again."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import omdt
from omdt import check
from omdt.certificate import model_of
from omdt.mdp import MDP
from omdt.methods.search.evidence.durations import Durations
from omdt.methods.search.evidence.raising import Grounds, raised
from omdt.methods.search.evidence.vectors import DIGITS, Proof, Vectors, encoded
from omdt.methods.search.model import Model
from omdt.methods.search.settings import DEFAULTS
from omdt.task import Size, Task
from omdt.watch import Watch


def lake(text: str | None) -> tuple[Model, check.Induction]:
    """A frozen lake, whose last state is the goal, with what is asked of it."""
    mdp = omdt.make("frozenlake_8x8")
    x, y = mdp.features.T
    goal = (x == x.max()) & (y == y.max())
    mdp = replace(
        mdp,
        labels={"goal": goal, "end": mdp.terminal},
        reward_models={"time": np.where(mdp.terminal, 0.0, np.ones(mdp.rewards.shape).T).T},
    )
    objective = omdt.Objective() if text is None else omdt.Objective.parse(text)
    task = Task.over_thresholds(mdp, Size(2, None), objective)
    plain = model_of(mdp)
    asked = check.read_asked(plain, task.asked, task.problem.discount)
    plain = replace(plain, rewards=asked.rewards, discount=asked.discount)
    return Model.of(task, DEFAULTS, Watch()), check.Induction(plain, asked)


TEXTS = [None, 'Pmax=? [F "goal"]', 'Pmin=? [F "goal"]', 'R{"time"}min=? [F "end"]', 'R{"time"}min=? [C]']


def vectors(model: Model, induction: check.Induction) -> Vectors:
    return Vectors(induction, Durations(model))


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("slack", [1e-9, 1e-5, 1e-2])
def test_a_vector_shows_the_goal_with_as_few_digits_as_possible(text: str | None, slack: float) -> None:
    model, induction = lake(text)
    values, everything = model.optimal.upper, np.ones(model.mdp.rewards.shape, dtype=np.bool_)
    optimum = model.optimal_return.upper + model.task.offset
    goal = optimum + slack * max(1.0, abs(optimum))
    proof = vectors(model, induction).proof(values, everything, goal)
    assert optimum - 1e-12 * abs(optimum) - 1e-200 <= proof.shown <= goal
    assert induction.bound(proof.vector, everything, narrow=proof.narrow) == proof.shown
    finest = np.frexp(np.abs(proof.vector).max())[1] - DIGITS
    assert proof.exponent >= finest + (0 if slack < 1e-6 else 12)
    np.testing.assert_array_equal(np.ldexp(proof.vector, -proof.exponent) % 1, 0)


def test_costs_that_cannot_be_avoided_need_no_vector() -> None:
    model, induction = lake('R{"time"}min=? [F "goal"]')
    nothing = np.zeros(model.mdp.rewards.shape, dtype=np.bool_)
    nothing[:, 0] = True
    proof = vectors(model, induction).proof(np.full(64, -np.inf), nothing, -1e6)
    assert (proof.shown, proof.narrow) == (-np.inf, True)
    assert induction.bound(proof.vector, nothing, narrow=True) == -np.inf


def test_values_that_do_not_bound_all_choices_are_raised() -> None:
    model, induction = lake('Pmax=? [F "goal"]')
    everything = np.ones(model.mdp.rewards.shape, dtype=np.bool_)
    low = np.where(induction.asked.ends, induction.asked.final, 0.0)
    found = raised(Grounds.of(induction), everything, everything[:, 0], low, 2.0**-10)
    assert found is not None
    assert (found >= model.optimal.value - 1e-12)[~induction.asked.ends].all()
    assert (found <= 1).all()
    assert induction.bound(found, everything, narrow=False) >= model.optimal_return.value


def test_rewards_that_never_stop_have_no_vector() -> None:
    mdp = MDP.from_dense(np.ones((1, 1, 1)), [[1.0]], [1.0], [[0.0]], discount=0.9)
    plain = replace(model_of(mdp), discount=1.0)
    induction = check.Induction(plain, check.read_asked(plain, "Rmax=? [C]", 1.0))
    assert raised(Grounds.of(induction), np.ones((1, 1), dtype=np.bool_), np.array([True]), np.zeros(1), 0.5) is None


def test_values_in_a_circle_become_the_same() -> None:
    """Nothing is earned by waiting, so all places from which one can wait for the best one are worth as much."""
    P = np.zeros((4, 2, 4))
    for s in range(3):
        P[s, 0, [s, (s + 1) % 3]] = 0.3, 0.7
        P[s, 1, 3] = 1.0
    P[3, :, 3] = 1.0
    costs = np.array([[0.0, 3.1], [0.0, 2.3], [0.0, 2.7], [0.0, 0.0]])
    mdp = MDP.from_dense(P, costs, np.eye(4)[0], np.arange(4.0), labels={"end": np.arange(4) == 3}, discount=0.9)
    plain = model_of(mdp)
    induction = check.Induction(plain, check.read_asked(plain, 'Rmin=? [F "end"]', 1.0))
    everything = np.ones((4, 2), dtype=np.bool_)
    for exponent in (-4, -20, -45):
        low = np.array([-3.1, -2.3, -2.7, 0.0])
        found = raised(Grounds.of(induction), everything, everything[:, 0], low, 2.0**exponent)
        assert found is not None
        assert len(set(found[:3].tolist())) == 1
        assert found[0] == pytest.approx(-2.3, abs=4 * 2.0**exponent)


def random_vector(rng: np.random.Generator, S: int) -> Any:
    exponent = int(rng.integers(-60, 20))
    numbers = rng.integers(-(2 ** int(rng.integers(1, 53))), 2 ** int(rng.integers(1, 53)), S)
    return Proof(np.ldexp(numbers.astype(np.float64), exponent), exponent, False, 0.0)


def test_what_is_written_is_read_again() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        S = int(rng.integers(1, 8))
        previous, proof = random_vector(rng, S).vector, random_vector(rng, S)
        if rng.random() < 0.3:
            previous = proof.vector * rng.choice([1.0, 1.0 + 2.0**-20])
        again = check.decoded(encoded(proof, previous), proof.exponent, previous)
        np.testing.assert_array_equal(again, proof.vector)
