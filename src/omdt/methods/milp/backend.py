"""What all solvers share: what they are told, what they answer, and the record of the trees they find."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from threading import Thread
from typing import Any, Protocol

from omdt import planning
from omdt.errors import FalseClaimError
from omdt.judging import net_return, violations
from omdt.limits import Limits
from omdt.mdp import Floats
from omdt.methods.milp.encoding import decode
from omdt.methods.milp.forms import Tuning
from omdt.methods.milp.formulation import Model
from omdt.methods.milp.tolerance import dual_error, leak, looseness
from omdt.solution import Stop
from omdt.task import Task
from omdt.tree import TreePolicy
from omdt.watch import Watch


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


NO_SOLUTION = Answer(None, -math.inf, Stop.COMPLETE)
"""What is answered on a program that has no solution."""

NOT_STARTED = Answer(None, math.inf, Stop.INTERRUPTED)
"""What is answered if Ctrl-C was pressed before a solver began."""


def stop_of(status: str, stops: dict[str, Stop], *, interrupted: bool) -> Stop:
    """What a solver's status means by its table; one that is not in it proves nothing."""
    return stops.get(status, Stop.INTERRUPTED if interrupted else Stop.HEURISTIC)


class Backend(Protocol):
    """A solver's adapter: a module with these names."""

    TUNING: Tuning
    DUAL_TOLERANCE: float

    def load(self) -> Any:
        """The solver's package, or an error that names the extra to install."""
        ...

    def run(self, model: Model, start: Floats | None, limits: Limits, record: "Record") -> Answer:
        """Solve the program; `record` hears of solutions and bounds.

        Args:
            model: the program.
            start: [columns] a solution to start from; without one the program may have none.
            limits: how much work is allowed.
            record: what is known so far, and the clock.
        """
        ...


def interruptible(work: Callable[[], object], interrupt: Callable[[], object]) -> bool:
    """Do the work in a thread of its own; Ctrl-C arrives here, calls `interrupt`, and the work ends when it can.

    Solvers that see to Ctrl-C themselves print about it on standard output, where it does not belong.

    Returns:
        Whether it was interrupted.
    """
    failures: list[BaseException] = []
    interrupted = False

    def guarded() -> None:
        try:
            work()
        except BaseException as failure:
            failures.append(failure)

    thread = Thread(target=guarded, daemon=True)
    thread.start()
    while thread.is_alive():
        try:
            thread.join(0.1)
        except KeyboardInterrupt:
            interrupted = True
            interrupt()
    if failures:
        raise failures[0]
    return interrupted


class Record:
    """The best tree so far with its exact return, and the lowest bound; progress is reported as they improve.

    Attributes:
        tree: the best tree that keeps the rules; None if none is known.
        value: its return, net of prices.
        refused: solutions whose trees break a limit by less than the solver can see.
    """

    def __init__(
        self, model: Model, tree: TreePolicy | None, bound: float, watch: Watch, dual_tolerance: float
    ) -> None:
        self.model, self.watch = model, watch
        self.tree, self.value, self.leak = tree, -math.inf, 0.0
        if tree is not None:
            self.value, self.leak = self._return_of(tree), leak(model, tree)
        self.refused: list[Floats] = []
        self.limit, self.dual = bound, math.inf
        self.error = dual_error(model, dual_tolerance)

    @property
    def bound(self) -> float:
        """No tree within the limits returns more, as far as the solver's tolerances allow to say so."""
        return max(self.value, min(self.limit, self.dual + self.error + self.leak))

    def found(self, vector: Floats) -> None:
        """A solution: its tree counts with the return that it really has, which must be what the solution claims."""
        tree = decode(self.model, vector)
        value, claimed = self._return_of(tree), self.model.claimed_return(vector)
        tolerated = leak(self.model, tree, looseness(self.model, vector))
        # A solution may pay more for its questions than its tree does.
        wrong = claimed - value if self._task is not None else abs(claimed - value)
        if wrong > 2 * tolerated + self.error:
            raise FalseClaimError(
                f"the solver's solution claims a return of {claimed!r}, its tree returns {value!r}, "
                f"and the tolerances explain a difference of {2 * tolerated + self.error:.1e} only"
            )
        if value > self.value:
            if self._task is not None and next(violations(self._task, tree), None) is not None:
                self.refused.append(vector)
                return
            self.tree, self.value, self.leak = tree, value, tolerated
            self.watch.report(self.value, self.bound)

    def bounded(self, objective: float) -> None:
        """A dual bound on the objective with its constant."""
        dual = objective * self.model.unit
        if dual < self.dual:
            before, self.dual = self.bound, dual
            if self.bound < before and self.tree is not None:
                self.watch.report(self.value, self.bound)

    @property
    def _task(self) -> Task | None:
        demands = self.model.parts.demands
        return None if demands is None else demands.task

    def _return_of(self, tree: TreePolicy) -> float:
        if self._task is not None:
            return net_return(self._task, tree).value
        parts = self.model.parts
        return planning.evaluate(parts.mdp, tree, parts.questions.observations)
