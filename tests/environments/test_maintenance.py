"""maintenance: a repair is finished or a machine wears, and production falls with wear."""

from collections import defaultdict

import numpy as np
import pytest
from single_steps import Distribution, assert_follows, outcomes, reward, state_of

from omdt.environments import make


def step(
    observation: tuple[float, ...],
    action: str,
    *,
    levels: int,
    wears: float = 0.8,
    repaired: float | None = None,
    ratio: float = 0.7,
    failure_cost: float = 2.0,
    repair_cost: float = 0.2,
) -> tuple[Distribution, float]:
    """The next observations and the reward, worked out one after the other."""
    crew = None if action == "none" else int(action.removeprefix("repair_")) - 1
    finished = 0.0 if crew is None else 2 / levels if repaired is None else repaired
    after: defaultdict[tuple[float, ...], float] = defaultdict(float)
    earned = 0.0 if crew is None else -repair_cost
    if crew is not None:
        after[*observation[:crew], 0.0, *observation[crew + 1 :]] += finished
    after[observation] += (1 - finished) * (1 - wears)
    for i, wear in enumerate(observation):
        drawn = (1 - finished) * wears / len(observation)
        wearing = i != crew and wear < levels - 1
        after[*observation[:i], wear + wearing, *observation[i + 1 :]] += drawn
        if i != crew:
            earned += ratio**i * (1 - wear / (levels - 1))
        if wear == levels - 1:
            earned -= failure_cost
    return {observed: p for observed, p in after.items() if p > 1e-15}, earned


@pytest.mark.parametrize(("machines", "levels"), [(1, 2), (1, 7), (2, 4), (3, 3), (4, 2)])
def test_every_step_is_that_of_the_machines(machines: int, levels: int) -> None:
    mdp = make("maintenance", machines=machines, levels=levels)
    assert (mdp.n_states, mdp.n_actions, mdp.n_features) == (levels**machines, machines + 1, machines)
    assert_follows(mdp, lambda observation, action: step(observation, action, levels=levels))


def test_every_parameter_counts() -> None:
    mdp = make(
        "maintenance",
        machines=2,
        levels=5,
        wear_probability=1.0,
        repair_probability=0.25,
        production_ratio=3.0,
        failure_cost=10.0,
        repair_cost=-1.0,
    )
    chosen = {"wears": 1.0, "repaired": 0.25, "ratio": 3.0, "failure_cost": 10.0, "repair_cost": -1.0}
    assert_follows(mdp, lambda observation, action: step(observation, action, levels=5, **chosen))


def test_hand_cases() -> None:
    mdp = make("maintenance")
    assert mdp.action_names == ("repair_1", "repair_2", "repair_3", "none")
    assert mdp.feature_names == ("wear_1", "wear_2", "wear_3")
    worn = state_of(mdp, 9, 3, 0)
    third = 0.8 / 3
    assert outcomes(mdp, worn, "none") == pytest.approx({(9, 3, 0): 0.2 + third, (9, 4, 0): third, (9, 3, 1): third})
    assert outcomes(mdp, worn, "repair_1") == pytest.approx(
        {(0, 3, 0): 0.2, (9, 3, 0): 0.8 * (0.2 + third), (9, 4, 0): 0.8 * third, (9, 3, 1): 0.8 * third}
    )
    assert reward(mdp, worn, "none") == pytest.approx(0.7 * 6 / 9 + 0.49 - 2)
    assert reward(mdp, worn, "repair_2") == pytest.approx(0.49 - 2 - 0.2)
    new = state_of(mdp, 0, 0, 0)
    assert outcomes(mdp, new, "repair_3") == pytest.approx(
        {(0, 0, 0): 0.2 + 0.8 * (0.2 + third), (1, 0, 0): 0.8 * third, (0, 1, 0): 0.8 * third}
    )


def test_all_states_may_be_the_first() -> None:
    mdp = make("maintenance")
    np.testing.assert_allclose(mdp.initial, 1 / 1000)
