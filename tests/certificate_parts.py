"""Proofs in the making, for the tests of evidence."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import omdt
from omdt import MDP, check
from omdt.certificate import model_of as arrays_of
from omdt.methods.search.evidence.measures import Measures, Statement
from omdt.methods.search.knowledge import Knowledge
from omdt.methods.search.symmetry import find
from search_parts import knowledge_of, model_of, returns_of, tree_policies


@dataclass(frozen=True)
class Proof:
    """A solved task over thresholds, with what is needed to prove its bound once more."""

    knowledge: Knowledge
    solution: omdt.Solution

    @classmethod
    def of(cls, mdp: MDP, depth: int | None, leaves: int | None = None, **fields: Any) -> "Proof":
        """The proof of the best tree of an MDP, with the symmetries of the task if these cost nothing."""
        model = model_of(mdp, depth, leaves, **fields)
        solution = omdt.solve(mdp, max_depth=depth, max_leaf_nodes=leaves, settings=model.settings)
        return cls(knowledge_of(model, symmetric=find(model).error < 1e-12), solution)

    @property
    def best(self) -> float:
        """The most that a tree within the limits returns."""
        return float(returns_of(self.mdp, tree_policies(self.knowledge.model)).max())

    @property
    def mdp(self) -> MDP:
        """The problem."""
        return self.knowledge.model.mdp

    def statement(self, target: float | None = None, *, raised: bool = False) -> Statement:
        """That no tree returns more than a target; by default a little more than the best tree."""
        value = self.solution.value
        room = 1e-3 * max(abs(value), self.knowledge.model.scale)
        policy = self.solution.tree.actions(self.mdp.features)
        return Statement(policy, value, value + 0.5 * room if target is None else target, room, raised)

    def measures(self, target: float | None = None) -> Measures:
        """The checker's view of the statement."""
        return Measures(self.knowledge, self.statement(target))

    def verdict(self, bound: float, path: Path, *, exact: bool = False) -> check.Verdict:
        """What the checker says of a certificate of a bound."""
        return check.check(arrays_of(self.mdp), self.solution.to_dict() | {"bound": bound}, path, exact=exact)
