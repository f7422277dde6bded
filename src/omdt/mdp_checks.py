"""What an MDP must be: every part checked by itself, with an error that names the first offending state and action.

Each function returns its part as the MDP stores it, or raises `InputError`.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from omdt.arrays import EPSILON, Bools, Floats, Ints, first_true, numbers
from omdt.counting import counted
from omdt.errors import InputError

ROW_SUM_TOLERANCE = 1e-9
"""Maximum distance of the sum of a distribution from 1; nearer sums are divided out, others are mistakes."""

LARGEST_VALUE = 1e290
"""Maximum absolute return; sums and products of such numbers stay below the largest double, about 1.8e308."""

TOTAL_SHARE = 1e-30
"""Part of the largest return that a single reward may have where there is no discount."""

MOST_NAMES = 10
"""Maximum number of action names that a message lists."""


def checked_rewards(rewards: ArrayLike) -> Floats:
    """[S, A] the rewards; their shape says how many states and actions there are."""
    r = numbers(rewards, "rewards")
    if r.ndim != 2:
        raise InputError(f"rewards must have shape [S, A], one row per state, but have shape {r.shape}")
    if r.shape[0] == 0:
        raise InputError("the MDP has no states: rewards has no rows")
    if r.shape[1] == 0:
        raise InputError("the MDP has no actions: rewards has no columns")
    return r


def checked_features(features: ArrayLike, S: int) -> Floats:
    """[S, F] the features, of which there is at least one."""
    X = numbers(features, "features")
    if X.ndim == 1:
        X = X[:, None]
    if X.ndim != 2 or len(X) != S or X.shape[1] == 0:
        raise InputError(f"features must have shape [S, F] = [{S}, at least 1] but have shape {X.shape}")
    return X


def checked_names(names: Sequence[str], count: int, what: str) -> tuple[str, ...]:
    """Distinct names for `count` things; by default `what` with a number."""
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


def check_finite_features(features: Floats, names: Sequence[str]) -> None:
    """Raise for the first feature that is not finite."""
    if (bad := first_true(~np.isfinite(features))) is not None:
        s, f = bad
        raise InputError(f"feature {names[f]!r} of state {s} is {features[s, f]}; features must be finite")


def checked_availability(available: ArrayLike, S: int, A: int) -> Bools:
    """[S, A] the mask, read-only; where everything is available, one that takes no memory."""
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
    if (bad := first_true(~offered)) is not None:
        raise InputError(
            f"state {bad[0]} has no available action; make one available that returns to it if it is final"
        )
    mask = np.array(mask, dtype=np.bool_, order="C")
    mask.flags.writeable = False
    return mask


def checked_fallback(fallback: str | None, action_names: tuple[str, ...]) -> str | None:
    """The fallback, which must be an action if there is one."""
    if fallback is not None and fallback not in action_names:
        shown = ", ".join(repr(name) for name in action_names[:MOST_NAMES])
        more = "" if len(action_names) <= MOST_NAMES else f" and {len(action_names) - MOST_NAMES} more"
        raise InputError(f"the fallback {fallback!r} is not an action; the actions are {shown}{more}")
    return fallback


def checked_transitions(matrix: sparse.csr_array, played: Ints, action_names: Sequence[str]) -> sparse.csr_array:
    """[S·A, S] the matrix with every row a distribution, in canonical form; it is changed in place.

    Args:
        matrix: row s·A + a is that of the action that is played where action a is named in state s.
        played: [S, A] that action.
        action_names: the names of the actions, for messages.
    """
    # Smallest and largest entry tell faster than a mask whether there is a mistake; both are NaN if any entry is.
    valid = matrix.nnz == 0 or (matrix.data.min() >= 0 and matrix.data.max() < np.inf)
    if not valid and (bad := first_true(~(np.isfinite(matrix.data) & (matrix.data >= 0)))) is not None:
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        raise InputError(
            f"probability of moving from {_where(row, played, action_names)} to state "
            f"{matrix.indices[bad]} is {matrix.data[bad]}; probabilities must be numbers between 0 and 1"
        )
    totals = _row_sums(matrix)
    if (bad := first_true(np.abs(totals - 1) > ROW_SUM_TOLERANCE)) is not None:
        raise InputError(
            f"probabilities of {_where(bad[0], played, action_names)} sum to {totals[bad]:.12g}, not to 1 "
            f"(within {ROW_SUM_TOLERANCE:g})"
        )
    return _normalised(matrix, totals)


def check_finite_rewards(rewards: Floats, played: Ints, action_names: Sequence[str]) -> None:
    """Raise for the first reward that is not finite."""
    if (bad := first_true(~np.isfinite(rewards))) is not None:
        where = _where(bad[0] * played.shape[1] + bad[1], played, action_names)
        raise InputError(f"reward of {where} is {rewards[bad]}; rewards must be finite")


def checked_initial(initial: ArrayLike, S: int) -> Floats:
    """[S] the distribution of the first state, divided by its sum unless that is 1 up to rounding."""
    p0 = numbers(initial, "initial")
    if p0.shape != (S,):
        raise InputError(f"initial must have shape [{S}], one probability per state, but has shape {p0.shape}")
    if (bad := first_true(~(np.isfinite(p0) & (p0 >= 0)))) is not None:
        raise InputError(f"initial probability of state {bad[0]} is {p0[bad]}; it must be between 0 and 1")
    total = float(p0.sum())
    if abs(total - 1) > ROW_SUM_TOLERANCE:
        raise InputError(f"initial probabilities sum to {total:.12g}, not to 1")
    return p0 if abs(total - 1) <= S * EPSILON else p0 / total


def checked_discount(discount: object, transitions: sparse.csr_array) -> float:
    """The discount: 1, or so far below 1 that rounding in a row of the transitions cannot reach it."""
    try:
        value = float(discount)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputError(f"discount must be a number, not {discount!r}") from None
    if not 0 < value <= 1:
        raise InputError(f"discount is {value}; it must be above 0 and at most 1")
    if value < 1 and 1 - value <= 16 * EPSILON * int(np.diff(transitions.indptr).max()):
        raise InputError(f"discount is {value!r}, so close to 1 that rounding hides the difference; lower it or say 1")
    return value


def check_returns(rewards: Floats, discount: float) -> None:
    """Raise if a discounted sum of the largest reward could overflow; without a discount, if a moderate sum could."""
    largest = float(np.abs(rewards).max())
    if largest > LARGEST_VALUE * (1 - discount if discount < 1 else TOTAL_SHARE):
        raise InputError(f"rewards as large as {largest:g} overflow when they are summed up; divide all rewards")


def checked_origin(origin: ArrayLike, S: int) -> Ints:
    """[S] the index of each state in the MDP that this one was cut out of; by default its own."""
    indices = np.array(origin, dtype=np.int64) if np.size(origin) else np.arange(S)
    if indices.shape != (S,):
        raise InputError(f"origin must have shape [{S}], one index per state, but has shape {indices.shape}")
    return indices


def checked_truths(truths: Sequence[str], features: Floats, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the features that are truth values, which must be 0 or 1."""
    for name in truths:
        if name not in names:
            raise InputError(f"truths has the feature {name!r}; there are {', '.join(names)}")
        column = features[:, names.index(name)]
        if (bad := first_true((column != 0) & (column != 1))) is not None:
            raise InputError(f"feature {name!r} of state {bad[0]} is {column[bad]}; a truth value must be 0 or 1")
    return tuple(truths)


