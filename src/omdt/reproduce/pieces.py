"""The pieces of the report, tables and figures, and the runs that each of them shows."""

from dataclasses import dataclass

DEPTHS = (1, 2, 3, 4)
"""Depths of the trees in the paper's tables."""


@dataclass(frozen=True)
class Piece:
    """A table or figure, described by the runs that it shows.

    Attributes:
        methods: the methods of these runs.
        depths: the depths of these runs; they do not apply to methods without a size limit.
        environments: the environments that it needs; empty for a piece that shows all environments of the grid.
    """

    methods: tuple[str, ...] = ()
    depths: tuple[int, ...] = ()
    environments: tuple[str, ...] = ()


PIECES = {
    "table-main": Piece(("search", "milp", "viper"), (3,)),
    "table-depths": Piece(("search", "milp", "viper"), DEPTHS),
    "table-runtimes": Piece(("search", "milp", "viper"), DEPTHS),
    "figure-example": Piece(("search",), (2,), ("frozenlake_4x4",)),
    "figure-tradeoff": Piece(("search", "copy"), (3,)),
    "figure-paths": Piece(("search", "viper"), (3,), ("frozenlake_12x12",)),
    "figure-trees": Piece(("search", "viper"), (3,)),
    "figure-topologies": Piece(),
}
"""The pieces of the report, in the order of the report."""

ALL = "all"
"""The name of the whole report."""

NAMES = (ALL, *PIECES)
"""Everything that can be asked for."""
