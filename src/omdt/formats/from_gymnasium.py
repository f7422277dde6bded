"""Gymnasium environments with a table of transitions (FrozenLake, Taxi, CliffWalking and the like) as MDPs.

Such an environment has an attribute P: P[s][a] lists the outcomes (probability, next state, reward, terminated) of
action a in state s. Outcomes with the same next state add up, and rewards are averaged over the outcomes. An episode
that terminates earns nothing more, whatever the table says about the state it ends in, so every terminated outcome
leads to one added state that is never left and earns nothing. What a tree does there changes no return; the added state
has the features of a state in which some episode ends, so that it adds no question. An action that the table of
a state lacks is not available there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from omdt.counting import counted
from omdt.errors import InputError, require, warn_input
from omdt.formats.choices import Choices
from omdt.formats.text import discount_or_default
from omdt.mdp import MDP, Floats

ACTION_NAMES = {
    "FrozenLakeEnv": ("left", "down", "right", "up"),
    "CliffWalkingEnv": ("up", "right", "down", "left"),
    "TaxiEnv": ("south", "north", "east", "west", "pickup", "dropoff"),
    "BlackjackEnv": ("stick", "hit"),
    "CartPoleEnv": ("push left", "push right"),
    "MountainCarEnv": ("push left", "coast", "push right"),
    "AcrobotEnv": ("torque −1", "torque 0", "torque +1"),
    "LunarLander": ("engines off", "left engine", "main engine", "right engine"),
}
"""Names of the actions of environments that do not name them."""

DECODED_NAMES = {"TaxiEnv": ("taxi row", "taxi column", "passenger", "destination")}
GRID_NAMES = ("row", "column")


def from_gymnasium(
    env: Any,
    features: Callable[[int], ArrayLike] | None = None,
    *,
    initial: ArrayLike | None = None,
    feature_names: Sequence[str] = (),
    action_names: Sequence[str] = (),
    discount: float = 0.99,
    fallback: str | None = None,
) -> MDP:
    """The MDP of a Gymnasium environment that has a table of transitions P, wrapped or not.

    Args:
        env: the environment.
        features: the observation of a state, a number or a vector. By default what the environment's `decode` says of
            the state, or its row and column if the environment is a grid, or its number.
        initial: [S] distribution of the first state; by default the environment's `initial_state_distrib`.
        feature_names: names of the features; by default those of the environment's own.
        action_names: names of the actions; known for FrozenLake, CliffWalking and Taxi.
        discount: γ, above 0 and at most 1.
        fallback: the action that is played where a tree names an unavailable one; see `MDP`.
    """
    env = env.unwrapped
    kind, P = type(env).__name__, getattr(env, "P", None)
    if not isinstance(P, Mapping | Sequence) or not len(P):
        raise InputError(f"{kind} has no table of transitions P[state][action], so its MDP is not known")
    if isinstance(P, Mapping) and P.keys() != set(range(len(P))):
        raise InputError(f"{kind} numbers its states otherwise than 0 … {len(P) - 1} in its table P")
    if getattr(env, "fickle_passenger", False):
        raise InputError(
            f"{kind} with fickle_passenger is not an MDP of its states: its table P does not say when the passenger "
            "changes the destination"
        )
    S = len(P)
    choices, ending = _choices(P, named_actions(env, action_names), kind)
    X, names = state_features(env, features, S)
    p0 = _initial(env, initial, S)
    if ending is not None:
        X, p0 = np.vstack([X, X[ending]]), np.append(p0, 0.0)
    return choices.mdp(
        lambda _, state: f"{kind}: state {state}",
        p0,
        X,
        feature_names=tuple(feature_names) or names,
        discount=discount,
        name=kind if getattr(env, "spec", None) is None else env.spec.id,
        fallback=fallback,
    )


def current(env_id: str) -> str:
    """The newest version of an environment where the one that is asked for is out of date."""
    from gymnasium.envs.registration import find_highest_version, get_env_id, parse_env_id, registry

    namespace, name, version = parse_env_id(env_id)
    newest = find_highest_version(namespace, name)
    if env_id in registry or version is None or newest is None or version >= newest:
        return env_id
    current: str = get_env_id(namespace, name, newest)
    warn_input(f"this release of Gymnasium has no {env_id}; {current} is used instead")
    return current


def make_gymnasium(
    env_id: str, *, discount: float | None = None, fallback: str | None = None, **parameters: Any
) -> MDP:
    """The MDP of a registered Gymnasium environment.

    Args:
        env_id: its name, such as CliffWalking-v1; a version that Gymnasium has replaced gives the newest, with a
            warning.
        discount: environments have none; 0.99 is assumed, with a warning.
        fallback: the action that is played where a tree names an unavailable one; see `MDP`.
        parameters: what `gymnasium.make` passes on to the environment.
    """
    require("gymnasium", "gymnasium", f"gym:{env_id}")
    import gymnasium

    try:
        env = gymnasium.make(current(env_id), **parameters)
    except Exception as error:
        # Parameters reach the environment's own code, which may raise anything about them.
        raise InputError(f"Gymnasium cannot make {env_id!r}: {type(error).__name__}: {error}") from None
    name = f"gym:{env_id}"
    try:
        mdp = from_gymnasium(env, discount=discount_or_default(name, discount), fallback=fallback)
        return replace(mdp, name=name)
    finally:
        env.close()


def _choices(P: Any, actions: Sequence[str], kind: str) -> tuple[Choices, int | None]:
    """The choices of all states, the added one last, and a state in which some episode ends."""
    choices, ending, S = Choices(actions), None, len(P)
    for s in range(S):
        table = P[s]
        choices.stay_until(s, line=0)
        for a in table if isinstance(table, Mapping) else range(len(table)):
            where = f"{kind}: P[{s}][{a}]"
            if not 0 <= a < len(actions):
                raise InputError(f"{where}: the environment has {counted(len(actions), 'action')}")
            outcomes = _outcomes(table[a], S, where)
            p, terminated = outcomes[:, 0], outcomes[:, 3] != 0
            choices.begin(s, actions[a], line=0, reward=float(p @ outcomes[:, 2]))
            choices.targets.extend(np.where(terminated, S, outcomes[:, 1]).astype(np.int64).tolist())
            choices.probabilities.extend(p.tolist())
            if ending is None and terminated.any():
                ending = int(outcomes[np.argmax(terminated), 1])
    choices.stay_until(S if ending is None else S + 1, line=0)
    return choices, ending


def _outcomes(outcomes: Any, S: int, where: str) -> Floats:
    """[n, 4] probability, next state, reward and whether the episode ends."""
    try:
        table = np.array([tuple(outcome) for outcome in outcomes], dtype=np.float64).reshape(len(outcomes), 4)
    except (TypeError, ValueError):
        raise InputError(f"{where} is not a list of (probability, next state, reward, terminated)") from None
    p, successors = table[:, 0], table[:, 1]
    if not np.isfinite(table).all() or not np.all((p >= 0) & (p <= 1)):
        raise InputError(f"{where} has a probability that is not between 0 and 1, or a number that is not finite")
    if not np.all((successors >= 0) & (successors < S) & (successors == np.floor(successors))):
        raise InputError(f"{where} leads to a state that is not one of 0 … {S - 1}")
    return table


def named_actions(env: Any, names: Sequence[str] = ()) -> tuple[str, ...]:
    """A names of the actions: those that are given, the known ones, or numbered ones."""
    known = tuple(names) or ACTION_NAMES.get(type(env).__name__, ())
    A = int(env.action_space.n)
    if known and len(known) != A:
        raise InputError(f"{type(env).__name__} has {counted(A, 'action')}, but the number of names is {len(known)}")
    return known or tuple(f"action_{a}" for a in range(A))


def state_features(env: Any, features: Callable[[int], ArrayLike] | None, S: int) -> tuple[Floats, tuple[str, ...]]:
    """[S, F] the features of the environment's states, and their names where they are known."""
    kind = type(env).__name__
    shape = np.shape(env.desc) if hasattr(env, "desc") else getattr(env, "shape", ())
    if features is not None:
        return _vectors([features(s) for s in range(S)]), ()
    if hasattr(env, "decode"):
        return _vectors([list(env.decode(s)) for s in range(S)]), DECODED_NAMES.get(kind, ())
    if len(shape) == 2 and np.prod(shape) == S:
        return np.stack(np.unravel_index(np.arange(S), shape), axis=1).astype(np.float64), GRID_NAMES
    return np.arange(S, dtype=np.float64)[:, None], ("state",)


def _vectors(observations: Sequence[ArrayLike]) -> Floats:
    try:
        return np.array([np.atleast_1d(np.asarray(x, dtype=np.float64)) for x in observations])
    except (TypeError, ValueError) as error:
        raise InputError(f"the features of the states are not vectors of numbers of one length: {error}") from None


def _initial(env: Any, initial: ArrayLike | None, S: int) -> Floats:
    """[S] the distribution of the first state."""
    known = getattr(env, "initial_state_distrib", None) if initial is None else initial
    if known is None:
        kind = type(env).__name__
        raise InputError(f"{kind} has no initial_state_distrib; pass initial=, the distribution of the first state")
    p0 = np.asarray(known, dtype=np.float64)
    if p0.shape != (S,):
        raise InputError(f"initial must have shape [{S}], one probability per state, but has shape {p0.shape}")
    return p0
