"""MDP: the validated, immutable problem that everything else trusts.

Notation, used throughout the package: states s = 0 … S−1, actions a = 0 … A−1, transition probabilities P(s, a, s'),
expected rewards r(s, a) = Σ_s' P(s, a, s') R(s, a, s'), start distribution p0(s), discount γ, and the observation
X(s) ∈ ℝ^F on which a tree decides. The discounted return of a policy is E[Σ_t γ^t r(s_t, a_t)].

All probabilities lie in one sparse matrix of shape [S·A, S] whose row s·A + a is P(s, a, ·).

Not every action need be available in every state. Where one is not, naming it means to play another: the fallback if
the MDP has one that is available there, otherwise the first available action. Row and reward of the missing action are
those of the action that is played, so planning, search and proofs need no rule of their own.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from omdt.counting import counted
from omdt.errors import InputError
from omdt.source import Source

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

Missing = Literal["refused", "unavailable"]
PASS_MISSING = "give it, or pass missing='unavailable' if the state does not offer the action"

ROW_SUM_TOLERANCE = 1e-9
LARGEST_VALUE = 1e290
EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False, repr=False)
class MDP:
    """A finite discounted Markov decision process with observed features.

    Attributes:
        transitions: [S·A, S] sparse; row s·A + a is the distribution of the next state.
        rewards: [S, A] expected reward of each action in each state.
        initial: [S] distribution of the first state.
        features: [S, F] what a tree may look at in each state.
        discount: γ, strictly between 0 and 1.
        feature_names: F distinct names.
        action_names: A distinct names.
        name: what the problem is called in outputs.
        origin: [S] index of each state in the MDP this one was cut out of (see `reachable`).
        source: how `make` or `read` was told to find it, or None; solutions record it.
        available: [S, A] whether each action can be played in each state; by default all can. Transitions and rewards
            of the others may be given as anything, they are replaced by those of the action that is played instead.
        fallback: name of the action that is played where an unavailable one is named, if it is available there itself;
            otherwise, and by default, the first available action is.
        truths: names of the features that are truth values where the problem comes from; they are 0 or 1 here.
    """

    transitions: sparse.csr_array
    rewards: Floats
    initial: Floats
    features: Floats
    discount: float = 0.99
    feature_names: tuple[str, ...] = ()
    action_names: tuple[str, ...] = ()
    name: str = "mdp"
    origin: Ints = ()  # type: ignore[assignment]
    source: Source | None = None
    available: Bools = ()  # type: ignore[assignment]
    fallback: str | None = None
    truths: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        rewards = _numbers(self.rewards, "rewards")
        if rewards.ndim != 2:
            raise InputError(f"rewards must have shape [S, A], one row a state, but have shape {rewards.shape}")
        S, A = rewards.shape
        if S == 0:
            raise InputError("the MDP has no states: rewards has no rows")
        if A == 0:
            raise InputError("the MDP has no actions: rewards has no columns")

        features = _numbers(self.features, "features")
        if features.ndim == 1:
            features = features[:, None]
        if features.ndim != 2 or len(features) != S or features.shape[1] == 0:
            raise InputError(f"features must have shape [S, F] = [{S}, at least 1] but have shape {features.shape}")
        feature_names = _names(self.feature_names, features.shape[1], "feature")
        action_names = _names(self.action_names, A, "action")
        if (bad := _first(~np.isfinite(features))) is not None:
            s, f = bad
            raise InputError(f"feature {feature_names[f]!r} of state {s} is {features[s, f]}; features must be finite")

        def where(s: int, a: int) -> str:
            return f"state {s}, action {a} ({action_names[a]!r})"

        transitions = _csr(self.transitions, (S * A, S))
        available = _availability(self.available, S, A)
        fallback = _fallback(self.fallback, action_names)
        played = _played(available, None if fallback is None else action_names.index(fallback))
        if not available.all():
            transitions = transitions[(np.arange(S)[:, None] * A + played).ravel()]
            rewards = np.take_along_axis(rewards, played, axis=1)
        _check_probabilities(transitions, lambda row: where(row // A, int(played[divmod(row, A)])))
        transitions = _normalised(transitions)
        if (bad := _first(~np.isfinite(rewards))) is not None:
            raise InputError(f"reward of {where(bad[0], int(played[bad]))} is {rewards[bad]}; rewards must be finite")

        initial = _distribution(self.initial, S)
        discount = _discount(self.discount)
        if 1 - discount <= 16 * EPSILON * int(np.diff(transitions.indptr).max()):
            raise InputError(f"discount is {discount!r}, so close to 1 that rounding hides the difference; lower it")
        largest = float(np.abs(rewards).max())
        if largest > LARGEST_VALUE * (1 - discount):
            raise InputError(f"rewards as large as {largest:g} overflow when they are summed up; divide all rewards")
        origin = np.array(self.origin, dtype=np.int64) if len(self.origin) else np.arange(S)
        if origin.shape != (S,):
            raise InputError(f"origin must have shape [{S}], one index a state, but has shape {origin.shape}")
        truths = _truths(self.truths, features, feature_names)
        if not isinstance(self.name, str):
            raise InputError(f"the MDP's name must be a string, not {self.name!r}")

        arrays = (transitions.data, transitions.indices, transitions.indptr, rewards, initial, features, origin)
        for array in arrays:
            array.flags.writeable = False
        for field, value in {
            "transitions": transitions,
            "rewards": rewards,
            "initial": initial,
            "features": features,
            "discount": discount,
            "feature_names": feature_names,
            "action_names": action_names,
            "origin": origin,
            "available": available,
            "fallback": fallback,
            "truths": truths,
        }.items():
            object.__setattr__(self, field, value)

    def __repr__(self) -> str:
        return (
            f"<MDP {self.name!r}: {counted(self.n_states, 'state')}, {counted(self.n_actions, 'action')}, "
            f"{counted(self.n_features, 'feature')}, {counted(self.transitions.nnz, 'transition')}, "
            f"discount {self.discount}>"
        )

    @property
    def n_states(self) -> int:
        """S"""
        return int(self.rewards.shape[0])

    @property
    def n_actions(self) -> int:
        """A"""
        return int(self.rewards.shape[1])

    @property
    def n_features(self) -> int:
        """F"""
        return int(self.features.shape[1])

    @property
    def nbytes(self) -> int:
        """Memory of all arrays in bytes."""
        matrix = self.transitions
        arrays = (matrix.data, matrix.indices, matrix.indptr, self.rewards, self.initial, self.features, self.origin)
        return sum(array.nbytes for array in arrays) + (0 if self.all_available else self.available.nbytes)

    @cached_property
    def all_available(self) -> bool:
        """Whether every action is available in every state."""
        return bool(self.available.all())

    @cached_property
    def played(self) -> Ints:
        """[S, A] the action that is really played when each action is named: itself where it is available."""
        return _played(self.available, None if self.fallback is None else self.action_names.index(self.fallback))

    @cached_property
    def terminal(self) -> Bools:
        """[S] whether every action returns to the same state with reward 0."""
        S, A = self.rewards.shape
        lengths = np.diff(self.transitions.indptr)
        first = self.transitions.indices[self.transitions.indptr[:-1]]
        stays = (lengths == 1) & (first == np.repeat(np.arange(S), A))
        terminal: Bools = stays.reshape(S, A).all(axis=1) & (self.rewards == 0).all(axis=1)
        terminal.flags.writeable = False
        return terminal

    def found_at(self, source: Source | None) -> Self:
        """The same MDP, which shares all arrays with this one, with its source."""
        found = copy(self)
        object.__setattr__(found, "source", source)
        return found

    @cached_property
    def reached(self) -> Bools:
        """[S] whether some policy can come to each state."""
        reached = graph_reached(self.initial > 0, self.transitions.indices, self.transitions.indptr[:: self.n_actions])
        reached.flags.writeable = False
        return reached

    def reachable(self) -> Self:
        """The same MDP without the states that no policy can reach; `origin` maps the rest back."""
        if self.reached.all():
            return self
        A, kept = self.n_actions, np.flatnonzero(self.reached)
        rows = (kept[:, None] * A + np.arange(A)).ravel()
        return type(self)(
            transitions=self.transitions[rows][:, kept],
            rewards=self.rewards[kept],
            initial=self.initial[kept],
            features=self.features[kept],
            discount=self.discount,
            feature_names=self.feature_names,
            action_names=self.action_names,
            name=self.name,
            origin=self.origin[kept],
            source=self.source,
            available=self.available[kept],
            fallback=self.fallback,
            truths=self.truths,
        )

    @classmethod
    def from_dense(
        cls,
        transitions: ArrayLike,
        rewards: ArrayLike,
        initial: Any,
        features: Any,
        *,
        axes: Literal["SAS", "SSA"] = "SAS",
        **rest: Any,
    ) -> Self:
        """An MDP from dense arrays.

        Args:
            transitions: [S, A, S], or [S, S, A] with `axes="SSA"` (from, to, action).
            rewards: [S], [S, A], or one reward per transition in the shape of `transitions`.
            initial: [S] distribution of the first state.
            features: [S, F].
            axes: the order of the axes of `transitions` (and of rewards of the same shape).
            rest: discount and names, as in `MDP`.
        """
        P = _numbers(transitions, "transitions")
        R = _numbers(rewards, "rewards")
        if axes not in ("SAS", "SSA"):
            raise InputError(f"axes must be 'SAS' or 'SSA', not {axes!r}")
        if P.ndim != 3:
            raise InputError(f"transitions must have three axes {_spell(axes)}, but have shape {P.shape}")
        if axes == "SSA":
            P = P.transpose(0, 2, 1)
            R = R.transpose(0, 2, 1) if R.ndim == 3 else R
        S, A, S_next = P.shape
        if S != S_next:
            other = "SSA" if axes == "SAS" else "SAS"
            raise InputError(
                f"transitions of shape {np.shape(transitions)} are not {_spell(axes)}; "
                f"if they are {_spell(other)}, say axes={other!r}"
            )
        matrix = sparse.csr_array(P.reshape(S * A, S))
        return cls(matrix, _expected_rewards(matrix, R, S, A), initial, features, **rest)

    @classmethod
    def from_matrices(
        cls,
        transitions: Iterable[Any],
        rewards: Any,
        initial: Any,
        features: Any,
        **rest: Any,
    ) -> Self:
        """An MDP from one [S, S] matrix an action, dense or sparse (an array [A, S, S] is such a list).

        Args:
            transitions: A matrices; row s of matrix a is P(s, a, ·).
            rewards: [S], [S, A], or A matrices with one reward per transition, dense or sparse.
            initial: [S] distribution of the first state.
            features: [S, F].
            rest: discount and names, as in `MDP`.
        """
        P = [_csr(matrix, None, f"transitions of action {a}") for a, matrix in enumerate(transitions)]
        if not P:
            raise InputError("the MDP has no actions: the list of transition matrices is empty")
        S, A = P[0].shape[0], len(P)
        for a, matrix in enumerate(P):
            if matrix.shape != (S, S):
                raise InputError(f"the transition matrix of action {a} has shape {matrix.shape}, expected ({S}, {S})")
        by_state = np.arange(S * A).reshape(A, S).T.ravel()
        stacked = sparse.csr_array(sparse.vstack(P, format="csr")[by_state])
        if _is_matrix_list(rewards):
            R = [_csr(matrix, (S, S), f"rewards of action {a}") for a, matrix in enumerate(rewards)]
            if len(R) != A:
                raise InputError(f"there are {A} transition matrices but {len(R)} reward matrices")
            rewards_by_row: Any = sparse.csr_array(sparse.vstack(R, format="csr")[by_state])
        else:
            rewards_by_row = _numbers(rewards, "rewards")
        return cls(stacked, _expected_rewards(stacked, rewards_by_row, S, A), initial, features, **rest)

    @classmethod
    def from_pairs(
        cls,
        states: ArrayLike,
        actions: ArrayLike,
        transitions: Any,
        rewards: ArrayLike,
        initial: Any,
        features: Any,
        *,
        missing: Missing = "refused",
        **rest: Any,
    ) -> Self:
        """An MDP from a list of L state-action pairs in any order.

        Args:
            states: [L] state of each pair.
            actions: [L] action of each pair.
            transitions: [L, S] dense or sparse; row i is the distribution after pair i.
            rewards: [L] expected reward of each pair.
            initial: [S] distribution of the first state.
            features: [S, F].
            missing: what it means that a pair is not in the list: a mistake ("refused"), or that the action is not
                available in the state ("unavailable").
            rest: discount and names, as in `MDP`.
        """
        _check_missing(missing, rest)
        s, a = _indices(states, "states"), _indices(actions, "actions")
        matrix, r = _csr(transitions), _numbers(rewards, "rewards")
        L, S = matrix.shape
        if not (s.shape == a.shape == r.shape == (L,)):
            raise InputError(f"states {s.shape}, actions {a.shape} and rewards {r.shape} must each have shape [{L}]")
        if L == 0:
            raise InputError("the MDP has no state-action pairs")
        if (bad := _first((s < 0) | (s >= S) | (a < 0))) is not None:
            raise InputError(f"pair {bad[0]} names state {s[bad]}, action {a[bad]}; the MDP has {counted(S, 'state')}")
        A = int(a.max()) + 1
        pairs, times = np.unique(s * A + a, return_counts=True)
        if (bad := _first(times > 1)) is not None:
            state, action = divmod(int(pairs[bad]), A)
            raise InputError(
                f"the pair of state {state} and action {action} is given {times[bad]} times; give each pair once"
            )
        if missing == "refused" and L < S * A:
            state, action = divmod(next((i for i, row in enumerate(pairs.tolist()) if row != i), L), A)
            raise InputError(f"the pair of state {state} and action {action} is missing; {PASS_MISSING}")
        if (bad := _first(~np.isin(np.arange(min(A, L + 1)), a))) is not None:
            raise InputError(f"no pair has action {bad[0]}, but some have action {A - 1}; leave out no number")
        order = np.argsort(s * A + a)
        ends, expected = np.zeros(S * A, dtype=np.int64), np.zeros(S * A)
        by_pair = sparse.csr_array(matrix[order])
        ends[pairs], expected[pairs] = np.diff(by_pair.indptr), r[order]
        indptr = np.concatenate([[0], np.cumsum(ends)])
        by_row = sparse.csr_array((by_pair.data, by_pair.indices, indptr), shape=(S * A, S))
        if L < S * A:
            rest["available"] = np.isin(np.arange(S * A), pairs).reshape(S, A)
        return cls(by_row, expected.reshape(S, A), initial, features, **rest)

    @classmethod
    def from_transitions(
        cls,
        transitions: Iterable[tuple[Hashable, Hashable, Hashable, float, float]],
        initial: Hashable | Mapping[Any, float],
        features: Callable[[Any], ArrayLike] | None = None,
        *,
        missing: Missing = "refused",
        **rest: Any,
    ) -> Self:
        """An MDP from tuples (state, action, next state, probability, reward).

        States and actions may be any hashable objects; both are numbered in the order in which they first appear as
        the first and second entry. Tuples for the same (state, action, next state) add up.

        Args:
            transitions: the tuples, in any order.
            initial: the first state, or a mapping from states to probabilities.
            features: the observation of a state; by default the state itself, a number or a tuple of numbers.
            missing: what it means that a state has no tuples for an action: a mistake ("refused"), or that the action
                is not available there ("unavailable").
            rest: discount and names, as in `MDP`; action names default to the actions' own.
        """
        _check_missing(missing, rest)
        tuples = list(transitions)
        for i, entry in enumerate(tuples):
            if not isinstance(entry, Sequence) or len(entry) != 5:
                raise InputError(f"transition {i} is {entry!r}; expected (state, action, next, probability, reward)")
        if not tuples:
            raise InputError("the MDP has no states: the list of transitions is empty")
        state_index = {state: i for i, state in enumerate(dict.fromkeys(entry[0] for entry in tuples))}
        action_index = {action: i for i, action in enumerate(dict.fromkeys(entry[1] for entry in tuples))}
        S, A = len(state_index), len(action_index)
        for i, (state, action, successor, _, _) in enumerate(tuples):
            if successor not in state_index:
                raise InputError(
                    f"transition {i} leads from state {state!r} by action {action!r} to {successor!r}, which has no "
                    "transitions of its own; let every action return to it with reward 0 if it is final"
                )
        rows = np.array([state_index[entry[0]] * A + action_index[entry[1]] for entry in tuples])
        columns = np.array([state_index[entry[2]] for entry in tuples])
        p = _numbers([entry[3] for entry in tuples], "probabilities")
        R = _numbers([entry[4] for entry in tuples], "rewards")
        states, actions = list(state_index), list(action_index)
        given_rows = np.bincount(rows, minlength=S * A) > 0
        if (bad := _first(~given_rows)) is not None:
            if missing == "refused":
                s, a = divmod(bad[0], A)
                raise InputError(f"state {states[s]!r} has no transitions for action {actions[a]!r}; {PASS_MISSING}")
            rest["available"] = given_rows.reshape(S, A)
        if (bad := _first(~(np.isfinite(p) & (p >= 0)))) is not None:
            state, action, successor, *_ = tuples[bad[0]]
            raise InputError(
                f"transition {bad[0]} from state {state!r} by action {action!r} to {successor!r} has probability "
                f"{p[bad]}; probabilities must be numbers between 0 and 1"
            )
        totals = np.bincount(rows, weights=p, minlength=S * A)
        if (bad := _first(given_rows & (np.abs(totals - 1) > ROW_SUM_TOLERANCE))) is not None:
            s, a = divmod(bad[0], A)
            raise InputError(
                f"probabilities of state {states[s]!r}, action {actions[a]!r} sum to {totals[bad]:.12g}, not to 1"
            )
        earned = np.bincount(rows, weights=p * np.where(p > 0, R, 0.0), minlength=S * A)
        expected = earned / np.where(given_rows, totals, 1.0)

        given = initial if isinstance(initial, Mapping) else {initial: 1.0}
        p0 = np.zeros(S)
        for state, probability in given.items():
            if state not in state_index:
                raise InputError(f"initial state {state!r} has no transitions")
            p0[state_index[state]] = _numbers(probability, f"initial probability of state {state!r}")
        observations = states if features is None else [features(state) for state in states]
        try:
            X = np.array([np.atleast_1d(np.asarray(x, dtype=np.float64)) for x in observations])
        except (TypeError, ValueError) as error:
            raise InputError(
                f"the states' features are not vectors of numbers of one length ({error}); "
                "pass features=, a function from a state to such a vector"
            ) from None
        rest.setdefault("action_names", [str(action) for action in actions])
        matrix = sparse.csr_array(sparse.coo_array((p, (rows, columns)), shape=(S * A, S)))
        return cls(matrix, expected.reshape(S, A), p0, X, **rest)


def graph_reached(first: Bools, successors: NDArray[Any], starts: NDArray[Any]) -> Bools:
    """[S] whether each state of a graph can be reached.

    Args:
        first: [S] the states to start from.
        successors: the successors of state 0, then those of state 1, and so on.
        starts: [S + 1] where the successors of each state begin, and where the last ones end.
    """
    seen = first.copy()
    frontier = np.flatnonzero(seen)
    while len(frontier):
        lengths = starts[frontier + 1] - starts[frontier]
        ends = np.cumsum(lengths)
        within = np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)
        reached = successors[np.repeat(starts[frontier], lengths) + within]
        frontier = np.unique(reached[~seen[reached]])
        seen[frontier] = True
    return seen


def _check_missing(missing: str, rest: Mapping[str, Any]) -> None:
    if missing not in get_args(Missing):
        raise InputError(f"missing is {missing!r}; it must be one of {', '.join(get_args(Missing))}")
    if missing == "unavailable" and "available" in rest:
        raise InputError("missing='unavailable' says what is available; leave out available, or missing")


def _availability(available: Any, S: int, A: int) -> Bools:
    """[S, A] the checked mask, read-only; where everything is available one that takes no memory."""
    everything: Bools = np.broadcast_to(np.True_, (S, A))
    mask = np.asarray(available)
    if mask.shape == (0,):
        return everything
    if mask.shape != (S, A):
        raise InputError(f"available must have shape [S, A] = [{S}, {A}] but has shape {mask.shape}")
    if mask.dtype != np.bool_ and not (mask.dtype.kind in "iuf" and np.isin(mask, (0, 1)).all()):
        raise InputError("available must hold truth values, or 0 and 1")
    if mask.all():
        return everything
    offered: Bools = np.asarray(mask.any(axis=1))
    if (bad := _first(~offered)) is not None:
        raise InputError(
            f"state {bad[0]} has no available action; make one available that returns to it if it is final"
        )
    mask = np.array(mask, dtype=np.bool_, order="C")
    mask.flags.writeable = False
    return mask


def _fallback(fallback: str | None, action_names: tuple[str, ...]) -> str | None:
    if fallback is not None and fallback not in action_names:
        raise InputError(f"the fallback {fallback!r} is not an action; the actions are {_some(action_names)}")
    return fallback


def _some(names: Sequence[str], most: int = 10) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def played_instead(available: Bools, fallback: int | None) -> Ints:
    """[n] what is played, of the available actions [n, A], where an unavailable one is named."""
    first: Ints = available.argmax(axis=1)
    return first if fallback is None else np.where(available[:, fallback], fallback, first)


def _played(available: Bools, fallback: int | None) -> Ints:
    """[S, A] the action that is played when each action is named."""
    S, A = available.shape
    named: Ints = np.broadcast_to(np.arange(A), (S, A))
    if available.all():
        return named
    played: Ints = np.where(available, named, played_instead(available, fallback)[:, None])
    played.flags.writeable = False
    return played


def _numbers(values: Any, what: str) -> Floats:
    """A fresh C-ordered float64 array."""
    try:
        if np.iscomplexobj(np.asarray(values)):
            raise TypeError("they are complex")
        return np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be an array of numbers: {error}") from None


def _indices(values: ArrayLike, what: str) -> Ints:
    array = np.asarray(values)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"{what} must be a list of whole numbers")
    return array.astype(np.int64)


def _first(bad: Bools) -> tuple[int, ...] | None:
    """Index of the first true entry in row order."""
    if not bad.any():
        return None
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))


def _spell(axes: str) -> str:
    return "[S, A, S]" if axes == "SAS" else "[S, S, A]"


def _names(names: Sequence[str], count: int, what: str) -> tuple[str, ...]:
    if isinstance(names, str):
        raise InputError(f"{what}_names must be a list of names, not one string")
    given = tuple(names) or tuple(f"{what}_{i}" for i in range(count))
    if len(given) != count:
        raise InputError(f"the MDP has {counted(count, what)} but {counted(len(given), f'{what} name')}")
    for i, name in enumerate(given):
        if not isinstance(name, str) or not name:
            raise InputError(f"the name of {what} {i} is {name!r}; names must be non-empty strings")
        if "\0" in name or any("\ud800" <= c <= "\udfff" for c in name):
            raise InputError(f"the name of {what} {i} is {name!r}; names must be text without NUL characters")
        if given.index(name) < i:
            raise InputError(f"{what}s {given.index(name)} and {i} have the same name {name!r}; names must be distinct")
    return tuple(str(name) for name in given)


def _truths(truths: Sequence[str], features: Floats, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the features that are truth values, which must be 0 or 1."""
    for name in truths:
        if name not in names:
            raise InputError(f"truths has the feature {name!r}; there are {', '.join(names)}")
        column = features[:, names.index(name)]
        if (bad := _first((column != 0) & (column != 1))) is not None:
            raise InputError(f"feature {name!r} of state {bad[0]} is {column[bad]}; a truth value must be 0 or 1")
    return tuple(truths)