def check_endless(endless: float | None, discount: float) -> None:
    """Raise if what endless policies are worth is neither ∞ nor −∞, or is said where there is a discount."""
    if endless is None:
        return
    if discount < 1:
        raise InputError(f"endless is {endless} but the discount is {discount}; it has a meaning with discount 1 only")
    if endless not in (np.inf, -np.inf):
        raise InputError(f"endless is {endless!r}; it must be inf, -inf or None")


def checked_labels(labels: Mapping[str, ArrayLike], S: int) -> dict[str, Bools]:
    """The labels, each with a mask [S] of the states that carry it."""
    checked = {}
    for name, states in labels.items():
        _check_text(name, "a label")
        mask = np.asarray(states)
        if mask.shape != (S,) or mask.dtype != np.bool_:
            raise InputError(f"label {name!r} must be an array of {S} truth values, one per state")
        checked[str(name)] = np.array(mask)
    return checked


def checked_reward_models(
    models: Mapping[str, ArrayLike], played: Ints, action_names: Sequence[str]
) -> dict[str, Floats]:
    """The rewards [S, A] of every name; those of an unavailable action are the rewards of the one that is played."""
    checked = {}
    for name, given in models.items():
        _check_text(name, "a reward")
        rewards = numbers(given, f"reward {name!r}")
        if rewards.shape != played.shape:
            raise InputError(f"reward {name!r} must have shape {list(played.shape)} but has shape {rewards.shape}")
        rewards = np.take_along_axis(rewards, played, axis=1)
        if (bad := first_true(~np.isfinite(rewards))) is not None:
            where = _where(bad[0] * played.shape[1] + bad[1], played, action_names)
            raise InputError(f"reward {name!r} of {where} is {rewards[bad]}; rewards must be finite")
        checked[str(name)] = rewards
    return checked


def _check_text(name: object, what: str) -> None:
    """Raise unless a name is text; the name of a reward may be empty."""
    if not isinstance(name, str) or "\0" in name or any("\ud800" <= c <= "\udfff" for c in name):
        raise InputError(f"the name of {what} is {name!r}; names must be text without NUL characters")


def checked_name(name: str) -> str:
    """The name of the MDP."""
    if not isinstance(name, str):
        raise InputError(f"the MDP's name must be a string, not {name!r}")
    return name


def _where(row: int, played: Ints, action_names: Sequence[str]) -> str:
    """The state of a row of the transitions, and the action that is played there."""
    s, a = divmod(row, played.shape[1])
    b = int(played[s, a])
    return f"state {s}, action {b} ({action_names[b]!r})"


def _row_sums(matrix: sparse.csr_array) -> Floats:
    """[rows] the sum of each row."""
    if np.any(matrix.indptr[1:] == matrix.indptr[:-1]):
        return np.asarray(matrix.sum(axis=1), dtype=np.float64)
    # What scipy computes as well, without the search for empty rows that takes it longer than the sums.
    return np.asarray(np.add.reduceat(matrix.data, matrix.indptr[:-1]), dtype=np.float64)


def _normalised(matrix: sparse.csr_array, totals: Floats) -> sparse.csr_array:
    """The matrix in canonical form, each row divided by its sum unless that is 1 up to rounding.

    A row of n entries divided by its sum adds up to 1 within n rounding errors, so doing it twice changes nothing.

    Args:
        matrix: is changed in place.
        totals: [rows] the sum of each row of the matrix as it is given; overwritten.
    """
    entries, canonical = matrix.nnz, matrix.has_canonical_format
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if not canonical or matrix.nnz < entries:
        # Another order of the same numbers rounds to another sum.
        totals = _row_sums(matrix)
    lengths = np.diff(matrix.indptr)
    totals[np.abs(totals - 1) <= lengths * EPSILON] = 1.0
    if np.any(totals != 1.0):
        matrix.data /= np.repeat(totals, lengths)
    return matrix
