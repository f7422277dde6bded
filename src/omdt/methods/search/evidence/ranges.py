"""The recorder of the coarse search: writes a certificate by ranges while the search runs.

Every decision is written when it is made, and every node with its vector when it is closed. What is still open at the
end is closed by the vectors that show its bound, so an unfinished search has a certificate, too. Vectors are measured
by the checker's own functions before they are written, and the bound that is certified is the largest that any of them
shows.
"""

import math
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from omdt import check, planning
from omdt.certificate import Writer, model_of
from omdt.files import write_whole
from omdt.mdp import EPSILON, Bools, Floats
from omdt.methods.search.coarse.bounding import CoarseNode
from omdt.methods.search.coarse.coarse_search import CoarseSearch
from omdt.methods.search.coarse.coarse_tree import CoarseTree, Cut, Undecided
from omdt.methods.search.coarse.observing import Grounds
from omdt.methods.search.evidence.durations import Durations
from omdt.methods.search.evidence.grounds import StoppedError
from omdt.methods.search.evidence.vectors import NoEvidenceError, Proof, Vectors, encoded
from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.partial_tree import Path as Way
from omdt.methods.search.partial_tree import Tree
from omdt.methods.search.ranks import Ranks
from omdt.questions import to_dict
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
        questions: the questions of the task.
        gap: the requested gap.
    """

    def __init__(self, incumbent: Incumbent, questions: Ranks, gap: float) -> None:
        self._incumbent, self._questions, self._gap = incumbent, questions, gap
        self._model, task = incumbent.model, incumbent.model.task
        plain = model_of(task.mdp)
        self._asked = check.read_asked(plain, task.asked, task.problem.discount)
        plain = replace(plain, rewards=self._asked.rewards, discount=self._asked.discount)
        stated = check.Questions() if task.questions is None else task.questions
        self._ladders = check.Ladders(stated, plain.features, plain.feature_names)
        size = check.Size(self._model.size.depth, self._model.size.leaves)
        self._growth = check.Growth(self._ladders, size, *plain.rewards.shape)
        self._vectors = Vectors(check.Induction(plain, self._asked), Durations(self._model))
        self._numbers: dict[check.CoarseTree, int] = {self._growth.root: 0}
        self._nodes, self._shown, self._previous = 1, -math.inf, np.zeros(len(plain.rewards))
        self._complete = True
        self._stream = tempfile.TemporaryFile()  # noqa: SIM115 – it stays open as long as the search runs
        self._writer = Writer(self._stream, self._head(size))

    def decided(self, tree: CoarseTree, path: Way, middle: int | None) -> None:
        """Write a decision."""
        known = _translated(tree)
        self._writer.write("decide", self._numbers.pop(known), [int(side) for side in path], middle)
        for child in self._growth.children(known, tuple(int(side) for side in path), middle):
            self._numbers[child] = self._nodes
            self._nodes += 1

    def closed(self, tree: CoarseTree, values: Floats, grounds: Grounds) -> None:
        """Write the vector that closes a node."""
        self._close([_translated(tree)], [values], self._goal)

    def evaluated(self, tree: CoarseTree, only: Tree, values: Floats, grounds: Grounds) -> None:
        """Write the vector that closes the node of a single tree: the values of this tree, if others show too much."""

        def candidates() -> Iterator[Floats]:
            yield values
            mdp = self._model.mdp
            policy = self._questions.actions(only, np.arange(mdp.n_states))
            yield planning.policy_values(mdp, policy).upper

        self._close([_translated(tree)], candidates(), self._goal)

    def broken(self, tree: CoarseTree, only: Tree, grounds: Grounds) -> None:
        """Note that there is no evidence for a tree that breaks a rule."""
        self._complete = False

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
            except OutOfTimeError:
                raise StoppedError from None
        if not self._complete:
            raise NoEvidenceError
        self._writer.close()
        self._stream.seek(0)
        write_whole(path, lambda stream: shutil.copyfileobj(self._stream, stream))
        return self._returned(self._shown)

    def stop(self) -> None:
        """Forget what was written."""
        self._stream.close()

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
            assert nodes[0].values is not None, "a node that remains has values"
            self._close([_translated(node.tree) for node in nodes], [nodes[0].values], goal)

    def _close(self, trees: list[check.CoarseTree], candidates: Iterable[Floats], goal: float) -> None:
        """Write the vector that closes nodes, made from the first values that show the goal, or from the best ones."""
        numbers = [self._numbers.pop(tree) for tree in trees]
        shape = self._model.mdp.rewards.shape
        choices = np.any([check.choices(tree, self._ladders, shape) for tree in trees], axis=0)
        proof: Proof | None = None
        for values in candidates:
            found = self._proof(values, choices, goal)
            proof = found if proof is None or (found is not None and found.shown < proof.shown) else proof
            if proof is not None and proof.shown <= goal:
                break
        if proof is None:
            self._complete = False
            return
        raw = encoded(proof, self._previous)
        self._writer.write("close", numbers, proof.exponent, proof.narrow, raw=raw)
        self._previous, self._shown = proof.vector, max(self._shown, proof.shown)

    def _proof(self, values: Floats, choices: Bools, goal: float) -> Proof | None:
        try:
            return self._vectors.proof(values, choices, goal)
        except NoEvidenceError:
            return None

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
        return head


def _translated(tree: CoarseTree) -> check.CoarseTree:
    """A coarse tree of the search as the checker has it."""
    if isinstance(tree, Cut):
        return check.Cut(check.Range(*tree.asked), _translated(tree.left), _translated(tree.right))
    return check.Undecided(tree.depth) if isinstance(tree, Undecided) else check.Leaf(tree.action)
