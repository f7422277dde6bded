"""The estimated model: relative frequencies, what was never tried, and where episodes end."""

import numpy as np
import pytest

import omdt
from omdt.learning.estimating import Estimate, Grouping, estimate
from omdt.learning.steps import Steps


def steps(rows: list[tuple[int, int, float, int, bool]], first: list[int]) -> Steps:
    """Steps (state, action, reward, next state, terminated) over one feature, the number of the state."""
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    starts = np.isin(np.arange(len(rows)), first)
    return Steps(
        columns[0][:, None].astype(float),
        columns[1],
        columns[2].astype(float),
        columns[3][:, None].astype(float),
        columns[4].astype(bool),
        np.cumsum(starts) - 1,
        ("x",),
        ("stay", "go"),
    )


def estimated(taken: Steps, n_states: int) -> Estimate:
    features = np.arange(n_states, dtype=float)[:, None]
    states, following = taken.observations[:, 0].astype(int), taken.next_observations[:, 0].astype(int)
    return estimate(taken, Grouping(features, states, following), 0.9, "counted")


def test_probabilities_are_relative_frequencies_and_untried_pairs_lead_to_the_unknown() -> None:
    taken = steps([(0, 1, 2.0, 1, False), (1, 0, -3.0, 0, False), (0, 1, 4.0, 1, True)], first=[0])
    found = estimated(taken, 2)
    P = found.mdp.transitions.toarray()
    np.testing.assert_allclose(P[0 * 2 + 1], [0, 0.5, 0.5, 0])
    np.testing.assert_allclose(P[0 * 2 + 0], [0, 0, 0, 1])
    np.testing.assert_allclose(P[1 * 2 + 0], [1, 0, 0, 0])
    np.testing.assert_allclose(found.mdp.rewards, [[-3, 3], [-3, -3], [0, 0], [-3, -3]])
    np.testing.assert_allclose(found.visits, [[0, 2], [1, 0]])
    np.testing.assert_allclose(found.mdp.initial, [1, 0, 0, 0])
    assert found.mdp.terminal.tolist() == [False, False, True, False]


def test_what_was_never_tried_is_worth_nothing_where_every_reward_is_positive() -> None:
    found = estimated(steps([(0, 1, 2.0, 0, False)], first=[0]), 1)
    solution = omdt.solve(found.mdp, max_depth=1)
    assert solution.value == pytest.approx(20.0)
    assert found.mdp.rewards[0].tolist() == [0.0, 2.0]


def test_starts_are_counted_per_episode_and_joined_steps_number_their_episodes_anew() -> None:
    one = steps([(0, 1, 1.0, 1, False), (1, 1, 1.0, 0, True)], first=[0])
    two = steps([(1, 0, 1.0, 1, False), (0, 0, 1.0, 1, True)], first=[0, 1])
    both = Steps.joined([one, two])
    assert both.episodes.tolist() == [0, 0, 1, 2]
    assert both.n_episodes == 3
    np.testing.assert_allclose(estimated(both, 2).mdp.initial, [2 / 3, 1 / 3, 0, 0])
