"""Entries of a solution's JSON, checked one by one; errors name the entry."""

import math
from collections.abc import Sequence
from typing import Any

from omdt.counting import listed
from omdt.errors import InputError
from omdt.unavailable import Replaced
from omdt.watch import TracePoint


def entry(data: dict[str, Any], key: str, *kinds: type) -> Any:
    """An entry that must be there and be of one of several types; truth values are no numbers."""
    if key not in data:
        raise InputError(f"{key!r} is missing")
    value = data[key]
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise InputError(f"{key!r} is {value!r:.40}; it must be {' or '.join(kind.__name__ for kind in kinds)}")
    return value


def one_of(data: dict[str, Any], key: str, among: Sequence[str], default: str | None = None) -> str:
    """One of several words; it may be missing if there is a default."""
    value = entry(data, key, str) if default is None else data.get(key, default)
    if value not in among:
        raise InputError(f"{key!r} is {value!r:.40}; it must be {listed(among, 'or')}")
    return str(value)


def _float(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


INFINITE = {"inf": math.inf, "-inf": -math.inf}
"""How JSON, which has no infinite numbers, spells them."""


def number(data: dict[str, Any], key: str) -> float:
    """A finite number."""
    value = _float(entry(data, key, int, float))
    if not math.isfinite(value):
        raise InputError(f"{key!r} is {value}; it must be finite")
    return value


def figure(data: dict[str, Any], key: str) -> float:
    """A number that may be infinite."""
    spelled = data.get(key)
    return INFINITE[spelled] if isinstance(spelled, str) and spelled in INFINITE else number(data, key)


def spelled(value: float | None) -> float | str | None:
    """A figure as JSON holds it."""
    return str(value) if value is not None and math.isinf(value) else value


def names(data: dict[str, Any], key: str) -> list[str]:
    """A list of distinct texts."""
    found = entry(data, key, list)
    if not all(isinstance(name, str) for name in found) or len(set(found)) < len(found):
        raise InputError(f"{key!r} must be distinct strings")
    return list(found)


def replaced(found: Any) -> Replaced:
    """One element of `replaced`."""
    kinds = {"action": str, "played": str, "states": int}
    if not isinstance(found, dict) or not all(isinstance(found.get(key), kind) for key, kind in kinds.items()):
        raise InputError(f"'replaced' holds {found!r:.40}; it must hold action, played and states")
    return Replaced(*(found[key] for key in kinds))


def trace_point(point: Any) -> TracePoint:
    """One element of `trace`."""
    try:
        named = dict(zip(("seconds", "value", "bound"), entry({"point": point}, "point", list), strict=True))
        return number(named, "seconds"), figure(named, "value"), figure(named, "bound")
    except (InputError, ValueError):
        raise InputError(f"'trace' holds {point!r:.40}; it must hold [seconds, value, bound]") from None
