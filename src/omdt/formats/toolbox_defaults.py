"""What is assumed about the problems of other toolboxes, which have neither first states nor features."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from omdt.mdp import Floats


def initial_or_uniform(initial: ArrayLike | None, S: int) -> Floats:
    """[S] the given distribution of the first state; by default every state is equally likely."""
    return np.full(S, 1 / max(S, 1)) if initial is None else np.asarray(initial, dtype=np.float64)


def features_or_number(features: ArrayLike | None, S: int) -> Floats:
    """[S, F] the given features; by default the number of the state."""
    return np.arange(S, dtype=np.float64)[:, None] if features is None else np.asarray(features, dtype=np.float64)


def names_or_state(features: ArrayLike | None, names: dict[str, Any]) -> dict[str, Any]:
    """The given names; where there are no features, the number of the state is called "state" by default."""
    return {"feature_names": ("state",), **names} if features is None else names
