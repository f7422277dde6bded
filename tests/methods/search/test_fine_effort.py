"""The effort of the fine search is estimated from sizes and samples: the same in every run, more for more regions."""

from dataclasses import replace

import numpy as np
import pytest

import omdt
from omdt.methods.search.fine_effort import FineEffort, exclusion_seconds, fine_effort
from omdt.methods.search.model import Model
from omdt.watch import OutOfTimeError, Watch
from search_parts import basis_of, knowledge_of, model_of, started
from strategies import environment


def effort_of(model: Model, *, excluded: bool = True) -> FineEffort:
    """The effort for the budget of a good incumbent, with or without excluded actions."""
    knowledge = knowledge_of(model)
    losses = knowledge.bases.losses
    if excluded:
        local = started(model)
        local.climb(1)
        losses = basis_of(knowledge, local.incumbent.target).losses
    return fine_effort(model, knowledge.bases.regions, losses, Watch())


def test_the_estimate_is_the_same_in_every_run() -> None:
    first, second = (effort_of(model_of(environment("frozenlake_8x8"), 3)) for _ in range(2))
    assert first == second
    assert first.tables > 0
    assert first.node > 0


def test_deeper_trees_have_more_regions() -> None:
    seconds = [effort_of(model_of(environment("frozenlake_8x8"), depth)).tables for depth in (1, 2, 3)]
    assert seconds == sorted(seconds)
    assert seconds[0] < seconds[2]


def test_a_limit_on_leaves_counts_as_the_depth_that_it_allows() -> None:
    mdp = environment("frozenlake_8x8")
    by_depth, by_leaves = model_of(mdp, 3), model_of(mdp, None, 4)
    assert effort_of(by_depth, excluded=False) == effort_of(by_leaves, excluded=False)


def test_excluded_actions_cost_nothing() -> None:
    """In traffic_intersection hardly any leaf keeps to the budget, and the tables are filled at once."""
    model = model_of(environment("traffic_intersection"), 3)
    assert effort_of(model).tables < 0.5 * effort_of(model, excluded=False).tables


def test_every_region_on_a_scale_is_counted_once() -> None:
    """With one feature, two answers are irredundant only if they cut out an interval between two thresholds."""
    model = model_of(omdt.make("inventory_management", capacity=20), 2)
    questions, actions = len(model.task.splits), model.mdp.n_actions
    effort = effort_of(model, excluded=False)
    # At depth 1 every question has two sides; at depth 2 every pair of thresholds has one interval.
    leaves = actions * (2 * questions + questions * (questions - 1) / 2)
    least, most = (leaves * seconds for seconds in _range_of_seconds(model))
    assert 0.8 * least < effort.tables < 1.2 * most


def _range_of_seconds(model: Model) -> tuple[float, float]:
    """Estimated seconds per loss for the smallest and for the largest region."""
    per_transition = 3e-5 + 1e-8 * model.mdp.transitions.nnz
    return per_transition, per_transition + 1e-9 * model.mdp.n_states**3


def test_without_questions_there_are_no_tables() -> None:
    mdp = environment("frozenlake_4x4")
    blind = replace(mdp, features=np.zeros_like(mdp.features))
    effort = effort_of(model_of(blind, 2), excluded=False)
    assert effort.tables == 0
    assert effort.node > 0


def test_excluding_actions_takes_longer_with_more_states_and_transitions() -> None:
    small, large = (model_of(omdt.make("frozenlake", size=size)) for size in (4, 20))
    assert 0 < exclusion_seconds(small) < exclusion_seconds(large)


def test_the_clock_ends_the_estimate() -> None:
    model = model_of(environment("frozenlake_4x4"), 2)
    knowledge = knowledge_of(model)
    watch = Watch()
    watch.interrupt()
    with pytest.raises(OutOfTimeError):
        fine_effort(model, knowledge.bases.regions, knowledge.bases.losses, watch)
