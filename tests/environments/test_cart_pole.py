"""cart_pole follows Gymnasium's dynamics, spread over a grid."""

import math
from itertools import product

import numpy as np
import pytest
from single_steps import Distribution, assert_follows, mean_next, outcomes, reward, state_of

from omdt import planning
from omdt.environments import make

FALLEN = (0.0, 0.0, math.pi / 2, 0.0)
TWELVE_DEGREES = 12 * 2 * math.pi / 360  # as in Gymnasium; math.radians rounds otherwise
LIMITS = (2.4, 2.0, TWELVE_DEGREES, 2.0)


def swing(x: float, v: float, angle: float, w: float, force: float, steps: int) -> tuple[tuple[float, ...], int, bool]:
    """Where cart and pole are after some time steps, for how many of them the pole stood, and whether it still does."""
    for time in range(steps):
        thrust = (force + 0.1 * 0.5 * w * w * math.sin(angle)) / 1.1
        turn = (9.8 * math.sin(angle) - math.cos(angle) * thrust) / (0.5 * (4 / 3 - 0.1 * math.cos(angle) ** 2 / 1.1))
        pull = thrust - 0.1 * 0.5 * turn * math.cos(angle) / 1.1
        x, v, angle, w = x + 0.02 * v, v + 0.02 * pull, angle + 0.02 * w, w + 0.02 * turn
        if abs(x) > 2.4 or abs(angle) > TWELVE_DEGREES:
            return (x, v, angle, w), time, False
    return (x, v, angle, w), steps, True


def around(value: float, limit: float, n: int) -> dict[int, float]:
    """Weights of the points of a symmetric axis around a value, which is at most the limit."""
    place = (max(-limit, min(limit, value)) + limit) / (2 * limit) * (n - 1)
    below = math.floor(place)
    weights = {below: below + 1 - place, below + 1: place - below}
    return {i: weight for i, weight in weights.items() if weight > 1e-9}


@pytest.mark.parametrize(("cart", "pole", "steps", "force"), [(3, 4, 1, 10.0), (4, 3, 2, 10.0), (2, 5, 5, 4.0)])
def test_every_step_is_that_of_the_cart(cart: int, pole: int, steps: int, force: float) -> None:
    mdp = make("cart_pole", cart_points=cart, pole_points=pole, steps=steps, force=force)
    sizes = (cart, cart, pole, pole)
    axes = [np.linspace(-limit, limit, n) for limit, n in zip(LIMITS, sizes, strict=True)]

    def named(places: tuple[int, ...]) -> tuple[float, ...]:
        away = abs(mdp.features - [axis[i] for axis, i in zip(axes, places, strict=True)]).max(axis=1)
        assert away.min() < 1e-12
        return tuple(mdp.features[away.argmin()].tolist())

    def step(observation: tuple[float, ...], action: str) -> tuple[Distribution, float]:
        if observation == FALLEN:
            return {FALLEN: 1.0}, 0.0
        after, stood, stands = swing(*observation, {"push_left": -force, "push_right": force}[action], steps)
        if not stands:
            return {FALLEN: 1.0}, stood
        spread = [around(value, limit, n).items() for value, limit, n in zip(after, LIMITS, sizes, strict=True)]
        corners = [zip(*corner, strict=True) for corner in product(*spread)]
        return {named(places): math.prod(weights) for places, weights in corners}, stood

    assert_follows(mdp, step)


def test_the_expected_next_state_is_that_of_the_cart() -> None:
    mdp = make("cart_pole", cart_points=6, pole_points=9)
    compared = 0
    for state, after in enumerate(mean_next(mdp)[:-1]):
        for force, found in zip((-10.0, 10.0), after, strict=True):
            expected, _, stands = swing(*mdp.features[state], force, 2)
            if stands:
                assert found == pytest.approx(np.clip(expected, -np.array(LIMITS), LIMITS), abs=1e-8)
                compared += 1
    assert compared > mdp.n_states


@pytest.mark.needs("gymnasium")
def test_gymnasium_swings_to_the_same_places() -> None:
    import gymnasium

    env = gymnasium.make("CartPole-v1").unwrapped
    mdp = make("cart_pole", cart_points=4, pole_points=5, steps=1)
    after = mean_next(mdp)
    for state, action in product(range(mdp.n_states - 1), range(2)):
        env.reset(seed=0)
        env.state = tuple(mdp.features[state])
        observation, _, fallen, *_ = env.step(action)
        expected = FALLEN if fallen else np.clip(observation, -np.array(LIMITS), LIMITS)
        assert after[state, action] == pytest.approx(expected, abs=1e-6)  # Gymnasium's observations have 32 bits
        assert mdp.rewards[state, action] == 1 - fallen


def test_a_fallen_pole_stays_down() -> None:
    mdp = make("cart_pole")
    assert mdp.terminal.nonzero()[0].tolist() == [state_of(mdp, *FALLEN)] == [mdp.n_states - 1]
    # At 12 degrees and turning outwards the pole falls at once; turning inwards it does not.
    outwards, inwards = (state_of(mdp, 0, 0, TWELVE_DEGREES, w) for w in (2, -2))
    assert outcomes(mdp, outwards, "push_right") == {FALLEN: 1.0}
    assert reward(mdp, outwards, "push_right") == 0
    assert FALLEN not in outcomes(mdp, inwards, "push_right")
    assert reward(mdp, inwards, "push_right") == 2


def test_left_and_right_are_mirror_images() -> None:
    mdp = make("cart_pole")
    state, mirrored = state_of(mdp, 0, 1, 0, 2), state_of(mdp, 0, -1, 0, -2)
    left = outcomes(mdp, state, "push_left")
    right = outcomes(mdp, mirrored, "push_right")
    assert {tuple(-x for x in observation): p for observation, p in left.items()} == pytest.approx(right)


def test_the_pole_starts_nearly_upright() -> None:
    mdp = make("cart_pole", cart_points=9, pole_points=11)
    assert mdp.initial @ mdp.features == pytest.approx([0] * 4, abs=1e-12)
    assert abs(mdp.features[mdp.initial > 0]).max(axis=0) == pytest.approx([0.6, 0.5, TWELVE_DEGREES / 5 * 2, 0.4])


@pytest.mark.parametrize(("cart", "pole"), [(3, 5), (5, 7), (9, 11)])
def test_balancing_is_worth_it_at_every_size(cart: int, pole: int) -> None:
    mdp = make("cart_pole", cart_points=cart, pole_points=pole)
    # Push towards the side to which the pole leans or is about to lean.
    policy = (mdp.features[:, 2] + 0.3 * mdp.features[:, 3] > 0).astype(np.int64)
    balanced = planning.expected_return(mdp, planning.policy_values(mdp, policy)).value
    random = planning.expected_return(mdp, planning.policy_values(mdp, planning.random_policy(mdp))).value
    best = planning.expected_return(mdp, planning.optimal_values(mdp)).value
    assert best > 3 * random
    assert balanced > 2 * random
