"""Effort is estimated from sizes alone and grows with the transitions."""

import pytest

import omdt
from omdt.methods.search.effort import evaluations_within, seconds_per_evaluation, seconds_per_neighbour
from search_parts import model_of
from strategies import environment


def test_an_evaluation_takes_longer_with_more_transitions() -> None:
    small, large = (model_of(omdt.make("frozenlake", size=size)) for size in (4, 20))
    assert seconds_per_evaluation(small) < seconds_per_evaluation(large)
    fields = {"seconds_per_tree": 0.5, "seconds_per_transition": 0.0}
    assert seconds_per_evaluation(model_of(environment("frozenlake_4x4"), **fields)) == pytest.approx(0.5)


def test_there_is_always_time_for_a_few_evaluations() -> None:
    model = model_of(environment("frozenlake_4x4"), min_evaluations=7, seconds_per_tree=0.5, seconds_per_transition=0.0)
    assert evaluations_within(model, 0.0) == 7
    assert evaluations_within(model, 100.0) == 200


def test_a_neighbour_takes_longer_with_more_states_and_where_states_are_visited_twice() -> None:
    fields = {"seconds_per_neighbour": 0.5, "seconds_per_neighbour_state": 0.25, "seconds_per_cube": 1.0}
    lake, game = environment("frozenlake_4x4"), environment("tictactoe_vs_random")
    assert seconds_per_neighbour(model_of(lake, **fields)) == pytest.approx(0.5 + 16 * 0.25 + (16 / 3) ** 3)
    assert seconds_per_neighbour(model_of(game, **fields)) == pytest.approx(0.5 + game.n_states * 0.25)
