"""What the columns of a table are taken for.

A column `x` that has a partner `next x` is a part of the state. The others are found by the words of `ROLES`. Names
that are spelled exactly so come first; then capitals, spaces, underscores, hyphens and dots make no difference, `next`
may stand behind the name, and a prime (`x'`) means the same. A column `reward energy` has further
rewards, called `energy`.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NamedTuple

from omdt.counting import listed
from omdt.errors import InputError, warn_input
from omdt.formats.table import Table

NEXT = "next "
"""What the name of a column begins with that holds a part of the next state."""

ROLES: dict[str, tuple[str, ...]] = {
    "action": ("action", "actions", "act", "a"),
    "probability": ("probability", "probabilities", "proba", "prob", "p"),
    "reward": ("reward", "rewards", "r"),
    "initial": ("initial", "initialprobability", "initialprob"),
}
"""The words for each column that does not belong to the state; a user who writes a table anew uses the first one."""

FURTHER = re.compile(r"rewards?[\s_:.-]+(?P<name>\S.*)", re.IGNORECASE | re.DOTALL)
"""The names of columns with further rewards."""

ALIKE = 0.8
"""Minimum similarity, from 0 to 1, of an unknown name and that of a missing column that counts as a spelling mistake:
about one wrong letter in six. A misspelled `probability` that is ignored would turn a table into a log."""

MOST_COLUMNS = 12
"""Maximum number of columns that a message lists."""


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


@dataclass(frozen=True)
class Columns:
    """Where the columns of a table stand.

    Attributes:
        names: the names of all columns.
        pairs: the parts of the state, in the order of their columns.
        roles: the index of the column of each role that there is.
        further: the indices of the columns of further rewards, by the names of these.
    """

    names: tuple[str, ...]
    pairs: tuple[Pair, ...]
    roles: dict[str, int]
    further: dict[str, int]

    @classmethod
    def of(cls, table: Table) -> "Columns":
        """The columns of a table; those that are not used are told.

        Raises:
            InputError: if a necessary column is missing, or one could have two meanings.
        """
        columns = cls.found(table.columns)
        try:
            columns._check()
        except InputError as error:
            raise table.fault(0, str(error)) from None
        unused = columns._unused()
        if unused:
            which = _some([columns.names[i] for i in unused])
            warn_input(f"{table.name}: not used: {which}; {columns.words()}")
        return columns

    @classmethod
    def found(cls, names: tuple[str, ...]) -> "Columns":
        """What the columns of these names are taken for, whether or not all necessary ones are there."""
        pairs = _exact_pairs(names)
        pairs += _loose_pairs(names, {i for pair in pairs for i in pair[1:]})
        taken = {i for pair in pairs for i in pair[1:]}
        roles = _roles(names, taken)
        further = _further(names, {*taken, *roles.values()})
        return cls(names, tuple(sorted(pairs, key=lambda pair: pair.now)), roles, further)

    @property
    def complete(self) -> bool:
        """Whether there are a state and an action."""
        return bool(self.pairs) and "action" in self.roles

    @property
    def logged(self) -> bool:
        """Whether rows are steps that were taken, because there are no probabilities."""
        return "probability" not in self.roles

    def words(self) -> str:
        """What each column is taken for."""
        parts = [f"the state is {_some([pair.name for pair in self.pairs])}"] if self.pairs else []
        parts += [f"the {role} is {self.names[i]!r:.40}" for role, i in self.roles.items()]
        parts += [f"further rewards are {_some(list(self.further))}"] if self.further else []
        missing = []
        if "reward" not in self.roles:
            missing.append("no reward, so all rewards are 0")
        if self.logged:
            missing.append("no probability, so every row is one logged step")
        return "; ".join(parts + ([f"there is {' and '.join(missing)}"] if missing and self.complete else []))

    def _used(self) -> set[int]:
        return {i for pair in self.pairs for i in pair[1:]} | {*self.roles.values(), *self.further.values()}

    def _unused(self) -> list[int]:
        """The columns that have a name but no meaning; a column without a name is the index of a data frame."""
        used = self._used()
        return [i for i, name in enumerate(self.names) if i not in used and not _is_index(name)]

    def _check(self) -> None:
        """Raise if a necessary column is missing, or one could have two meanings."""
        repeated = next((name for name in self.names if name and self.names.count(name) > 1), None)
        if repeated is not None:
            raise InputError(f"two columns are called {repeated!r:.40}")
        if not self.pairs:
            raise InputError(
                f"no column belongs to the state; a state column x needs a column '{NEXT}x'. {self._found_words()}"
            )
        if "action" not in self.roles:
            raise InputError(f"there is no column 'action'. {self._found_words()}")
        keys = {*(_key(pair.name) for pair in self.pairs), *ROLES}
        for name in (self.names[i] for i in self._unused()):
            base = _base(_key(name))
            if base is not None and base not in keys:
                raise InputError(f"column {name!r:.40} is a part of the next state, but the state has no such column")
            self._check_spelling(name)

    def _check_spelling(self, name: str) -> None:
        """Raise if an unused column looks like a misspelled one, or like a second one of the same meaning."""
        key = _key(name)
        for role, words in ROLES.items():
            if role not in self.roles:
                if get_close_matches(key, [role], cutoff=ALIKE):
                    raise InputError(f"column {name!r:.40} is unknown; if it is the {role}, call it '{role}'")
                continue
            taken = self.names[self.roles[role]]
            if key in words and taken != role and (_key(taken) != role or key == role):
                both = f"{taken!r:.40} and {name!r:.40}"
                raise InputError(f"the columns {both} could both be the {role}; call the right one '{role}'")

    def _found_words(self) -> str:
        """Which columns there are, and what they are taken for."""
        known = [name for name in self.names if name]
        unused = [self.names[i] for i in self._unused()]
        taken = self.words()
        meaning = f" ({taken}{'; not used: ' + _some(unused) if unused else ''})" if taken else ""
        return f"The columns are {_some(known)}{meaning}"


def _key(name: str) -> str:
    """A name without what makes no difference."""
    return name.casefold().translate(str.maketrans("", "", " \t_-."))


def _base(key: str) -> str | None:
    """The key of the column whose next value a key names; None if it names no next value."""
    for base in (key.removeprefix("next"), key.removesuffix("next"), key.removesuffix("'"), key.removesuffix("′")):
        if base != key:
            return base or None
    return None


def _is_index(name: str) -> bool:
    """Whether a name is that of a column of row numbers, as data frames write it."""
    return not name or (name.startswith("Unnamed: ") and name.removeprefix("Unnamed: ").isdigit())


def _exact_pairs(names: tuple[str, ...]) -> list[Pair]:
    """The parts of the state whose columns are spelled exactly `x` and `next x`."""
    return [Pair(name, i, names.index(NEXT + name)) for i, name in enumerate(names) if NEXT + name in names]


def _loose_pairs(names: tuple[str, ...], taken: Collection[int]) -> list[Pair]:
    """The parts of the state among the other columns."""
    # A log may have a column for the next action, which makes the action no part of the state.
    free = {i: _key(name) for i, name in enumerate(names) if i not in taken and _key(name) not in ("", *ROLES)}
    pairs: list[Pair] = []
    for i, key in free.items():
        after = [j for j, other in free.items() if j != i and _base(other) == key]
        if len(after) == 1 and list(free.values()).count(key) == 1:
            pairs.append(Pair(names[i], i, after[0]))
    return pairs


def _roles(names: tuple[str, ...], taken: Collection[int]) -> dict[str, int]:
    """The column of each role that there is: the one that is spelled exactly so, or the first that fits loosely."""
    roles = {role: names.index(role) for role in ROLES if role in names}
    free = [i for i in range(len(names)) if i not in taken and i not in roles.values()]
    for role, words in ROLES.items():
        fitting = [i for word in words for i in free if _key(names[i]) == word]
        if role not in roles and fitting:
            roles[role] = fitting[0]
    return {role: roles[role] for role in ROLES if role in roles}


def _further(names: tuple[str, ...], taken: Collection[int]) -> dict[str, int]:
    """The columns of further rewards among the other columns, by the names of these; of two alike, the first."""
    found: dict[str, int] = {}
    for i, name in enumerate(names):
        match = FURTHER.fullmatch(name.strip())
        if match is not None and i not in taken and _base(_key(name)) is None:
            found.setdefault(match["name"], i)
    return found


def _some(names: list[str]) -> str:
    """The names of columns in a sentence, the first ones if there are many."""
    shown = [f"{name!r:.40}" for name in names[:MOST_COLUMNS]]
    more = len(names) - len(shown)
    return listed([*shown, f"{more:,} more"] if more > 0 else shown, "and")