def _csr(matrix: Any, shape: tuple[int, int] | None = None, what: str = "transitions") -> sparse.csr_array:
    """A fresh CSR matrix of float64 with every stored entry checked for its place."""
    if sparse.issparse(matrix):
        if matrix.dtype.kind not in "biuf":
            raise InputError(f"{what} must be a matrix of real numbers, not of type {matrix.dtype}")
        result = sparse.csr_array(matrix, dtype=np.float64, copy=True)
    else:
        dense = _numbers(matrix, what)
        if dense.ndim != 2:
            raise InputError(
                f"{what} must be a matrix but have shape {dense.shape}; for arrays [S, A, S] use MDP.from_dense, "
                "for a list of matrices MDP.from_matrices"
            )
        result = sparse.csr_array(dense)
    try:
        result.check_format(full_check=True)
    except ValueError as error:
        raise InputError(f"{what} is not a valid sparse matrix: {error}") from None
    if shape is not None and result.shape != shape:
        raise InputError(f"{what} must have shape {shape} but have shape {result.shape}")
    return result


def _check_probabilities(matrix: sparse.csr_array, where: Callable[[int], str]) -> None:
    """Raise for the first row that is not a distribution."""
    if (bad := _first(~(np.isfinite(matrix.data) & (matrix.data >= 0)))) is not None:
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        raise InputError(
            f"probability of moving from {where(row)} to state {matrix.indices[bad]} is {matrix.data[bad]}; "
            "probabilities must be numbers between 0 and 1"
        )
    totals = matrix.sum(axis=1)
    if (bad := _first(np.abs(totals - 1) > ROW_SUM_TOLERANCE)) is not None:
        raise InputError(
            f"probabilities of {where(bad[0])} sum to {totals[bad]:.12g}, not to 1 (within {ROW_SUM_TOLERANCE:g})"
        )


