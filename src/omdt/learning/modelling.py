"""Modelling: the model that some steps suggest, the best tree that a search finds on it, and what is proven of a tree.

The search asks thresholds midway between the numbers that represent cells. Trees come back with thresholds at the cuts,
which are in the units of the observations and divide the cells alike.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from omdt import planning
from omdt.concluding import References, concluded
from omdt.learning.estimating import Estimate, Grouping, estimate
from omdt.learning.grid import Grid
from omdt.learning.steps import Steps
from omdt.limits import Limits
from omdt.mdp import Floats
from omdt.methods.registry import method_named
from omdt.methods.search.climbing import local_search
from omdt.objective import DISCOUNTED_RETURN
from omdt.rules import FALLBACK
from omdt.solution import Claim, Solution, Stop
from omdt.solving import task_of
from omdt.task import Size, Task
from omdt.tree import TreePolicy
from omdt.watch import TracePoint, Watch

MAX_STATES = 800
"""Most cells of a model: with more of them a search takes longer than the steps that it saves."""

LEAST_BINS = 2
"""Fewest bins per feature, whatever the number of cells."""

SEARCH = method_named("search")


@dataclass(frozen=True, eq=False)
class Model:
    """A grid, the model of its cells, and the trees that are asked for on it.

    Attributes:
        grid: the cells.
        estimate: the model with its counts.
        task: the best tree of a size on the model.
        seed: of the searches.
    """

    grid: Grid
    estimate: Estimate
    task: Task
    seed: int

    @classmethod
    def of(
        cls,
        steps: Steps,
        starts: Floats,
        trees: Sequence[TreePolicy],
        size: Size,
        *,
        bins: int,
        discount: float,
        seed: int,
        name: str,
    ) -> "Model":
        """The model of some steps over the finest grid that has not too many cells.

        Args:
            steps: at least one.
            starts: [m, F] what was observed when episodes began.
            trees: their thresholds are cuts, and cells are finer beside these.
            size: of the trees that are asked for.
            bins: most bins per feature that takes many values.
            discount: γ of the model.
            seed: of the searches.
            name: of the model.
        """
        grid, grouping = finest(steps, steps.observations, bins, starts=starts, trees=trees)
        fine = grid.refined(steps.observations, trees)
        finer = fine.grouping(steps, starts)
        if finer.n_states <= MAX_STATES:
            grid, grouping = fine, finer
        found = estimate(steps, grouping, discount, name)
        return cls(grid, found, task_of(found.mdp, size, None, DISCOUNTED_RETURN, FALLBACK, ()), seed)

    def counted(self, steps: Steps, starts: Floats, *, weights: Floats | None = None) -> "Model":
        """The model over the same cells by other steps, each of which counts by its weight, if there are weights."""
        mdp = self.estimate.mdp
        found = estimate(steps, self.grid.grouping(steps, starts), mdp.discount, mdp.name, weights=weights)
        task = task_of(found.mdp, self.task.size, None, DISCOUNTED_RETURN, FALLBACK, ())
        return replace(self, estimate=found, task=task)

    def drawn(self, steps: Steps, starts: Floats, rng: np.random.Generator) -> "Model":
        """Another model that the same steps suggest (the Bayesian bootstrap): each counts by an exponential weight."""
        return self.counted(steps, starts, weights=rng.exponential(size=len(steps)))

    def searched(
        self,
        nodes: int | None,
        watch: Watch,
        listener: Callable[[TracePoint], None] | None = None,
        *,
        evaluations: int = 0,
    ) -> "Searched":
        """What a search finds within a number of nodes, or less if the time of the watch ends.

        Args:
            nodes: None if only the time ends the search.
            watch: the clock.
            listener: called with every improvement.
            evaluations: number of trees that local search evaluates afterwards, unless the search is complete.
        """
        part = watch.part(math.inf, listener, nodes)
        limits = Limits(seed=self.seed, node_limit=nodes)
        claim = SEARCH.run(self.task, limits, part, SEARCH.made_options({}))
        found = self._valued(claim.tree)
        if evaluations > 0 and claim.stop is not Stop.COMPLETE:
            climbed = local_search(self.task, limits, watch.part(watch.remaining), evaluations)
            found = max(found, self._valued(climbed), key=lambda it: it[1])
        return Searched(*found, claim.bound, claim.stop)

    def _valued(self, tree: TreePolicy) -> tuple[TreePolicy, float]:
        """A tree of a search with its thresholds at cuts, and its return."""
        tree = self.grid.at_cuts(tree)
        return tree, planning.tree_return(self.estimate.mdp, tree).value

    def solution(self, tree: TreePolicy, searched: "Searched | None", watch: Watch) -> Solution:
        """A tree with its exact value on this model, and a bound for all trees over its cuts.

        Args:
            tree: its thresholds are cuts of the grid.
            searched: what a search found; without it, the bound is the return of the best policy of any form.
            watch: of the run, for its time and why it ended.
        """
        before = References.of(self.task, watch)
        claim = Claim(tree, math.inf if searched is None else searched.bound, _why(tree, searched, watch))
        found = concluded(self.task, claim, SEARCH, Limits(seed=self.seed), watch, before)
        return replace(found, tree=replace(tree, integer=found.tree.integer))


def finest(
    steps: Steps,
    observations: Floats,
    bins: int,
    *,
    starts: Floats | None = None,
    trees: Sequence[TreePolicy] = (),
    most_exact: float = MAX_STATES,
) -> tuple[Grid, Grouping]:
    """The finest grid that has not too many cells, and the states that it makes of the observations.

    Args:
        steps: what is grouped.
        observations: [n, F] by which features are cut.
        bins: most bins per feature that takes many values.
        starts: as in `Grid.grouping`.
        trees: their thresholds are cuts as well.
        most_exact: maximum number of cells where every observation has a cell of its own.
    """
    for count in range(bins, LEAST_BINS - 1, -1):
        grid = Grid.of(observations, count, trees)
        grouping = grid.grouping(steps, starts)
        if grouping.n_states <= (most_exact if grid.exact else MAX_STATES):
            break
    return grid, grouping


@dataclass(frozen=True, eq=False)
class Searched:
    """What a search found on a model.

    Attributes:
        tree: the best tree, its thresholds are cuts.
        value: its discounted return on the model.
        bound: no tree of the size returns more on the model.
        stop: why the search ended.
    """

    tree: TreePolicy
    value: float
    bound: float
    stop: Stop


def _why(tree: TreePolicy, searched: Searched | None, watch: Watch) -> Stop:
    """Why the run ended; a search is complete only for its own tree."""
    if watch.interrupted:
        return Stop.INTERRUPTED
    if searched is None or watch.remaining == 0:
        return Stop.TIME
    return Stop.HEURISTIC if searched.stop is Stop.COMPLETE and tree is not searched.tree else searched.stop
