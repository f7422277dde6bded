"""tiger_vs_antelope: a tiger hunts an antelope that jumps away at random."""

import numpy as np

from omdt.environments._shared import check, check_size, moved, transition_matrix
from omdt.mdp import MDP

STEPS = {"up": (0, 1), "right": (1, 0), "down": (0, -1), "left": (-1, 0), "wait": (0, 0)}


def tiger_vs_antelope(*, width: int = 5, height: int = 5, discount: float = 0.99) -> MDP:
    """A tiger tries to catch an antelope on a grid.

    What it models:
        The pursuit of a random mover: the tiger decides, the antelope jumps at the same time.

    States:
        (antelope_x, antelope_y, tiger_x, tiger_y) in lexicographic order, then one absorbing terminal state with −1 in
        every feature; those are the features.

    Actions:
        up (y+1), right (x+1), down (y−1), left (x−1), wait.

    Transitions:
        If both are on the same cell, every action ends in the terminal state. Otherwise the antelope jumps to a
        neighbouring cell of the grid, uniformly among those that are not the tiger's current cell, and at the same
        time the tiger moves; a move off the grid stays put.

    Rewards:
        +1 for any action while both are on the same cell.

    Start:
        Uniform over all states, the terminal one included.

    Parameters:
        width: cells along x, at least 2.
        height: cells along y, at least 2.
        discount: γ.

    Source:
        Vos and Verwer, "Optimal Decision Tree Policies for Markov Decision Processes" (IJCAI 2023).
    """
    check("width", width, low=2)
    check("height", height, low=2)
    cells, A = width * height, len(STEPS)
    check_size(f"tiger_vs_antelope on {width} by {height} cells", cells**2 * A * 4)
    ends = moved((width, height), list(STEPS.values()))
    antelope, tiger = np.divmod(np.arange(cells**2), cells)
    jumps = ends[antelope, :4]
    # A jump that stays put would leave the grid.
    possible = (jumps != antelope[:, None]) & (jumps != tiger[:, None])

    S, terminal = cells**2 + 1, cells**2
    successors = np.full((S, A, 4), terminal)
    successors[:terminal] = jumps[:, None, :] * cells + ends[tiger][:, :, None]
    caught = np.append(antelope == tiger, False)
    successors[caught] = terminal
    probabilities = np.full((S, 1, 4), 1 / 4)
    probabilities[:terminal, 0] = possible / possible.sum(axis=1, keepdims=True)
    places = np.stack(np.unravel_index(np.arange(cells**2), (width, height, width, height)), axis=1)
    return MDP(
        transitions=transition_matrix(successors, probabilities),
        rewards=np.repeat(caught[:, None], A, axis=1),
        initial=np.full(S, 1 / S),
        features=np.vstack([places, np.full(4, -1)]),
        discount=discount,
        feature_names=("antelope_x", "antelope_y", "tiger_x", "tiger_y"),
        action_names=tuple(STEPS),
        name="tiger_vs_antelope",
    ).reachable()
