"""The transitions of an MDP as columns of a table that `from_dataframe` reads again."""

from typing import TYPE_CHECKING

import numpy as np

from omdt.frames import frame_of
from omdt.mdp import MDP, Ints

if TYPE_CHECKING:
    import pandas


def to_dataframe(mdp: MDP) -> "pandas.DataFrame":
    """See `MDP.to_frame`."""
    S, A = mdp.rewards.shape
    matrix = mdp.transitions
    pair = np.repeat(np.arange(S * A), np.diff(matrix.indptr))
    kept = mdp.available.ravel()[pair]
    s, a, t = pair[kept] // A, pair[kept] % A, matrix.indices[kept]
    names = np.array(mdp.action_names, dtype=object)
    return frame_of(
        {
            **_state(mdp, s, ""),
            "action": names[a],
            **_state(mdp, t, "next "),
            "probability": matrix.data[kept],
            "reward": mdp.rewards[s, a],
            **{f"reward {name}": rewards[s, a] for name, rewards in mdp.reward_models.items()},
            "initial": mdp.initial[s],
        }
    )


def _state(mdp: MDP, states: Ints, prefix: str) -> dict[str, np.ndarray]:
    """The columns of some states: their features, and their numbers if features alone do not tell them apart."""
    columns: dict[str, np.ndarray] = {}
    if len(np.unique(mdp.features, axis=0)) < mdp.n_states:
        columns[f"{prefix}state"] = states
    for f, name in enumerate(mdp.feature_names):
        values = mdp.features[states, f]
        columns[prefix + name] = values.astype(np.bool_) if name in mdp.truths else values
    return columns
