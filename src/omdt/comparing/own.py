"""Policies and methods of the user's own, which a comparison shows beside the others."""

import inspect
import time
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from omdt import planning
from omdt.comparing.results import MEANING
from omdt.comparing.ruled import breach, net_value
from omdt.counting import listed
from omdt.errors import InputError
from omdt.mdp import MDP, Floats, Ints
from omdt.solution import Solution
from omdt.task import Task
from omdt.tree import TreePolicy

ROW_SUM_TOLERANCE = 1e-9
"""Maximum distance of the probabilities of a state's actions from 1, as in the transitions of an MDP."""


class Predicting(Protocol):
    """What scikit-learn's classifiers and the models of Stable-Baselines3 have in common."""

    def predict(self, observations: Floats) -> object:
        """The actions on observations [n, F], by index or by name, alone or before a state of the model."""


Policy = TreePolicy | Solution | Predicting | ArrayLike
"""A tree, a solution, a model that predicts, the actions [S], or the probabilities of actions [S, A]."""

Own = Policy | Callable[..., Policy]
"""A policy, or a function of the MDP that returns one; if it has a parameter `seed`, it is called once per seed."""


class OwnRun(NamedTuple):
    """One policy of the user's own, evaluated.

    Attributes:
        name: of its row.
        value: its return, as a user sees it.
        decision_nodes: of a tree; None for any other policy.
        seconds: that its function took; 0 for a policy that was given.
        breaks: how it breaks the rules, to be read after `the tree …`; None if it keeps them.
    """

    name: str
    value: float
    decision_nodes: int | None
    seconds: float
    breaks: str | None = None


def check_names(extra: Mapping[str, Own]) -> None:
    """Raise if the rows of the user's own would be taken for others."""
    for name in extra:
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"extra has the name {name!r}; names must be non-empty strings")
        if name in MEANING:
            raise InputError(f"extra has the name {name!r}, which is one of {listed(tuple(MEANING), 'and')}; rename it")


def number_of_runs(extra: Mapping[str, Own], seeds: int) -> int:
    """How often the functions are called, and policies that are not functions evaluated."""
    return sum(len(_seeds(own, seeds)) for own in extra.values())


def own_runs(task: Task, extra: Mapping[str, Own], seeds: int) -> Iterator[OwnRun]:
    """Evaluate all policies, one after the other.

    Raises:
        InputError: if one of them is no policy of the MDP.
    """
    for name, own in extra.items():
        for seed in _seeds(own, seeds):
            start = time.perf_counter()
            policy = _made(own, task.mdp, seed)
            seconds = time.perf_counter() - start if _is_function(own) else 0.0
            nodes = policy.n_decision_nodes if isinstance(policy, TreePolicy) else None
            played = _actions(name, policy, task.mdp)
            value, breaks = _judged(task, policy, played)
            yield OwnRun(name, value, nodes, seconds, breaks)


def _judged(task: Task, policy: Policy, played: Ints | Floats) -> tuple[float, str | None]:
    """What a policy returns, as users see it, and how it breaks the rules."""
    if isinstance(policy, TreePolicy) and task.stated is not None:
        return net_value(task, policy), breach(task, policy)
    value = planning.expected_return(task.problem, planning.policy_values(task.problem, played)).value
    return task.shown(value), None if task.stated is None else "is not a tree"


def _is_function(own: Own) -> bool:
    return callable(own) and not hasattr(own, "predict")


def _seeds(own: Own, seeds: int) -> list[int | None]:
    """The seeds with which a function is called; None if it has no parameter for one."""
    seeded = _is_function(own) and "seed" in inspect.signature(own).parameters  # type: ignore[arg-type]
    return list(range(seeds)) if seeded else [None]


def _made(own: Own, mdp: MDP, seed: int | None) -> Policy:
    """The policy that a function makes, or that was given."""
    made = own
    if _is_function(own):
        made = own(mdp) if seed is None else own(mdp, seed=seed)  # type: ignore[operator]
    return made.tree if isinstance(made, Solution) else made  # type: ignore[return-value]


def _actions(name: str, policy: Policy, mdp: MDP) -> Ints | Floats:
    """[S] the actions of a policy, or [S, A] their probabilities; raises unless it is a policy of the MDP."""
    if isinstance(policy, TreePolicy):
        if policy.action_names != mdp.action_names:
            raise InputError(f"the tree {name!r} has other actions than the MDP: {listed(policy.action_names, 'and')}")
        return policy.actions(mdp.features)
    found: object = policy
    if hasattr(policy, "predict"):
        found = policy.predict(mdp.features)
        found = found[0] if isinstance(found, tuple) else found
    S, A = mdp.rewards.shape
    actions = np.asarray(found)
    if actions.shape == (S,):
        return _indices(name, actions, mdp.action_names)
    if actions.shape != (S, A) or actions.dtype.kind not in "iuf":
        raise InputError(
            f"{name!r} is no policy of this MDP: expected a tree, {S:,} actions, or probabilities of shape "
            f"[{S}, {A}], found {type(found).__name__} of shape {actions.shape}"
        )
    p = actions.astype(np.float64)
    if not (np.isfinite(p).all() and (p >= 0).all() and np.allclose(p.sum(axis=1), 1, rtol=0, atol=ROW_SUM_TOLERANCE)):
        raise InputError(f"{name!r} has probabilities of actions that are negative or do not sum to 1 in a state")
    return p


def _indices(name: str, actions: NDArray[np.generic], names: tuple[str, ...]) -> Ints:
    """[S] the indices of actions that are given by index or by name."""
    if actions.dtype.kind in "iu" and len(actions) and 0 <= actions.min() and actions.max() < len(names):
        return actions.astype(np.int64)
    known = {action: a for a, action in enumerate(names)}
    for action in actions.tolist():
        if not isinstance(action, str) or action not in known:
            raise InputError(f"{name!r} plays {action!r}, which is no action; the actions are {listed(names, 'and')}")
    return np.array([known[action] for action in actions.tolist()], dtype=np.int64)
