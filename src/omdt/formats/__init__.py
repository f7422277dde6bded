"""MDPs in and out of files, by the ending of the file's name, and from the objects of other packages.

A format of files is a line of `FORMATS` and a file `from_NAME.py` with a function `read`, and, if it can be written, a
file `to_NAME.py` with a function `write`. These are imported when they are first needed. The other files of this folder
that begin with `from_` or `to_` convert objects of other packages; the rest is what several formats share.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omdt.errors import InputError
from omdt.formats.options import SHARED, ReadOptions
from omdt.formats.text import COMPRESSED
from omdt.source import GYMNASIUM, Source

if TYPE_CHECKING:
    from omdt.mdp import MDP
    from omdt.objective import Objective

__all__ = ["FORMATS", "Format", "described", "parse_parameters", "read", "read_endings", "write", "written_endings"]


@dataclass(frozen=True)
class Format:
    """A format of files.

    Attributes:
        name: of its modules, `from_NAME` and `to_NAME`.
        endings: of the files' names; the first is the usual one.
        help: what such a file is, in a few words.
        parameters: those of `read` that the format takes besides discount and fallback.
        written: whether `write` can write it.
    """

    name: str
    endings: tuple[str, ...]
    help: str
    parameters: tuple[str, ...] = ()
    written: bool = False


REWARDS = ("reward", "cost")
TABLES = (".csv", ".tsv")

FORMATS: tuple[Format, ...] = (
    Format("npz", (".npz",), "an MDP that omdt wrote", written=True),
    Format("drn", (".drn",), "an explicit model of Storm", REWARDS, written=True),
    Format("prism_explicit", (".tra",), "an explicit model of PRISM", REWARDS, written=True),
    Format("csv", TABLES, "a table or a log of transitions"),
    Format("prism_language", (".prism", ".nm", ".pm", ".jani"), "a model that Storm builds", (*REWARDS, "constants")),
)


def read_endings() -> tuple[str, ...]:
    """The endings of all files that can be read."""
    return tuple(ending for kind in FORMATS for ending in kind.endings)


def written_endings() -> tuple[str, ...]:
    """The endings of all files that can be written."""
    return tuple(ending for kind in FORMATS if kind.written for ending in kind.endings)


def described() -> str:
    """The files that can be read, for the help of the command line: "model.npz, .drn, .tra"."""
    return "model" + ", ".join(read_endings())


def read(
    path: str | Path,
    *,
    discount: float | None = None,
    fallback: str | None = None,
    objective: "Objective | str | None" = None,
    **parameters: Any,
) -> "MDP":
    """Read an MDP from a file, or from a Gymnasium environment called `gym:ENV_ID`.

    Args:
        path: the file, whose ending says what it holds, or `gym:` and the name of an environment.
        discount: γ; by default that of the file, or 0.99 with a warning where the format has none.
        fallback: the action that is played where a tree names an unavailable one (see `MDP`); by default that of the
            file, if it has one.
        objective: what will be asked of the MDP (see `omdt.Objective`), as a value or in PRISM's syntax; by default the
            discounted sum of its only reward, or of that which `reward` or `cost` name. The MDP has all labels and
            rewards of the file in any case.
        parameters: for .drn, .tra, .prism, .nm, .pm and .jani `reward` or `cost`, the name of the reward model to
            maximise or to minimise; for the last four also `constants` such as "N=3,p=0.5"; for an environment
            whatever it takes.
    """
    if isinstance(objective, str):
        from omdt.objective import Objective

        objective = Objective.parse(objective)
    if isinstance(path, str) and path.startswith(GYMNASIUM):
        make = import_module(f"{__name__}.from_gymnasium").make_gymnasium
        given = ReadOptions(discount, objective=objective).discount_or(None)
        mdp: MDP = make(path.removeprefix(GYMNASIUM), discount=given, fallback=fallback, **parameters)
        return mdp.found_at(_source(path, parameters))
    path = Path(path)
    kind = _of(path, "read", read_endings())
    for name in parameters:
        if name not in kind.parameters:
            raise InputError(f"{path}: {_no_parameter(kind, path.suffix, name, parameters[name])}")
    mdp = import_module(f"{__name__}.from_{kind.name}").read(
        path, ReadOptions(discount, fallback, objective=objective, **parameters)
    )
    named = {name: value for name, value in parameters.items() if value is not None}
    return mdp.found_at(_source(path, named))


def write(mdp: "MDP", path: str | Path) -> None:
    """Write an MDP to a file, whole or not at all."""
    path = Path(path)
    kind = _of(path, "write", written_endings())
    import_module(f"{__name__}.to_{kind.name}").write(mdp, path)


def _of(path: Path, what: str, endings: tuple[str, ...]) -> Format:
    """The format of a file that is to be read or written; tables that are read may be compressed."""
    ending = path.suffix.lower()
    if what == "read" and ending in COMPRESSED and Path(path.stem).suffix.lower() in TABLES:
        ending = Path(path.stem).suffix.lower()
    if ending not in endings:
        raise InputError(f"cannot {what} {path}: its name must end in {' or '.join(endings)}")
    return next(kind for kind in FORMATS if ending in kind.endings)


def _no_parameter(kind: Format, ending: str, name: str, value: object) -> str:
    """What is said about a parameter that a format does not take."""
    hint = f"it takes {', '.join(kind.parameters)}" if kind.parameters else "it takes none"
    if "constants" in kind.parameters:
        meant = f"constants={name}={value}"
        hint += f"; a constant of the model is set by {meant} (on the command line --set {meant})"
    return f"a {ending} file takes no parameter {name!r}; {hint}"


def _source(path: str | Path, parameters: dict[str, Any]) -> Source | None:
    return Source.of(path, parameters, lambda settings: parse_parameters(str(path), settings))


def parse_parameters(path: str, assignments: Iterable[str]) -> dict[str, Any]:
    """The parameters of `read` from texts such as "reward=time"; those of environments may be numbers and truths."""
    values: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals or not name.isidentifier():
            raise InputError(f"{assignment!r} does not set a parameter; write NAME=VALUE")
        if name in values:
            raise InputError(f"parameter {name!r} is set twice")
        if name in SHARED:
            raise InputError(f"the {name} is set by {SHARED[name]}")
        values[name] = _plain_value(text) if path.startswith(GYMNASIUM) else text
    return values


def _plain_value(text: str) -> bool | int | float | str:
    """The truth value or number that a text spells, or the text."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
