"""Orders: in states that differ in one column only, a larger value never means a lower action."""

import numpy as np

from .reading import Bools, Floats, Ints


class Order:
    """One rule about the order of actions.

    States count that are reached [S]. They are compared if they agree in all columns but one; `rank` [A] orders the
    actions, from low to high.
    """

    def __init__(self, columns: Floats, place: int, reached: Bools, rank: Ints) -> None:
        states = np.flatnonzero(reached)
        others = np.delete(columns[states], place, axis=1)
        # Without other columns, all states are compared.
        group = np.unique(others, axis=0, return_inverse=True)[1].reshape(-1) if others.shape[1] else 0 * states
        order = np.lexsort((columns[states, place], group))
        self.states, self.rank = states[order], rank  # groups one after the other, each by ascending values
        self.chains = np.split(np.arange(len(states)), np.flatnonzero(np.diff(group[order])) + 1)

    def narrowed(self, choices: Bools) -> Bools:
        """[S, A] the choices without those that leave none for another state of the same chain.

        An action is at least as high as the lowest that is possible in any state before, and at most as high as the
        highest that is possible in any state behind. States of equal values act alike, so their order does not matter.
        """
        found = choices.copy()
        possible = choices[self.states]
        ranks = np.broadcast_to(self.rank, possible.shape)
        lowest = np.where(possible, ranks, np.iinfo(np.int64).max).min(axis=1)
        highest = np.where(possible, ranks, np.iinfo(np.int64).min).max(axis=1)
        for chain in self.chains:
            lowest[chain] = np.maximum.accumulate(lowest[chain])
            highest[chain] = np.minimum.accumulate(highest[chain][::-1])[::-1]
        found[self.states] &= (ranks >= lowest[:, None]) & (ranks <= highest[:, None])
        return found
