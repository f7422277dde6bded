"""The npz of an MDP: one numpy archive of plain arrays, read without unpickling anything.

Arrays `data, indices, indptr` (CSR of shape [S·A, S], row s·A + a), `rewards` [S, A], `initial` [S], `features` [S, F],
`discount` (scalar), `feature_names` [F] and `action_names` [A] (unicode), and optionally `origin` [S], `available`
[S, A] (Boolean), `fallback` (unicode, scalar), `truths` (unicode, the names of features that are truth values),
`labels` [L, S] (Boolean) with `label_names` [L], `reward_models` [R, S, A] with `reward_names` [R] and `endless`
(scalar, see `MDP`). Rows and rewards of unavailable actions may hold anything; what is written there is what is played
instead.
"""

import math
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse

from omdt.errors import InputError
from omdt.formats.choices import warn_about_unavailable
from omdt.formats.options import ReadOptions
from omdt.mdp import MDP

REQUIRED = (
    "data",
    "indices",
    "indptr",
    "rewards",
    "initial",
    "features",
    "discount",
    "feature_names",
    "action_names",
)
LISTED = {"labels": "label_names", "reward_models": "reward_names"}
"""Arrays that hold one part per name, with the array of the names."""

OPTIONAL = ("origin", "available", "fallback", "truths", "endless", *LISTED, *LISTED.values())

ARRAY, ARCHIVE, EMPTY_ARCHIVE = b"\x93NUMPY", b"PK\x03\x04", b"PK\x05\x06"
"""The first bytes of a single numpy array, of an archive and of an empty archive."""

MAX_BYTES = 1 << 32
"""Maximum size in bytes of all arrays of a file together, unpacked: more than any MDP that can be solved needs, while a
small archive can claim to hold any amount."""

MOST_PACKED = 1032
"""Maximum number of bytes that deflation packs into one; an array that claims more is not in the file."""


def read(path: Path, options: ReadOptions) -> MDP:
    """Read an MDP from an npz file; a discount and a fallback that are given replace those in the file."""
    arrays = arrays_in(path, REQUIRED, OPTIONAL)
    if options.discount is not None:
        arrays["discount"] = np.asarray(options.discount)
    if options.fallback is not None:
        arrays["fallback"] = np.asarray(options.fallback)
    try:
        mdp = _mdp(arrays, name=str(path))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    warn_about_unavailable(mdp)
    return mdp


