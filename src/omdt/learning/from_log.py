"""From a log to a small tree: the one with the best guaranteed return, and everything that the log says about it.

Observations become states: each distinct one by itself where features take few values, and cells of a grid where they
take many. Two searches follow. One finds the best tree on the estimated model, and the bound there. The other finds the
tree with the best guaranteed return, the worst over all worlds that the log does not rule out at the confidence asked
for (`omdt.learning.intervals`, `omdt.robust`).

**Which tree.** The one that guarantees more; of two that guarantee the same, the one that returns more on the estimated
model. A short log guarantees next to nothing whatever the tree is, so that guarantees say nothing about which tree is
good. The tree is then the best one on the model, and a warning says why.

**The confidence holds for the returned tree** although the log chose it, because the worlds that are not ruled out
include the true one for all trees at once.

Nothing depends on the clock unless a time limit strikes: searches are limited by nodes.
"""

from dataclasses import dataclass, replace

import numpy as np

from omdt.counting import counted
from omdt.errors import InputError, warn_input
from omdt.learning.coverage import coverage, warn_about_gaps
from omdt.learning.estimating import Estimate, Grouping, estimate, least_reward
from omdt.learning.grid import Grid
from omdt.learning.intervals import interval_mdp
from omdt.learning.learned import Learned
from omdt.learning.logs import Log
from omdt.learning.modelling import LEAST_BINS, Model, Searched
from omdt.learning.off_policy import Evidence, judged, warn_about_few
from omdt.limits import Limits, whole
from omdt.norms import norms_of
from omdt.objective import DISCOUNTED_RETURN
from omdt.robust.solve import Guaranteed, robust_solve
from omdt.robust.values import WorstCase
from omdt.rules import FALLBACK
from omdt.solution import LOG, Experience, Guarantee, Solution
from omdt.solving import task_of
from omdt.task import Size
from omdt.tree import TreePolicy
from omdt.watch import Watch, one_thread

MOST_CELLS = 800
"""Maximum number of cells where features take many values; where they do not, every observation is a state."""

MODEL_NODES, ROBUST_NODES = 2_000, 2_000
"""Maximum number of partial trees that each search looks at."""

MODEL_SHARE, ROBUST_SHARE = 0.3, 0.55
"""Parts of a time limit for the two searches; the rest is for what the log says about the tree."""

USEFUL = 0.05
"""A guarantee chooses the tree if it is above the worst possible return by at least this part of that by which the best
tree on the model is."""

CLOSING_SECONDS = 1.0
"""Seconds for what the log says about the tree, in any case."""


@dataclass(frozen=True, kw_only=True)
class LogRequest:
    """What is asked of learning from a log.

    Attributes:
        size: how large the tree may be.
        bins: most bins per feature that takes many values.
        discount: γ.
        confidence: of the guarantee and of the intervals.
        seed: the same seed gives the same tree.
    """

    size: Size
    bins: int = 12
    discount: float = 0.99
    confidence: float = 0.95
    seed: int = 0


def learn_from_log(log: Log, request: LogRequest, watch: Watch) -> Learned:
    """The tree that is learned from a log, with the estimated model and what the log says about the tree.

    Args:
        log: what was recorded.
        request: what is asked.
        watch: its time limit and Ctrl-C end the searches with the best tree so far.

    Raises:
        InputError: if the size is not limited, or the discount or the confidence is not between 0 and 1.
    """
    if not 0 < request.discount < 1:
        raise InputError(f"discount is {request.discount!r}; learning from a log needs one above 0 and below 1")
    with watch.catching_interrupts(), one_thread():
        subject = _Subject.of(log, request)
        found, robust = subject.searched(watch), subject.guaranteed(request, watch)
        tree, guarantee = subject.chosen(found, robust, request.confidence)
        solution = subject.solution(tree, found, watch)
        closing, evidence = watch.closing(CLOSING_SECONDS), subject.evidence
        covered = coverage(solution.tree, log.steps, evidence.estimate, closing)
        estimates = judged(solution.tree, evidence, request.confidence, request.seed, closing)
    warn_about_gaps(log.name, covered)
    warn_about_few(log.name, estimates)
    experience = Experience(
        origin=LOG,
        source=log.name,
        steps=len(log.steps),
        episodes=log.steps.n_episodes,
        guarantee=guarantee,
        judged=estimates,
        coverage=covered,
    )
    return Learned(replace(solution, experience=experience), evidence.estimate.mdp, evidence.estimate.visits)


