"""The model: a Markov decision process in plain arrays, from an npz file."""

import math
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .reading import Bools, Floats, Ints, UnreadableError, readable

EPSILON = 2.0**-52  # relative rounding error of one floating-point operation, at most
MAX_MODEL = 1 << 32  # bytes of a model's arrays, unpacked: a small archive can claim to hold any amount


def entries_of(indptr: Ints, rows: Ints) -> Ints:
    """The positions of the entries of some rows of a sparse matrix, one row after the other."""
    lengths = indptr[rows + 1] - indptr[rows]
    return np.repeat(indptr[rows] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())


@dataclass(frozen=True, eq=False)
class Model:
    """A Markov decision process in plain arrays, transitions as rows s·A + a of a sparse matrix."""

    data: Floats
    indices: Ints
    indptr: Ints
    rewards: Floats  # [S, A]; rewards and rows of unavailable actions are those of the action that is played instead
    initial: Floats
    features: Floats
    discount: float
    feature_names: tuple[str, ...]
    action_names: tuple[str, ...]
    available: Bools | None = None  # [S, A] which actions are available; None if all are
    labels: Mapping[str, Bools] = field(default_factory=dict)  # sets of states [S] by name
    reward_models: Mapping[str, Floats] = field(default_factory=dict)  # further rewards [S, A] by name
    endless: float | None = None  # what a policy is worth that may never end, with discount 1: ±∞, or what it earns

    @property
    def absorbing(self) -> Bools:
        """[S] whether every action stays in a state."""
        S, A = self.rewards.shape
        leaving = (self.indices != np.repeat(np.arange(S), np.diff(self.indptr[::A]))) & (self.data > 0)
        return np.asarray(np.add.reduceat(leaving, self.indptr[:-1:A], dtype=np.int64) == 0)

    def reached(self, choices: Bools) -> Bools:
        """[S] whether a state can be reached by these choices [S, A]."""
        reached = self.initial > 0
        fresh = np.flatnonzero(reached)
        while len(fresh):
            states, actions = np.nonzero(choices[fresh])
            entries = entries_of(self.indptr, fresh[states] * choices.shape[1] + actions)
            successors = np.unique(self.indices[entries[self.data[entries] > 0]])
            fresh = successors[~reached[successors]]
            reached[fresh] = True
        return reached


Arrays: TypeAlias = dict[str, npt.NDArray[np.generic]]  # of a file, by name
DAMAGED = (OSError, LookupError, ValueError, EOFError, MemoryError, RuntimeError, zipfile.BadZipFile, zlib.error)
MODEL_NUMBERS = ("indices", "indptr", "data", "rewards", "initial", "features", "discount")
MODEL_NAMES = ("feature_names", "action_names")
LISTED = {"labels": "label_names", "reward_models": "reward_names"}  # arrays with one entry per name
MODEL_OPTIONS = ("available", "fallback", "endless", *LISTED, *LISTED.values())


