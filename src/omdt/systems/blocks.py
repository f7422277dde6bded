"""Blocks: components one after another, most of them by their factors, a few large ones by multigrid."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from omdt.arrays import Bools, Floats, Ints
from omdt.systems.entries import kept
from omdt.systems.factors import Factors, Plan
from omdt.systems.multigrid import Multigrid
from omdt.watch import Watch, late


@dataclass(frozen=True, eq=False)
class _Block:
    """A large component.

    Attributes:
        number: of the component.
        states: [n] its states.
        rows: [n, S] entries of M from its states to other components.
        inverse: an approximation of the inverse within the component.
    """

    number: int
    states: Ints
    rows: sparse.csr_array
    inverse: Multigrid


class Blocks:
    """Solves component by component, successors first; exact but in the large components."""

    def __init__(self, factors: Factors, count: int, blocks: list[_Block]) -> None:
        self._factors, self._count, self._blocks = factors, count, blocks
        self.seconds = factors.seconds + sum(block.inverse.seconds for block in blocks)
        self.preparing = factors.preparing + sum(block.inverse.preparing for block in blocks)

    @classmethod
    def of(cls, M: sparse.csr_array, plan: Plan, large: Bools, watch: Watch | None) -> "Blocks | None":
        """Multigrid for the large components [C], factors for the others; None if time is up before the end."""
        factors, blocks = plan.without(large).factors(watch), []
        parts = plan.components
        for number in np.flatnonzero(large):
            if factors is None or late(watch):
                return None
            states = np.sort(parts.states[parts.starts[number] : parts.starts[number + 1]])
            rows = M[states]
            inside = parts.label[rows.indices] == number
            within = sparse.csr_array(rows[:, states]) if len(states) < M.shape[0] else M
            outside = kept(rows, ~inside)
            blocks.append(_Block(int(number), states, outside, Multigrid(within, watch)))
        return None if factors is None else cls(factors, len(parts.starts) - 1, blocks)

    def solve(self, b: Floats) -> Floats:
        """An approximate solution of x = b + M x."""
        x, done = np.zeros(len(b)), 0
        for block in self._blocks:
            self._factors.solve_some(b, x, done, block.number)
            x[block.states] = block.inverse.solve(b[block.states] + block.rows @ x)
            done = block.number + 1
        self._factors.solve_some(b, x, done, self._count)
        return x

    def solve_transposed(self, b: Floats) -> Floats:
        """An approximate solution of x = b + Mᵀ x."""
        x, done = b.copy(), self._count
        for block in reversed(self._blocks):
            self._factors.solve_some_transposed(x, block.number + 1, done)
            inside = block.inverse.solve_transposed(x[block.states])
            x[block.states] = inside
            x += block.rows.T @ inside
            done = block.number
        self._factors.solve_some_transposed(x, 0, done)
        return x
