"""MDPs from the arrays of other Python toolboxes; none of them needs to be installed."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from omdt.counting import counted
from omdt.errors import InputError
from omdt.formats.choices import Choices
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
        _or_uniform(initial, S),
        _or_number(features, S),
        **_or_state(features, names),
        discount=float(ddp.beta),
    )


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
        discount: γ, strictly between 0 and 1.
        initial: [S] distribution of the first state; by default every state is equally likely.
        features: [S, F]; by default the number of the state.
        names: feature_names, action_names and name, as in `MDP`.
    """
    P = list(transitions)
    S = int(np.shape(P[0])[0]) if P and np.ndim(P[0]) else 0
    R = rewards.toarray() if sparse.issparse(rewards) else rewards
    if isinstance(R, np.ndarray) and R.dtype == np.object_:
        R = list(R)
    p0, X = _or_uniform(initial, S), _or_number(features, S)
    return MDP.from_matrices(P, R, p0, X, **_or_state(features, names), discount=discount)


def _pairs(ddp: Any) -> tuple[Ints, Ints, sparse.csr_array, Floats]:
    """[L] states and actions, [L, S] transitions and [L] rewards of the L state-action pairs of a DiscreteDP."""
    R = np.asarray(ddp.R, dtype=np.float64)
    if R.ndim == 1:
        Q = sparse.csr_array(ddp.Q, dtype=np.float64)
        return np.asarray(ddp.s_indices), np.asarray(ddp.a_indices), Q, R
    S, A = R.shape
    states, actions = np.divmod(np.arange(S * A), A)
    return states, actions, sparse.csr_array(np.asarray(ddp.Q, dtype=np.float64).reshape(S * A, S)), R.ravel()


def _or_uniform(initial: ArrayLike | None, S: int) -> Floats:
    return np.full(S, 1 / max(S, 1)) if initial is None else np.asarray(initial, dtype=np.float64)


def _or_number(features: ArrayLike | None, S: int) -> Floats:
    return np.arange(S, dtype=np.float64)[:, None] if features is None else np.asarray(features, dtype=np.float64)


def _or_state(features: ArrayLike | None, names: dict[str, Any]) -> dict[str, Any]:
    return {"feature_names": ("state",), **names} if features is None else names
