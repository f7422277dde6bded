"""Rules about leaves: which actions they must not name, beyond what the MDP says.

A rule says for every state which actions a leaf may name that the state falls into. The rules of a task hold together:
a leaf may name what all of them allow in all its states.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from omdt.errors import InputError
from omdt.mdp import MDP, Bools, Ints
from omdt.properties import Condition

FALLBACK, FORBID = "fallback", "forbid"
UNAVAILABLE = (FALLBACK, FORBID)
"""What a tree may do where its action is not available: name it and have another played, or not name it at all."""


@runtime_checkable
class Rule(Protocol):
    """A rule about leaves. A rule of your own is any object with these three members."""

    @property
    def words(self) -> str:
        """What a tree does that keeps the rule, to be read after `a tree that …`, as in `never brakes on ice`."""

    def allowed(self, mdp: MDP) -> Bools | None:
        """[S, A] whether a leaf that contains a state may name an action; None if every leaf may name everything."""

    def violation(self, mdp: MDP, policy: Ints) -> str | None:
        """What a tree does that breaks the rule, to be read after `the tree …`; None if it keeps the rule.

        Args:
            mdp: the problem.
            policy: [S] the action that the tree names in each state.
        """


@dataclass(frozen=True)
class AvailableOnly:
    """No leaf names an action that is not available in one of its states; states that no policy reaches do not count.

    This is `unavailable="forbid"` of `omdt.solve`.
    """

    @property
    def words(self) -> str:
        """What a tree does that keeps the rule."""
        return "names only available actions"

    def allowed(self, mdp: MDP) -> Bools | None:
        """[S, A] the available actions in states that can be reached, every action in the others."""
        allowed: Bools = mdp.available | ~mdp.reached[:, None]
        return None if allowed.all() else allowed

    def violation(self, mdp: MDP, policy: Ints) -> str | None:
        """The first state that can be reached and does not offer the action of the policy."""
        missing = mdp.reached & ~mdp.available[np.arange(mdp.n_states), policy]
        if not missing.any():
            return None
        s = int(np.argmax(missing))
        more = int(missing.sum()) - 1
        others = f" and {more:,} other{'s' if more > 1 else ''}" if more else ""
        named, where = mdp.action_names[policy[s]], f"in {described(mdp, s)}{others}"
        return f"names an unavailable action: {named!r} is not available {where}"


@dataclass(frozen=True)
class Forbidden:
    """No leaf names an action in a state that can be reached and satisfies a condition."""

    action: str
    states: Condition

    @property
    def words(self) -> str:
        """What a tree does that keeps the rule."""
        return f"never takes {self.action} where {self.states}"

    def allowed(self, mdp: MDP) -> Bools | None:
        """[S, A] everything but the action in the states that are meant."""
        allowed: Bools = np.ones(mdp.rewards.shape, dtype=np.bool_)
        allowed[mdp.reached & self.states.states(mdp), mdp.action_names.index(self.action)] = False
        return allowed

    def violation(self, mdp: MDP, policy: Ints) -> str | None:
        """The first state in which the action is named nevertheless."""
        return _first_wrong(self, mdp, policy)


@dataclass(frozen=True)
class Required:
    """Every leaf names an action that contains a state that can be reached and satisfies a condition."""

    action: str
    states: Condition

    @property
    def words(self) -> str:
        """What a tree does that keeps the rule."""
        return f"takes {self.action} where {self.states}"

    def allowed(self, mdp: MDP) -> Bools | None:
        """[S, A] only the action in the states that are meant, everything in the others."""
        allowed: Bools = np.ones(mdp.rewards.shape, dtype=np.bool_)
        meant = mdp.reached & self.states.states(mdp)
        allowed[meant] = np.arange(mdp.n_actions) == mdp.action_names.index(self.action)
        return allowed

    def violation(self, mdp: MDP, policy: Ints) -> str | None:
        """The first state in which another action is named."""
        return _first_wrong(self, mdp, policy)


def _first_wrong(rule: Rule, mdp: MDP, policy: Ints) -> str | None:
    """The first state whose action [S] is not allowed."""
    allowed = rule.allowed(mdp)
    if allowed is None or names_only(allowed, policy):
        return None
    s = int(np.argmin(allowed[np.arange(mdp.n_states), policy]))
    return f"takes {mdp.action_names[policy[s]]} in {described(mdp, s)}"


def described(mdp: MDP, s: int) -> str:
    """A state as messages name it: its number and its features."""
    seen = ", ".join(f"{name} = {x:.6g}" for name, x in zip(mdp.feature_names, mdp.features[s], strict=True))
    return f"state {int(mdp.origin[s])} ({seen:.200})"


def allowed_by(rules: Iterable[Rule], mdp: MDP) -> Bools | None:
    """[S, A] what a leaf that contains a state may name by all rules; None if every leaf may name everything.

    Raises:
        InputError: if a rule's answer has another shape, or the rules leave no action for a state.
    """
    together: Bools = np.ones(mdp.rewards.shape, dtype=np.bool_)
    for rule in rules:
        allowed = rule.allowed(mdp)
        if allowed is None:
            continue
        if np.shape(allowed) != together.shape or np.asarray(allowed).dtype != np.bool_:
            S, A = together.shape
            raise InputError(
                f"what the rule allows that a tree {rule.words} must be an array of truth values [S, A] = [{S}, {A}]"
            )
        together &= allowed
    if together.all():
        return None
    stuck = ~together.any(axis=1)
    if stuck.any():
        s = int(np.argmax(stuck))
        told = " and ".join(rule.words for rule in _contradicting(rules, mdp, s))
        raise InputError(f"no tree {told}: no action is allowed in {described(mdp, s)}; relax a rule")
    together.flags.writeable = False
    return together


def _contradicting(rules: Iterable[Rule], mdp: MDP, s: int) -> list[Rule]:
    """Some rules that together leave no action for a state, none of which could be left out."""
    told = list(rules)
    for rule in [*told]:
        fewer = [it for it in told if it is not rule]
        left = np.ones(mdp.n_actions, dtype=np.bool_)
        for it in fewer:
            if (allowed := it.allowed(mdp)) is not None:
                left &= allowed[s]
        if not left.any():
            told = fewer
    return told


def names_only(allowed: Bools, policy: Ints) -> bool:
    """Whether a policy [S] takes an allowed action [S, A] in every state."""
    return bool(allowed[np.arange(len(policy)), policy].all())
