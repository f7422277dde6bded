"""Simulators: anything that can be played for episodes, made from a name, a Gymnasium environment or a function.

A simulator is the recipe for an environment rather than the environment itself: players need several copies of it, also
in other processes. Every episode begins with a `reset(seed=…)` of its own and therefore does not depend on which copy
plays it, nor on what that copy played before.

Gymnasium's vector environments are not used. `SyncVectorEnv` takes a seed per episode, but steps its copies one after
the other, as a player does. The faster ones, which step all copies at once, take one seed for all of them, so that no
episode could be repeated by its seed. Of the environments with discrete actions only CartPole has one: it would save
two seconds in 200,000 steps, where learning takes some fifteen.
"""

import copy
import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from omdt.errors import InputError, require
from omdt.formats.from_gymnasium import current
from omdt.learning.observing import Observer, observer
from omdt.source import GYMNASIUM

HORIZON = 1000
"""An episode that has not ended by then is cut, if the environment itself has no limit."""


@dataclass(frozen=True, eq=False)
class Simulator:
    """A recipe for copies of an environment, and how to read them.

    Attributes:
        name: as the user gave it.
        make: a new copy of the environment.
        single: whether there is only one copy, because the user's environment cannot be copied.
        observer: how observations and actions are read.
        horizon: most steps of an episode.
    """

    name: str
    make: Callable[[], Any]
    single: bool = False
    observer: Observer = field(init=False)
    horizon: int = field(init=False)

    def __post_init__(self) -> None:
        env = self.make()
        object.__setattr__(self, "observer", observer(env))
        object.__setattr__(self, "horizon", _horizon(env))
        if not self.single:
            env.close()

    @property
    def feature_names(self) -> tuple[str, ...]:
        """F names of the numbers of an observation."""
        return self.observer.feature_names

    @property
    def action_names(self) -> tuple[str, ...]:
        """A names of the actions."""
        return self.observer.action_names

    @property
    def integer(self) -> tuple[bool, ...]:
        """[F] whether a feature takes whole numbers only."""
        return self.observer.integer

    def __reduce__(self) -> tuple[Any, ...]:
        """How to send it to another process: the observer is made anew there."""
        return Simulator, (self.name, self.make, self.single)


def simulator(source: Any, **parameters: Any) -> Simulator:
    """The simulator of what a user names.

    Args:
        source: `gym:ENV_ID`, `module:factory`, a function without arguments that makes an environment, or a Gymnasium
            environment.
        parameters: what the environment or the factory takes; not for an environment that is there already.
    """
    if isinstance(source, str) and source.startswith(GYMNASIUM):
        return _registered(source, parameters)
    if isinstance(source, str):
        return Simulator(source, _Making(_named_factory(source), parameters, source))
    if not isinstance(source, type) and callable(getattr(source, "reset", None)):
        if parameters:
            raise InputError(f"{_kind(source)} is made already and takes no parameters ({', '.join(parameters)})")
        return _copied(source)
    if callable(source):
        name = getattr(source, "__name__", type(source).__name__)
        return Simulator(name, _Making(source, parameters, name))
    raise InputError(
        f"{source!r:.80} is no simulator; expected gym:ENV_ID, module:factory, a Gymnasium environment, or a function "
        "that makes one"
    )


def _registered(source: str, parameters: dict[str, Any]) -> Simulator:
    """The simulator of a registered Gymnasium environment."""
    require("gymnasium", "gymnasium", source)
    import gymnasium

    env_id = current(source.removeprefix(GYMNASIUM))
    making = _Making(gymnasium.make, {"id": env_id, "disable_env_checker": True} | parameters, source)
    return Simulator(source, making)


def _named_factory(source: str) -> Callable[..., Any]:
    """The function that `module:factory` names."""
    module, _, name = source.partition(":")
    if not module or not name:
        raise InputError(f"{source!r} names no simulator; write gym:ENV_ID or module:factory")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise InputError(f"{source}: {error}; module:factory names a function that makes an environment") from None
    if not callable(found):
        raise InputError(
            f"{source} is {type(found).__name__}; module:factory names a function that makes an environment"
        )
    made: Callable[..., Any] = found
    return made


@dataclass(frozen=True)
class _Making:
    """Calls a factory with parameters; what it raises is told as the user's input."""

    factory: Callable[..., Any]
    parameters: dict[str, Any]
    name: str

    def __call__(self) -> Any:
        try:
            env = self.factory(**self.parameters)
        except Exception as error:
            raise InputError(f"{self.name} cannot be made: {type(error).__name__}: {error}") from None
        _check(env, self.name)
        return env


@dataclass(frozen=True)
class _Copying:
    """Copies an environment that nobody plays."""

    env: Any

    def __call__(self) -> Any:
        return copy.deepcopy(self.env)


@dataclass(frozen=True)
class _Lending:
    """Gives out the one environment there is."""

    env: Any

    def __call__(self) -> Any:
        return self.env


def _copied(env: Any) -> Simulator:
    """The simulator of an environment: of copies of it, or of itself where it cannot be copied."""
    name = _kind(env)
    _check(env, name)
    try:
        copy.deepcopy(env)
    except Exception:
        # Some environments hold what cannot be copied, and raise anything when they are.
        return Simulator(name, _Lending(env), single=True)
    return Simulator(name, _Copying(env))


def _check(env: Any, name: str) -> None:
    for wanted in ("reset", "step", "observation_space", "action_space", "unwrapped"):
        if not hasattr(env, wanted):
            raise InputError(f"{name} has no {wanted}; a simulator is an environment as Gymnasium defines it")


def _kind(env: Any) -> str:
    spec = getattr(env, "spec", None)
    return type(env).__name__ if spec is None else f"{GYMNASIUM}{spec.id}"


def _horizon(env: Any) -> int:
    spec = getattr(env, "spec", None)
    limit = None if spec is None else spec.max_episode_steps
    return HORIZON if limit is None else int(limit)
