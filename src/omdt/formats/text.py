"""Text from outside: lines with their numbers in bounded memory, strict numbers, errors that name file and line."""

import gzip
import lzma
import math
import zlib
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TextIO

from omdt.errors import AssumedDiscountWarning, InputError, warn_input

BLOCK = 1 << 18
"""Characters that are read at once."""

COMPRESSED = (".gz", ".xz")
"""Endings of compressed files, which are unpacked while they are read."""

LONGEST_LINE = 1 << 20
"""Maximum number of characters of a line, far above that of any real line: a file without line ends fills no memory."""

DEFAULT_DISCOUNT = 0.99
"""What is assumed where a format has no discount, with a warning: the discount of the paper's environments."""


def fault(path: Path, line: int, message: str) -> InputError:
    """The error about one line of a file."""
    return InputError(f"{path}:{line}: {message}")


def check_is_file(path: Path) -> None:
    """Raise unless there is a file of this name."""
    if not path.is_file():
        raise InputError(f"cannot read {path}: there is no such file")


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file without their ends, numbered from 1; only one block of the file is in memory."""
    number, rest = 0, ""
    try:
        with _opened(path) as stream:
            while block := stream.read(BLOCK):
                lines = (rest + block).split("\n")
                rest = lines.pop()
                for line in lines:
                    number += 1
                    yield number, line
                if len(rest) > LONGEST_LINE:
                    raise fault(path, number + 1, f"the line has more than {LONGEST_LINE:,} characters")
        if rest:
            yield number + 1, rest
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a text file: after line {number} it is not UTF-8") from None
    except (EOFError, lzma.LZMAError, zlib.error) as error:
        raise InputError(f"cannot unpack {path}: {error}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None


def _opened(path: Path) -> TextIO:
    """A text file, which may be compressed."""
    ending = path.suffix.lower()
    if ending == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig")
    if ending == ".xz":
        return lzma.open(path, "rt", encoding="utf-8-sig")
    return open(path, encoding="utf-8-sig")


def parsed_number(text: str) -> float | None:
    """The number that a decimal or a fraction such as 1/3 spells, which may be infinite or not a number.

    None if the text spells no number. Digits in groups, as in 1_000, are spelled too loosely to be one.
    """
    try:
        value = float(Fraction(text) if "/" in text else text)
    except (ZeroDivisionError, OverflowError):
        return math.nan
    except ValueError:
        return None
    return math.nan if "_" in text else value


def number_in(text: str, path: Path, line: int, what: str) -> float:
    """The finite number that a decimal or a fraction such as 1/3 spells."""
    value = parsed_number(text)
    if value is None or not math.isfinite(value):
        raise fault(path, line, f"{what} is {text.strip()!r:.60}; expected a finite number")
    return value


def whole_number_in(text: str, path: Path, line: int, what: str) -> int:
    """The whole number from 0 that a text spells in digits."""
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
        raise fault(path, line, f"{what} is {digits!r:.60}; expected a whole number")
    return int(digits)


def probability_in(text: str, path: Path, line: int) -> float:
    """The probability that a text spells."""
    value = number_in(text, path, line, "the probability")
    if not 0 <= value <= 1:
        raise fault(path, line, f"the probability is {text.strip()}; it must lie between 0 and 1")
    return value


def discount_or_default(source: object, discount: float | None) -> float:
    """The given discount, or `DEFAULT_DISCOUNT` with a warning that it was assumed."""
    if discount is None:
        warn_input(
            f"{source} has no discount of its own; {DEFAULT_DISCOUNT} is assumed, and discount (on the command line "
            "--discount) sets another",
            AssumedDiscountWarning,
        )
        return DEFAULT_DISCOUNT
    return discount
