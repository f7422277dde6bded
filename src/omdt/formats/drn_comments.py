"""What the DRN format has no syntax for, as comments before @model: `to_drn` writes them and `from_drn` reads them.

    // discount 0.95
    // the first state is drawn with the probabilities in the reward model initial
    // feature X_ is called "X"
    // action go_up is called "go up"
    // actions go_up stay
    // fallback stay

The format has no discount, no distribution of the first state and no names but identifiers. The comment `actions` gives
the order of the actions, which is otherwise that of their first appearance; `fallback` names the action that is played
where a tree names an unavailable one.
"""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from omdt.formats.text import fault, number_in
from omdt.mdp import MDP

START = "initial"
"""The reward model that holds the probability of each first state where these are not equally likely."""

START_COMMENT = f"// the first state is drawn with the probabilities in the reward model {START}"
DISCOUNT = re.compile(r"// discount ([0-9.eE+-]+)")
ACTIONS = re.compile(r"// actions (\w+(?: \w+)*)")
FALLBACK = re.compile(r"// fallback (\w+)")
CALLED = re.compile(r'// (feature|action) (\w+) is called (".*")')


class Comments:
    """What the comments of a header say about the MDP.

    Attributes:
        discount: γ, if a comment gives it.
        start: the reward model that holds the distribution of the first state, if a comment says that there is one.
        called: for "feature" and for "action" the name that an identifier stands for.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.discount: float | None = None
        self.start: str | None = None
        self.called: dict[str, dict[str, str]] = {"feature": {}, "action": {}}
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
        elif found := CALLED.fullmatch(text):
            kind, identifier, name = found.groups()
            try:
                self.called[kind][identifier] = json.loads(name)
            except ValueError:
                raise fault(self.path, number, f"the name of {kind} {identifier:.40} is no JSON text") from None


def comments(mdp: MDP, features: Sequence[str], actions: Sequence[str], *, uniform: bool) -> Iterator[str]:
    """The comments that say what a DRN file cannot say otherwise.

    Args:
        mdp: the MDP that is written.
        features: the identifiers of its features.
        actions: the identifiers of its actions.
        uniform: whether all possible first states are equally likely.
    """
    yield f"// discount {mdp.discount!r}"
    if not uniform:
        yield START_COMMENT
    yield from _names("feature", features, mdp.feature_names)
    yield from _names("action", actions, mdp.action_names)
    if not mdp.all_available:
        yield f"// actions {' '.join(actions)}"
    if mdp.fallback is not None:
        yield f"// fallback {actions[mdp.action_names.index(mdp.fallback)]}"


def _names(kind: str, identifiers: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """A comment for every name that is not its own identifier."""
    for identifier, name in zip(identifiers, names, strict=True):
        if identifier != name:
            yield f"// {kind} {identifier} is called {json.dumps(name)}"
