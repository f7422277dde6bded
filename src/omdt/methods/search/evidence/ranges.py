"""The recorder of the coarse search: writes a certificate by ranges while the search runs.

Every decision is written when it is made, and every node with its vector when it is closed. What is still open at the
end is closed by the vectors that show its bound, so an unfinished search has a certificate, too. Vectors are measured
by the checker's own functions before they are written, and the bound that is certified is the largest that any of them
shows.
"""

import math
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from omdt import check
from omdt.certificate import Writer, model_of
from omdt.files import write_whole
from omdt.mdp import EPSILON, Floats
from omdt.methods.search.coarse.bounding import CoarseNode
from omdt.methods.search.coarse.coarse_search import CoarseSearch
from omdt.methods.search.coarse.coarse_tree import CoarseTree, Cut, Undecided
from omdt.methods.search.coarse.observing import PLAIN, Grounds
from omdt.methods.search.evidence.closings import Closing, closed_by
from omdt.methods.search.evidence.durations import Durations
from omdt.methods.search.evidence.grounds import StoppedError
from omdt.methods.search.evidence.stakes import StakesFinder, best_values, ruling_of, stated_rules
from omdt.methods.search.evidence.vectors import NoEvidenceError, Vectors, encoded
from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.partial_tree import Path as Way
from omdt.methods.search.partial_tree import Tree
from omdt.questions import to_dict
from omdt.rules import FORBID, KeptSplit
from omdt.solution import tolerated_excess
from omdt.watch import OutOfTimeError, Watch

GAP_SEARCHED = 0.9
"""The part of the requested gap that the coarse search leaves open if its proof is recorded; digits take the rest."""

GAP_SHOWN = 0.98
"""The part of the requested gap that vectors may show."""


