"""What MDPs and interval MDPs have in common: their sizes, and arrays that nobody can change."""

from typing import Any

import numpy as np
from scipy import sparse

from omdt.arrays import Floats
from omdt.counting import counted


class Sized:
    """The sizes of a problem, by its rewards [S, A] and its features [S, F]."""

    rewards: Floats
    features: Floats

    @property
    def n_states(self) -> int:
        """S"""
        return int(self.rewards.shape[0])

    @property
    def n_actions(self) -> int:
        """A"""
        return int(self.rewards.shape[1])

    @property
    def n_features(self) -> int:
        """F"""
        return int(self.features.shape[1])

    def _sizes(self, matrix: sparse.csr_array) -> str:
        """All sizes in words; the transitions are those of a matrix."""
        sizes = {"state": self.n_states, "action": self.n_actions, "feature": self.n_features}
        return ", ".join(counted(n, noun) for noun, n in {**sizes, "transition": matrix.nnz}.items())

    def _store(self, **fields: Any) -> None:
        """Set fields and make their arrays read-only."""
        for name, value in fields.items():
            parts = (value.data, value.indices, value.indptr) if sparse.issparse(value) else (value,)
            for part in value.values() if isinstance(value, dict) else parts:
                if isinstance(part, np.ndarray):
                    part.flags.writeable = False
            object.__setattr__(self, name, value)
