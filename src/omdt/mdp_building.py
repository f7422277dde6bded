"""The transitions and rewards of an MDP from what people have: dense arrays, matrices, state-action pairs, tuples.

Everything becomes one sparse matrix [S·A, S], whose row s·A + a is P(s, a, ·), and expected rewards [S, A]. What is
checked here is what the given form can get wrong; the MDP itself is checked by its constructor.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypedDict, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from omdt.arrays import Bools, Floats, Ints, Matrix, csr_matrix, first_true, numbers, whole_numbers
from omdt.counting import counted
from omdt.errors import InputError
from omdt.mdp_checks import ROW_SUM_TOLERANCE
from omdt.source import Source

Axes = Literal["SAS", "SSA"]
"""The order of the axes of dense transitions: state, action, next state; or state, next state, action."""

Missing = Literal["refused", "unavailable"]
"""What it means that nothing is given for a state and an action: a mistake, or that the action is not available."""

PASS_MISSING = "give it, or pass missing='unavailable' if the state does not offer the action"

Transition = tuple[Hashable, Hashable, Hashable, float, float]
"""State, action, next state, probability and reward."""


class Details(TypedDict, total=False):
    """The optional parts of an MDP, which every constructor takes as keywords; see `MDP`."""

    discount: float
    feature_names: Sequence[str]
    action_names: Sequence[str]
    name: str
    origin: ArrayLike
    source: Source | None
    available: ArrayLike
    fallback: str | None
    truths: Sequence[str]
    labels: Mapping[str, ArrayLike]
    reward_models: Mapping[str, ArrayLike]
    endless: float | None


class Dynamics(NamedTuple):
    """Transitions [S·A, S], rewards [S, A], and the available actions [S, A], None if all are."""

    transitions: sparse.csr_array
    rewards: Floats
    available: Bools | None = None


def from_dense(transitions: ArrayLike, rewards: ArrayLike, axes: Axes) -> Dynamics:
    """See `MDP.from_dense`."""
    P = numbers(transitions, "transitions")
    R = numbers(rewards, "rewards")
    if axes not in get_args(Axes):
        raise InputError(f"axes must be 'SAS' or 'SSA', not {axes!r}")
    if P.ndim != 3:
        raise InputError(f"transitions must have three axes {_spell(axes)}, but have shape {P.shape}")
    if axes == "SSA":
        P = P.transpose(0, 2, 1)
        R = R.transpose(0, 2, 1) if R.ndim == 3 else R
    S, A, S_next = P.shape
    if S != S_next:
        other: Axes = "SSA" if axes == "SAS" else "SAS"
        raise InputError(
            f"transitions of shape {np.shape(transitions)} are not {_spell(axes)}; "
            f"if they are {_spell(other)}, say axes={other!r}"
        )
    matrix = sparse.csr_array(P.reshape(S * A, S))
    return Dynamics(matrix, _expected_rewards(matrix, R, S, A))


def _spell(axes: Axes) -> str:
    return "[S, A, S]" if axes == "SAS" else "[S, S, A]"


def from_matrices(transitions: Iterable[Matrix], rewards: Matrix | Sequence[Matrix]) -> Dynamics:
    """See `MDP.from_matrices`."""
    P = [csr_matrix(matrix, None, f"transitions of action {a}") for a, matrix in enumerate(transitions)]
    if not P:
        raise InputError("the MDP has no actions: the list of transition matrices is empty")
    S, A = P[0].shape[0], len(P)
    for a, matrix in enumerate(P):
        if matrix.shape != (S, S):
            raise InputError(f"the transition matrix of action {a} has shape {matrix.shape}, expected ({S}, {S})")
    stacked = _by_state(P)
    if not _is_matrix_list(rewards):
        return Dynamics(stacked, _expected_rewards(stacked, numbers(rewards, "rewards"), S, A))
    R = [csr_matrix(matrix, (S, S), f"rewards of action {a}") for a, matrix in enumerate(rewards)]
    if len(R) != A:
        raise InputError(f"there are {A} transition matrices but {len(R)} reward matrices")
    return Dynamics(stacked, _expected_rewards(stacked, _by_state(R), S, A))


def _by_state(matrices: list[sparse.csr_array]) -> sparse.csr_array:
    """[S·A, S] the rows of A matrices [S, S], those of state 0 first."""
    S, A = matrices[0].shape[0], len(matrices)
    return sparse.csr_array(sparse.vstack(matrices, format="csr")[np.arange(S * A).reshape(A, S).T.ravel()])


def _is_matrix_list(rewards: Matrix | Sequence[Matrix]) -> bool:
    """Whether rewards come as one [S, S] matrix per action."""
    if sparse.issparse(rewards):
        return False
    if isinstance(rewards, np.ndarray):
        return rewards.ndim == 3
    return np.iterable(rewards) and all(sparse.issparse(matrix) or np.ndim(matrix) == 2 for matrix in rewards)


def from_pairs(
    states: ArrayLike, actions: ArrayLike, transitions: Matrix, rewards: ArrayLike, missing: Missing
) -> Dynamics:
    """See `MDP.from_pairs`."""
    s, a = whole_numbers(states, "states"), whole_numbers(actions, "actions")
    matrix, r = csr_matrix(transitions), numbers(rewards, "rewards")
    L, S = matrix.shape
    if not (s.shape == a.shape == r.shape == (L,)):
        raise InputError(f"states {s.shape}, actions {a.shape} and rewards {r.shape} must each have shape [{L}]")
    A = _number_of_actions(s, a, S, missing)
    pairs, order = np.unique(s * A + a), np.argsort(s * A + a)
    lengths, expected = np.zeros(S * A, dtype=np.int64), np.zeros(S * A)
    by_pair = sparse.csr_array(matrix[order])
    lengths[pairs], expected[pairs] = np.diff(by_pair.indptr), r[order]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    by_row = sparse.csr_array((by_pair.data, by_pair.indices, indptr), shape=(S * A, S))
    available = np.isin(np.arange(S * A), pairs).reshape(S, A) if L < S * A else None
    return Dynamics(by_row, expected.reshape(S, A), available)


def _number_of_actions(s: Ints, a: Ints, S: int, missing: Missing) -> int:
    """The number of actions in L pairs of states [L] and actions [L], which are checked."""
    L = len(s)
    if L == 0:
        raise InputError("the MDP has no state-action pairs")
    if (bad := first_true((s < 0) | (s >= S) | (a < 0))) is not None:
        raise InputError(f"pair {bad[0]} names state {s[bad]}, action {a[bad]}; the MDP has {counted(S, 'state')}")
    A = int(a.max()) + 1
    pairs, times = np.unique(s * A + a, return_counts=True)
    if (bad := first_true(times > 1)) is not None:
        state, action = divmod(int(pairs[bad]), A)
        raise InputError(
            f"the pair of state {state} and action {action} is given {times[bad]} times; give each pair once"
        )
    if missing == "refused" and L < S * A:
        state, action = divmod(next((i for i, row in enumerate(pairs.tolist()) if row != i), L), A)
        raise InputError(f"the pair of state {state} and action {action} is missing; {PASS_MISSING}")
    if (bad := first_true(~np.isin(np.arange(min(A, L + 1)), a))) is not None:
        raise InputError(f"no pair has action {bad[0]}, but some have action {A - 1}; leave out no number")
    return A


@dataclass(frozen=True)
class Tuples:
    """Transitions given as tuples, with states and actions numbered in the order of their first appearance.

    Attributes:
        entries: the tuples.
        states: the number of each state.
        actions: the number of each action.
    """

    entries: Sequence[Transition]
    states: Mapping[Hashable, int]
    actions: Mapping[Hashable, int]

    @classmethod
    def of(cls, transitions: Iterable[Transition]) -> "Tuples":
        """The tuples with their states and actions found."""
        entries = list(transitions)
        for i, entry in enumerate(entries):
            if not isinstance(entry, Sequence) or len(entry) != 5:
                raise InputError(f"transition {i} is {entry!r}; expected (state, action, next, probability, reward)")
        if not entries:
            raise InputError("the MDP has no states: the list of transitions is empty")
        states = {state: i for i, state in enumerate(dict.fromkeys(entry[0] for entry in entries))}
        actions = {action: i for i, action in enumerate(dict.fromkeys(entry[1] for entry in entries))}
        for i, (state, action, successor, _, _) in enumerate(entries):
            if successor not in states:
                raise InputError(
                    f"transition {i} leads from state {state!r} by action {action!r} to {successor!r}, which has no "
                    "transitions of its own; let every action return to it with reward 0 if it is final"
                )
        return cls(entries, states, actions)

    def dynamics(self, missing: Missing) -> Dynamics:
        """The transitions and expected rewards; tuples for the same state, action and next state add up."""
        S, A = len(self.states), len(self.actions)
        rows = np.array([self.states[entry[0]] * A + self.actions[entry[1]] for entry in self.entries])
        columns = np.array([self.states[entry[2]] for entry in self.entries])
        p = numbers([entry[3] for entry in self.entries], "probabilities")
        R = numbers([entry[4] for entry in self.entries], "rewards")
        given = np.bincount(rows, minlength=S * A) > 0
        if missing == "refused" and (bad := first_true(~given)) is not None:
            state, action = self._pair(bad[0])
            raise InputError(f"state {state!r} has no transitions for action {action!r}; {PASS_MISSING}")
        self._check_probabilities(p)
        totals = np.bincount(rows, weights=p, minlength=S * A)
        if (bad := first_true(given & (np.abs(totals - 1) > ROW_SUM_TOLERANCE))) is not None:
            state, action = self._pair(bad[0])
            raise InputError(f"probabilities of state {state!r}, action {action!r} sum to {totals[bad]:.12g}, not to 1")
        earned = np.bincount(rows, weights=p * np.where(p > 0, R, 0.0), minlength=S * A)
        expected = earned / np.where(given, totals, 1.0)
        matrix = sparse.csr_array(sparse.coo_array((p, (rows, columns)), shape=(S * A, S)))
        return Dynamics(matrix, expected.reshape(S, A), None if given.all() else given.reshape(S, A))

    def _pair(self, row: int) -> tuple[Hashable, Hashable]:
        """The state and the action of a row of the transitions."""
        s, a = divmod(row, len(self.actions))
        return list(self.states)[s], list(self.actions)[a]

    def _check_probabilities(self, p: Floats) -> None:
        if (bad := first_true(~(np.isfinite(p) & (p >= 0)))) is not None:
            state, action, successor, *_ = self.entries[bad[0]]
            raise InputError(
                f"transition {bad[0]} from state {state!r} by action {action!r} to {successor!r} has probability "
                f"{p[bad]}; probabilities must be numbers between 0 and 1"
            )

    def initial(self, given: Hashable | Mapping[Any, float]) -> Floats:
        """[S] the distribution of the first state, given as one state or as a mapping to probabilities."""
        p0 = np.zeros(len(self.states))
        for state, probability in (given if isinstance(given, Mapping) else {given: 1.0}).items():
            if state not in self.states:
                raise InputError(f"initial state {state!r} has no transitions")
            p0[self.states[state]] = numbers(probability, f"initial probability of state {state!r}")
        return p0

    def features(self, of_state: Callable[[Any], ArrayLike] | None) -> Floats:
        """[S, F] the observation of each state; without a function the state itself."""
        observations = self.states if of_state is None else [of_state(state) for state in self.states]
        try:
            return np.array([np.atleast_1d(np.asarray(x, dtype=np.float64)) for x in observations])
        except (TypeError, ValueError) as error:
            raise InputError(
                f"the states' features are not vectors of numbers of one length ({error}); "
                "pass features=, a function from a state to such a vector"
            ) from None


def check_missing(missing: str, *, masked: bool) -> None:
    """Raise unless `missing` is known, or where it and a mask `available` both say what is available."""
    if missing not in get_args(Missing):
        raise InputError(f"missing is {missing!r}; it must be one of {', '.join(get_args(Missing))}")
    if missing == "unavailable" and masked:
        raise InputError("missing='unavailable' says what is available; leave out available, or missing")


def _expected_rewards(transitions: sparse.csr_array, rewards: Matrix, S: int, A: int) -> Floats:
    """[S, A] rewards from any of [S], [S, A], [S, A, S] or sparse [S·A, S]; impossible transitions earn nothing."""
    if not sparse.issparse(rewards):
        if rewards.shape == (S, A):
            return np.asarray(rewards, dtype=np.float64)
        if rewards.shape == (S,):
            return np.repeat(rewards[:, None], A, axis=1)
        if rewards.shape != (S, A, S):
            raise InputError(
                f"rewards have shape {rewards.shape}; expected [S] = ({S},), [S, A] = ({S}, {A}), "
                "or one reward per transition in the shape of the transitions"
            )
        rewards = rewards.reshape(S * A, S)
    possible = transitions.tocoo()
    rows, columns = possible.coords
    p = np.where(possible.data > 0, possible.data, 0.0)
    earned = np.asarray(rewards[rows, columns]).ravel()
    total = np.bincount(rows, weights=p, minlength=S * A)
    expected = np.bincount(rows, weights=p * np.where(p > 0, earned, 0.0), minlength=S * A)
    return np.asarray(expected / np.where(total > 0, total, 1.0), dtype=np.float64).reshape(S, A)
