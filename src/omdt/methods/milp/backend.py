"""What all solvers share: what they are told, what they answer, and the record of the trees they find."""

import math
from dataclasses import dataclass
from typing import Protocol

from omdt import planning
from omdt.errors import FalseClaimError
from omdt.mdp import Floats
from omdt.methods.milp.forms import Tuning
from omdt.methods.milp.formulation import Model, decode
from omdt.methods.milp.tolerance import dual_error, leak
from omdt.solution import Limits, Stop, Watch
from omdt.tree import TreePolicy


class SolverError(RuntimeError):
    """A solver answered what cannot be: that a program with a known solution has none."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What a solver says at the end.

    Attributes:
        vector: [columns] its best solution, or None.
        bound: its dual bound on the objective with its constant; infinite when it has none.
        stop: why it stopped.
        nodes: how many nodes it branched over.
        root_bound: its dual bound before it branched.
    """

    vector: Floats | None
    bound: float
    stop: Stop
    nodes: int = 0
    root_bound: float = math.inf


class Backend(Protocol):
    """A solver's adapter: a module with these names."""

    TUNING: Tuning
    DUAL_TOLERANCE: float

    def run(self, model: Model, start: Floats, limits: Limits, record: "Record") -> Answer:
        """Solve the program from a start solution; `record` hears of solutions and bounds."""
        ...


class Record:
    """The best tree so far with its exact return, and the lowest bound; progress is reported as they improve."""

    def __init__(self, model: Model, tree: TreePolicy, bound: float, watch: Watch, dual_tolerance: float) -> None:
        self.model, self.watch = model, watch
        self.tree, self.bound, self.limit = tree, bound, bound
        self.value = self._return_of(tree)
        self.error = dual_error(model, dual_tolerance)

    def found(self, vector: Floats) -> TreePolicy:
        """A solution: its tree counts with the return that it really has, which must be what the solution claims."""
        tree = decode(self.model, vector)
        value, claimed = self._return_of(tree), self.model.claimed_return(vector)
        tolerated = 2 * leak(self.model, tree) + self.error
        if abs(claimed - value) > tolerated:
            raise FalseClaimError(
                f"the solver's solution claims a return of {claimed!r}, its tree returns {value!r}, "
                f"and the tolerances explain a difference of {tolerated:.1e} only"
            )
        if value > self.value:
            self.tree, self.value = tree, value
            self.watch.report(self.value, self.bound)
        return tree

    def bounded(self, objective: float) -> None:
        """A dual bound on the objective with its constant."""
        bound = max(objective * self.model.unit + self.error, self.value)
        if bound < self.bound:
            self.bound = bound
            self.watch.report(self.value, self.bound)

    def _return_of(self, tree: TreePolicy) -> float:
        parts = self.model.parts
        return planning.evaluate(parts.mdp, tree, parts.questions.observations)
