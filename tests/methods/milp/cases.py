"""Random problems and trees for the tests of the program."""

import numpy as np
from hypothesis import strategies as st

from omdt.mdp import MDP
from omdt.splits import Splits
from omdt.tree import Nodes, TreePolicy
from random_mdps import random_model


def random_mdp(
    seed: int,
    *,
    states: int = 6,
    actions: int = 2,
    features: int = 2,
    levels: int = 3,
    discount: float = 0.9,
    rewards: str = "normal",
) -> MDP:
    """An MDP with sparse transitions, some absorbing states, some equal actions and some equal observations."""
    return random_model(
        np.random.default_rng(seed),
        states=states,
        actions=actions,
        features=features,
        dynamics="thinned",
        rewards=rewards,
        reward_axes="SA",
        observations="levels",
        levels=levels,
        starts="some",
        absorbing=0.2,
        twin_actions=0.2,
        discount=discount,
    ).mdp()


mdps = st.builds(
    random_mdp,
    st.integers(0, 2**32 - 1),
    states=st.sampled_from([8, 8, 8, 7, 6, 5, 4, 3, 2]),
    actions=st.sampled_from([3, 3, 2]),
    features=st.sampled_from([2, 2, 1]),
    levels=st.sampled_from([8, 5, 3]),
    discount=st.sampled_from([0.999, 0.99, 0.9, 0.5]),
    rewards=st.sampled_from(["normal", "negative", "large", "zero or one"]),
)

sizes = st.sampled_from(
    [
        {"max_depth": 2},
        {"max_leaf_nodes": 4},
        {"max_leaf_nodes": 3},
        {"max_depth": 2, "max_leaf_nodes": 3},
        {"max_depth": 1},
        {"max_leaf_nodes": 2},
        {"max_leaf_nodes": 1},
        {"max_depth": 0},
    ]
)


def random_tree(mdp: MDP, splits: Splits, random: np.random.Generator, *, depth: int, leaves: int) -> TreePolicy:
    """A tree within the limits with questions and actions by chance."""
    nodes = Nodes()
    stack: list[tuple[int, int, tuple[int, str] | None]] = [(depth, leaves, None)]
    while stack:
        deeper, share, attach = stack.pop()
        if deeper == 0 or share == 1 or len(splits) == 0 or random.random() < 0.2:
            nodes.leaf(int(random.integers(mdp.n_actions)), attach)
            continue
        k = int(random.integers(len(splits)))
        index = nodes.split(int(splits.feature[k]), float(splits.threshold[k]), bool(splits.equality[k]), attach)
        left = int(random.integers(1, share))
        stack += [(deeper - 1, share - left, (index, "right")), (deeper - 1, left, (index, "left"))]
    return nodes.tree(TreePolicy, splits.feature_names, mdp.action_names)


def limits_of(size: dict[str, int]) -> tuple[int, int]:
    """Depth and leaves of the largest tree within the limits."""
    leaves = size.get("max_leaf_nodes", 2 ** size.get("max_depth", 0))
    return size.get("max_depth", leaves - 1), leaves
