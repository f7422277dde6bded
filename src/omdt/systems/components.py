"""Components: the strongly connected components of a system, in an order in which they can be solved one by one."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from omdt.arrays import Ints
from omdt.graph import components_of


@dataclass(frozen=True, eq=False)
class Components:
    """Strongly connected components, numbered so that the successors of a component have smaller or equal numbers.

    Attributes:
        label: [n] the component of each state.
        states: [n] states by component.
        starts: [C + 1] where the states of each component begin in `states`, and n.
    """

    label: Ints
    states: Ints
    starts: Ints

    @property
    def largest(self) -> int:
        """The number of states of the largest component."""
        return int(np.diff(self.starts).max(initial=0))

    @classmethod
    def of(cls, M: sparse.csr_array) -> "Components":
        """The components of the graph with an edge per stored entry of M."""
        label = components_of(M)
        count = int(label.max(initial=-1)) + 1
        if np.any(np.repeat(label, np.diff(M.indptr)) < label[M.indices]):
            # scipy numbers components in this order but does not promise it; one component is always right.
            count, label = 1, np.zeros_like(label)
        sizes = np.bincount(label, minlength=count)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return cls(label, np.argsort(label, kind="stable"), starts)
