"""What the columns of a log are taken for.

Either every part x of the state has a partner `next x`, or no column has one. In the second case every column without
another role is a part of the state, and what follows a step is the state of the next row of its episode.
"""

from dataclasses import dataclass

from omdt.errors import InputError, warn_input
from omdt.formats.column_names import (
    NEXT,
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
    "reward": ("reward", "rewards", "r"),
    "terminated": ("terminated", "terminal", "terminals", "isterminal"),
    "done": ("done", "dones", "isdone"),
    "truncated": ("truncated", "truncation", "timeout", "timeouts"),
    "episode": ("episode", "episodes", "episodeid", "trajectory", "trajectoryid"),
    "probability": ("probability", "propensity", "actionprobability", "prob", "proba"),
    "time": ("time", "timestep", "timestamp", "step", "t"),
}
"""The words for each column that does not belong to the state; a user who writes a log anew uses the first one."""


@dataclass(frozen=True)
class Feature:
    """A part of the state.

    Attributes:
        name: what it is called.
        now: index of the column with its value before the step.
        after: index of the column with its value after the step; None where the next row has it.
    """

    name: str
    now: int
    after: int | None


@dataclass(frozen=True)
class LogColumns:
    """Where the columns of a log stand.

    Attributes:
        names: the names of all columns.
        features: the parts of the state, in the order of their columns.
        roles: the index of the column of each role that there is.
    """

    names: tuple[str, ...]
    features: tuple[Feature, ...]
    roles: dict[str, int]

    @classmethod
    def of(cls, table: Table) -> "LogColumns":
        """The columns of a log; those that are not used are told.

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
            warn_input(f"{table.name}: not used: {some(unused)}; {columns.words()}")
        if not {"terminated", "done"} & columns.roles.keys():
            warn_input(
                f"{table.name}: there is no column 'terminated' or 'done', so no step counts as the end of what can be "
                "earned"
            )
        return columns

    @classmethod
    def found(cls, names: tuple[str, ...]) -> "LogColumns":
        """What the columns of these names are taken for, whether or not all necessary ones are there."""
        pairs = pairs_in(names, ROLES)
        if pairs:
            taken = {i for pair in pairs for i in pair[1:]}
            return cls(names, tuple(Feature(*pair) for pair in pairs), roles_in(names, taken, ROLES))
        roles = roles_in(names, (), ROLES)
        free = [i for i, name in enumerate(names) if i not in roles.values() and not is_index(name)]
        return cls(names, tuple(Feature(names[i], i, None) for i in free if base(key(names[i])) is None), roles)

    @property
    def flat(self) -> bool:
        """Whether what follows a step is found in the next row."""
        return all(feature.after is None for feature in self.features)

    def words(self) -> str:
        """What each column is taken for."""
        parts = [f"the state is {some([feature.name for feature in self.features])}"] if self.features else []
        told = [role for role in self.roles if role != "time"]
        return "; ".join(parts + [f"{role!r} is the column {self.names[self.roles[role]]!r:.40}" for role in told])

    def _unused(self) -> list[str]:
        """The names of the columns that have no meaning; a column without a name is the index of a data frame."""
        used = {i for feature in self.features for i in (feature.now, feature.after)}
        used |= {i for role, i in self.roles.items() if role != "time"}
        return [name for i, name in enumerate(self.names) if i not in used and not is_index(name)]

    def _check(self) -> None:
        """Raise if a necessary column is missing, or one could have two meanings."""
        check_distinct(self.names)
        for role in ("action", "reward"):
            if role not in self.roles:
                raise InputError(f"there is no column '{role}'. {self._found_words()}")
        check_next(self._unused(), [feature.name for feature in self.features], ROLES)
        without_next = [feature.name for feature in self.features if feature.after is None]
        for name in [*self._unused(), *without_next]:
            check_spelling(name, self.names, self.roles, ROLES)
        if not self.features:
            raise InputError(
                f"no column belongs to the state; a log has the columns of the state, 'action', 'reward', the state "
                f"after the step (as '{NEXT}x') and 'done'. {self._found_words()}"
            )

    def _found_words(self) -> str:
        """Which columns there are, and what they are taken for."""
        taken = self.words()
        return f"The columns are {some([name for name in self.names if name])}{f' ({taken})' if taken else ''}"
