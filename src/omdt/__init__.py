"""omdt: the best small decision tree for a Markov decision process, with proof."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omdt.comparing import compare as compare
    from omdt.environments import make as make
    from omdt.errors import InputError as InputError
    from omdt.errors import InputWarning as InputWarning
    from omdt.formats import read as read
    from omdt.formats import write as write
    from omdt.formats.from_gymnasium import from_gymnasium as from_gymnasium
    from omdt.formats.from_pymdptoolbox import from_pymdptoolbox as from_pymdptoolbox
    from omdt.formats.from_quantecon import from_quantecon as from_quantecon
    from omdt.imitating import imitate as imitate
    from omdt.learning.learn import learn as learn
    from omdt.learning.learned import Learned as Learned
    from omdt.mdp import MDP as MDP
    from omdt.objective import Objective as Objective
    from omdt.planning import evaluate as evaluate
    from omdt.robust.interval_mdp import IntervalMDP as IntervalMDP
    from omdt.rules import Rules as Rules
    from omdt.simulation import simulate as simulate
    from omdt.solution import Solution as Solution
    from omdt.solution import load as load
    from omdt.solving import solve as solve
    from omdt.splits import Splits as Splits
    from omdt.tradeoffs.alternatives import alternatives as alternatives
    from omdt.tradeoffs.front import front as front
    from omdt.tradeoffs.front_points import Front as Front
    from omdt.tree import TreePolicy as TreePolicy

__version__ = "0.1.0"

_HOME = {
    "Front": "tradeoffs.front_points",
    "InputError": "errors",
    "InputWarning": "errors",
    "IntervalMDP": "robust.interval_mdp",
    "Learned": "learning.learned",
    "MDP": "mdp",
    "Objective": "objective",
    "Rules": "rules",
    "Solution": "solution",
    "Splits": "splits",
    "TreePolicy": "tree",
    "alternatives": "tradeoffs.alternatives",
    "compare": "comparing",
    "evaluate": "planning",
    "from_gymnasium": "formats.from_gymnasium",
    "from_pymdptoolbox": "formats.from_pymdptoolbox",
    "from_quantecon": "formats.from_quantecon",
    "front": "tradeoffs.front",
    "imitate": "imitating",
    "learn": "learning.learn",
    "load": "solution",
    "make": "environments",
    "read": "formats",
    "simulate": "simulation",
    "solve": "solving",
    "write": "formats",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that `omdt --help` need not wait for numpy."""
    if name not in _HOME:
        raise AttributeError(f"module 'omdt' has no attribute {name!r}")
    return getattr(import_module(f"omdt.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
