"""Short sight: trees from which climbs begin where most trees return the same.

Let A(s, a) ≤ 0 be the advantage of an action over the best one: what it loses if all later actions are the best ones.
The return of a policy is the optimum minus all its losses,

    J(π) = J* + E Σ_t γ^t A(s_t, π(s_t)).

Where reward comes only after many right actions, a tree that takes half of them loses as much as one that takes none:
what it gains at first, it loses later. Almost all trees return the same then, and a climb has nowhere to go. A
*short-sighted guide* has the same losses with a lower discount, so that later ones count less, and to do right for some
steps is worth something. With discount γ it is the task itself. Which discount shows the way differs, and so does
whether a guide should begin as the task does or in all states alike, where it also counts what is right in states that
no tree has reached so far. So climbs take place on several guides in turn, and climbs on the task begin with the trees
that these end with.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol

import numpy as np

from omdt.mdp import MDP, Floats
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Tree
from omdt.methods.search.stand_in import StandIn
from omdt.task import Task


class Search(Protocol):
    """A local search on a guide."""

    @property
    def ended(self) -> Tree | None:
        """The tree with which the last climb ended."""

    def start(self) -> None:
        """Find a first tree."""

    def climb(self, times: int) -> None:
        """Climb from some trees."""


def short_sighted_ends(model: Model, advantages: Floats, begin: Callable[[Task], Search]) -> Iterator[Tree]:
    """The trees with which climbs on the short-sighted guides of a model end, one guide after the other.

    There are no more when no climb on any of them comes to an end, because time is up.

    Args:
        model: the model of the task.
        advantages: [S, A] of every action over the best one.
        begin: begins a search for the same trees on a guide.
    """
    searches: list[Search] = []
    for guide in short_sighted(model, advantages):
        searches.append(begin(replace(model.task, objective=StandIn(guide))))
        searches[-1].start()
        yield from _ends(searches[-1])
    ended = True
    while ended:
        ended = False
        for search in searches:
            for tree in _ends(search):
                ended = True
                yield tree


def short_sighted(model: Model, advantages: Floats) -> Iterator[MDP]:
    """The short-sighted guides of a model, which begin in all states alike or as the task does.

    Args:
        model: the model of the task.
        advantages: [S, A] of every action over the best one.
    """
    mdp = model.mdp
    alike = np.full(mdp.n_states, 1 / mdp.n_states)
    for sight in model.settings.sights:
        for initial in (alike, mdp.initial):
            yield replace(mdp, rewards=advantages, discount=sight * mdp.discount, initial=initial)


def _ends(search: Search) -> Iterator[Tree]:
    """The tree with which the next climb ends, if there is one."""
    search.climb(1)
    if search.ended is not None:
        yield search.ended
