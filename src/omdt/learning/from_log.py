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

Without a time limit nothing depends on the clock: searches are limited by nodes. With one they use the time.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from omdt.counting import counted
from omdt.errors import InputError, warn_input
from omdt.learning.coverage import coverage, warn_about_gaps
from omdt.learning.estimating import Estimate, Grouping, estimate, least_reward
from omdt.learning.grid import Grid
from omdt.learning.intervals import interval_mdp
from omdt.learning.learned import Learned
from omdt.learning.logs import Log
from omdt.learning.modelling import LEAST_BINS, Model, Searched, finest
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
from omdt.watch import TracePoint, Watch, one_thread

NODES = 2_000
"""Maximum number of partial trees that each search looks at if there is no time limit."""

MODEL_SHARE, ROBUST_SHARE = 0.3, 0.85
"""Parts of the time that is left for the two searches; the rest is for what the log says about the tree."""

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


class Searching(NamedTuple):
    """How far one of the two searches is.

    Attributes:
        guaranteed: whether the figures are guaranteed returns; otherwise they are returns on the estimated model.
        value: of the best tree so far.
        bound: no tree of the size has more.
    """

    guaranteed: bool
    value: float
    bound: float


Listener = Callable[[Searching], None]


def learn_from_log(log: Log, request: LogRequest, watch: Watch, progress: Listener | None = None) -> Learned:
    """The tree that is learned from a log, with the estimated model and what the log says about the tree.

    Args:
        log: what was recorded.
        request: what is asked.
        watch: its time limit and Ctrl-C end the searches with the best tree so far.
        progress: called with every improvement of a search.

    Raises:
        InputError: if the size is not limited, or the discount or the confidence is not between 0 and 1.
    """
    if not 0 < request.discount < 1:
        raise InputError(f"discount is {request.discount!r}; learning from a log needs one above 0 and below 1")
    with watch.catching_interrupts(), one_thread():
        subject = _Subject.of(log, request)
        found = subject.searched(watch, _telling(progress, guaranteed=False))
        robust = subject.guaranteed(request, watch, _telling(progress, guaranteed=True))
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
    found_model = evidence.estimate
    return Learned(replace(solution, experience=experience), found_model.mdp, found_model.visits, subject.worst.problem)


_Trace = Callable[[TracePoint], None]


def _telling(progress: Listener | None, *, guaranteed: bool) -> _Trace | None:
    """What listens to one of the searches; nothing if nobody wants to know."""
    return None if progress is None else lambda point: progress(Searching(guaranteed, *point[1:]))


def _nodes(watch: Watch) -> int | None:
    """The limit on the nodes of a search, which a time limit replaces."""
    return NODES if watch.time_limit == math.inf else None


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

    def searched(self, watch: Watch, listener: _Trace | None) -> Searched:
        """The best tree that a search finds on the estimated model."""
        return self.model.searched(_nodes(watch), watch.part(MODEL_SHARE * watch.remaining), listener)

    def guaranteed(self, request: LogRequest, watch: Watch, listener: _Trace | None) -> Guaranteed:
        """The tree with the best guaranteed return that a search finds."""
        part = watch.part(ROBUST_SHARE * watch.remaining, listener, _nodes(watch))
        limits = Limits(seed=request.seed, node_limit=part.node_limit)
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
        guarantee = Guarantee(of_model, bound, confidence, self.model.grid.exact, robust.stop)
        least = self.floor + USEFUL * (found.value - self.floor)
        if best < least:
            self._warn_about_little(guarantee, hopeless=bound < least)
            return found.tree, guarantee
        if of_model >= best - robust.rounding:
            return found.tree, guarantee
        return self.model.grid.at_cuts(robust.tree), replace(guarantee, value=best)

    def _warn_about_little(self, guarantee: Guarantee, *, hopeless: bool) -> None:
        """Warn that a guarantee says little: that of all trees if it is hopeless, or that of those which were found."""
        least = f"where {self.floor:.4g} is the worst possible; the tree is the best one on the estimated model"
        if hopeless:
            why = (
                "the log has too few steps for a guarantee that says much: at a confidence of "
                f"{guarantee.confidence:.4g} no tree is guaranteed more than {guarantee.bound:.4g}"
            )
        else:
            why = f"the search ended before it found a tree that is guaranteed much more than {guarantee.value:.4g}"
        warn_input(f"{self.evidence.log.name}: {why}, {least}")

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
    """The states of a log: its distinct observations if features take few values, and otherwise the cells of a grid."""
    steps = log.steps
    # What a terminated episode showed at last is no state that anything is done in.
    seen = np.concatenate([steps.observations, steps.next_observations[~steps.terminated]])
    grid, grouping = finest(steps, seen, whole("bins", bins, LEAST_BINS), most_exact=math.inf)
    if not grid.exact:
        warn_input(
            f"{log.name}: features take many values, so that observations were divided into "
            f"{counted(grouping.n_states, 'cell')}; the guarantee holds as far as steps within one cell are alike"
        )
    return grid, grouping
