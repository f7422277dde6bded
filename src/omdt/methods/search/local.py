"""Local search: a good tree within seconds, better ones the longer it runs.

A climb begins with some tree and moves to a better neighbour as long as there is one. First-order gains (see `fitting`)
choose and order the neighbours; each is then evaluated exactly, and only improvements of the exact return count. A
*steep* climb moves to the best neighbour, a *quick* one to the first that is better, the most promising first. A quick
climb takes a tenth of the evaluations and ends elsewhere, sometimes with a much better tree and sometimes with a worse
one. So both kinds have equal shares of the evaluations.

The first climbs of both kinds begin with trees that are fitted to the optimal Q-values (see `starts`), later ones with
crossings and random changes of good trees (see `population`), and with trees good at short sight (see `short_sight`).

Before a climb ends with a new incumbent, all its small changes are evaluated (another action in a leaf, another number
in a node), then the most promising other changes. So the incumbent is locally optimal unless time runs out.

With many states, evaluations take long. Then the first tree is a fitted one, further trees are found on coarse models
(see `aggregation`), all climbs are quick, and of small changes only the likely ones are evaluated (see `neighbours`).
"""

import math
import time
from collections.abc import Callable, Iterator

import numpy as np

from omdt.mdp import Ints
from omdt.methods.search.aggregation import Coarse
from omdt.methods.search.copying import Copying
from omdt.methods.search.effort import evaluations_within
from omdt.methods.search.evaluation import engine
from omdt.methods.search.excursions import coarse_trees, suggested_trees
from omdt.methods.search.fitting import Fitting, gains_around
from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.low_rank import Dense
from omdt.methods.search.model import Model
from omdt.methods.search.neighbours import Candidate, Neighbours
from omdt.methods.search.partial_tree import Leaf, Tree
from omdt.methods.search.population import Beginnings
from omdt.methods.search.ranks import Ranks
from omdt.methods.search.starts import Starts
from omdt.watch import Watch


