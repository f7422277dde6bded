"""What the DRN format has no syntax for, as comments before @model: `to_drn` writes them and `from_drn` reads them.

    // discount 0.95
    // the first state is drawn with the probabilities in the reward model initial
    // feature X_ is called "X"
    // action go_up is called "go up"
    // label far_away is called "far away"
    // reward time_ is called "time"
    // actions go_up stay
    // fallback stay
    // rewards reward without a name
    // no state is labelled broken

The format has no discount, no distribution of the first state and no names but identifiers. The comment `actions` gives
the order of the actions, which is otherwise that of their first appearance; `fallback` names the action that is played
where a tree names an unavailable one; `rewards` says which reward model holds the rewards of the MDP where there are
several, and whether it is not one of the named ones.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from omdt.formats.options import ReadOptions
from omdt.formats.text import fault, number_in
from omdt.mdp import MDP

START = "initial"
"""The reward model that holds the probability of each first state where these are not equally likely."""

START_COMMENT = f"// the first state is drawn with the probabilities in the reward model {START}"
DISCOUNT = re.compile(r"// discount ([0-9.eE+-]+)")
ACTIONS = re.compile(r"// actions (\w+(?: \w+)*)")
FALLBACK = re.compile(r"// fallback (\w+)")
EMPTY = re.compile(r"// no state is labelled (\w+)")
REWARDS = re.compile(r"// rewards (\w+)( without a name)?")
CALLED = re.compile(r'// (feature|action|label|reward) (\w+) is called (".*")')


class Comments:
    """What the comments of a header say about the MDP.

    Attributes:
        discount: γ, if a comment gives it.
        start: the reward model that holds the distribution of the first state, if a comment says that there is one.
        called: for "feature", "action", "label" and "reward" the name that an identifier stands for.
        unused: the labels, as the file has them, that no state carries.
        nameless: the reward model that holds the rewards of the MDP but is none of its named ones, if there is one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.discount: float | None = None
        self.start: str | None = None
        self.called: dict[str, dict[str, str]] = {kind: {} for kind in ("feature", "action", "label", "reward")}
        self.unused: list[str] = []
        self.nameless: str | None = None
        self._rewards: str | None = None
        self._actions: list[str] = []
        self._fallback: str | None = None

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of the actions that come first, in their order."""
        return tuple(self.called["action"].get(name, name) for name in self._actions)

    @property
    def fallback(self) -> str | None:
        """The name of the action that is played where a tree names an unavailable one."""
        return None if self._fallback is None else self.called["action"].get(self._fallback, self._fallback)

    @property
    def counting(self) -> str | None:
        """The name of the reward model that holds the rewards of the MDP, if a comment says it."""
        return None if self._rewards is None else self.called["reward"].get(self._rewards, self._rewards)

    def choosing(self, options: ReadOptions) -> ReadOptions:
        """The options with the reward model that a comment names, unless they name one themselves."""
        named = (options.reward, options.cost, None if options.objective is None else options.objective.reward)
        return replace(options, reward=self.counting) if all(name is None for name in named) else options

    def take(self, number: int, text: str) -> None:
        """Take what a comment says about the MDP; other comments are skipped."""
        if text == START_COMMENT:
            self.start = START
        elif found := DISCOUNT.fullmatch(text):
            self.discount = number_in(found[1], self.path, number, "the discount")
            if not 0 < self.discount <= 1:
                raise fault(self.path, number, f"the discount is {found[1]}; it must be above 0 and at most 1")
        elif found := ACTIONS.fullmatch(text):
            self._actions = list(dict.fromkeys(found[1].split(" ")))
        elif found := FALLBACK.fullmatch(text):
            self._fallback = found[1]
        elif found := EMPTY.fullmatch(text):
            self.unused.append(found[1])
        elif found := REWARDS.fullmatch(text):
            self._rewards = found[1]
            self.nameless = found[1] if found[2] else None
        elif found := CALLED.fullmatch(text):
            kind, identifier, name = found.groups()
            try:
                self.called[kind][identifier] = json.loads(name)
            except ValueError:
                raise fault(self.path, number, f"the name of {kind} {identifier:.40} is no JSON text") from None


class Identifiers(NamedTuple):
    """What the parts of an MDP are called in a file.

    Attributes:
        features: the identifiers of its features.
        actions: those of its actions.
        labels: those of its labels.
        rewards: those of its named rewards.
        counting: that of the reward model which holds the rewards of the MDP; None if it has none but named ones.
    """

    features: Sequence[str]
    actions: Sequence[str]
    labels: Sequence[str]
    rewards: Sequence[str]
    counting: str | None


def comments(mdp: MDP, called: Identifiers, *, uniform: bool) -> Iterator[str]:
    """The comments that say what a DRN file cannot say otherwise.

    Args:
        mdp: the MDP that is written.
        called: what its parts are called in the file.
        uniform: whether all possible first states are equally likely.
    """
    features, actions = called.features, called.actions
    yield f"// discount {mdp.discount!r}"
    if not uniform:
        yield START_COMMENT
    yield from _names("feature", features, mdp.feature_names)
    yield from _names("action", actions, mdp.action_names)
    yield from _names("label", called.labels, list(mdp.labels))
    masks = zip(called.labels, mdp.labels.values(), strict=True)
    yield from (f"// no state is labelled {name}" for name, states in masks if not states.any())
    yield from _names("reward", called.rewards, list(mdp.reward_models))
    if called.rewards and called.counting is not None:
        yield f"// rewards {called.counting}{'' if called.counting in called.rewards else ' without a name'}"
    if not mdp.all_available:
        yield f"// actions {' '.join(actions)}"
    if mdp.fallback is not None:
        yield f"// fallback {actions[mdp.action_names.index(mdp.fallback)]}"


def _names(kind: str, identifiers: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """A comment for every name that is not its own identifier."""
    for identifier, name in zip(identifiers, names, strict=True):
        if identifier != name:
            yield f"// {kind} {identifier} is called {json.dumps(name)}"
