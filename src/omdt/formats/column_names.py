"""Names of columns: which are spelled alike, which name the next value of another, and which fit the words of a role.

Names that are spelled exactly so come first; then capitals, spaces, underscores, hyphens and dots make no difference,
`next` may stand behind the name, and a prime (`x'`) means the same.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from omdt.counting import listed

NEXT = "next "
"""What the name of a column begins with that holds a part of the next state."""

MOST_COLUMNS = 12
"""Maximum number of columns that a message lists."""

Roles = Mapping[str, tuple[str, ...]]
"""The words for each column that does not belong to the state; a user who writes a table anew uses the first one."""


class Pair(NamedTuple):
    """A part of the state.

    Attributes:
        name: of the feature.
        now: index of the column with its value.
        after: index of the column with its value in the next state.
    """

    name: str
    now: int
    after: int


def key(name: str) -> str:
    """A name without what makes no difference."""
    return name.casefold().translate(str.maketrans("", "", " \t_-."))


def base(key: str) -> str | None:
    """The key of the column whose next value a key names; None if it names no next value."""
    for found in (key.removeprefix("next"), key.removesuffix("next"), key.removesuffix("'"), key.removesuffix("′")):
        if found != key:
            return found or None
    return None


def is_index(name: str) -> bool:
    """Whether a name is that of a column of row numbers, as data frames write it."""
    return not name or (name.startswith("Unnamed: ") and name.removeprefix("Unnamed: ").isdigit())


def pairs_in(names: tuple[str, ...], roles: Roles) -> list[Pair]:
    """The parts of the state in the order of their columns."""
    pairs = [Pair(name, i, names.index(NEXT + name)) for i, name in enumerate(names) if NEXT + name in names]
    pairs += _loose_pairs(names, {i for pair in pairs for i in pair[1:]}, roles)
    return sorted(pairs, key=lambda pair: pair.now)


def _loose_pairs(names: tuple[str, ...], taken: Collection[int], roles: Roles) -> list[Pair]:
    """The parts of the state among the other columns."""
    # A log may have a column for the next action, which makes the action no part of the state.
    free = {i: key(name) for i, name in enumerate(names) if i not in taken and key(name) not in ("", *roles)}
    pairs: list[Pair] = []
    for i, spelled in free.items():
        after = [j for j, other in free.items() if j != i and base(other) == spelled]
        if len(after) == 1 and list(free.values()).count(spelled) == 1:
            pairs.append(Pair(names[i], i, after[0]))
    return pairs


def roles_in(names: tuple[str, ...], taken: Collection[int], roles: Roles) -> dict[str, int]:
    """The column of each role that there is: the one that is spelled exactly so, or the first that fits loosely."""
    found = {role: names.index(role) for role in roles if role in names}
    free = [i for i in range(len(names)) if i not in taken and i not in found.values()]
    for role, words in roles.items():
        fitting = [i for word in words for i in free if key(names[i]) == word]
        if role not in found and fitting:
            found[role] = fitting[0]
    return {role: found[role] for role in roles if role in found}


def some(names: list[str]) -> str:
    """The names of columns in a sentence, the first ones if there are many."""
    shown = [f"{name!r:.40}" for name in names[:MOST_COLUMNS]]
    more = len(names) - len(shown)
    return listed([*shown, f"{more:,} more"] if more > 0 else shown, "and")
