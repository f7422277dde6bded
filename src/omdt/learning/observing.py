"""Observing: what a Gymnasium environment shows, as vectors of F numbers with names, and its actions with names.

A tree asks about numbers. Box, Discrete, MultiDiscrete and MultiBinary spaces, and Dict and Tuple spaces of them,
become one vector: the numbers of all parts, one after the other. The state of a Discrete environment (Taxi, FrozenLake)
becomes what `from_gymnasium` makes of it, such as its row and column, so that a learned tree asks what an exact one
asks.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from omdt.errors import InputError
from omdt.formats.from_gymnasium import named_actions, state_features
from omdt.mdp import Floats

FEATURE_NAMES = {
    "CartPoleEnv": ("position", "velocity", "angle", "angular velocity"),
    "MountainCarEnv": ("position", "velocity"),
    "AcrobotEnv": ("cos angle 1", "sin angle 1", "cos angle 2", "sin angle 2", "velocity 1", "velocity 2"),
    "LunarLander": ("x", "y", "velocity x", "velocity y", "angle", "angular velocity", "left leg", "right leg"),
    "BlackjackEnv": ("player's sum", "dealer's card", "usable ace"),
}
"""Names of the features of environments that do not name them."""

TRUTHS = {"LunarLander": ("left leg", "right leg")}
"""Features that are 0 or 1 although their space has fractions."""

Read = Callable[[Any], Floats]
"""Makes a vector [F] of an observation."""


@dataclass(frozen=True, eq=False)
class Observer:
    """How observations and actions of an environment are read.

    Attributes:
        read: makes a vector [F] of an observation.
        feature_names: F names.
        integer: [F] whether a feature takes whole numbers only.
        action_names: A names.
        first_action: the number that the environment gives to action 0.
    """

    read: Read
    feature_names: tuple[str, ...]
    integer: tuple[bool, ...]
    action_names: tuple[str, ...]
    first_action: int


def observer(env: Any) -> Observer:
    """How to read the observations and actions of an environment."""
    kind = type(env.unwrapped).__name__
    actions = env.action_space
    if type(actions).__name__ != "Discrete":
        raise InputError(f"{kind} has the action space {actions}; a tree chooses among the actions of a Discrete space")
    space = env.observation_space
    named = named_actions(env.unwrapped), int(actions.start)
    if type(space).__name__ == "Discrete" and space.start == 0:
        table, names = state_features(env.unwrapped, None, int(space.n))
        names = names or tuple(f"x{i}" for i in range(table.shape[1]))
        integer = tuple(bool(whole) for whole in (table == np.floor(table)).all(axis=0))
        return Observer(lambda observation: _row(table, observation), names, integer, *named)
    parts = list(_parts(space, "", kind))
    names, integer = _names(parts), tuple(whole for part in parts for whole in [part.integer] * part.size)
    known = FEATURE_NAMES.get(kind, ())
    if len(known) == len(names):
        truths = TRUTHS.get(kind, ())
        names, integer = known, tuple(whole or name in truths for name, whole in zip(known, integer, strict=True))
    return Observer(_reader(space), names, integer, *named)


@dataclass(frozen=True)
class _Part:
    """Some numbers of an observation: name of their entry in a Dict or "", how many, and whether they are whole."""

    name: str
    size: int
    integer: bool


def _parts(space: Any, name: str, kind: str) -> Iterator[_Part]:
    """The parts of an observation space, in order."""
    match type(space).__name__:
        case "Dict":
            for key, inner in space.spaces.items():
                yield from _parts(inner, f"{name} {key}".strip(), kind)
        case "Tuple":
            for inner in space.spaces:
                yield from _parts(inner, name, kind)
        case "Discrete":
            yield _Part(name, 1, True)
        case "Box" | "MultiDiscrete" | "MultiBinary":
            yield _Part(name, int(np.prod(space.shape)), np.issubdtype(space.dtype, np.integer))
        case _:
            raise InputError(
                f"{kind} has the observation space {space!r:.200}; a tree asks about numbers, as in Box, Discrete, "
                "MultiDiscrete, MultiBinary, Dict and Tuple spaces; wrap the environment in "
                "gymnasium.wrappers.TransformObservation"
            )


def _names(parts: list[_Part]) -> tuple[str, ...]:
    """The entry's name, numbered if the entry has several numbers; x0, x1, … where there is none."""
    sizes = {part.name: 0 for part in parts}
    for part in parts:
        sizes[part.name] += part.size
    names: list[str] = []
    for part in parts:
        for _ in range(part.size):
            number = sum(name.rpartition(" ")[0] == part.name for name in names)
            plain = part.name if sizes[part.name] == 1 else f"{part.name} {number}"
            names.append(plain if part.name else f"x{len(names)}")
    return tuple(names)


def _reader(space: Any) -> Read:
    """What makes a vector of an observation of a space."""
    if type(space).__name__ not in ("Dict", "Tuple"):
        return lambda observation: np.asarray(observation, dtype=np.float64).reshape(-1)
    if type(space).__name__ == "Dict":
        entries = [(key, _reader(inner)) for key, inner in space.spaces.items()]
    else:
        entries = [(i, _reader(inner)) for i, inner in enumerate(space.spaces)]
    return lambda observation: np.concatenate([read(observation[key]) for key, read in entries])


def _row(table: Floats, observation: Any) -> Floats:
    row: Floats = table[int(observation)]
    return row