class LocalSearch:
    """Hill climbing with restarts, which improves an incumbent.

    Args:
        model: the model of the task.
        incumbent: the best tree.
        seed: for random changes.
        watch: the clock.
        max_evaluations: number of evaluations after which the search ends.
        improved: called with every new incumbent.

    Attributes:
        questions: the questions of the task.
        engine: evaluates policies; its base is the policy of the tree whose neighbours are tried.
        neighbours: finds the trees around a tree.
        trail: all incumbents that this search has found, one after another.
        ended: the tree with which the last climb ended, if there was one.
        repeats: how many climbs in a row, the last one included, ended where an earlier one of the same kind had been.
        evaluations: number of policies evaluated so far.
        max_evaluations: number of evaluations after which the search ends.
    """

    def __init__(
        self,
        model: Model,
        incumbent: Incumbent,
        seed: int,
        watch: Watch,
        max_evaluations: float = math.inf,
        improved: Callable[[Tree], None] | None = None,
    ) -> None:
        self.model, self.incumbent, self.watch, self._improved = model, incumbent, watch, improved
        self.random = np.random.default_rng(seed)
        self.questions = Ranks(model.task.splits)
        self.engine = engine(model, watch)
        self._states = np.arange(model.mdp.n_states)
        self._fitting = Fitting(model, self.questions, watch)
        self.neighbours = Neighbours(model, self.questions, self._fitting, watch)
        self._impatient = model.mdp.n_states >= model.settings.impatient_states
        self._starting = Starts(model, self.questions, self._fitting, self.engine, watch)
        quick_starts = None if self._impatient else self._starting.by_root()
        starts = self._all_starts(), quick_starts, suggested_trees(self, self._starting.optimal_advantages, _begun)
        self._beginnings = Beginnings(model.settings, model.size.leaves, *starts)
        self.trail: list[Tree] = []
        self.ended: Tree | None = None
        self._polished: Tree | None = None
        self._seconds, self._permitted, self._joined = 0.0, True, False
        self.evaluations, self.max_evaluations, self.repeats = 0, max_evaluations, 0

    @property
    def single(self) -> bool:
        """Whether there are no trees but single leaves."""
        return self.model.size.depth == 0 or len(self.questions) == 0

    @property
    def best(self) -> Tree:
        """The incumbent, or any leaf if there is none."""
        return Leaf(0) if self.incumbent.tree is None else self.incumbent.tree

    @property
    def exhausted(self) -> bool:
        """Whether time is up or all evaluations are used."""
        return self.watch.remaining == 0 or self.evaluations >= self.max_evaluations

    def start(self) -> None:
        """Find a first tree, and the trees that copy the optimal policy if these are small enough."""
        if self._impatient and not self.single:
            self._start_with_fitted_trees()
        else:
            self._start_with_leaves()
        if self.exhausted and self.incumbent.tree is not None:
            return
        copying = Copying(self.model, self.questions, self.watch)
        if not self.single:
            for tree in copying.optimal_copies():
                self._try(tree)
        allowed = self.model.task.allowed
        if self.incumbent.tree is None and allowed is not None:
            first = copying.tree(allowed)
            if first is not None:
                self.consider(first)

    def _start_with_leaves(self) -> None:
        """Evaluate all single leaves."""
        for action in range(self.model.mdp.n_actions):
            self.consider(Leaf(action))
            if self.exhausted:
                return

    def _start_with_fitted_trees(self) -> None:
        """Evaluate fitted trees, then the best trees of a coarse model."""
        for tree in self._starting.fitted():
            self._try(tree)
            if self.exhausted:
                return
        model = self._starting.coarsest_model(self.best)
        if model is not None and not self.exhausted:
            self._take_over(model)

    def _try(self, tree: Tree) -> None:
        """Make a tree the incumbent if it is better; with many states, without advantages and occupancies."""
        if not self._impatient or isinstance(self.engine, Dense):
            self.consider(tree)
        elif (value := self._evaluated(self.policy(tree))) > self.incumbent.value + self.incumbent.noise:
            self._improve(tree, value)

    def climb(self, times: int) -> None:
        """Climb from the next start, and when there are no more, from perturbations of the incumbent."""
        for _ in range(0 if self.single else times):
            if self.exhausted or self.incumbent.optimal_reached:
                return
            before, tree = self.evaluations, self._next_start()
            if not self._impatient or self._hopeful(tree):
                self.climb_from(tree)
            self._beginnings.ended(self.evaluations - before, self._base_value, self.ended)
            self.repeats = self.repeats + 1 if self._joined else 0

    def _next_start(self) -> Tree:
        """The tree from which the next climb begins."""
        trees, new = self._beginnings.following(self.best, self.random)
        if not new:
            return self.neighbours.perturbed(trees[0], gains_around(self.engine, self.model), self.random)
        crossed = (Candidate(tree, self.policy(tree)) for tree in trees if len(trees) > 1)
        return self._best_of(crossed, -np.inf) or trees[0]

    def _hopeful(self, tree: Tree) -> bool:
        """Whether a tree is good enough to climb from."""
        if tree == self.incumbent.tree:
            return True
        optimum, share = self.model.optimal_return.value, self.model.settings.hopeful_shortfall
        return optimum - self._evaluated(self.policy(tree)) <= share * (optimum - self.incumbent.value)

    def finish(self) -> None:
        """Spend the reserved time on making the incumbent locally optimal."""
        self.watch.reserve(2 * self._seconds)
        tree = self.incumbent.tree
        done = tree == self._polished or self.single or self.incumbent.optimal_reached or self.exhausted
        if tree is not None and not done:
            self.climb_from(tree)

    def climb_from(self, tree: Tree) -> None:
        """Move to a better neighbour until there is none, or to where the way of an earlier climb is known."""
        self.consider(tree)
        for _ in range(self.model.settings.max_steps):
            unpolished = tree == self.incumbent.tree and tree != self._polished
            self.ended, self._joined = tree, self._beginnings.passed(tree) and not unpolished
            if self._joined or self.exhausted or self.incumbent.optimal_reached:
                return
            better = self._better(tree)
            if better is None:
                return
            tree, before = better, self.engine.value if self._permitted else -np.inf
            self.consider(tree)
            if self.engine.value <= before:
                # A gain that does not last is rounding, which would go on for ever where a discount is close to 1.
                return

    def _better(self, tree: Tree) -> Tree | None:
        """A better neighbour of the tree that is the base of the engine; None if none is found."""
        gains, above, settings = gains_around(self.engine, self.model), self._base_value, self.model.settings
        shortfall, steep = self.model.optimal_return.value - above, self._beginnings.steep
        if steep:
            better = self._best_of(self.neighbours.promising(tree, gains, -settings.steep_loss * shortfall), above)
        else:
            better = self._first_of(self.neighbours.by_gain(tree, gains, -settings.quick_loss * shortfall), above)
        if better is not None or tree != self.incumbent.tree or tree == self._polished:
            return better
        choose = self._best_of if steep else self._first_of
        some = self._starting.imitation_gains() if self._impatient else gains
        better = choose(self.neighbours.small_changes(tree, gains), above)
        better = choose(self.neighbours.promising(tree, some), above) if better is None else better
        if better is None and not self.exhausted:
            self._polished = tree
            self.watch.reserve(2 * self._seconds)
        return better

    def consider(self, tree: Tree) -> None:
        """Make this the tree whose neighbours are tried, and the incumbent if it is better."""
        begin, policy = time.perf_counter(), self.policy(tree)
        self.engine.rebase(policy)
        self._seconds = time.perf_counter() - begin
        self.evaluations += 1
        self._permitted = self.model.task.permits(policy)
        if self._permitted and self.engine.value > self.incumbent.value + self.incumbent.noise:
            self._improve(tree, self.engine.value)

    def _improve(self, tree: Tree, value: float) -> None:
        """Make a tree of higher return the incumbent, and reserve time for polishing it."""
        self.incumbent.improve(tree, value)
        self.trail.append(tree)
        polishing = min(self.model.settings.polishing_share * self.watch.time_limit, self._polishing_seconds(tree))
        self.watch.reserve(2 * self._seconds + polishing)
        self.incumbent.report()
        if self._improved is not None:
            self._improved(tree)

    def policy(self, tree: Tree) -> Ints:
        """[S] the actions of a tree."""
        return self.questions.actions(tree, self._states)

    def _best_of(self, candidates: Iterator[Candidate], above: float) -> Tree | None:
        """The best candidate; None if none returns more than something."""
        best: Tree | None = None
        for tree, policy in candidates:
            if self.exhausted:
                break
            if (value := self._evaluated(policy)) > above + self.incumbent.noise:
                above, best = value, tree
        return best

    def _first_of(self, candidates: Iterator[Candidate], above: float) -> Tree | None:
        """The first candidate that returns more than something; None if none does."""
        for tree, policy in candidates:
            if self.exhausted:
                return None
            if self._evaluated(policy) > above + self.incumbent.noise:
                return tree
        return None

    @property
    def _base_value(self) -> float:
        """The return of the tree whose neighbours are tried, −∞ if the rules forbid it."""
        return self.engine.value if self._permitted else -np.inf

    def _evaluated(self, policy: Ints) -> float:
        """The return of a policy, −∞ if the rules forbid it; remembers how long the evaluation took."""
        if not self.model.task.permits(policy):
            return -np.inf
        self.evaluations += 1
        begin = time.perf_counter()
        value = self.engine.evaluate(policy)
        self._seconds = time.perf_counter() - begin
        return value

    def count(self, evaluations: int) -> None:
        """Count evaluations that took place elsewhere."""
        self.evaluations += evaluations

    def _polishing_seconds(self, tree: Tree) -> float:
        """Estimated seconds for evaluating all small changes of a tree."""
        most = evaluations_within(self.model, self.model.settings.step_seconds)
        return 2 * self._seconds * min(most, self.neighbours.count_small_changes(tree))

    def _take_over(self, model: Coarse) -> None:
        """Evaluate the best trees of a coarse model."""
        for tree in coarse_trees(self, model, _begun):
            self._try(tree)

    def _all_starts(self) -> Iterator[Tree]:
        """The trees from which climbs begin, before random changes of the incumbent."""
        if self._impatient:
            return self._starting.of_many_states(lambda: self.best, self._take_over)
        return self._starting.of_few_states(lambda: self.best)


def _begun(model: Model, seed: int, watch: Watch, max_evaluations: float) -> LocalSearch:
    """A local search without an incumbent."""
    return LocalSearch(model, Incumbent(model, 0.0, watch), seed, watch, max_evaluations)
