"""Numbers of things and lists in words: one leaf, but two leaves; a, b or c."""

from collections.abc import Sequence


def counted(number: int, one: str, many: str = "") -> str:
    """A number with the noun that fits it, such as "1 leaf" or "2,000 states".

    Args:
        number: how many there are.
        one: the noun for a single thing.
        many: the noun for any other number of things; by default `one` with an s.
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(words: Sequence[str], conjunction: str) -> str:
    """Words as a list in a sentence, such as "highs, scip or gurobi"; empty if there are none.

    Args:
        words: the words.
        conjunction: what stands before the last one.
    """
    *others, last = words or ("",)
    return f"{', '.join(others)} {conjunction} {last}" if others else last
