"""traffic_intersection: switch the lights at a crossing of two roads."""

import math

import numpy as np

from omdt.environments._shared import check, check_finite, check_size, transition_matrix, truncated_poisson
from omdt.mdp import MDP, Floats, Ints


def traffic_intersection(
    *,
    capacity: int = 5,
    max_waiting_time: int = 5,
    left_rate: float = 0.1,
    right_rate: float = 0.5,
    passing_reward: float = 1.0,
    waiting_cost: float = 0.1,
    switch_cost: float = 2.0,
    discount: float = 0.99,
) -> MDP:
    """An operator decides when to switch the traffic lights of an intersection.

    What it models:
        Two queues of cars that share a crossing, a quiet one and a busy one; letting one side wait becomes twice as
        costly with every step.

    States:
        (green_side, cars_left, cars_right, waiting_time) in lexicographic order; those are the features. green_side is
        0 for left and 1 for right; waiting_time counts the steps since the lights changed, up to a largest value.
        Unreachable combinations are left out.

    Actions:
        switch_light, wait.

    Transitions:
        If the green side has a car, one leaves. switch_light then changes the side and sets waiting_time to 1; wait
        keeps the side and adds 1 to waiting_time, up to its largest value. New cars arrive on each side independently,
        by a Poisson distribution truncated to what fits in the queue and renormalised.

    Rewards:
        The passing reward if a car leaves, less the waiting cost times 2^waiting_time for every car on the red side,
        less the switch cost for switch_light.

    Start:
        Green on the left, no cars, waiting_time 0.

    Parameters:
        capacity: cars that fit on each side, at least 1.
        max_waiting_time: the waiting time at which counting stops, from 1 to 100.
        left_rate: mean number of cars that arrive on the left in a step, before truncation.
        right_rate: the same on the right.
        passing_reward: for a car that leaves.
        waiting_cost: of one car on the red side at waiting_time 0.
        switch_cost: of switching the lights.
        discount: γ.

    Source:
        Vos and Verwer, "Optimal Decision Tree Policies for Markov Decision Processes" (IJCAI 2023).
    """
    check("capacity", capacity, low=1)
    check("max_waiting_time", max_waiting_time, 1, 100)
    check("left_rate", left_rate, low=0)
    check("right_rate", right_rate, low=0)
    prices = {"passing_reward": passing_reward, "waiting_cost": waiting_cost, "switch_cost": switch_cost}
    check_finite(prices)
    shape = (2, capacity + 1, capacity + 1, max_waiting_time + 1)
    S = math.prod(shape)
    check_size(f"traffic_intersection with capacity {capacity}", S * 2 * (capacity + 1) ** 2)

    green, left, right, waited = np.unravel_index(np.arange(S), shape)
    passes = np.where(green == 0, left, right) > 0
    left_after, right_after = left - (passes & (green == 0)), right - (passes & (green == 1))
    p_left = _arrivals(left_rate, capacity)[left_after]
    p_right = _arrivals(right_rate, capacity)[right_after]
    red = np.where(green == 0, right, left)
    rewards = passing_reward * passes - waiting_cost * 2.0**waited * red
    probabilities = (p_left[:, :, None] * p_right[:, None, :]).reshape(S, 1, -1)
    return MDP(
        transitions=transition_matrix(_successors(green, waited, shape), probabilities),
        rewards=np.stack([rewards - switch_cost, rewards], axis=1),
        initial=np.arange(S) == 0,
        features=np.stack([green, left, right, waited], axis=1),
        discount=discount,
        feature_names=("green_side", "cars_left", "cars_right", "waiting_time"),
        action_names=("switch_light", "wait"),
        name="traffic_intersection",
    ).reachable()


def _successors(green: Ints, waited: Ints, shape: tuple[int, ...]) -> Ints:
    """[S, 2, all pairs of queues] the states after switch_light and after wait, with each pair of queues."""
    longer = np.minimum(waited + 1, shape[3] - 1)
    return np.stack(
        [_every_queue(1 - green, np.ones_like(waited), shape), _every_queue(green, longer, shape)],
        axis=1,
    )


def _every_queue(green: Ints, waited: Ints, shape: tuple[int, ...]) -> Ints:
    """[S, all pairs of queues] the states with each pair of queues."""
    left, right = np.arange(shape[1])[:, None], np.arange(shape[2])[None, :]
    places = (green[:, None, None], left, right, waited[:, None, None])
    return np.ravel_multi_index(np.broadcast_arrays(*places), shape).reshape(len(green), -1)


def _arrivals(rate: float, capacity: int) -> Floats:
    """[cars, cars next] probability of each queue after arrivals."""
    matrix = np.zeros((capacity + 1, capacity + 1))
    for cars in range(capacity + 1):
        matrix[cars, cars:] = truncated_poisson(rate, capacity - cars)
    return matrix
