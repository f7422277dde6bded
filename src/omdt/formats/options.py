"""What a user may say about reading a file, declared once for all formats."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ReadOptions:
    """The parameters of `read`. The registry says which of the last three a format takes.

    Attributes:
        discount: γ; by default that of the file, or 0.99 with a warning where the format has none.
        fallback: the action that is played where a tree names an unavailable one (see `MDP`); by default that of the
            file, if it has one.
        reward: name of the reward model to maximise; needed when there are several.
        cost: name of the reward model to minimise instead.
        constants: values of the constants that a model leaves open, such as "N=3,p=0.5".
    """

    discount: float | None = None
    fallback: str | None = None
    reward: str | None = None
    cost: str | None = None
    constants: str | None = None


SHARED = ("discount", "fallback")
"""The parameters that every format takes."""
