"""The model: what the search knows of its task, computed once and shared by all of its parts.

Compiled kernels read the MDP through `Arrays`. Everything else is a fact about the MDP that several parts need: the
optimal values, orders of the states, which states matter, the answers to all questions.
"""

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from omdt import planning
from omdt.mdp import MDP, Bools, Floats, Ints
from omdt.methods.search.orders import order_by_steps, topological_order
from omdt.methods.search.partial_tree import SizeLimit
from omdt.methods.search.settings import SearchSettings
from omdt.norms import Norms
from omdt.planning import Certified
from omdt.rules import KeptSplit
from omdt.splits import Splits
from omdt.task import Size, Task
from omdt.watch import Watch

MAX_ANSWERS = 20_000_000
"""Most answers of all states to all questions that the fine search keeps, once as bits and once as numbers: 200 MB."""


class Arrays(NamedTuple):
    """The MDP as compiled kernels read it.

    Attributes:
        indptr: [S·A + 1] where the transitions of row s·A + a begin.
        indices: successors.
        probabilities: of the transitions.
        discounted: the probabilities times the discount.
        rewards: [S, A].
        initial: [S].
        discount: γ.
    """

    indptr: Ints
    indices: Ints
    probabilities: Floats
    discounted: Floats
    rewards: Floats
    initial: Floats
    discount: float

    @classmethod
    def of(cls, mdp: MDP) -> "Arrays":
        """The arrays of an MDP."""
        P = mdp.transitions
        return cls(P.indptr, P.indices, P.data, mdp.discount * P.data, mdp.rewards, mdp.initial, mdp.discount)


@dataclass(frozen=True, eq=False)
class Model:
    """A task with what the search knows of it.

    Attributes:
        task: what is asked.
        settings: how the search goes about it.
        optimal: [S] the values of the best policy of any form.
        scale: the scale of the returns, as `planning.scale` has it.
    """

    task: Task
    settings: SearchSettings
    optimal: Certified[Floats]
    scale: float

    @classmethod
    def of(cls, task: Task, settings: SearchSettings, watch: Watch) -> "Model":
        """The model of a task."""
        mdp = task.problem
        return cls(task, settings, planning.optimal_values(mdp, watch), planning.scale(mdp, watch))

    def resized(self, size: Size) -> "Model":
        """The same model for trees of another size, with all facts that were computed so far."""
        again = copy(self)
        again.__dict__.pop("size", None)
        again.__dict__.update(task=self.task.resized(size))
        return again

    @property
    def mdp(self) -> MDP:
        """The MDP whose expected return is maximised."""
        return self.task.problem

    @cached_property
    def arrays(self) -> Arrays:
        """The MDP for compiled kernels."""
        return Arrays.of(self.mdp)

    @cached_property
    def likely_first(self) -> Arrays:
        """The same with the most likely successors of every row first, for sums that may end early."""
        arrays = self.arrays
        rows = np.repeat(np.arange(len(arrays.indptr) - 1), np.diff(arrays.indptr))
        order = np.lexsort((-arrays.probabilities, rows))
        return arrays._replace(
            indices=arrays.indices[order],
            probabilities=arrays.probabilities[order],
            discounted=arrays.discounted[order],
        )

    @property
    def norms(self) -> Norms:
        """What errors of one step amount to in the end."""
        return self.task.norms

    @cached_property
    def size(self) -> SizeLimit:
        """How large a tree may be."""
        return SizeLimit.of(self.task.size)

    @cached_property
    def splits(self) -> Splits:
        """The questions of the task, then those of the kept tree in the order of its nodes, each with its own number.

        Questions that are kept count as they are written, even if others divide the states alike.
        """
        splits, kept = self.task.splits, self.task.kept
        if kept is None:
            return splits
        asked = [node for _, node in kept.nodes() if isinstance(node, KeptSplit)]
        return replace(
            splits,
            feature=np.append(splits.feature, np.array([node.column for node in asked], dtype=np.int64)),
            threshold=np.append(splits.threshold, [node.threshold for node in asked]),
            equality=np.append(splits.equality, np.array([node.equality for node in asked], dtype=np.bool_)),
        )

    @property
    def sides(self) -> Bools:
        """[S, K] the answers to all questions."""
        return self.task.sides

    @cached_property
    def optimal_return(self) -> Certified[float]:
        """The return of the best policy of any form."""
        return planning.expected_return(self.mdp, self.optimal)

    @cached_property
    def allowed(self) -> Bools:
        """[S, A] what a leaf that contains a state may name."""
        return np.ones(self.mdp.rewards.shape, dtype=np.bool_) if self.task.allowed is None else self.task.allowed

    @cached_property
    def decisive(self) -> Bools:
        """[S] whether it matters which action is taken in a state."""
        rows, A = self.mdp.transitions, self.mdp.n_actions
        matters = np.any(self.mdp.rewards != self.mdp.rewards[:, :1], axis=1)
        for a in range(1, A):
            difference = rows[a::A] - rows[::A]
            matters |= np.asarray(abs(difference).sum(axis=1) > 0).ravel()
        return np.asarray(matters, dtype=np.bool_)

    @cached_property
    def topological(self) -> Ints | None:
        """[S] states with every successor, other than the state itself, after it; None if there is a cycle."""
        return topological_order(self.mdp)

    @property
    def acyclic(self) -> bool:
        """Whether no state can be visited twice, except by staying in it."""
        return self.topological is not None

    @cached_property
    def predecessors(self) -> tuple[Ints, Ints]:
        """[S + 1] where the predecessors of every state begin, and the states from which some action leads to it."""
        P, S = self.mdp.transitions, self.mdp.n_states
        rows = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
        steps = np.unique(P.indices.astype(np.int64) * S + rows // self.mdp.n_actions)
        return np.searchsorted(steps, np.arange(S + 1) * S), steps % S

    @cached_property
    def order(self) -> Ints | None:
        """[S] states in the order in which bounds sweep over them; None where inverses are faster."""
        if self.topological is not None:
            return self.topological[::-1]
        return order_by_steps(self.mdp, self.optimal) if self.swept else None

    @property
    def swept(self) -> bool:
        """Whether bounds need several sweeps over the states."""
        if self.acyclic or self.mdp.discount == 1:
            return False
        return self.mdp.n_states >= self.settings.swept_states and self.has_few_successors

    @property
    def has_few_successors(self) -> bool:
        """Whether most actions lead to a few states."""
        return bool(self.mdp.transitions.nnz <= self.settings.few_successors * self.mdp.rewards.size)

    @property
    def searchable(self) -> bool:
        """Whether the fine search handles the MDP: it has a discount, on which bounds rest, and is not too large."""
        return self.mdp.discount < 1 and not self.too_large

    @property
    def too_large(self) -> bool:
        """Whether the MDP has more states or answers than the fine search handles."""
        many_answers = self.mdp.n_states * len(self.task.splits) > MAX_ANSWERS
        return many_answers or (self.mdp.n_states > self.settings.dense_states and not self.acyclic)

    def look_ahead(self, values: Floats) -> Floats:
        """[S, A] r + γ P V"""
        q: Floats = self.mdp.rewards + self.mdp.discount * (self.mdp.transitions @ values).reshape(
            self.mdp.rewards.shape
        )
        return q
