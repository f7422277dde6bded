"""admission: customers join or leave, one queue is served, and the next customer comes."""

import pytest
from single_steps import Distribution, assert_follows, outcomes, reward, state_of

from omdt import InputError
from omdt.environments import make


def step(
    observation: tuple[float, ...],
    action: str,
    *,
    capacity: int,
    arrivals: tuple[float, float] = (0.4, 0.3),
    service: tuple[float, float] = (0.6, 0.4),
    rewards: tuple[float, float] = (1.0, 3.0),
    holding: tuple[float, float] = (1.0, 3.0),
    rejection_cost: float = 1.0,
) -> tuple[Distribution, float]:
    """The next observations and the expected reward, worked out one after the other."""
    queues, door = [int(length) for length in observation[:2]], int(observation[2])
    earned = -sum(cost * (length / capacity) ** 2 for cost, length in zip(holding, queues, strict=True))
    if door > 0:
        if action.endswith("_admit") and queues[door - 1] < capacity:
            queues[door - 1] += 1
        else:
            earned -= rejection_cost
    served = 0 if "regular" in action else 1
    finished = service[served] if queues[served] > 0 else 0.0
    earned += finished * rewards[served]
    after: Distribution = {}
    for done, chance in ((1, finished), (0, 1 - finished)):
        for comes, p in enumerate((1 - sum(arrivals), *arrivals)):
            lengths = [length - (done if i == served else 0) for i, length in enumerate(queues)]
            if chance * p > 0:
                after[float(lengths[0]), float(lengths[1]), float(comes)] = chance * p
    return after, earned


@pytest.mark.parametrize("capacity", [1, 2, 5])
def test_every_step_is_that_of_the_queues(capacity: int) -> None:
    mdp = make("admission", capacity=capacity)
    assert mdp.n_states == 3 * (capacity + 1) ** 2
    assert_follows(mdp, lambda observation, action: step(observation, action, capacity=capacity))


def test_every_parameter_counts() -> None:
    mdp = make(
        "admission",
        capacity=3,
        regular_arrivals=0.25,
        premium_arrivals=0.75,
        regular_service=1.0,
        premium_service=0.125,
        regular_reward=2.0,
        premium_reward=-1.0,
        regular_holding=0.5,
        premium_holding=0.0,
        rejection_cost=7.0,
    )
    chosen = {"arrivals": (0.25, 0.75), "service": (1.0, 0.125), "rewards": (2.0, -1.0), "holding": (0.5, 0.0)}
    assert_follows(mdp, lambda observed, action: step(observed, action, capacity=3, rejection_cost=7.0, **chosen))
    assert {door for *_, door in outcomes(mdp, 0, "serve_regular_admit")} == {1, 2}


def test_hand_cases() -> None:
    mdp = make("admission", capacity=4)
    # A premium customer joins an empty queue and may be served at once.
    joined = outcomes(mdp, state_of(mdp, 0, 0, 2), "serve_premium_admit")
    assert joined[0, 0, 0] == pytest.approx(0.4 * 0.3)
    assert joined[0, 1, 1] == pytest.approx(0.6 * 0.4)
    assert reward(mdp, state_of(mdp, 0, 0, 2), "serve_premium_admit") == pytest.approx(0.4 * 3)
    # Nobody is turned away where nobody is at the door, and a full queue turns customers away by itself.
    half, full = state_of(mdp, 2, 0, 0), state_of(mdp, 4, 0, 1)
    assert reward(mdp, half, "serve_premium_reject") == pytest.approx(-0.25)
    assert reward(mdp, full, "serve_premium_admit") == reward(mdp, full, "serve_premium_reject") == pytest.approx(-2)
    # The server has nothing to do at an empty queue.
    assert outcomes(mdp, half, "serve_premium_admit") == pytest.approx({(2, 0, 0): 0.3, (2, 0, 1): 0.4, (2, 0, 2): 0.3})


def test_all_states_may_be_the_first() -> None:
    mdp = make("admission", capacity=4)
    assert mdp.initial == pytest.approx(1 / 75)


@pytest.mark.parametrize(("regular", "premium"), [(0.5, 0.5), (0.7, 0.3), (0.9, 0.1), (0.0, 1.0)])
def test_somebody_may_always_come(regular: float, premium: float) -> None:
    mdp = make("admission", capacity=2, regular_arrivals=regular, premium_arrivals=premium)
    assert all(door > 0 for *_, door in outcomes(mdp, 0, "serve_regular_admit"))


def test_no_more_than_one_customer_comes() -> None:
    with pytest.raises(
        InputError, match=r"regular_arrivals is 0\.8 and premium_arrivals is 0\.3; at most one customer"
    ):
        make("admission", regular_arrivals=0.8)
