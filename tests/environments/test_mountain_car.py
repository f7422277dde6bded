"""mountain_car follows Gymnasium's dynamics, spread over a grid."""

import math

import numpy as np
import pytest
from single_steps import Distribution, assert_follows, mean_next, outcomes, reward, state_of

from omdt import planning
from omdt.environments import make

PUSH = {"push_left": -0.001, "coast": 0.0, "push_right": 0.001}


def drive(position: float, velocity: float, action: str, steps: int) -> tuple[float, float, int]:
    """Position, velocity and time after some time steps."""
    for time in range(steps):
        if position >= 0.5:
            return position, velocity, time
        velocity += PUSH[action] - 0.0025 * math.cos(3 * position)
        velocity = max(-0.07, min(0.07, velocity))
        position = max(-1.2, min(0.5, position + velocity))
        if position == -1.2 and velocity < 0:
            velocity = 0.0
    return position, velocity, steps


def between(value: float, low: float, high: float, n: int) -> dict[int, float]:
    """Weights of the grid points around a value."""
    place = (value - low) / (high - low) * (n - 1)
    below = math.floor(place)
    weights = {below: below + 1 - place, below + 1: place - below}
    return {i: weight for i, weight in weights.items() if weight > 1e-9}


@pytest.mark.parametrize(("size", "steps"), [(7, 1), (7, 4), (10, 5), (12, 30)])
def test_every_step_is_that_of_the_car(size: int, steps: int) -> None:
    mdp = make("mountain_car", size=size, steps=steps)
    positions, velocities = np.linspace(-1.2, 0.5, size), np.linspace(-0.07, 0.07, size)

    def named(i: int, j: int) -> tuple[float, ...]:
        near = np.hypot(mdp.features[:, 0] - positions[i], mdp.features[:, 1] - velocities[j])
        assert near.min() < 1e-12
        return tuple(mdp.features[near.argmin()].tolist())

    def step(observation: tuple[float, ...], action: str) -> tuple[Distribution, float]:
        position, velocity, time = drive(*observation, action, steps)
        by_position = between(position, -1.2, 0.5, size)
        by_velocity = between(velocity, -0.07, 0.07, size)
        return {named(i, j): p * q for i, p in by_position.items() for j, q in by_velocity.items()}, -time

    assert_follows(mdp, step)


def test_the_expected_next_state_is_that_of_the_car() -> None:
    mdp = make("mountain_car")
    expected = [[drive(*x, action, 5)[:2] for action in mdp.action_names] for x in mdp.features.tolist()]
    np.testing.assert_allclose(mean_next(mdp), expected, atol=1e-9)


@pytest.mark.needs("gymnasium")
def test_gymnasium_drives_to_the_same_places() -> None:
    import gymnasium

    env = gymnasium.make("MountainCar-v0").unwrapped
    mdp = make("mountain_car", size=12, steps=1)
    after = mean_next(mdp)
    for state in np.flatnonzero(~mdp.terminal):
        for action in range(3):
            env.state = tuple(mdp.features[state])
            (position, velocity), paid, *_ = env.step(action)
            expected = (min(position, 0.5), velocity)
            assert after[state, action] == pytest.approx(expected, abs=1e-6)  # Gymnasium's observations have 32 bits
            assert mdp.rewards[state, action] == paid


def test_the_goal_is_the_end_and_costs_nothing() -> None:
    mdp = make("mountain_car")
    assert (mdp.terminal == (mdp.features[:, 0] == 0.5)).all()
    assert mdp.terminal.any()


def test_only_the_time_until_the_goal_is_paid() -> None:
    mdp = make("mountain_car", size=18)
    state = state_of(mdp, *mdp.features[(mdp.features[:, 0] < 0.5) & (mdp.features[:, 1] > 0.06)][-1])
    position, velocity = mdp.features[state]
    assert (position, velocity) == pytest.approx((0.4, 0.07))
    assert reward(mdp, state, "push_right") == -2
    assert {x for x, _ in outcomes(mdp, state, "push_right")} == {0.5}


def test_the_wall_stops_the_car() -> None:
    mdp = make("mountain_car", size=29, steps=1)
    fast = mdp.features[mdp.features.sum(axis=1) < -1.21]
    assert len(fast) > 1
    for observation in fast:
        assert outcomes(mdp, state_of(mdp, *observation), "push_left") == {(-1.2, 0.0): 1.0}


def test_the_car_starts_in_the_valley() -> None:
    mdp = make("mountain_car", size=201)
    assert mdp.initial @ mdp.features == pytest.approx([-0.5, 0], abs=1e-9)
    begins = mdp.features[mdp.initial > 0]
    assert begins[:, 0].min() == pytest.approx(-0.6, abs=0.01)
    assert begins[:, 0].max() == pytest.approx(-0.4, abs=0.01)
    assert not begins[:, 1].any()


@pytest.mark.parametrize("size", [10, 20, 34, 35, 112])
def test_a_push_along_the_velocity_reaches_the_goal_at_every_size(size: int) -> None:
    mdp = make("mountain_car", size=size)
    policy = np.where(mdp.features[:, 1] < 0, 0, 2)
    along = planning.expected_return(mdp, planning.policy_values(mdp, policy)).value
    random = planning.expected_return(mdp, planning.policy_values(mdp, planning.random_policy(mdp))).value
    best = planning.expected_return(mdp, planning.optimal_values(mdp)).value
    assert random < 2 * along
    assert 1.3 * best < along <= best
