"""The registry of environments: every MDP that can be made by name, and the parameters it takes.

A family of environments is one function in one module. An entry of the registry is such a function, some of whose
parameters may be fixed: the paper's lakes and networks are members of larger families. A new environment is one module
and one line of `_PAPER` or `_FAMILIES`. Modules are imported when they are first needed.
"""

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from importlib import import_module
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin

from omdt.errors import InputError
from omdt.source import Source

if TYPE_CHECKING:
    from omdt.mdp import MDP

__all__ = ["PAPER", "describe", "listed", "make", "parameters", "parse_parameters", "registered"]


@dataclass(frozen=True)
class _Entry:
    """A function in a module of this folder, and the parameters that users cannot choose, with their values."""

    module: str
    function: str
    fixed: Mapping[str, object] = field(default_factory=dict)


def _lake(map: str) -> _Entry:
    return _Entry("frozenlake", "frozenlake", {"map": map, "size": None, "seed": None, "hole_probability": None})


def _network(topology: str) -> _Entry:
    return _Entry("sysadmin", "system_administrator", {"topology": topology, "computers": None})


_PAPER: dict[str, _Entry] = {
    "3d_navigation": _Entry("navigation", "navigation"),
    "blackjack": _Entry("blackjack", "blackjack"),
    "frozenlake_4x4": _lake("4x4"),
    "frozenlake_8x8": _lake("8x8"),
    "frozenlake_12x12": _lake("12x12"),
    "inventory_management": _Entry("inventory", "inventory_management"),
    "system_administrator_1": _network("1"),
    "system_administrator_2": _network("2"),
    "system_administrator_tree": _network("tree"),
    "tictactoe_vs_random": _Entry("tictactoe", "tictactoe_vs_random"),
    "tiger_vs_antelope": _Entry("tiger", "tiger_vs_antelope"),
    "traffic_intersection": _Entry("traffic", "traffic_intersection"),
    "xor": _Entry("xor", "xor"),
}
_FAMILIES: dict[str, _Entry] = {
    "frozenlake": _Entry("frozenlake", "frozenlake"),
    "system_administrator": _Entry("sysadmin", "system_administrator"),
    "admission": _Entry("admission", "admission"),
    "cart_pole": _Entry("cart_pole", "cart_pole"),
    "maintenance": _Entry("maintenance", "maintenance"),
    "mountain_car": _Entry("mountain_car", "mountain_car"),
}
_ENTRIES = {**_PAPER, **_FAMILIES}

PAPER: tuple[str, ...] = tuple(_PAPER)
"""The names of the thirteen environments of the paper, in the order of its tables."""

_TRUE, _FALSE = ("true", "yes", "1"), ("false", "no", "0")
_KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    NoneType: "none",
}


def registered() -> tuple[str, ...]:
    """All names that `make` knows: the paper's thirteen, then the families whose sizes users choose."""
    return tuple(_ENTRIES)


def listed() -> tuple[str, ...]:
    """The names whose defaults give different MDPs: all but the families from which the paper takes its members."""
    in_paper = {entry.function for entry in _PAPER.values()}
    return (*_PAPER, *(name for name, entry in _FAMILIES.items() if entry.function not in in_paper))


def describe(name: str) -> str:
    """The description of an environment: what it models, its states, actions, transitions, rewards and parameters."""
    return inspect.getdoc(_builder(_entry(name))) or ""


def parameters(name: str) -> dict[str, inspect.Parameter]:
    """The parameters of an environment with their defaults and types, in order."""
    entry = _entry(name)
    return {
        parameter: details
        for parameter, details in inspect.signature(_builder(entry)).parameters.items()
        if parameter not in entry.fixed
    }


def make(name: str, **values: Any) -> "MDP":
    """Build a registered environment.

    Args:
        name: one of `registered()`.
        values: parameters of the environment, see `parameters(name)`; those left out have their defaults, which for the
            paper's environments are the paper's.
    """
    entry = _entry(name)
    for parameter, value in values.items():
        kinds = _kinds(name, parameter)
        if not any(_fits(value, kind) for kind in kinds):
            raise InputError(f"parameter {parameter!r} of {name} is {value!r}; it must be {_spell(kinds)}")
        if int in kinds and isinstance(value, Integral):
            # Whole numbers of numpy would overflow where the size of an environment is computed.
            values[parameter] = int(value)
    mdp: MDP = _builder(entry)(**entry.fixed, **values)
    source = Source.of(name, values, lambda settings: parse_parameters(name, settings))
    return (mdp if mdp.name == name else replace(mdp, name=name)).found_at(source)


def parse_parameters(name: str, assignments: Iterable[str]) -> dict[str, object]:
    """The parameters of an environment from texts such as "size=20" and "slippery=false"."""
    values: dict[str, object] = {}
    for assignment in assignments:
        parameter, equals, text = assignment.partition("=")
        if not equals:
            raise InputError(f"{assignment!r} does not set a parameter; write NAME=VALUE")
        kinds = _kinds(name, parameter)
        if parameter in values:
            raise InputError(f"parameter {parameter!r} is set twice")
        values[parameter] = _parse(name, parameter, text, kinds)
    return values


def _entry(name: str) -> _Entry:
    if name in _ENTRIES:
        return _ENTRIES[name]
    near = get_close_matches(name, _ENTRIES, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(_ENTRIES)}"
    raise InputError(f"there is no environment called {name!r}; {hint}")


def _builder(entry: _Entry) -> Any:
    return getattr(import_module(f"{__name__}.{entry.module}"), entry.function)


def _kinds(name: str, parameter: str) -> tuple[Any, ...]:
    """The types that a parameter accepts."""
    allowed = parameters(name)
    if parameter in allowed:
        annotation = allowed[parameter].annotation
        return get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
    entry = _entry(name)
    if parameter in entry.fixed:
        family = next(other for other, its in _ENTRIES.items() if its.function == entry.function and not its.fixed)
        raise InputError(f"{name} does not let you choose {parameter!r}; {family} does")
    raise InputError(f"{name} has no parameter {parameter!r}; it has {', '.join(allowed)}")


def _fits(value: object, kind: Any) -> bool:
    if kind is bool or isinstance(value, bool):
        return kind is bool and isinstance(value, bool)
    if kind is int:
        return isinstance(value, Integral)
    if kind is float:
        return isinstance(value, Real)
    return isinstance(value, get_origin(kind) or kind)


def _spell(kinds: Iterable[Any]) -> str:
    return " or ".join(_KINDS[kind] if kind in _KINDS else f"a {get_origin(kind).__name__.lower()}" for kind in kinds)


def _parse(name: str, parameter: str, text: str, kinds: tuple[Any, ...]) -> object:
    """The value that a text stands for, given the types it may have."""
    if NoneType in kinds and text.lower() == "none":
        return None
    writable = [kind for kind in kinds if kind in _KINDS]
    kind = writable[0]
    try:
        return _truth(text) if kind is bool else kind(text)
    except ValueError:
        raise InputError(f"parameter {parameter!r} of {name} is {text!r}; it must be {_spell(writable)}") from None


def _truth(text: str) -> bool:
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise ValueError(text)
