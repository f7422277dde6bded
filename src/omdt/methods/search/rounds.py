"""Rounds: the proof, as cases that are explored apart from one another and put together again.

A round explores the best few cases, each for a fixed number of nodes and all with the same incumbent, and then puts
together what came of them in the order in which they were handed out. So the same tree and bound come out whoever
explores, and however many do. A lost worker or an interrupt costs no more than the round. Where the proof takes long, a
part of the time goes into raised targets (`raised`).
"""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace

import numpy as np

from omdt.limits import Limits
from omdt.methods.search.bounds.bases import budget_of
from omdt.methods.search.explorers import Explorers, Subject, idle, unexplored
from omdt.methods.search.frontier import Frontier
from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.nodes import Case, Findings, Goal, Partial
from omdt.methods.search.partial_tree import HOLE
from omdt.methods.search.raised import RaisedTargets
from omdt.methods.search.symmetry import Symmetries, find
from omdt.watch import Watch

NEGLIGIBLE_SLACK = 1e-4
"""Symmetries are used if what they may cost, because they are not exact, is less than this part of the gap."""


class Rounds:
    """The exact search.

    Args:
        incumbent: the best tree.
        limits: threads, memory, and whether nodes are limited.
        watch: the clock.
        executor: explores cases elsewhere; by default as many processes as the limits have threads.
        may_pin: whether single states may be pinned for raised targets.

    Attributes:
        count: how many rounds there were.
        main: the cases of the proof.
        raised: the raised targets.
        explorers: who explores.
    """

    def __init__(
        self,
        incumbent: Incumbent,
        limits: Limits,
        watch: Watch,
        executor: Executor | None = None,
        *,
        may_pin: bool = True,
    ) -> None:
        model = incumbent.model
        self._model, self._incumbent, self._watch = model, incumbent, watch
        # A third is for the frontiers, however many explore, because what they forget can show in a bound; this process
        # and every worker share the rest.
        memory = limits.memory_limit * 2**20
        self._max_vectors = memory // 6 // (8 * model.mdp.n_states)
        symmetries, self._slack = _symmetries(incumbent)
        subject = Subject.of(model, symmetries, 2 * memory // 3 // (limits.threads + 1))
        self.explorers = Explorers(subject, limits.threads, executor, watch)
        self.count = 0
        root = Case(incumbent.unrestricted, Partial(HOLE))
        self.main = Frontier(root)
        self.raised = RaisedTargets(
            root,
            incumbent,
            self.explorers,
            watch,
            slack=self._slack,
            max_vectors=self._max_vectors,
            # A limit on nodes promises the same bound in every run.
            may_raise=limits.node_limit is None,
            # What is not decided where pinned policies never go may be filled in with actions that are not allowed.
            may_pin=may_pin and model.acyclic and model.task.allowed is None,
        )

    @property
    def done(self) -> bool:
        """Whether nothing remains that could be better than the incumbent by more than the gap."""
        return self.main.top <= self._incumbent.target

    @property
    def bound(self) -> float:
        """No tree within the limits returns more."""
        if not self.done:
            return self.raised.bound(self.main)
        return max(min(self.main.bound + self._slack, self._incumbent.unrestricted), self._incumbent.value)

    @property
    def out_of_memory(self) -> bool:
        """Whether there was not enough memory to go on."""
        return self.explorers.out_of_memory

    def stop(self) -> None:
        """End all processes that explore."""
        self.explorers.stop()

    def round(self, meanwhile: Callable[[], None]) -> None:
        """Explore the best cases, all with the same incumbent.

        Args:
            meanwhile: what this process does before it collects the findings.
        """
        self.count += 1
        nodes = min(self._model.settings.nodes_per_case, 2**self.count)
        for findings in self._explored(nodes, meanwhile):
            self._watch.count(findings.nodes)
            if findings.tree is not None and findings.value > self._incumbent.value:
                self._incumbent.improve(findings.tree, findings.value)
        self._incumbent.lower(self.bound)
        self._incumbent.report()
        self.raised.work(self.main)

    def _explored(self, nodes: int, meanwhile: Callable[[], None]) -> list[Findings]:
        """What comes of the best cases of the proof.

        A round that takes long is cut off for raised targets to have their turn, and cases that were not finished are
        then begun again with the same incumbent: tables remember, so they come to the same end.
        """
        settings, goal = self._model.settings, self._goal()
        self.main.take(goal.target, settings.cases_per_round)
        found = [replace(unexplored(case), late=True) for case in self.main.taken]
        seconds = settings.slice_seconds
        while any(it.late for it in found) and self._watch.remaining > 0 and not self.explorers.out_of_memory:
            part = self._watch.part(seconds if self.raised.active else np.inf)
            rest = [i for i, it in enumerate(found) if it.late]
            cases = [self.main.taken[i] for i in rest]
            for i, it in zip(rest, self.explorers.explore(cases, goal, nodes, part, meanwhile), strict=True):
                found[i] = found[i] if it.late and it.nodes < found[i].nodes else it
            if any(it.late for it in found):
                self.raised.work(self.main)
            seconds, meanwhile = 2 * seconds, idle
        self.main.put(found, self._max_vectors)
        return found

    def _goal(self) -> Goal:
        """The goal of the proof, with the incumbent as it is now."""
        target = self._incumbent.target
        needed = budget_of(self.explorers.knowledge.bases.losses.optimum, target)
        return Goal(self._incumbent.value, target, self.main.budget_for(needed, self._model.settings.fresh_budget))


def _symmetries(incumbent: Incumbent) -> tuple[Symmetries, float]:
    """The symmetries of the task, and what a tree may lose when they turn it into one that is examined."""
    model = incumbent.model
    if model.task.allowed is not None:
        # A renaming need not turn what is allowed into what is allowed.
        return Symmetries.none(model), 0.0
    symmetries = find(model)
    # Every decision of a tree may be turned into the first of those that are alike, in this many steps at most; where
    # leaves turn out to be one, all begins anew.
    leaves, A = model.size.leaves, model.mdp.n_actions
    steps = leaves * (2 * leaves * (A + len(model.task.splits)) + model.settings.max_pins * A)
    slack = symmetries.error * steps
    if slack > NEGLIGIBLE_SLACK * (incumbent.target - incumbent.value):
        return Symmetries.none(model), 0.0
    return symmetries, slack
