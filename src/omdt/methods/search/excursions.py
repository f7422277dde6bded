"""Excursions: climbs on other models of a task, whose trees are then tried on the task itself.

With many states these are coarse models (see `aggregation`), where most trees return the same, short-sighted guides
(see `short_sight`).
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol

import numpy as np

from omdt.mdp import Floats
from omdt.methods.search.aggregation import Coarse
from omdt.methods.search.effort import evaluations_within
from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Tree
from omdt.methods.search.short_sight import short_sighted_ends
from omdt.task import Task
from omdt.watch import Watch


class Search(Protocol):
    """A local search; `local.LocalSearch` says what its parts are."""

    model: Model
    incumbent: Incumbent
    watch: Watch
    random: np.random.Generator
    evaluations: int
    ended: Tree | None
    trail: list[Tree]

    @property
    def best(self) -> Tree:
        """The incumbent."""

    @property
    def single(self) -> bool:
        """Whether there are no trees but single leaves."""

    @property
    def exhausted(self) -> bool:
        """Whether time is up or all evaluations are used."""

    def start(self) -> None:
        """Find a first tree."""

    def climb(self, times: int) -> None:
        """Climb from some trees."""

    def consider(self, tree: Tree) -> None:
        """Make a tree the incumbent if it is better."""

    def count(self, evaluations: int) -> None:
        """Count evaluations that took place elsewhere."""


Begin = Callable[[Model, int, Watch, float], Search]
"""Begins a local search: of a model, with a seed, a clock, and a number of evaluations after which it ends."""


def coarse_trees(search: Search, coarse: Coarse, begin: Begin) -> list[Tree]:
    """The best trees that a search on a coarse model finds, beginning with the incumbent."""
    settings, part = search.model.settings, search.watch.part(search.watch.remaining)
    model = Model.of(coarse.task, settings, part)
    inner = begin(model, 0, part, evaluations_within(model, settings.coarse_seconds))
    inner.consider(coarse.coarsened(search.best))
    if model.mdp.n_states < settings.impatient_states:
        inner.start()
    while not (inner.single or inner.exhausted or inner.incumbent.optimal_reached):
        inner.climb(1)
    return [coarse.refined(tree) for tree in inner.trail[-settings.coarse_trees :]]


def suggested_trees(search: Search, advantages: Callable[[], Floats], begin: Begin) -> Iterator[Tree]:
    """Trees that are good at short sight; the evaluations on guides count as those of the search.

    Args:
        search: the search that climbs from them.
        advantages: computes [S, A] the advantages of the optimal policy.
        begin: begins a search on a guide.
    """
    begun: list[Search] = []

    def on_guide(task: Task) -> Search:
        part = search.watch.part(search.watch.remaining)
        model = Model.of(task, replace(search.model.settings, sights=()), part)
        begun.append(begin(model, int(search.random.integers(2**31)), part, np.inf))
        return begun[-1]

    counted = 0
    for tree in short_sighted_ends(search.model, advantages(), on_guide):
        evaluations = sum(it.evaluations for it in begun)
        search.count(evaluations - counted)
        counted = evaluations
        yield tree
