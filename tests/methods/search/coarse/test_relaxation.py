"""The relaxation: never below the best completion, and exact where everything is decided."""

from fractions import Fraction

import numpy as np
import pytest

from brute_force import returns
from coarse_parts import completions, random_coarse_tree
from omdt.mdp import MDP
from omdt.methods.search.coarse.coarse_tree import Undecided
from omdt.methods.search.coarse.ladders import Ladders
from omdt.methods.search.coarse.relaxation import Relaxation
from omdt.methods.search.partial_tree import Leaf
from omdt.methods.search.ranks import Ranks
from omdt.rules import AvailableOnly
from omdt.watch import OutOfTimeError, Watch
from random_mdps import any_mdp, random_mdp, random_model
from search_parts import model_of, random_splits
from tasks import dense, exact_return

SWEEPS = ({}, {"coarse_sweeps": 2}, {"coarse_sweeps": 0}, {"coarse_sweeps": 1000, "coarse_settled": 0.0})


def relaxation_of(mdp: MDP, rng: np.random.Generator, **fields: object) -> tuple[Relaxation, Ladders, Ranks]:
    model = model_of(mdp, 2, splits=random_splits(mdp, rng), **fields)
    questions = Ranks(model.task.splits)
    ladders = Ladders(questions)
    return Relaxation(model, ladders), ladders, questions


@pytest.mark.parametrize("block", range(10))
def test_the_bound_is_above_every_completion(block: int) -> None:
    for seed in range(30 * block, 30 * block + 30):
        rng = np.random.default_rng(seed)
        mdp = any_mdp(rng)
        relaxation, ladders, questions = relaxation_of(mdp, rng, **SWEEPS[seed % 4])
        tree = random_coarse_tree(ladders, mdp.n_actions, 1, rng)
        bound, values, _ = relaxation.bound(tree, relaxation.model.optimal.upper, -np.inf, Watch())
        states = np.arange(mdp.n_states)
        policies = np.array([questions.actions(it, states) for it in completions(tree, ladders, mdp.n_actions)])
        best = policies[np.argmax(returns(*dense(mdp), policies))]
        # In rational arithmetic, so that not even rounding may make the bound too low.
        assert Fraction(bound) >= exact_return(mdp, best), seed
        assert np.all(values <= relaxation.model.optimal.upper), seed


@pytest.mark.parametrize("seed", range(40))
def test_a_complete_tree_is_bounded_by_its_return(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mdp = random_model(rng, discount=0.9).mdp()
    relaxation, *_ = relaxation_of(mdp, rng, coarse_sweeps=1000, coarse_settled=0.0)
    action = int(rng.integers(mdp.n_actions))
    bound, *_ = relaxation.bound(Leaf(action), relaxation.model.optimal.upper, -1e9, Watch())
    policy = np.full(mdp.n_states, action)
    assert bound == pytest.approx(float(exact_return(mdp, policy)), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_a_bound_below_the_target_ends_the_computation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng)
    relaxation, *_ = relaxation_of(mdp, rng)
    optimal = relaxation.model.optimal.upper
    bound, values, _ = relaxation.bound(Leaf(0), optimal, np.inf, Watch())
    assert float(exact_return(mdp, np.zeros(mdp.n_states, dtype=np.int64))) <= bound <= mdp.initial @ optimal + 1e-6
    assert np.all(values <= optimal)


def test_a_leaf_that_the_rules_forbid_has_no_completion() -> None:
    rng = np.random.default_rng(0)
    mdp = random_model(rng, states=4, actions=2, unavailable=0.9).mdp()
    assert not mdp.available.all()
    model = model_of(mdp, 1, rules=[AvailableOnly()])
    relaxation = Relaxation(model, Ladders(Ranks(model.task.splits)))
    forbidden = int(np.argmin(mdp.available.all(axis=0)))
    assert relaxation.bound(Leaf(forbidden), model.optimal.upper, -np.inf, Watch()).bound == -np.inf
    assert relaxation.bound(Undecided(1), model.optimal.upper, -np.inf, Watch()).bound > -np.inf


def test_no_time_ends_it() -> None:
    rng = np.random.default_rng(1)
    relaxation, *_ = relaxation_of(random_mdp(rng), rng)
    with pytest.raises(OutOfTimeError):
        relaxation.bound(Leaf(0), relaxation.model.optimal.upper, -np.inf, Watch(0))
