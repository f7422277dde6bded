"""Further bounds: asked after losses and options, at every node that these leave open.

A bound that is added here needs nothing else: the exploration asks it, and its value counts wherever it is lower. The
page "Extending omdt" shows one.
"""

from collections.abc import Callable

from omdt.methods.search.bounds.protocol import Bound
from omdt.methods.search.model import Model

FURTHER: tuple[Callable[[Model], Bound], ...] = ()
"""What makes the further bounds of a model, in the order in which they are asked."""


def further_bounds(model: Model) -> tuple[Bound, ...]:
    """The further bounds of a model."""
    return tuple(make(model) for make in FURTHER)
