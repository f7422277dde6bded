"""Rules: what the leaves of a tree must not do, beyond what the MDP says.

A rule says for every state which actions a leaf may name that the state falls into. The rules of a task hold together:
a leaf may name what all of them allow in all its states. Only the method search looks for trees under rules; the trees
of other methods are checked afterwards.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from omdt.errors import InputError
from omdt.mdp import MDP, Bools, Ints

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
        seen = ", ".join(f"{name} = {x:.6g}" for name, x in zip(mdp.feature_names, mdp.features[s], strict=True))
        more = int(missing.sum()) - 1
        others = f" and {more:,} other{'s' if more > 1 else ''}" if more else ""
        named, where = mdp.action_names[policy[s]], f"in state {int(mdp.origin[s])} ({seen:.200}){others}"
        return f"names an unavailable action: {named!r} is not available {where}"


def rules_of(unavailable: str, further: Iterable[Rule] = ()) -> tuple[Rule, ...]:
    """The rules that `unavailable` of `omdt.solve` stands for, and further ones.

    Raises:
        InputError: if `unavailable` is not one of `UNAVAILABLE`, or a further rule is none.
    """
    if unavailable not in UNAVAILABLE:
        raise InputError(f"unavailable is {unavailable!r}; it must be {' or '.join(UNAVAILABLE)}")
    rules = tuple(further)
    for rule in rules:
        if not isinstance(rule, Rule):
            raise InputError(f"rules has {rule!r:.80}, which is not a rule: it lacks words, allowed or violation")
    if unavailable == FORBID and AvailableOnly() not in rules:
        rules = (AvailableOnly(), *rules)
    return rules


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
        told = " and ".join(rule.words for rule in rules)
        raise InputError(
            f"no tree {told}: no action is allowed in state {int(mdp.origin[int(np.argmax(stuck))])}; relax a rule"
        )
    together.flags.writeable = False
    return together


def names_only(allowed: Bools, policy: Ints) -> bool:
    """Whether a policy [S] takes an allowed action [S, A] in every state."""
    return bool(allowed[np.arange(len(policy)), policy].all())
