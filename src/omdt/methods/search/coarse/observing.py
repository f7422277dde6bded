"""Observers of the coarse search: who hears what it decides and closes, and on which grounds."""

from dataclasses import dataclass
from typing import Protocol

from omdt.mdp import Floats
from omdt.methods.search.coarse.coarse_tree import CoarseTree
from omdt.methods.search.partial_tree import Path, Tree


@dataclass(frozen=True)
class Grounds:
    """What values bound: a weighted sum of the return and of totals that rules limit.

    Values on some grounds are above the largest total of the payoffs

        weight · (r − toll) − Σ_i λ_i c_i − Σ_p μ_p (least − 1[the state may go to p])

    that a completion has. For completions that keep the rules, weight · return is at most this total plus
    Σ_i λ_i (limit_i + tolerance), minus what is paid once. With weight 0 and a sum below 0, none keeps them.

    Attributes:
        weight: of the return, 1 or 0.
        ceilings: λ, one multiplier per ceiling of the task; empty for none.
        shares: μ, the multipliers of the smallest share of visits, by the ways to ends of the coarse tree.
    """

    weight: float = 1.0
    ceilings: tuple[float, ...] = ()
    shares: tuple[tuple[Path, float], ...] = ()


PLAIN = Grounds()
"""The return alone."""


class CoarseObserver(Protocol):
    """Hears what a coarse search does, in its order and in its thread.

    Children that break a rule about the shape of trees are dropped without a word.
    """

    def decided(self, tree: CoarseTree, path: Path, middle: int | None) -> None:
        """Something is decided at the end of a path: a range is divided before the question `middle`, or an end."""

    def closed(self, tree: CoarseTree, values: Floats, grounds: Grounds) -> None:
        """No completion that keeps the rules is better than the incumbent, which values [S] on some grounds show."""

    def evaluated(self, tree: CoarseTree, only: Tree, values: Floats, grounds: Grounds) -> None:
        """The only completion keeps the rules and is no better than the incumbent now."""

    def broken(self, tree: CoarseTree, only: Tree, grounds: Grounds) -> None:
        """The only completion does not keep a ceiling or has a leaf with too small a share; the grounds say which."""


class Unobserved:
    """Nobody listens."""

    def decided(self, tree: CoarseTree, path: Path, middle: int | None) -> None:
        """As in `CoarseObserver`."""

    def closed(self, tree: CoarseTree, values: Floats, grounds: Grounds) -> None:
        """As in `CoarseObserver`."""

    def evaluated(self, tree: CoarseTree, only: Tree, values: Floats, grounds: Grounds) -> None:
        """As in `CoarseObserver`."""

    def broken(self, tree: CoarseTree, only: Tree, grounds: Grounds) -> None:
        """As in `CoarseObserver`."""
