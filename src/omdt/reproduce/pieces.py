"""The pieces of the report, tables and figures, and the runs that each of them shows."""

from dataclasses import dataclass

DEPTHS = (1, 2, 3, 4)


@dataclass(frozen=True)
class Piece:
    """A table or figure: the runs that it shows.

    Attributes:
        methods: those of its runs.
        depths: those of its runs; methods without a size limit have none.
        environments: those that it cannot do without; none for a piece that shows whichever there are.
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
"""Every piece of the report, in its order."""
ALL = "all"
NAMES = (ALL, *PIECES)
"""All that can be asked for."""