@dataclass(frozen=True, eq=False)
class _Subject:
    """What the searches are about.

    Attributes:
        evidence: the log and its estimated model.
        model: the same with the best tree that is asked for.
        worst: the worlds that the log does not rule out.
        floor: the worst possible return.
    """

    evidence: Evidence
    model: Model
    worst: WorstCase
    floor: float

    @classmethod
    def of(cls, log: Log, request: LogRequest) -> "_Subject":
        """The subject of a log."""
        grid, grouping = _grouped(log, request.bins)
        found = estimate(log.steps, grouping, request.discount, log.name)
        found = Estimate(replace(found.mdp, truths=log.truths), found.visits)
        task = task_of(found.mdp, request.size, None, DISCOUNTED_RETURN, FALLBACK, ())
        worlds = interval_mdp(log.steps, grouping, request.discount, log.name, request.confidence)
        return cls(
            Evidence(log, grouping, found),
            Model(grid, found, task, request.seed),
            WorstCase(worlds),
            norms_of(request.discount).total(least_reward(log.steps.rewards)),
        )

    def searched(self, watch: Watch) -> Searched:
        """The best tree that a search finds on the estimated model."""
        return self.model.searched(MODEL_NODES, watch.part(MODEL_SHARE * watch.time_limit))

    def guaranteed(self, request: LogRequest, watch: Watch) -> Guaranteed:
        """The tree with the best guaranteed return that a search finds."""
        part = watch.part(ROBUST_SHARE * watch.time_limit)
        part.node_limit = ROBUST_NODES
        limits = Limits(seed=request.seed, node_limit=ROBUST_NODES)
        return robust_solve(self.worst.problem, request.size, limits, part)

    def chosen(self, found: Searched, robust: Guaranteed, confidence: float) -> tuple[TreePolicy, Guarantee]:
        """The tree that is returned, and what it guarantees.

        Args:
            found: the best tree on the estimated model.
            robust: the tree with the best guarantee.
            confidence: of the guarantee.
        """
        actions = found.tree.actions(self.worst.problem.features)
        of_model = max(self.worst.of_policy(actions).lower, self.floor)
        best = max(robust.value, self.floor)
        bound = max(robust.bound, of_model)
        if best - self.floor < USEFUL * (found.value - self.floor):
            warn_input(
                f"{self.evidence.log.name}: the log has too few steps for a guarantee that says much: at a confidence "
                f"of {confidence:.4g} no tree is guaranteed more than {bound:.4g}, where {self.floor:.4g} is the worst "
                "possible; the tree is the best one on the estimated model"
            )
            return found.tree, Guarantee(of_model, bound, confidence, self.model.grid.exact)
        if of_model >= best - robust.rounding:
            return found.tree, Guarantee(of_model, bound, confidence, self.model.grid.exact)
        return self.model.grid.at_cuts(robust.tree), Guarantee(best, bound, confidence, self.model.grid.exact)

    def solution(self, tree: TreePolicy, found: Searched, watch: Watch) -> Solution:
        """A tree with its exact return on the estimated model, and the bound for all trees there.

        Args:
            tree: its thresholds are cuts.
            found: what the search on the estimated model found.
            watch: of the run.
        """
        solution = self.model.solution(tree, found, watch)
        pruned = self.model.grid.at_cuts(tree.pruned(self.evidence.estimate.mdp.features))
        return replace(solution, tree=replace(pruned, truths=self.evidence.log.truths))


def _grouped(log: Log, bins: int) -> tuple[Grid, Grouping]:
    """The finest grid that has not too many cells, and the states that it makes of the observations."""
    steps = log.steps
    # What a terminated episode showed at last is no state that anything is done in.
    seen = np.concatenate([steps.observations, steps.next_observations[~steps.terminated]])
    for count in range(whole("bins", bins, LEAST_BINS), LEAST_BINS - 1, -1):
        grid = Grid.of(seen, count)
        grouping = grid.grouping(steps)
        if grid.exact or grouping.n_states <= MOST_CELLS:
            break
    if not grid.exact:
        warn_input(
            f"{log.name}: features take many values, so that observations were divided into "
            f"{counted(grouping.n_states, 'cell')}; the guarantee holds as far as steps within one cell are alike"
        )
    return grid, grouping
