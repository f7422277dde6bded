"""omdt: the best small decision tree for a Markov decision process, with proof."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omdt.mdp import MDP as MDP

__version__ = "0.1.0"

_HOME = {
    "MDP": "omdt.mdp",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that `omdt --help` need not wait for numpy."""
    if name not in _HOME:
        raise AttributeError(f"module 'omdt' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
