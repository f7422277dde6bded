"""Filtering: local search under rules by trying what the local search without them finds."""

from omdt.methods.search.guided import GuidedSearch
from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.local import LocalSearch
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf, Tree
from omdt.methods.search.ranks import Ranks
from omdt.methods.search.ruling import Ruling
from omdt.watch import OutOfTimeError, Watch


class FilteredSearch:
    """Climbs without the rules, and takes of what is found there the trees that keep them.

    Args:
        model: the model of the task.
        incumbent: the best tree that keeps the rules.
        seed: for random changes.
        watch: the clock.

    Attributes:
        questions: the questions of the task, then those of the kept tree.
        evaluations: number of trees judged so far, and of policies evaluated while climbing.
    """

    def __init__(self, model: Model, incumbent: Incumbent, seed: int, watch: Watch) -> None:
        self.model, self.incumbent, self.watch = model, incumbent, watch
        self.questions = Ranks(model.splits)
        kind = GuidedSearch if model.mdp.discount == 1 else LocalSearch
        self._inner = kind(model, Incumbent(model, incumbent.gap, watch.part(watch.remaining)), seed, watch)
        self._ruling = Ruling(model)
        self._judged: set[Tree] = set()

    @property
    def single(self) -> bool:
        """Whether there are no trees but single leaves."""
        return self.model.size.depth == 0 or len(self.questions) == 0

    @property
    def best(self) -> Tree:
        """The incumbent, or any leaf if there is none."""
        return Leaf(0) if self.incumbent.tree is None else self.incumbent.tree

    @property
    def evaluations(self) -> int:
        """Number of trees judged and policies evaluated so far."""
        return len(self._judged) + self._inner.evaluations

    def start(self) -> None:
        """Judge all single leaves, and what the search without the rules begins with."""
        for action in range(self.model.mdp.n_actions):
            self.consider(Leaf(action))
        self._inner.start()
        self.consider(self._inner.best)

    def climb(self, times: int) -> None:
        """Climb from some trees."""
        self._inner.climb(times)
        self.consider(self._inner.best)

    def consider(self, tree: Tree) -> None:
        """Make a tree the incumbent if it keeps the rules and is better."""
        if tree in self._judged:
            return
        try:
            verdict = self._ruling.verdict(tree, self.watch)
        except OutOfTimeError:
            return
        self._judged.add(tree)
        if verdict.broken is None and self.incumbent.improved_by(verdict.value.value):
            self.incumbent.improve(tree, verdict.value.value)
            self.incumbent.report()

    def finish(self) -> None:
        """Nothing is left to do."""