def _normalised(matrix: sparse.csr_array) -> sparse.csr_array:
    """The matrix in canonical form, each row divided by its sum unless that is 1 up to rounding.

    A row of n entries divided by its sum adds up to 1 within n rounding errors, so doing it twice changes nothing.
    """
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    lengths = np.diff(matrix.indptr)
    totals = matrix.sum(axis=1)
    totals[np.abs(totals - 1) <= lengths * EPSILON] = 1.0
    if np.any(totals != 1.0):
        matrix.data /= np.repeat(totals, lengths)
    return matrix


def _distribution(initial: ArrayLike, S: int) -> Floats:
    p0 = _numbers(initial, "initial")
    if p0.shape != (S,):
        raise InputError(f"initial must have shape [{S}], one probability a state, but has shape {p0.shape}")
    if (bad := _first(~(np.isfinite(p0) & (p0 >= 0)))) is not None:
        raise InputError(f"initial probability of state {bad[0]} is {p0[bad]}; it must be between 0 and 1")
    total = float(p0.sum())
    if abs(total - 1) > ROW_SUM_TOLERANCE:
        raise InputError(f"initial probabilities sum to {total:.12g}, not to 1")
    return p0 if abs(total - 1) <= S * EPSILON else p0 / total


def _discount(discount: Any) -> float:
    try:
        value = float(discount)
    except (TypeError, ValueError):
        raise InputError(f"discount must be a number, not {discount!r}") from None
    if not 0 < value < 1:
        raise InputError(f"discount is {value}; it must lie strictly between 0 and 1")
    return value


def _is_matrix_list(rewards: Any) -> bool:
    """Whether rewards come as one [S, S] matrix an action."""
    if sparse.issparse(rewards):
        return False
    if isinstance(rewards, np.ndarray):
        return rewards.ndim == 3
    return np.iterable(rewards) and all(sparse.issparse(matrix) or np.ndim(matrix) == 2 for matrix in rewards)


def _expected_rewards(transitions: sparse.csr_array, rewards: Any, S: int, A: int) -> Floats:
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
