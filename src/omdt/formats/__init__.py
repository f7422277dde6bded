"""MDPs in and out of files, by the ending of the file's name, and from the objects of other packages."""

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from omdt.errors import InputError
from omdt.formats.drn import read_drn
from omdt.formats.npz import read_npz, write_npz
from omdt.formats.prism import read_tra
from omdt.formats.storm import read_symbolic
from omdt.formats.table import read_csv
from omdt.formats.tabular import from_gymnasium, make_gymnasium
from omdt.formats.toolboxes import from_pymdptoolbox, from_quantecon
from omdt.formats.write_drn import write_drn
from omdt.formats.write_prism import write_prism
from omdt.mdp import MDP
from omdt.source import GYMNASIUM, Source

__all__ = ["from_gymnasium", "from_pymdptoolbox", "from_quantecon", "read", "write"]

READERS: dict[str, Callable[..., MDP]] = {
    ".npz": read_npz,
    ".drn": read_drn,
    ".tra": read_tra,
    ".csv": read_csv,
    ".prism": read_symbolic,
    ".nm": read_symbolic,
    ".pm": read_symbolic,
    ".jani": read_symbolic,
}
SHARED = ("path", "discount", "fallback")
"""Parameters that every reader takes; the others depend on the format."""
WRITERS = {".npz": write_npz, ".drn": write_drn, ".tra": write_prism}


def read(path: str | Path, *, discount: float | None = None, fallback: str | None = None, **parameters: Any) -> MDP:
    """Read an MDP from a file, or from a Gymnasium environment called `gym:ENV_ID`.

    Args:
        path: the file, whose ending says what it holds, or `gym:` and the name of an environment.
        discount: γ; by default that of the file, or 0.99 with a warning where the format has none.
        fallback: the action that is played where a tree names an unavailable one (see `MDP`); by default that of the
            file, if it has one.
        parameters: for .drn, .tra, .prism, .nm, .pm and .jani `reward` or `cost`, the name of the reward model to
            maximise or to minimise; for the last four also `constants` such as "N=3,p=0.5"; for an environment
            whatever it takes.
    """
    if isinstance(path, str) and path.startswith(GYMNASIUM):
        mdp = make_gymnasium(path.removeprefix(GYMNASIUM), discount=discount, fallback=fallback, **parameters)
        return mdp.found_at(_source(path, parameters))
    path = Path(path)
    if path.suffix not in READERS:
        raise InputError(f"cannot read {path}: its name must end in {' or '.join(READERS)}")
    reader = READERS[path.suffix]
    allowed = [name for name in inspect.signature(reader).parameters if name not in SHARED]
    for name in parameters:
        if name not in allowed:
            hint = f"it takes {', '.join(allowed)}" if allowed else "it takes none"
            if "constants" in allowed:
                meant = f"constants={name}={parameters[name]}"
                hint += f"; a constant of the model is set by {meant} (on the command line --set {meant})"
            raise InputError(f"{path}: a {path.suffix} file takes no parameter {name!r}; {hint}")
    given = {name: value for name, value in parameters.items() if value is not None}
    return reader(path, discount=discount, fallback=fallback, **parameters).found_at(_source(path, given))


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
        if name in ("discount", "fallback"):
            raise InputError(f"the {name} is set by --{name}")
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


def write(mdp: MDP, path: str | Path) -> None:
    """Write an MDP to a file, whole or not at all."""
    path = Path(path)
    if path.suffix not in WRITERS:
        raise InputError(f"cannot write {path}: its name must end in {' or '.join(WRITERS)}")
    WRITERS[path.suffix](mdp, path)
