"""MDPs from the arrays of pymdptoolbox, which need not be installed."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from omdt.formats.toolbox_defaults import features_or_number, initial_or_uniform, names_or_state
from omdt.mdp import MDP


def from_pymdptoolbox(
    transitions: Any,
    rewards: Any,
    discount: float,
    *,
    initial: ArrayLike | None = None,
    features: ArrayLike | None = None,
    **names: Any,
) -> MDP:
    """The MDP of the arrays that pymdptoolbox (`mdptoolbox`) takes.

    Args:
        transitions: [A, S, S], or A matrices [S, S], dense or sparse.
        rewards: [S], [S, A], or one reward per transition in the form of `transitions`.
        discount: γ, above 0 and at most 1.
        initial: [S] distribution of the first state; by default every state is equally likely.
        features: [S, F]; by default the number of the state.
        names: feature_names, action_names and name, as in `MDP`.
    """
    P = list(transitions)
    S = int(np.shape(P[0])[0]) if P and np.ndim(P[0]) else 0
    R = rewards.toarray() if sparse.issparse(rewards) else rewards
    if isinstance(R, np.ndarray) and R.dtype == np.object_:
        R = list(R)
    p0, X = initial_or_uniform(initial, S), features_or_number(features, S)
    return MDP.from_matrices(P, R, p0, X, **names_or_state(features, names), discount=discount)
