"""admission: two queues, one server to assign and customers to turn away."""

import math
from collections.abc import Iterator

import numpy as np
from scipy import sparse

from omdt.environments._shared import Numbers, check, check_finite, check_size, chunks, stacked_rows
from omdt.errors import InputError
from omdt.mdp import MDP, Bools, Floats, Ints

# For each action which queue is served, 0 for regular and 1 for premium, and whether the customer at the door may join.
ACTIONS = {
    "serve_regular_admit": (0, True),
    "serve_regular_reject": (0, False),
    "serve_premium_admit": (1, True),
    "serve_premium_reject": (1, False),
}
DOORS = 3

ROUNDING = 1e-12
"""Maximum distance of the sum of two probabilities from 1 that is taken for rounding."""


def admission(
    *,
    capacity: int = 17,
    regular_arrivals: float = 0.4,
    premium_arrivals: float = 0.3,
    regular_service: float = 0.6,
    premium_service: float = 0.4,
    regular_reward: float = 1.0,
    premium_reward: float = 3.0,
    regular_holding: float = 1.0,
    premium_holding: float = 3.0,
    rejection_cost: float = 1.0,
    discount: float = 0.999,
) -> MDP:
    """A server works for two queues, and a doorkeeper turns customers away when too many are waiting.

    What it models:
        Control of admission and service: more customers come than can be served, premium customers pay more but take
        longer, and waiting becomes ever more costly as queues grow.

    States:
        (regular, premium, at_door) in lexicographic order: the length of both queues, and whether nobody (0), a regular
        customer (1) or a premium customer (2) is at the door; those are the features. Capacities 17, 57, 182 and 577
        have about 10³, 10⁴, 10⁵ and 10⁶ states.

    Actions:
        serve_regular_admit, serve_regular_reject, serve_premium_admit, serve_premium_reject: which queue is served, and
        what happens to the customer at the door.

    Transitions:
        An admitted customer joins the queue of their class if there is room; any other one leaves. If the served queue
        then has a customer, the service is finished with the probability of its class, and that customer leaves. The
        next customer comes to the door.

    Rewards:
        The reward of a served customer, less the rejection cost of a customer who leaves from the door, less the
        holding cost of both queues as they are before the action: that of a full queue times the square of the share
        of its capacity that is taken.

    Start:
        Uniform over all states.

    Parameters:
        capacity: customers that fit in each queue, at least 1.
        regular_arrivals: probability that a regular customer comes to the door in a step.
        premium_arrivals: the same for a premium customer; both together are at most 1.
        regular_service: probability that the service of a regular customer is finished in a step.
        premium_service: the same for a premium customer.
        regular_reward: for a regular customer who has been served.
        premium_reward: for a premium customer who has been served.
        regular_holding: cost of a full queue of regular customers per step.
        premium_holding: cost of a full queue of premium customers per step.
        rejection_cost: of a customer who is turned away or finds the queue full.
        discount: γ.

    Source:
        Control of queues as in Stidham, "Optimal Control of Admission to a Queueing System" (1985), and the priority
        rule for convex costs of Van Mieghem (1995).
    """
    check("capacity", capacity, low=1)
    check("regular_arrivals", regular_arrivals, 0, 1)
    check("premium_arrivals", premium_arrivals, 0, 1)
    check("regular_service", regular_service, 0, 1)
    check("premium_service", premium_service, 0, 1)
    prices = {
        "regular_reward": regular_reward,
        "premium_reward": premium_reward,
        "regular_holding": regular_holding,
        "premium_holding": premium_holding,
        "rejection_cost": rejection_cost,
    }
    check_finite(prices)
    shape = (capacity + 1, capacity + 1, DOORS)
    S, A = math.prod(shape), len(ACTIONS)
    check_size(f"admission with capacity {capacity}", S * A * 2 * DOORS)

    arrivals = _arrivals(regular_arrivals, premium_arrivals)
    service = (regular_service, premium_service)
    states = np.stack(np.unravel_index(np.arange(S), shape), axis=1)
    holding = (states[:, :2] / capacity) ** 2 @ np.array([regular_holding, premium_holding])
    rewards = np.empty((S, A))
    for a, (served, admitted) in enumerate(ACTIONS.values()):
        queues, turned_away = _at_the_door(states, capacity, admitted)
        finished = (queues[:, served] > 0) * service[served]
        rewards[:, a] = (regular_reward, premium_reward)[served] * finished - rejection_cost * turned_away - holding
    return MDP(
        transitions=_transitions(states, shape, arrivals, service),
        rewards=rewards,
        initial=np.full(S, 1 / S),
        features=states.astype(np.float64),
        discount=discount,
        feature_names=("regular", "premium", "at_door"),
        action_names=tuple(ACTIONS),
        name="admission",
    )


def _arrivals(regular: float, premium: float) -> Floats:
    """[DOORS] probabilities that nobody, a regular or a premium customer comes to the door."""
    nobody = 1 - (regular + premium)
    if nobody < -ROUNDING:
        raise InputError(
            f"regular_arrivals is {regular} and premium_arrivals is {premium}; at most one customer comes per step, so "
            "their sum must be at most 1"
        )
    return np.array([nobody if nobody > ROUNDING else 0.0, regular, premium])


def _at_the_door(states: Ints, capacity: int, admitted: bool) -> tuple[Ints, Bools]:
    """([n, 2], [n]) queues after the customer at the door has joined or left, and whether one has left."""
    waiting = states[:, 2:] == [[1, 2]]
    joins = waiting & (states[:, :2] < capacity) & admitted
    return states[:, :2] + joins, (waiting & ~joins).any(axis=1)


def _transitions(
    states: Ints, shape: tuple[int, int, int], arrivals: Floats, service: tuple[float, float]
) -> sparse.csr_array:
    """[S·A, S]: the service is finished or not, and each kind of customer comes to the door."""
    A, strides = len(ACTIONS), (shape[1] * DOORS, DOORS)

    def rows() -> Iterator[tuple[Numbers, Floats]]:
        for part in chunks(len(states)):
            n = part.stop - part.start
            successors, probabilities = np.empty((n, A, 2, DOORS), dtype=np.int32), np.empty((n, A, 2, DOORS))
            for a, (served, admitted) in enumerate(ACTIONS.values()):
                queues, _ = _at_the_door(states[part], shape[0] - 1, admitted)
                without_service = queues @ np.array(strides)
                finished = (queues[:, served] > 0) * service[served]
                for outcome, (fewer, chance) in enumerate([(strides[served], finished), (0, 1 - finished)]):
                    successors[:, a, outcome] = (without_service - fewer)[:, None] + np.arange(DOORS)
                    probabilities[:, a, outcome] = chance[:, None] * arrivals
            yield successors.reshape(n * A, -1), probabilities.reshape(n * A, -1)

    return stacked_rows(rows(), len(states) * A, len(states), 2 * DOORS)
