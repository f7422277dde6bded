"""MDPs from the arrays of quantecon, which need not be installed."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from omdt.counting import counted
from omdt.errors import InputError
from omdt.formats.choices import Choices
from omdt.formats.toolbox_defaults import features_or_number, initial_or_uniform, names_or_state
from omdt.mdp import MDP, Floats, Ints


def from_quantecon(
    ddp: Any, *, initial: ArrayLike | None = None, features: ArrayLike | None = None, **names: Any
) -> MDP:
    """The MDP of a `quantecon.markov.DiscreteDP`, in product form or by state-action pairs.

    A pair that is left out or has the reward −∞ is infeasible: the action is not available in the state.

    Args:
        ddp: the problem; its arrays R, Q and, by pairs, s_indices and a_indices, and its discount beta are read.
        initial: [S] distribution of the first state; by default every state is equally likely.
        features: [S, F]; by default the number of the state.
        names: feature_names, action_names, name and fallback, as in `MDP`.
    """
    states, actions, Q, R = _pairs(ddp)
    S, A = Q.shape[1], int(actions.max()) + 1
    action_names = tuple(names.pop("action_names", ())) or tuple(f"action_{a}" for a in range(A))
    if len(action_names) != A:
        raise InputError(f"the problem has {counted(A, 'action')} but {counted(len(action_names), 'action name')}")
    choices = Choices(action_names)
    for i in np.lexsort((actions, states)):
        if R[i] == -np.inf:
            continue
        if states[i] > choices.n_states:
            break
        choices.begin(int(states[i]), action_names[actions[i]], line=0, reward=float(R[i]))
        entries = slice(Q.indptr[i], Q.indptr[i + 1])
        choices.targets.extend(Q.indices[entries].tolist())
        choices.probabilities.extend(Q.data[entries].tolist())
    if choices.n_states < S:
        raise InputError(f"state {choices.n_states} has no feasible action: all its rewards are −∞ or left out")
    return choices.mdp(
        lambda _, state: f"state {state}",
        initial_or_uniform(initial, S),
        features_or_number(features, S),
        **names_or_state(features, names),
        discount=float(ddp.beta),
    )


def _pairs(ddp: Any) -> tuple[Ints, Ints, sparse.csr_array, Floats]:
    """[L] states and actions, [L, S] transitions and [L] rewards of the L state-action pairs of a DiscreteDP."""
    R = np.asarray(ddp.R, dtype=np.float64)
    if R.ndim == 1:
        Q = sparse.csr_array(ddp.Q, dtype=np.float64)
        return np.asarray(ddp.s_indices), np.asarray(ddp.a_indices), Q, R
    S, A = R.shape
    states, actions = np.divmod(np.arange(S * A), A)
    return states, actions, sparse.csr_array(np.asarray(ddp.Q, dtype=np.float64).reshape(S * A, S)), R.ravel()
