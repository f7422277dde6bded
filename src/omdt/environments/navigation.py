"""3d_navigation: a robot crosses a cube in which every cell may make it disappear."""

import numpy as np

from omdt.environments._shared import LARGEST_SEED, check, check_size, moved, transition_matrix
from omdt.mdp import MDP

STEPS = {
    "right": (1, 0, 0),
    "left": (-1, 0, 0),
    "up": (0, 1, 0),
    "down": (0, -1, 0),
    "forward": (0, 0, 1),
    "backward": (0, 0, -1),
}


def navigation(*, size: int = 5, seed: int = 0, discount: float = 0.99) -> MDP:
    """A robot crosses a cube from one corner to the opposite one.

    What it models:
        Navigation in three dimensions among dangerous cells: a short way may be risky and a safe way long.

    States:
        The cells (x, y, z) of a cube in lexicographic order; the features are x, y and z.

    Actions:
        right (x+1), left (x−1), up (y+1), down (y−1), forward (z+1), backward (z−1).

    Transitions:
        Every cell but the start and the goal has its own chance of making the robot disappear, drawn once per model
        and uniformly from [0, 1). With that chance any action sends the robot back to the start; otherwise it moves,
        and a move off the cube stays put. From the goal every action leads back to the start.

    Rewards:
        +1 for entering the goal, the last cell, from another cell.

    Start:
        The first cell, (0, 0, 0).

    Parameters:
        size: cells along each edge of the cube, at least 2.
        seed: of the disappearing chances.
        discount: γ.

    Source:
        Vos and Verwer, "Optimal Decision Tree Policies for Markov Decision Processes" (IJCAI 2023), which extends the
        navigation domain of the IPPC 2011 planning competition to three dimensions.
    """
    check("size", size, low=2)
    check("seed", seed, 0, LARGEST_SEED)
    shape = (size, size, size)
    S, A = size**3, len(STEPS)
    check_size(f"3d_navigation of size {size}", S * A * 2)
    start, goal = 0, S - 1
    vanish = np.zeros(S)
    # The paper's chances come from this generator, one draw per cell in order.
    vanish[1:goal] = np.random.RandomState(seed).rand(S - 2)
    ends = moved(shape, list(STEPS.values()))
    ends[goal] = start
    successors = np.stack([np.full((S, A), start), ends], axis=2)
    probabilities = np.stack([vanish, 1 - vanish], axis=1)[:, None, :]
    return MDP(
        transitions=transition_matrix(successors, probabilities),
        rewards=(ends == goal) * (1 - vanish)[:, None],
        initial=np.arange(S) == start,
        features=np.indices(shape).reshape(3, S).T.astype(np.float64),
        discount=discount,
        feature_names=("x", "y", "z"),
        action_names=tuple(STEPS),
        name="3d_navigation",
    ).reachable()
