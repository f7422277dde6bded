"""maintenance: machines that wear out, and one crew to repair them."""

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from omdt.environments._shared import Numbers, check, check_size, chunks, stacked_rows
from omdt.mdp import MDP, Floats, Ints


def maintenance(
    *,
    machines: int = 3,
    levels: int = 10,
    wear_probability: float = 0.8,
    repair_probability: float | None = None,
    production_ratio: float = 0.7,
    failure_cost: float = 2.0,
    repair_cost: float = 0.2,
    discount: float = 0.995,
) -> MDP:
    """One crew looks after several machines that produce less and less as they wear, and fail in the end.

    What it models:
        Preventive maintenance: a machine that is repaired too early stands still in vain, one that is repaired too late
        produces little or has failed, and while the crew works on one machine the others go on wearing.

    States:
        The wear of each machine, from 0 (new) to levels − 1 (failed), in lexicographic order; the features are wear_1,
        wear_2 and so on. (machines, levels) = (3, 10), (4, 10), (4, 18) and (4, 32) have about 10³, 10⁴, 10⁵ and 10⁶
        states.

    Actions:
        repair_1, repair_2 and so on, and none.

    Transitions:
        The repair of a machine is finished with the repair probability; the machine is then new. Otherwise, with the
        wear probability, one machine drawn uniformly wears by one level, unless it has failed or is being repaired.

    Rewards:
        What the machines produce: a new machine 1 produces 1 per step, each further machine the production ratio times
        as much as the one before it, and worn machines less in proportion to their wear. A machine that is being
        repaired produces nothing. Each failed machine costs the failure cost, and each step of repair the repair cost.

    Start:
        Uniform over all states.

    Parameters:
        machines: number of machines, from 1 to 10.
        levels: number of levels of wear, at least 2.
        wear_probability: that one of the machines is drawn to wear in a step.
        repair_probability: that a repair is finished in a step; 2 / levels if not given: with more levels machines last
            longer, and repairs take longer in proportion.
        production_ratio: production of each machine in relation to the one before it, from 0 to 10.
        failure_cost: of a failed machine per step.
        repair_cost: of the crew's work per step.
        discount: γ.

    Source:
        Glazebrook, Mitchell and Ansell, "Index Policies for the Maintenance of a Collection of Machines by a Set of
        Repairmen" (2005), with one crew.
    """
    check("machines", machines, 1, 10)
    check("levels", levels, low=2)
    repaired = 2 / levels if repair_probability is None else repair_probability
    check("wear_probability", wear_probability, 0, 1)
    check("repair_probability", repaired, 0, 1)
    check("production_ratio", production_ratio, 0, 10)
    check("failure_cost", failure_cost)
    check("repair_cost", repair_cost)
    S, A = levels**machines, machines + 1
    check_size(f"maintenance of {machines} machines with {levels} levels", S * A * A)

    wear = np.stack(np.unravel_index(np.arange(S), (levels,) * machines), axis=1)
    production = production_ratio ** np.arange(machines) * (1 - wear / (levels - 1))
    without_repair = production.sum(axis=1) - failure_cost * (wear == levels - 1).sum(axis=1)
    return MDP(
        transitions=_transitions(wear, levels, wear_probability, repaired),
        rewards=np.column_stack([without_repair[:, None] - production - repair_cost, without_repair]),
        initial=np.full(S, 1 / S),
        features=wear.astype(np.float64),
        discount=discount,
        feature_names=tuple(f"wear_{i + 1}" for i in range(machines)),
        action_names=(*(f"repair_{i + 1}" for i in range(machines)), "none"),
        name="maintenance",
    )


def _transitions(wear: Ints, levels: int, wears: float, repaired: float) -> sparse.csr_array:
    """[S·A, S] from the wear of the machines [S, machines]."""
    S, machines = wear.shape
    A, strides = machines + 1, levels ** np.arange(machines)[::-1]
    # Places of the outcomes, in rising order of the next state: one machine is as new, all stay as they are, and one
    # machine wears, the last one first.
    REPAIRED, NOTHING, WORN = 0, 1, np.arange(2, machines + 2)[::-1]

    def rows() -> Iterator[tuple[Numbers, Floats]]:
        for part in chunks(S):
            now, n = np.arange(part.start, part.stop, dtype=np.int32), part.stop - part.start
            successors = np.empty((n, A, machines + 2), dtype=np.int32)
            probabilities = np.zeros((n, A, machines + 2))
            successors[:, :, NOTHING], successors[:, :, REPAIRED] = now[:, None], now[:, None]
            successors[:, :, WORN] = now[:, None, None] + strides
            can_wear = np.repeat((wear[part] < levels - 1)[:, None, :], A, axis=1)
            can_wear[:, np.arange(machines), np.arange(machines)] = False
            goes_on = 1 - repaired * (np.arange(A) < machines)
            probabilities[:, :, WORN] = (goes_on * wears / machines)[:, None] * can_wear
            # Summed up from its parts: as 1 less the other outcomes, a probability of 0 may be rounded to a tiny one.
            probabilities[:, :, NOTHING] = goes_on * (1 - wears + wears / machines * (~can_wear).sum(axis=2))
            worn = wear[part] > 0
            successors[:, :machines, REPAIRED] -= (wear[part] * strides).astype(np.int32)
            probabilities[:, :machines, REPAIRED] = repaired * worn
            probabilities[:, :machines, NOTHING] += repaired * ~worn
            yield successors.reshape(n * A, -1), probabilities.reshape(n * A, -1)

    return stacked_rows(rows(), S * A, S, machines + 2)