class RangeRecorder:
    """Listens to a coarse search.

    Args:
        incumbent: the best tree.
        gap: the requested gap.

    Attributes:
        stop: forgets what was written.
    """

    def __init__(self, incumbent: Incumbent, gap: float) -> None:
        self._incumbent, self._gap = incumbent, gap
        self._model, task = incumbent.model, incumbent.model.task
        plain = model_of(task.mdp)
        self._asked = check.read_asked(plain, task.asked, task.problem.discount)
        plain = replace(plain, rewards=self._asked.rewards, discount=self._asked.discount)
        questions = check.Questions() if task.questions is None else task.questions
        apart = task.stated is not None and task.stated.about_columns
        self._ladders = check.Ladders(questions, plain.features, plain.feature_names, per_column=apart)
        size = check.Size(self._model.size.depth, self._model.size.leaves)
        ruling = ruling_of(task, plain, self._asked, self._ladders)
        induction = check.Induction(plain, self._asked)
        self._growth = check.Growth(self._ladders, size, induction.S, induction.A, ruling)
        self._vectors = Vectors(induction, Durations(self._model))
        self._stakes = StakesFinder(induction, self._ladders, ruling)
        kept = () if task.kept is None else task.kept.nodes()
        self._kept = [_single(node) for _, node in kept if isinstance(node, KeptSplit)]
        root = self._growth.root
        self._numbers: dict[check.CoarseTree, int] = {} if root is None else {root: 0}
        self._nodes, self._shown, self._previous = 1, -math.inf, np.zeros(len(plain.rewards))
        self._complete = True
        self._stream = tempfile.TemporaryFile()  # noqa: SIM115 – it stays open as long as the search runs
        # A search that finds no tree ends by an error.
        self.stop = weakref.finalize(self, self._stream.close)
        self._writer = Writer(self._stream, self._head(size))

    def decided(self, tree: CoarseTree, path: Way, middle: int | None) -> None:
        """Write a decision, unless the checker knows already that no tree of the node obeys the rules."""
        known = self._translated(tree)
        number = self._numbers.pop(known, None)
        if number is None:
            return
        self._writer.write("decide", number, [int(side) for side in path], middle)
        for child in self._growth.children(known, tuple(int(side) for side in path), middle):
            self._numbers[child] = self._nodes
            self._nodes += 1

    def closed(self, tree: CoarseTree, values: Floats, grounds: Grounds) -> None:
        """Write the vector that closes a node."""
        self._close([self._translated(tree)], values, grounds, self._goal)

    def evaluated(self, tree: CoarseTree, only: Tree, values: Floats, grounds: Grounds) -> None:
        """Write the vector that closes the node of a single tree: the values of this tree, if others show too much."""
        self._close([self._translated(tree)], values, grounds, self._goal)

    def broken(self, tree: CoarseTree, only: Tree, grounds: Grounds) -> None:
        """Write the vector that shows that the only tree of a node breaks a rule."""
        self._close([self._translated(tree)], None, grounds, self._goal)

    def finish(self, search: CoarseSearch, path: Path) -> float:
        """Close what is still open, and write the file; the bound that is certified, as a return of the problem.

        Raises:
            StoppedError: if there was an interrupt; there is no file then.
            NoEvidenceError: if there is no vector that closes one of the nodes; there is no file then.
        """
        watch = Watch()
        with watch.catching_interrupts():
            goal = max(self._goal, self._earned(search.bound) + self._excess * (1 - GAP_SEARCHED))
            same: list[CoarseNode] = []
            try:
                for node in search.remaining(watch):
                    if same and node.values is not same[0].values:
                        self._close_together(same, goal, watch)
                        same = []
                    same.append(node)
                self._close_together(same, goal, watch)
                for tree in [*self._numbers]:
                    # The time was too short to evaluate the only tree of the node.
                    watch.check()
                    self._close([tree], None, PLAIN, goal)
            except OutOfTimeError:
                raise StoppedError from None
        if not self._complete:
            raise NoEvidenceError
        self._writer.close()
        self._stream.seek(0)
        write_whole(path, lambda stream: shutil.copyfileobj(self._stream, stream))
        return self._returned(self._shown)

    @property
    def _excess(self) -> float:
        """By how much the bound may exceed the value."""
        value = self._incumbent.value
        return tolerated_excess(value, self._gap, self._model.scale) if math.isfinite(value) else 0.0

    @property
    def _goal(self) -> float:
        """What vectors may show: a little more than the target of the search."""
        return self._earned(self._incumbent.value + GAP_SHOWN * self._excess)

    def _earned(self, returned: float) -> float:
        """A return of the problem as the checker counts it, which adds what is earned at the start."""
        return returned + self._model.task.offset - self._asked.offset

    def _returned(self, earned: float) -> float:
        """The return of the problem for what the checker counts, rounded up."""
        offset = self._model.task.offset - self._asked.offset
        rounding = 8 * EPSILON * (abs(earned) + abs(self._asked.offset) + abs(offset))
        return earned - offset + rounding if math.isfinite(earned) else earned

    def _close_together(self, nodes: list[CoarseNode], goal: float, watch: Watch) -> None:
        """Close nodes of the same values by a single vector; they differ in what is not decided yet."""
        watch.check()
        if nodes:
            trees = [self._translated(node.tree) for node in nodes]
            self._close(trees, nodes[0].values, nodes[0].grounds, goal)

    def _close(self, trees: list[check.CoarseTree], values: Floats | None, grounds: Grounds, goal: float) -> None:
        """Write the vector that closes nodes, made from the first values that show the goal, or from the best ones.

        Nodes that are closed already, because the checker knows that their trees obey no rules, are skipped.
        """
        trees = [tree for tree in trees if tree in self._numbers]
        if not trees:
            return
        numbers, best = [self._numbers.pop(tree) for tree in trees], None
        for closing in self._closings(trees, values, grounds, goal):
            best = closing if best is None or closing.shown < best.shown else best
            if best.shown <= goal:
                break
        if best is None:
            self._complete = False
            return
        record = [numbers, best.proof.exponent, best.proof.narrow, *best.stakes.weights.stated]
        self._writer.write("close", *record, raw=encoded(best.proof, self._previous))
        self._previous, self._shown = best.proof.vector, max(self._shown, best.shown)

    def _closings(
        self, trees: list[check.CoarseTree], values: Floats | None, grounds: Grounds, goal: float
    ) -> Iterator[Closing]:
        """Vectors that close nodes, made from given values, from the best values, and on the return alone."""
        if values is not None:
            yield from self._vectors_for(trees, grounds, goal, values)
        yield from self._vectors_for(trees, grounds, goal, None)
        if grounds != PLAIN:
            yield from self._vectors_for(trees, PLAIN, goal, None)

    def _vectors_for(
        self, trees: list[check.CoarseTree], grounds: Grounds, goal: float, values: Floats | None
    ) -> Iterator[Closing]:
        """The vector that closes nodes on some grounds, if there is one; by default from the best values."""
        try:
            stakes = self._stakes.of(trees, grounds)
            values = best_values(self._model, stakes, self._asked, Watch()) if values is None else values
            closing = closed_by(self._vectors, stakes, values, goal)
        except (NoEvidenceError, check.RejectedError):
            return
        if closing is not None:
            yield closing

    def _head(self, size: check.Size) -> dict[str, object]:
        """What the proof is about."""
        task = self._model.task
        S, A = task.mdp.rewards.shape
        questions = sum(len(ladder.numbers) for ladder in self._ladders.ladders)
        head: dict[str, object] = {"proof": check.RANGES, "states": S, "actions": A, "questions": questions}
        head |= {"depth": size.depth, "leaves": size.leaves, "discount": self._asked.discount}
        if task.asked is not None:
            head["objective"] = task.asked
        if task.questions is not None:
            head["asks"] = to_dict(task.questions)
        if rules := stated_rules(task):
            head["rules"] = rules
        if task.unavailable == FORBID:
            head["unavailable"] = FORBID
        return head

    def _translated(self, tree: CoarseTree) -> check.CoarseTree:
        """A coarse tree of the search as the checker has it."""
        if not isinstance(tree, Cut):
            return check.Undecided(tree.depth) if isinstance(tree, Undecided) else check.Leaf(tree.action)
        free = len(self._ladders.ladders)
        # The search has a ladder of its own for every kept question, after the others.
        kept = self._kept[tree.asked.ladder - free] if tree.asked.ladder >= free else None
        asked = check.Range(*tree.asked) if kept is None else kept
        return check.Cut(asked, self._translated(tree.left), self._translated(tree.right))


def _single(node: KeptSplit) -> check.Single:
    """A kept question as the checker has it."""
    return check.Single(node.column, node.equality, node.threshold)