def arrays_in(path: Path, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """The arrays of an npz file by their names; others than these are not even looked at.

    Raises:
        InputError: if it cannot be read, lacks an array, or claims too much memory.
    """
    try:
        with open(path, "rb") as stream:
            _check_kind(path, stream)
            archive = np.load(stream, allow_pickle=False)
            missing = [name for name in required if name not in archive]
            if missing:
                if missing[0] == "data" and "lower" in archive:
                    raise InputError(f"{path} holds an interval MDP, which is read in Python: omdt.IntervalMDP.load")
                raise InputError(f"{path} lacks the array {missing[0]!r}; it needs {', '.join(required)}")
            names = [name for name in (*required, *optional) if name in archive]
            _check_size(path, archive.zip, names)
            arrays = {name: archive[name] for name in names}
            for name, array in arrays.items():
                if not isinstance(array, np.ndarray):
                    raise InputError(f"{path}: {name} is not an array")
            return arrays
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError:
        # What numpy says here is often the advice to load the file unsafely.
        raise InputError(f"{path} is not a readable npz file: numpy cannot read its arrays; write it anew") from None
    except (EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path} is not a readable npz file: {error}") from None


def _check_kind(path: Path, stream: IO[bytes]) -> None:
    """Raise unless a file begins like an archive, and go back to its beginning."""
    beginning = stream.read(max(map(len, (ARRAY, ARCHIVE, EMPTY_ARCHIVE))))
    stream.seek(0)
    if beginning.startswith(ARRAY):
        raise InputError(f"{path} is a single array, not an npz archive")
    if not beginning.startswith((ARCHIVE, EMPTY_ARCHIVE)):
        raise InputError(f"{path} is not a readable npz file: it does not begin like an archive")


def _check_size(path: Path, archive: zipfile.ZipFile | None, names: list[str]) -> None:
    """Raise before memory is claimed for more than the archive can hold or a model may take."""
    assert archive is not None  # only a closed file has none
    total = 0
    for name in names:
        member = f"{name}.npy" if f"{name}.npy" in archive.namelist() else name
        with archive.open(member) as stream:
            shape, dtype = _header(stream)
        if dtype.hasobject:
            raise InputError(f"{path}: {name} holds Python objects, which are never loaded; save numbers or text")
        claimed = math.prod(shape) * dtype.itemsize
        packed = archive.getinfo(member)
        if packed.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InputError(f"{path}: {name} is packed in a way that numpy does not use")
        if claimed > min(packed.file_size, MOST_PACKED * packed.compress_size):
            raise InputError(f"{path}: {name} claims {claimed:,} bytes, more than there are in the file")
        total += claimed
    if total > MAX_BYTES:
        raise InputError(f"{path} would take {total:,} bytes; at most {MAX_BYTES:,} can be read")


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of an array that begins with its own description."""
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    else:
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    return shape, dtype


def _mdp(arrays: dict[str, Any], name: str) -> MDP:
    rewards = arrays["rewards"]
    if rewards.ndim != 2:
        raise InputError(f"rewards must have shape [S, A] but have shape {rewards.shape}")
    S, A = rewards.shape
    if arrays["discount"].ndim != 0:
        raise InputError(f"discount must be a single number but has shape {arrays['discount'].shape}")
    for key in ("indices", "indptr", "origin"):
        if key in arrays and (arrays[key].ndim != 1 or not np.issubdtype(arrays[key].dtype, np.integer)):
            raise InputError(f"{key} must be a list of whole numbers")
    for key in ("feature_names", "action_names", "truths", *LISTED.values()):
        if key in arrays and (arrays[key].dtype.kind != "U" or arrays[key].ndim != 1):
            raise InputError(f"{key} must be a list of unicode strings, not of type {arrays[key].dtype}")
    if "available" in arrays and arrays["available"].dtype != np.bool_:
        raise InputError(f"available must be Boolean, not of type {arrays['available'].dtype}")
    if "endless" in arrays and (arrays["endless"].ndim != 0 or arrays["endless"].dtype.kind != "f"):
        raise InputError("endless must be a single number")
    if "fallback" in arrays and (arrays["fallback"].dtype.kind != "U" or arrays["fallback"].ndim != 0):
        raise InputError("fallback must be one unicode string, the name of an action")
    try:
        matrix = sparse.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(S * A, S))
        matrix.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise InputError(f"data, indices and indptr are not a sparse matrix of shape [{S * A}, {S}]: {error}") from None
    return MDP(
        transitions=matrix,
        rewards=rewards,
        initial=arrays["initial"],
        features=arrays["features"],
        discount=arrays["discount"].item(),
        feature_names=tuple(str(text) for text in arrays["feature_names"]),
        action_names=tuple(str(text) for text in arrays["action_names"]),
        name=name,
        origin=arrays.get("origin", ()),
        available=arrays.get("available", ()),
        fallback=str(arrays["fallback"]) if "fallback" in arrays else None,
        truths=tuple(str(text) for text in arrays.get("truths", ())),
        endless=float(arrays["endless"]) if "endless" in arrays else None,
        labels=_listed(arrays, "labels"),
        reward_models=_listed(arrays, "reward_models"),
    )


def _listed(arrays: dict[str, Any], key: str) -> dict[str, Any]:
    """The parts of an array by their names."""
    names = [str(name) for name in arrays.get(LISTED[key], ())]
    parts = arrays.get(key, ())
    if np.ndim(parts) == 0 or len(names) != len(parts) or len(set(names)) < len(names):
        raise InputError(f"{LISTED[key]} must have one distinct name for each of the {key}")
    return dict(zip(names, parts, strict=True))
