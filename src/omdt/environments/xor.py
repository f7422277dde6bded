"""xor: random points to be labelled by the exclusive or of their halves."""

import numpy as np

from omdt.environments._shared import LARGEST_SEED, check, check_size, transition_matrix
from omdt.mdp import MDP


def xor(*, points: int = 200, seed: int = 0, discount: float = 0.99) -> MDP:
    """The exclusive-or problem of supervised learning as an MDP.

    What it models:
        A classification problem on which greedy tree learning fails, since no single split improves anything.

    States:
        Points drawn uniformly from the unit square; the features are X and Y.

    Actions:
        not_xor, xor.

    Transitions:
        Every action leads to any state with equal probability.

    Rewards:
        +1 if the action is right, −1 if it is wrong: xor is right if exactly one of X and Y is at least 0.5.

    Start:
        Uniform over all states.

    Parameters:
        points: number of points, at least 1.
        seed: of the points.
        discount: γ.

    Source:
        Vos and Verwer, "Optimal Decision Tree Policies for Markov Decision Processes" (IJCAI 2023).
    """
    check("points", points, low=1)
    check("seed", seed, 0, LARGEST_SEED)
    check_size(f"xor with {points} points", points * 2 * points)
    # The paper's points come from this generator.
    places = np.random.RandomState(seed).rand(points, 2)
    label = (places[:, 0] >= 0.5) ^ (places[:, 1] >= 0.5)
    everywhere = np.broadcast_to(np.arange(points), (points, 2, points))
    return MDP(
        transitions=transition_matrix(everywhere, 1 / points),
        rewards=np.where(label[:, None] == np.array([False, True]), 1.0, -1.0),
        initial=np.full(points, 1 / points),
        features=places,
        discount=discount,
        feature_names=("X", "Y"),
        action_names=("not_xor", "xor"),
        name="xor",
    ).reachable()
