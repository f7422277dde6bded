"""Reading: JSON, the records of a certificate, and errors about files and about proofs."""

import gzip
import hashlib
import json
import sys
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

FORMAT, SOLUTION = "omdt-certificate-1", "omdt-solution-1"
HEAD = bytes.fromhex("1f8b08000000000002ff")  # the first bytes of every certificate: gzip without a name or a time

LARGEST = 1e250  # absolute value of a number in a file, at most, so that no sum overflows
MAX_LINE = 1 << 24  # bytes per line of a certificate; the longest ones, claims of many steps, take about a megabyte

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Numbers: TypeAlias = npt.NDArray[np.float64]  # or Fractions with `exact`, likewise wherever a single number is a float
Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
T = TypeVar("T")


class UnreadableError(ValueError):
    """A file is not what it should be."""


class RejectedError(Exception):
    """What was claimed is not proven."""


def require(condition: bool | np.bool_, message: str, error: type[Exception] = RejectedError) -> None:
    """Raise an error about a proof unless a condition holds."""
    if not condition:
        raise error(message)


readable = partial(require, error=UnreadableError)  # the same about a file


def typed(value: Json, kind: type[T], what: str) -> T:
    """A JSON value of this type; a truth value is no number."""
    if not isinstance(value, kind) or isinstance(value, bool):
        nouns = {int: "a whole number", str: "a text", list: "a list", dict: "an object"}
        raise UnreadableError(f"{what} is {value!r:.40}, not {nouns[kind]}")
    return value


def finite(value: Json, what: str, largest: float = sys.float_info.max) -> float:
    """A JSON value that is a number, and not too large."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= largest:
        raise UnreadableError(f"{what} is {value!r:.40}, not a finite number")
    return float(value)


def records(stream: gzip.GzipFile, limit: int) -> Iterator[tuple[list[Json], bytes]]:
    """The records of a certificate, each with raw bytes, at most as many as the limit; the first record is its head."""
    digest = hashlib.sha256()
    for number in count():
        before, line = digest.hexdigest(), stream.readline(MAX_LINE)
        readable(line.endswith(b"\n"), "the certificate ends too early, or has a line that is too long")
        try:
            record = typed(json.loads(line), list, "a record")
        except (ValueError, RecursionError) as error:
            raise UnreadableError(f"a line of the certificate is damaged: {error}") from None
        if record[:1] == ["end"] and number > 0:
            unchanged = record[1:] == [before] and stream.read(1) == b""
            readable(unchanged, "the certificate was changed: its checksum does not fit")
            return
        known = number > 0 or record[:1] == [FORMAT]
        readable(known, f"this is no certificate: its format is not {FORMAT!r}")
        length = typed(record.pop() if record else None, int, "the number of bytes after a record") if number else 0
        readable(0 <= length <= limit, f"a record cannot be followed by {length} bytes")
        raw = stream.read(length)
        readable(len(raw) == length, "the certificate ends too early")
        digest.update(line + raw)
        yield record, raw


def counted(number: int, one: str, many: str) -> str:
    """A number with its noun."""
    return f"{number:,} {one if number == 1 else many}"
