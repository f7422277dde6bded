"""Limits: how much work may go into a run. What is asked for, and of which size, is in `omdt.task`."""

from dataclasses import dataclass
from numbers import Integral

from omdt.errors import InputError


@dataclass(frozen=True)
class Limits:
    """How much work may go into a run.

    Attributes:
        time_limit: seconds, or None.
        gap: relative distance between bound and value at which the search may stop.
        seed: the same seed gives the same tree.
        threads: how many cores to use.
        memory_limit: MiB for what the search remembers.
        node_limit: maximum number of partial trees that the search looks at, or None; with it, every run gives the
            same result.
    """

    time_limit: float | None = None
    gap: float = 1e-4
    seed: int = 0
    threads: int = 1
    memory_limit: int = 2048
    node_limit: int | None = None

    def __post_init__(self) -> None:
        for name, least in (("seed", 0), ("threads", 1), ("memory_limit", 1)):
            object.__setattr__(self, name, whole(name, getattr(self, name), least))
        if self.node_limit is not None:
            object.__setattr__(self, "node_limit", whole("node_limit", self.node_limit, 1))
        if self.time_limit is not None and not self.time_limit > 0:
            raise InputError(f"time_limit is {self.time_limit!r}; it must be a positive number of seconds")
        if not self.gap >= 0:
            raise InputError(f"gap is {self.gap!r}; it must be at least 0")


def whole(name: str, value: object, least: int) -> int:
    """A parameter that must be a whole number of at least `least`, as an int.

    Raises:
        InputError: if it is not.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise InputError(f"{name} is {value!r}; it must be a whole number of at least {least}")
    return int(value)
