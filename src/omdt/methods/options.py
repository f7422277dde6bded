"""Options of methods: one frozen dataclass per method, from which validation, help and error messages follow.

A field of such a dataclass is made by `option`, which says what a value must be and how the command line calls it.
Nothing here needs numpy, so that `omdt solve --help` is there at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from omdt.counting import listed
from omdt.errors import InputError
from omdt.limits import whole
from omdt.methods.search.settings import DEFAULTS, SearchSettings

if TYPE_CHECKING:
    from concurrent.futures import Executor


class Kind(NamedTuple):
    """What the values of an option must be.

    Attributes:
        type: the type to which the command line converts a word.
        checked: returns a value in its final form, given the name of the option and what the user passed; raises
            `InputError` if that is not what it must be.
        choices: all values, if there are only a few.
    """

    type: type
    checked: Callable[[str, object], object]
    choices: tuple[str, ...] = ()


def choice(*among: str) -> Kind:
    """One of several words."""

    def checked(name: str, value: object) -> object:
        if value not in among:
            raise InputError(f"{name} is {value!r}; it must be {listed(among, 'or')}")
        return value

    return Kind(str, checked, among)


def count(least: int) -> Kind:
    """A whole number."""
    return Kind(int, lambda name, value: whole(name, value, least))


def _seconds(name: str, value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise InputError(f"{name} is {value!r}; it must be a number of seconds, at least 0")
    return value


def _path(name: str, value: object) -> object:
    if value is not None and not isinstance(value, str | PathLike):
        raise InputError(f"{name} is {value!r:.80}; it must be the path of a file")
    return None if value is None else Path(value)


def _executor(name: str, value: object) -> object:
    from concurrent.futures import Executor

    if value is not None and not isinstance(value, Executor):
        raise InputError(f"{name} is {value!r:.80}; it must be an Executor of concurrent.futures")
    return value


def _address(name: str, value: object) -> object:
    if value is not None and (not isinstance(value, str) or not value):
        raise InputError(f"{name} is {value!r:.80}; it must be the address of a Dask scheduler")
    return value


def _settings(name: str, value: object) -> object:
    if not isinstance(value, SearchSettings):
        raise InputError(f"{name} is {value!r:.80}; it must be SearchSettings of omdt.methods.search.settings")
    return value


SECONDS, PATH = Kind(float, _seconds), Kind(Path, _path)
EXECUTOR, SETTINGS, ADDRESS = Kind(object, _executor), Kind(object, _settings), Kind(str, _address)


@dataclass(frozen=True)
class Declaration:
    """What is declared of an option.

    Attributes:
        help: what it is for, without a full stop.
        kind: what its values must be.
        flag: what the command line calls it; None if it is for Python only.
        metavar: what stands for its value in the help.
    """

    help: str
    kind: Kind
    flag: str | None = None
    metavar: str | None = None

    def words(self, default: object) -> str:
        """The help of its flag, with its choices and its default."""
        choices = f": {listed(self.kind.choices, 'or')}" if self.kind.choices else ""
        return f"{self.help}{choices}{'' if default is None else f'; {default} by default'}."


def option(help: str, kind: Kind, *, flag: str | None = None, metavar: str | None = None) -> dict[str, Declaration]:
    """The metadata of a field that is an option; the arguments are the attributes of `Declaration`."""
    return {"option": Declaration(help, kind, flag, metavar)}


@dataclass(frozen=True)
class Options:
    """The options of a method; every field of a subclass has `option` as its metadata."""

    def __post_init__(self) -> None:
        for name, declared in self.declared().items():
            object.__setattr__(self, name, declared.kind.checked(name, getattr(self, name)))

    @classmethod
    def declared(cls) -> dict[str, Declaration]:
        """What is declared of each option, by name."""
        return {it.name: it.metadata["option"] for it in fields(cls)}

    @classmethod
    def default(cls, name: str) -> object:
        """The value of an option that is not given."""
        return next(it.default for it in fields(cls) if it.name == name)


class UnknownOptionError(InputError):
    """A method was given an option that it does not have.

    Attributes:
        method: the name of the method.
        option: the name of the option.
        owners: the methods that have this option.
        known: the options that the method has.
    """

    def __init__(self, method: str, option: str, owners: Sequence[str], known: Sequence[str]) -> None:
        self.method, self.option, self.owners, self.known = method, option, tuple(owners), tuple(known)
        super().__init__(self.message(repr(option), known))

    def message(self, option: str, known: Sequence[str]) -> str:
        """The message, with options named as given."""
        whose = f", which is one of {listed(self.owners, 'and')}" if self.owners else ""
        return f"the method {self.method} has no option {option}{whose}; it has {listed(known, 'and') or 'none'}"


BACKENDS = ("highs", "scip", "gurobi")
"""The solvers of milp."""

FORMS = ("strong", "paper")
"""The forms of the program of milp."""

TIES = ("lowest", "any")
"""Which optimal action copy takes where several are optimal."""


@dataclass(frozen=True)
class SearchOptions(Options):
    """Options of the method search.

    Attributes:
        executor: explores parts of the search elsewhere; by default as many processes as the limits have threads.
        scheduler: the address of a Dask scheduler whose workers explore parts of the search (needs the extra `dask`).
        certificate: a file for the evidence that the bound holds, written when the search has ended.
        settings: how the search goes about its work; none of them changes what is proven.
    """

    executor: "Executor | None" = field(
        default=None, metadata=option("Explores parts of the search elsewhere", EXECUTOR)
    )
    scheduler: str | None = field(
        default=None,
        metadata=option(
            "Explore parts of the search on the Dask cluster of this scheduler",
            ADDRESS,
            flag="--scheduler",
            metavar="ADDRESS",
        ),
    )
    certificate: Path | None = field(
        default=None,
        metadata=option(
            "Write the evidence for the bound, for `omdt check`", PATH, flag="--certificate", metavar="FILE"
        ),
    )
    settings: SearchSettings = field(default=DEFAULTS, metadata=option("How the search goes about its work", SETTINGS))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.executor is not None and self.scheduler is not None:
            raise InputError("executor and scheduler exclude each other: both explore the same parts of the search")


@dataclass(frozen=True)
class MilpOptions(Options):
    """Options of the method milp.

    Attributes:
        backend: the solver; `scip` uses one core, whatever the limits say.
        form: `strong`, or `paper` for the program as printed.
        start_seconds: how long to look for a start tree.
    """

    backend: str = field(default="highs", metadata=option("Solver of milp", choice(*BACKENDS), flag="--backend"))
    form: str = field(default="strong", metadata=option("Form of the program of milp", choice(*FORMS), flag="--form"))
    start_seconds: float = field(default=1.0, metadata=option("How long to look for a start tree", SECONDS))


@dataclass(frozen=True)
class ViperOptions(Options):
    """Options of the method viper.

    Attributes:
        iterations: number of trees that are trained.
    """

    iterations: int = field(
        default=80, metadata=option("Number of trees that viper trains", count(1), flag="--iterations", metavar="N")
    )


@dataclass(frozen=True)
class IddtOptions(Options):
    """Options of the method iddt: there are none."""


@dataclass(frozen=True)
class CopyOptions(Options):
    """Options of the method copy.

    Attributes:
        ties: which optimal action a leaf may take where several are optimal: the first one, or any of them.
    """

    ties: str = field(
        default="lowest", metadata=option("Optimal action of copy in a tie", choice(*TIES), flag="--ties")
    )
