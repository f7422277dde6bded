"""Names of columns: which are spelled alike, which name the next value of another, and which fit the words of a role.

Names that are spelled exactly so come first; then capitals, spaces, underscores, hyphens and dots make no difference,
`next` may stand behind the name, and a prime (`x'`) means the same.
"""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import NamedTuple

from omdt.counting import listed
from omdt.errors import InputError

NEXT = "next "
"""What the name of a column begins with that holds a part of the next state."""

ALIKE = 0.8
"""Minimum similarity, from 0 to 1, of an unknown name and that of a missing column that counts as a spelling mistake:
about one wrong letter in six. A misspelled `probability` that is ignored would turn a table into a log."""

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


def check_distinct(names: tuple[str, ...]) -> None:
    """Raise if two columns have the same name."""
    repeated = next((name for name in names if name and names.count(name) > 1), None)
    if repeated is not None:
        raise InputError(f"two columns are called {repeated!r:.40}")


def check_next(unused: Collection[str], state: Collection[str], roles: Roles) -> None:
    """Raise if an unused column holds the next value of something that is not in the state.

    Args:
        unused: names of columns.
        state: names of the parts of the state.
        roles: the words for other columns, which may have a next value.
    """
    known = {*map(key, state), *roles}
    for name in unused:
        now = base(key(name))
        if now is not None and now not in known:
            raise InputError(f"column {name!r:.40} is a part of the next state, but the state has no such column")


def check_spelling(name: str, names: tuple[str, ...], found: Mapping[str, int], roles: Roles) -> None:
    """Raise if a column without a role looks like a misspelled one, or like a second one of the same meaning.

    Args:
        name: its name.
        names: the names of all columns.
        found: the column of each role that there is.
        roles: the words for each role.
    """
    spelled = key(name)
    for role, words in roles.items():
        if role not in found:
            if get_close_matches(spelled, [role], cutoff=ALIKE):
                raise InputError(f"column {name!r:.40} is unknown; if it is the {role}, call it '{role}'")
            continue
        taken = names[found[role]]
        if spelled in words and taken not in (role, name) and (key(taken) != role or spelled == role):
            both = f"{taken!r:.40} and {name!r:.40}"
            raise InputError(f"the columns {both} could both be the {role}; call the right one '{role}'")


def some(names: list[str]) -> str:
    """The names of columns in a sentence, the first ones if there are many."""
    shown = [f"{name!r:.40}" for name in names[:MOST_COLUMNS]]
    more = len(names) - len(shown)
    return listed([*shown, f"{more:,} more"] if more > 0 else shown, "and")