def read_model(path: Path, fallback: str | None = None) -> Model:
    """The model of an npz file, as `omdt.write` writes it; `fallback` is played instead of the fallback in the file."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
            readable(size <= MAX_MODEL, f"it would take {size:,} bytes, more than {MAX_MODEL:,}")
        with np.load(path, allow_pickle=False) as file:
            known = [name for name in MODEL_OPTIONS if name in file]
            return _model({name: np.asarray(file[name]) for name in (*MODEL_NUMBERS, *MODEL_NAMES, *known)}, fallback)
    except DAMAGED as error:
        raise UnreadableError(f"{path} is not a readable model: {error}") from None


def _check_shapes(arrays: Arrays) -> None:
    """Raise unless all arrays are of one model."""
    S, A, F, n = (arrays[name].size for name in ("initial", "action_names", "feature_names", "data"))
    L, R = (arrays[name].size if name in arrays else 0 for name in LISTED.values())
    shapes: dict[str, tuple[int, ...]] = {"indptr": (S * A + 1,), "indices": (n,), "data": (n,), "initial": (S,)}
    shapes |= {"rewards": (S, A), "available": (S, A), "features": (S, F), "feature_names": (F,), "action_names": (A,)}
    shapes |= {"labels": (L, S), "label_names": (L,), "reward_models": (R, S, A), "reward_names": (R,)}
    for name, array in arrays.items():
        shape = shapes.get(name, ())
        readable(array.shape == shape, f"{name} does not fit the model: its shape is {array.shape}, not {shape}")
        readable(name not in MODEL_NUMBERS or array.dtype.kind in "iuf", f"{name} must be finite numbers")


def _model(arrays: Arrays, fallback: str | None) -> Model:
    _check_shapes(arrays)
    S, A, n = (arrays[name].size for name in ("initial", "action_names", "data"))
    features, actions = (tuple(str(name) for name in arrays[key]) for key in MODEL_NAMES)
    fallback = str(arrays["fallback"]) if fallback is None and "fallback" in arrays else fallback
    readable(fallback in (None, *actions), f"the fallback {fallback!r:.80} is not an action of the model")
    numbers = {name: arrays[name].astype(np.float64) for name in MODEL_NUMBERS}
    whole = f"the transitions are not a matrix of shape [{S * A}, {S}]"
    ends = numbers["indptr"]
    readable(np.isfinite(ends).all() and ends[0] == 0 and ends[-1] == n and np.all(np.diff(ends) >= 0), whole)
    number = None if fallback is None else actions.index(fallback)
    available = _fill_in(numbers, arrays["available"], number) if "available" in arrays else None
    labels, rewarding = _labels(arrays), _reward_models(arrays, available, number)
    endless = float(arrays["endless"].astype(np.float64)) if "endless" in arrays else None
    readable(endless in (None, math.inf, -math.inf), f"what an endless policy is worth is {endless}, not infinite")
    for name, array in numbers.items():
        readable(np.isfinite(array).all(), f"{name} must be finite numbers")
    indices, indptr = (numbers.pop(name).astype(np.int64) for name in MODEL_NUMBERS[:2])
    data, rewards, initial, table, discount = numbers.values()
    readable(np.all(np.diff(indptr) > 0) and np.all((indices >= 0) & (indices < S)), whole)
    off = np.abs(np.add.reduceat(data, indptr[:-1]) - 1) > 4 * EPSILON * np.diff(indptr)
    sums = "the probabilities of a row do not sum to 1; omdt.write makes them do so"
    readable(np.all(data >= 0) and not np.any(off), sums)
    distribution = np.all(initial >= 0) and abs(initial.sum() - 1) <= 4 * EPSILON * S
    readable(distribution, f"initial is not a distribution over {S} states")
    readable(bool(0 < discount <= 1), f"the discount is {discount}, not above 0 and at most 1")
    dynamics = (data, indices, indptr, rewards, initial, table, float(discount))
    return Model(*dynamics, features, actions, available, labels, rewarding, endless)


def _fill_in(numbers: dict[str, Floats], stated: npt.NDArray[np.generic], fallback: int | None) -> Bools:
    """Let unavailable actions do what is played instead: the fallback where it is available, or the first that is."""
    truths = stated.dtype.kind in "biuf" and np.isin(stated, (0, 1)).all()
    readable(truths, "available must hold truth values, or 0 and 1")
    available, (S, A), indptr = stated.astype(np.bool_), stated.shape, numbers["indptr"].astype(np.int64)
    readable(available.any(axis=1).all(), "a state has no available action")
    played = _played(available, fallback)
    rows = (np.arange(S)[:, None] * A + played).ravel()
    for name in ("data", "indices"):
        numbers[name] = numbers[name][entries_of(indptr, rows)]
    numbers["indptr"] = np.concatenate([[0.0], np.cumsum(np.diff(indptr)[rows])])
    numbers["rewards"] = np.take_along_axis(numbers["rewards"], played, axis=1)
    return available


def _played(available: Bools, fallback: int | None) -> Ints:
    """[S, A] the action that is played where each action is named."""
    first = available.argmax(axis=1)[:, None]
    played = first if fallback is None else np.where(available[:, [fallback]], fallback, first)
    return np.where(available, np.arange(available.shape[1]), played)


def _labels(arrays: Arrays) -> dict[str, Bools]:
    """Sets of states by name."""
    if "labels" not in arrays:
        return {}
    masks = arrays["labels"]
    readable(masks.dtype.kind in "biuf" and bool(np.isin(masks, (0, 1)).all()), "labels must hold truth values")
    return {str(name): mask.astype(np.bool_) for name, mask in zip(arrays["label_names"], masks, strict=True)}


def _reward_models(arrays: Arrays, available: Bools | None, fallback: int | None) -> dict[str, Floats]:
    """Further rewards by name, those of unavailable actions like those of what is played instead."""
    if "reward_models" not in arrays:
        return {}
    readable(arrays["reward_models"].dtype.kind in "iuf", "reward_models must be finite numbers")
    tables = arrays["reward_models"].astype(np.float64)
    if available is not None:
        tables = np.stack([np.take_along_axis(table, _played(available, fallback), axis=1) for table in tables])
    readable(bool(np.isfinite(tables).all()), "reward_models must be finite numbers")
    return {str(name): table for name, table in zip(arrays["reward_names"], tables, strict=True)}
