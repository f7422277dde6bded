"""What is to be run: thirteen environments, four depths, four methods and three seeds, and the key of each run.

Each piece of the report names the runs that it shows; runs that several pieces show are done once. VIPER uses random
numbers and always has three seeds, as in the paper; for search and milp the seed only changes the order in which trees
are tried, so the user chooses the number of seeds. Copying the optimal policy uses no random numbers and has no size
limit, so there is one run per environment. The budget is for search and milp; the other two take seconds and run to
their end, so that a small budget does not make them look worse than they are.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from omdt.environments import PAPER, make
from omdt.errors import InputError
from omdt.mdp import MDP, Floats
from omdt.reproduce.pieces import ALL, PIECES, Piece

VIPER_SEEDS = 3
"""Number of runs of VIPER per cell, as in the paper."""

LIMITED = ("search", "milp")
"""Methods that have a time limit, the budget."""

DIGITS = 9
"""Decimals of an MDP's numbers that count for its digest: further ones can differ between processors."""


@dataclass(frozen=True)
class Run:
    """One run of one method.

    Attributes:
        environment: the name of the environment.
        method: a key of `omdt.solving.METHODS`.
        depth: limit on the depth; None for a method without a size limit.
        seed: seed of the random numbers.
        budget: time limit in seconds; None for a method that runs to its end.
    """

    environment: str
    method: str
    depth: int | None
    seed: int
    budget: float | None

    def __str__(self) -> str:
        depth = "" if self.depth is None else f" depth {self.depth}"
        return f"{self.environment}{depth} {self.method} seed {self.seed}"


@dataclass(frozen=True)
class Grid:
    """Which runs belong to a reproduction.

    Attributes:
        environments: in the order of the tables.
        seeds: number of runs of search and of milp per cell.
        budget: time limit of each of these runs in seconds.
    """

    environments: tuple[str, ...] = PAPER
    seeds: int = 3
    budget: float = 60.0

    def __post_init__(self) -> None:
        for name in self.environments:
            if name not in PAPER:
                raise InputError(f"{name!r} is no environment of the paper; there are {', '.join(PAPER)}")
        if self.seeds < 1:
            raise InputError(f"seeds is {self.seeds}; it must be at least 1")
        if not 0 < self.budget < float("inf"):
            raise InputError(f"the budget is {self.budget!r}; it must be a positive number of seconds")

    def pieces(self, what: str) -> tuple[str, ...]:
        """The pieces that a name stands for: one, or all that these environments allow."""
        if what == ALL:
            return tuple(name for name, piece in PIECES.items() if set(piece.environments) <= set(self.environments))
        if what not in PIECES:
            raise InputError(f"there is nothing called {what!r} to reproduce; there are {ALL}, {', '.join(PIECES)}")
        if missing := [name for name in PIECES[what].environments if name not in self.environments]:
            raise InputError(f"{what} shows {', '.join(missing)}; leave out --environment or name it as well")
        return (what,)

    def runs(self, pieces: Iterable[str]) -> list[Run]:
        """All runs that the pieces show, each once, those that take longest first."""
        wanted = {run for name in pieces for run in self._runs_of(PIECES[name])}
        order = (*LIMITED, "viper", "copy")
        return sorted(wanted, key=lambda run: (order.index(run.method), -(run.depth or 0), run.environment, run.seed))

    def seeds_of(self, method: str) -> int:
        """The number of runs of a method per cell."""
        return {"viper": VIPER_SEEDS, "copy": 1}.get(method, self.seeds)

    def _runs_of(self, piece: Piece) -> Iterable[Run]:
        for environment in piece.environments or self.environments:
            for method in piece.methods:
                depths: Sequence[int | None] = (None,) if method == "copy" else piece.depths
                for depth in depths:
                    for seed in range(self.seeds_of(method)):
                        yield Run(environment, method, depth, seed, self.budget if method in LIMITED else None)


@cache
def problem(environment: str) -> MDP:
    """The environment as the paper's experiments used it."""
    return make(environment, as_published=True) if environment == "inventory_management" else make(environment)


@cache
def problem_digest(environment: str) -> str:
    """The digest of an environment."""
    return digest_of(problem(environment))


def digest_of(mdp: MDP) -> str:
    """A short text that differs between problems."""
    text = hashlib.sha256(json.dumps([mdp.discount, mdp.feature_names, mdp.action_names]).encode())
    P = mdp.transitions
    for array in (P.indptr, P.indices):
        text.update(array.astype(np.int64).tobytes())
    for numbers in (P.data, mdp.rewards, mdp.initial, mdp.features):
        text.update(_rounded(numbers).tobytes())
    return text.hexdigest()[:16]


def _rounded(numbers: Floats) -> Floats:
    # Adding zero turns -0 into 0: they are equal, but their bytes differ.
    rounded: Floats = np.round(numbers, DIGITS) + 0.0
    return rounded


def key(run: Run, digest: str, version: str) -> str:
    """A short text that identifies a run by everything that determines its result.

    Args:
        run: the run.
        digest: the digest of its problem.
        version: the version of this package.
    """
    parts = [digest, run.environment, run.method, run.depth, run.seed, run.budget, version]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]
