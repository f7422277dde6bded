"""The npz of an interval MDP: one numpy archive of plain arrays, read without unpickling anything.

Arrays `lower, upper` with `indices, indptr` (CSR of shape [S·A, S], row s·A + a; both ends have the same pattern),
`rewards` [S, A], `initial_lower` and `initial_upper` [S], and as in the npz of an MDP (`omdt.formats.from_npz`)
`features` [S, F], `discount`, `feature_names` [F] and `action_names` [A]. A file of an MDP that was learned from a log
has the arrays of the first kind as well, each with `worlds_` before its name: the worlds that the log does not rule
out. `omdt check` reads both (`omdt.check.intervals`).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scipy import sparse

from omdt.errors import InputError
from omdt.formats.from_npz import arrays_in
from omdt.formats.to_npz import write_arrays

OWN = ("lower", "upper", "indices", "indptr", "rewards", "initial_lower", "initial_upper")
"""The arrays that only an interval MDP has."""

SHARED = ("features", "discount", "feature_names", "action_names")
"""The arrays that it shares with an MDP."""

WORLDS = "worlds_"
"""What the names of the first begin with in the file of a learned model."""


def write_fields(path: str | Path, arrays: Mapping[str, Any]) -> None:
    """Write all arrays of an interval MDP to an npz file, whole or not at all."""
    write_arrays(_named(path), arrays)


def fields_in(path: str | Path) -> dict[str, Any]:
    """The fields of the interval MDP in an npz file, by their names.

    Raises:
        InputError: if the file cannot be read, or its arrays are not those of an interval MDP.
    """
    path = _named(path)
    arrays = arrays_in(path, (*OWN, *SHARED))
    try:
        S, A = arrays["rewards"].shape
        indices, indptr = arrays.pop("indices"), arrays.pop("indptr")
        for end in ("lower", "upper"):
            arrays[end] = sparse.csr_array((arrays[end], indices, indptr), shape=(S * A, S))
            arrays[end].check_format(full_check=True)
        names = {key: tuple(str(text) for text in arrays[key]) for key in ("feature_names", "action_names")}
        return {**arrays, **names, "discount": float(arrays["discount"]), "name": str(path)}
    except (ValueError, TypeError) as error:
        raise InputError(f"{path} is not an interval MDP: {error}") from None


def _named(path: str | Path) -> Path:
    """The path of a file whose name must end in .npz."""
    if Path(path).suffix.lower() != ".npz":
        raise InputError(f"{path}: the name of the file of an interval MDP must end in .npz")
    return Path(path)
