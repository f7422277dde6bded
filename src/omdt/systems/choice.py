"""Choice: approximations of the inverse of I − M, cheap ones first, each with what the next one would cost.

All costs are estimated from sizes and none is measured, so that the same system is always solved in the same way.
"""

from enum import Enum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from omdt.systems.approximation import Approximation
from omdt.systems.blocks import Blocks
from omdt.systems.components import Components
from omdt.systems.dense import DenseFactors
from omdt.systems.factors import FACTOR_SECONDS, SOLVE_SECONDS, Plan
from omdt.systems.gauss_seidel import GaussSeidel
from omdt.watch import Watch

DENSE_STATES = 300
"""Up to this many states one dense factorisation takes at most some milliseconds."""

FACTOR_OPERATIONS = 4e8
"""Operations up to which a component is factorised: about a second."""

LAST_OPERATIONS, ROUGH_OPERATIONS = 2e10, 3e9
"""Operations up to which a system is factorised when everything else has failed: about a minute, or ten seconds for a
rough solution."""

FILL, LEAST_FILL = 40, 1_000_000
"""Entries of a factor: as a multiple of those of M, and how many there may be in any case. Grids of a million states
need 35 times as many."""

MULTIGRID_SECONDS = 6e-7
"""Estimated seconds per entry of M for preparing multigrid."""

PLANNED_STATES = 200_000
"""States of a component above which sweeps are tried before factors are planned: these would hardly be feasible, and
planning them alone takes as long as dozens of sweeps."""

PLAN_SECONDS = 4e-7
"""Estimated seconds per entry of M for planning the factors of such a component."""

STEP_SECONDS, STATE_SECONDS = 1e-4, 1e-7
"""Estimated seconds per step of GMRES beside the approximation: in any case, and per state."""

FIRST_STEPS = 40
"""Steps with Gauss–Seidel sweeps that must cost less than factors for the sweeps to be tried."""

ROUGH_STEPS = 20
"""Steps with Gauss–Seidel sweeps for a rough solution, before anything is prepared."""

ROUGH_CYCLES = 40
"""Steps with multigrid for a rough solution; policy iteration makes up for what is missing then."""

ROUGH_ENTRIES = 20_000
"""Entries of M from which on a rough solution is tried before factors are planned, which takes ten milliseconds."""

MAX_STEPS = 400
"""Steps of GMRES per approximation."""


class Use(Enum):
    """What a system is for: one equation, many of them, or a rough solution that will be thrown away."""

    ONE = "one"
    MANY = "many"
    ROUGH = "rough"


class Candidate(NamedTuple):
    """An approximation to try.

    Attributes:
        inverse: the approximation.
        exact: whether it is the inverse of this system but for rounding.
        steps: steps of GMRES that cost as much as the next candidate.
    """

    inverse: Approximation
    exact: bool
    steps: int


def step_seconds(states: int, entries: int) -> float:
    """Estimated seconds per step of GMRES with factors of a chain of this many states and transitions, without fill."""
    return SOLVE_SECONDS * 2 * entries + STEP_SECONDS + STATE_SECONDS * states


class Choice:
    """The candidates for one matrix, in the order of `omdt.systems`.

    Args:
        M: the matrix.
        near: an approximation of the inverse for a similar matrix, if there is one.
        use: what the system is for.
    """

    def __init__(self, M: sparse.csr_array, near: Approximation | None, use: Use) -> None:
        self._M, self._near, self._use = M, near, use
        self._plan: Plan | None = None
        if M.shape[0] <= DENSE_STATES:
            self._stages = [Choice._dense]
        else:
            first = Choice._swept if near is None else Choice._borrowed
            self._stages = [first, Choice._factored, Choice._forced]

    def next(self, watch: Watch | None) -> Candidate | None:
        """The next candidate; None if there is no other or time is up."""
        while self._stages:
            found = self._stages.pop(0)(self, watch)
            if found is not None:
                return found
        return None

    def _dense(self, watch: Watch | None) -> Candidate | None:
        return Candidate(DenseFactors(self._M), True, 0)

    def _borrowed(self, watch: Watch | None) -> Candidate | None:
        near = self._near
        return None if near is None else Candidate(near, False, self._steps(near, near.preparing))

    def _swept(self, watch: Watch | None) -> Candidate | None:
        if self._use is Use.ROUGH and self._M.nnz > ROUGH_ENTRIES:
            return Candidate(GaussSeidel(self._M, self._components.states), False, ROUGH_STEPS)
        if self._use is Use.ONE and self._components.largest > PLANNED_STATES:
            sweeps = GaussSeidel(self._M, self._components.states)
            seconds = (PLAN_SECONDS + MULTIGRID_SECONDS) * int(self._M.nnz)
            return Candidate(sweeps, False, max(FIRST_STEPS, self._steps(sweeps, seconds)))
        plan = self._planned(watch)
        if plan is None:
            return None
        sweeps = GaussSeidel(self._M, plan.components.states)
        seconds, feasible = self._factored_seconds(plan), plan.operations.max() <= FACTOR_OPERATIONS
        if feasible and (self._use is Use.MANY or seconds < FIRST_STEPS * self._step(sweeps)):
            return None
        return Candidate(sweeps, False, max(FIRST_STEPS, self._steps(sweeps, seconds)))

    def _factored(self, watch: Watch | None) -> Candidate | None:
        plan = self._planned(watch)
        if plan is None:
            return None
        large = plan.operations > FACTOR_OPERATIONS
        if not large.any():
            self._plan, self._stages = None, []
            factors = plan.factors(watch)
            return None if factors is None else Candidate(factors, True, 0)
        blocks = Blocks.of(self._M, plan, large, watch)
        steps = ROUGH_CYCLES if self._use is Use.ROUGH else MAX_STEPS
        return None if blocks is None else Candidate(blocks, False, steps)

    def _forced(self, watch: Watch | None) -> Candidate | None:
        plan = self._planned(watch)
        self._plan = None
        most = ROUGH_OPERATIONS if self._use is Use.ROUGH else LAST_OPERATIONS
        if plan is None or float(plan.operations.sum()) > most:
            return None
        factors = plan.factors(watch)
        return None if factors is None else Candidate(factors, True, 0)

    @cached_property
    def _components(self) -> Components:
        return Components.of(self._M)

    def _planned(self, watch: Watch | None) -> Plan | None:
        if self._plan is None:
            most = max(LEAST_FILL, FILL * self._M.nnz)
            self._plan = Plan.of(self._M, most, watch, components=self._components)
        return self._plan

    def _factored_seconds(self, plan: Plan) -> float:
        """Estimated seconds of the candidate after sweeps."""
        large = plan.operations > FACTOR_OPERATIONS
        sizes = np.diff(plan.components.starts)
        share = float(sizes[large].sum()) / float(self._M.shape[0])
        factors = FACTOR_SECONDS * float(plan.operations.sum(where=~large))
        return factors + MULTIGRID_SECONDS * share * int(self._M.nnz)

    def _step(self, inverse: Approximation) -> float:
        return float(inverse.seconds + STEP_SECONDS + STATE_SECONDS * self._M.shape[0])

    def _steps(self, inverse: Approximation, seconds: float) -> int:
        """Steps of GMRES that cost as much as something else."""
        return int(min(MAX_STEPS, max(5, seconds / self._step(inverse))))
