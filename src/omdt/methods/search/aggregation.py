"""Aggregation: a coarse model of a task, with fewer states and fewer questions, in which trees are found sooner.

Some thresholds per column divide the states into cells, which are the states of the coarse model. A cell moves and
earns as its states do on average, each with its weight. A tree for the coarse model asks questions of the task and is a
tree for the task as well. What it returns in the coarse model is an estimate only: whoever uses it evaluates it anew.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy import sparse

from omdt.mdp import MDP, Floats, Ints
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Split, Tree, asked_questions
from omdt.methods.search.ranks import Ranks
from omdt.splits import Splits
from omdt.task import Size, Task

MAX_NUMBER = 2**62
"""Cells are numbered anew before their numbers exceed this and overflow."""


@dataclass(frozen=True, eq=False)
class Coarse:
    """A coarse model of a task.

    Attributes:
        task: the task whose states are cells.
        questions: [K'] numbers of its questions in the task that it is a model of.
    """

    task: Task
    questions: Ints

    def refined(self, tree: Tree) -> Tree:
        """A tree of the coarse model as a tree of the task."""
        return _asking(tree, self.questions.tolist())

    def coarsened(self, tree: Tree) -> Tree:
        """A tree of the task, all of whose questions the coarse model has, as a tree of the coarse model."""
        return _asking(tree, {int(k): i for i, k in enumerate(self.questions)})


def _asking(tree: Tree, numbers: list[int] | dict[int, int]) -> Tree:
    """The tree with other numbers for its questions."""
    if not isinstance(tree, Split):
        return tree
    return Split(numbers[tree.question], _asking(tree.left, numbers), _asking(tree.right, numbers))


def coarse(model: Model, questions: Ranks, weights: Floats, tree: Tree, most: int) -> Coarse | None:
    """A coarse model; None if the task is too small for one, has rules, or has too many equalities.

    Args:
        model: the model of the task.
        questions: the questions of the task.
        weights: [S] how much every state counts, all positive.
        tree: the coarse model has all questions of this tree.
        most: maximum number of its states.
    """
    small = model.mdp.n_states < model.settings.coarsening * model.settings.coarse_states
    if small or model.task.allowed is not None or len(questions) == 0:
        return None
    chosen = _finest(questions, weights, most, sorted(asked_questions(tree)))
    if chosen is None:
        return None
    bins = _bins(questions, chosen)
    _, first, cells = np.unique(_cells(questions, bins), return_index=True, return_inverse=True)
    features = np.array([bins[j][questions.columns.codes[j][first]] for j in range(len(bins))], dtype=np.float64).T
    mdp = aggregated(model.mdp, cells.ravel(), features, model.task.splits.feature_names, weights)
    columns = questions.columns
    asked = zip(columns.feature[chosen], columns.rank[chosen], strict=True)
    numbers = np.array([bins[j][rank] for j, rank in asked]) + np.where(columns.equality[chosen], 0.0, 0.5)
    splits = Splits(mdp.features, mdp.feature_names, columns.feature[chosen], numbers, columns.equality[chosen])
    return Coarse(Task(mdp, splits, Size(model.size.depth, model.size.leaves)), chosen)


def aggregated(mdp: MDP, cells: Ints, features: Floats, names: tuple[str, ...], weights: Floats) -> MDP:
    """The MDP whose states are cells, which move and earn as their states do on average.

    Args:
        mdp: the MDP.
        cells: [S] the cell of every state.
        features: [B, F'] the features of every cell.
        names: F' names of these features.
        weights: [S] how much every state counts in its cell, all positive.
    """
    B, A = len(features), mdp.n_actions
    order, P = np.argsort(cells, kind="stable"), mdp.transitions
    begins = np.searchsorted(cells[order], np.arange(B + 1))
    parts = _averaged_rows(P.indptr, P.indices, P.data, A, order, begins, cells, weights)
    transitions = sparse.csr_array(parts[::-1], shape=(B * A, B))
    transitions.sort_indices()
    total = np.bincount(cells, weights, B)
    rewards = np.stack([np.bincount(cells, weights * mdp.rewards[:, a], B) / total for a in range(A)], axis=1)
    initial = np.bincount(cells, mdp.initial, B)
    return MDP(
        transitions,
        rewards,
        initial / initial.sum(),
        features,
        discount=mdp.discount,
        feature_names=names,
        action_names=mdp.action_names,
    )


def _finest(questions: Ranks, weights: Floats, most: int, kept: list[int]) -> Ints | None:
    """The questions, as many thresholds per column as possible, that divide the states into at most `most` cells.

    Those that are kept and all equalities are among them; None if these alone make too many cells.
    """
    states, columns = np.arange(len(weights)), len(questions.columns.codes)
    always = np.union1d(np.flatnonzero(questions.columns.equality), np.array(kept, dtype=np.int64))
    # With this many thresholds per column, there are seldom too many cells.
    count, found = max(1, int(most ** (1 / columns) / 2)), None
    while True:
        chosen = np.union1d(questions.quantiles(states, weights, count), always)
        if len(np.unique(_cells(questions, _bins(questions, chosen)))) > most:
            return found
        found = chosen
        if len(found) == len(questions):
            return found
        count = max(count + 1, int(1.25 * count))


def _bins(questions: Ranks, chosen: Ints) -> list[Ints]:
    """For every value of every column, the number of chosen thresholds below; for equalities, the rank itself."""
    _, offsets, feature, rank, equality = questions.columns
    bins: list[Ints] = []
    for j, values in enumerate(np.diff(offsets)):
        asked = chosen[feature[chosen] == j]
        every = np.arange(values)
        bins.append(every if equality[asked].any() else np.searchsorted(np.sort(rank[asked]), every, side="left"))
    return bins


def _cells(questions: Ranks, bins: list[Ints]) -> Ints:
    """[S] one number per state, the same for states whose values are in the same bins."""
    cells, count = np.zeros(questions.columns.codes.shape[1], dtype=np.int64), 1
    for codes, bin_of_value in zip(questions.columns.codes, bins, strict=True):
        size = int(bin_of_value[-1]) + 1
        if count * size > MAX_NUMBER:
            numbers, cells = np.unique(cells, return_inverse=True)
            count = len(numbers)
        cells, count = cells.ravel() * size + bin_of_value[codes], count * size
    return cells


@njit(cache=True)
def _averaged_rows(indptr, indices, data, A, order, begins, cells, weights):  # type: ignore[no-untyped-def]
    """The rows of a transition matrix over cells: where they begin, columns and probabilities.

    `order` has the states sorted by cell, and those of cell c begin at `begins[c]`.
    """
    B = len(begins) - 1
    starts = np.zeros(B * A + 1, dtype=np.int64)
    columns, values = np.empty(len(indices), dtype=np.int64), np.empty(len(indices))
    mass, touched = np.zeros(B), np.empty(B, dtype=np.int64)
    filled = 0
    for row in range(B * A):
        n, total = 0, 0.0
        for i in range(begins[row // A], begins[row // A + 1]):
            s = order[i]
            for k in range(indptr[s * A + row % A], indptr[s * A + row % A + 1]):
                cell, share = cells[indices[k]], weights[s] * data[k]
                if share > 0.0 and mass[cell] == 0.0:
                    touched[n] = cell
                    n += 1
                mass[cell] += share
                total += share
        for i in range(n):
            columns[filled], values[filled] = touched[i], mass[touched[i]] / total
            mass[touched[i]] = 0.0
            filled += 1
        starts[row + 1] = filled
    return starts, columns[:filled].copy(), values[:filled].copy()
