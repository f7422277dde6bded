"""What the columns of a table are taken for.

A column `x` that has a partner `next x` is a part of the state. The others are found by the words of `ROLES`.
`column_names` says which spellings make no difference. A column `reward energy` has further rewards, called `energy`.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from omdt.errors import InputError, warn_input
from omdt.formats.column_names import (
    NEXT,
    Pair,
    Roles,
    base,
    check_distinct,
    check_next,
    check_spelling,
    is_index,
    key,
    pairs_in,
    roles_in,
    some,
)
from omdt.formats.table import Table

ROLES: Roles = {
    "action": ("action", "actions", "act", "a"),
    "probability": ("probability", "probabilities", "proba", "prob", "p"),
    "reward": ("reward", "rewards", "r"),
    "initial": ("initial", "initialprobability", "initialprob"),
}
"""The words for each column that does not belong to the state; a user who writes a table anew uses the first one."""

FURTHER = re.compile(r"rewards?[\s_:.-]+(?P<name>\S.*)", re.IGNORECASE | re.DOTALL)
"""The names of columns with further rewards."""


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
            which = some([columns.names[i] for i in unused])
            warn_input(f"{table.name}: not used: {which}; {columns.words()}")
        return columns

    @classmethod
    def found(cls, names: tuple[str, ...]) -> "Columns":
        """What the columns of these names are taken for, whether or not all necessary ones are there."""
        pairs = pairs_in(names, ROLES)
        taken = {i for pair in pairs for i in pair[1:]}
        roles = roles_in(names, taken, ROLES)
        further = _further(names, {*taken, *roles.values()})
        return cls(names, tuple(pairs), roles, further)

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
        parts = [f"the state is {some([pair.name for pair in self.pairs])}"] if self.pairs else []
        parts += [f"the {role} is {self.names[i]!r:.40}" for role, i in self.roles.items()]
        parts += [f"further rewards are {some(list(self.further))}"] if self.further else []
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
        return [i for i, name in enumerate(self.names) if i not in used and not is_index(name)]

    def _check(self) -> None:
        """Raise if a necessary column is missing, or one could have two meanings."""
        check_distinct(self.names)
        if not self.pairs:
            raise InputError(
                f"no column belongs to the state; a state column x needs a column '{NEXT}x'. {self._found_words()}"
            )
        if "action" not in self.roles:
            raise InputError(f"there is no column 'action'. {self._found_words()}")
        unused = [self.names[i] for i in self._unused()]
        check_next(unused, [pair.name for pair in self.pairs], ROLES)
        for name in unused:
            check_spelling(name, self.names, self.roles, ROLES)

    def _found_words(self) -> str:
        """Which columns there are, and what they are taken for."""
        known = [name for name in self.names if name]
        unused = [self.names[i] for i in self._unused()]
        taken = self.words()
        meaning = f" ({taken}{'; not used: ' + some(unused) if unused else ''})" if taken else ""
        return f"The columns are {some(known)}{meaning}"


def _further(names: tuple[str, ...], taken: Collection[int]) -> dict[str, int]:
    """The columns of further rewards among the other columns, by the names of these; of two alike, the first."""
    found: dict[str, int] = {}
    for i, name in enumerate(names):
        match = FURTHER.fullmatch(name.strip())
        if match is not None and i not in taken and base(key(name)) is None:
            found.setdefault(match["name"], i)
    return found
