"""Learned: a tree that was learned without a model, the model that was learned, and what is known of the tree on both.

Three kinds of numbers are never mixed up: what the tree returns on the learned model (exact), the bound there (no tree
of the size returns more on that model), and what the tree returns in the world, an estimate with an interval or a
return that is guaranteed with some confidence.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from omdt.errors import InputError
from omdt.formats.to_npz import arrays_of, write_arrays
from omdt.mdp import MDP, Floats
from omdt.robust.interval_files import WORLDS
from omdt.robust.interval_mdp import IntervalMDP
from omdt.solution import Experience, Guarantee, Interval, Solution
from omdt.source import Source
from omdt.tree import TreePolicy


@dataclass(frozen=True, eq=False, repr=False)
class Learned:
    """A tree that was learned from a simulator or a log.

    Attributes:
        solution: the tree with its figures on the learned model; its `experience` has those in the world.
        model: the learned model: S + 2 states, of which the last two are the end of an episode and what is unknown.
        visits: [S, A] number of steps behind the model, per state and action.
        worlds: the worlds that a log does not rule out, on which its guarantee rests; None for a simulator.
    """

    solution: Solution
    model: MDP
    visits: Floats
    worlds: IntervalMDP | None = None

    @property
    def tree(self) -> TreePolicy:
        """The policy."""
        return self.solution.tree

    @property
    def experience(self) -> Experience:
        """What it was learned from, and what is known of the tree in that world."""
        assert self.solution.experience is not None
        return self.solution.experience

    @property
    def interval(self) -> Interval | None:
        """The undiscounted return per episode in the simulator, from fresh episodes; None for a log."""
        return self.experience.interval

    @property
    def guarantee(self) -> Guarantee | None:
        """The discounted return that a log guarantees; None for a simulator."""
        return self.experience.guarantee

    def save(self, path: str | Path, *, model: str | Path | None = None) -> None:
        """Write the solution to a JSON file, as `omdt learn --output` does.

        Args:
            path: the file, which `omdt.load` reads.
            model: a file ending in .npz for the learned model and for the worlds that a log does not rule out, where
                `omdt report` and `omdt check` will find them.
        """
        self.with_model_file(model).solution.save(path)

    def with_model_file(self, model: str | Path | None) -> "Learned":
        """The same after its model was written to a file, which the solution then names; as it is without a file."""
        if model is None:
            return self
        if Path(model).suffix.lower() != ".npz":
            raise InputError(f"cannot write {model}: its name must end in .npz")
        worlds = {} if self.worlds is None else self.worlds.arrays
        beside = {WORLDS + name: array for name, array in worlds.items()}
        write_arrays(Path(model), arrays_of(self.model) | beside)
        return replace(self, solution=replace(self.solution, source=Source(Path(model).absolute())))

    def __repr__(self) -> str:
        return f"<Learned from {self.experience.source!r}: {self.solution!r} on the learned model>"

    def __str__(self) -> str:
        """The tree and all figures as the command line prints them."""
        return str(self.solution)

    def _repr_html_(self) -> str:
        """The figures and the drawn tree, for notebooks."""
        return self.solution._repr_html_()
