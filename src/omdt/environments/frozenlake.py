"""frozenlake: cross a slippery lake without falling into a hole."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from omdt.environments._shared import LARGEST_SEED, check, check_size, moved, transition_matrix
from omdt.errors import InputError
from omdt.mdp import MDP

MAPS = {
    "4x4": "SFFF/FHFH/FFFH/HFFG",
    "8x8": "SFFFFFFF/FFFFFFFF/FFFHFFFF/FFFFFHFF/FFFHFFFF/FHHFFFHF/FHFFHFHF/FFFHFFFG",
    "12x12": (
        "SFFFFFFFFFFF/FFFFFFFFFFFF/FFFHFFFFFFFH/FFFFFHFFFFFF/FFFHFFFFFFFF/FHHFFFHFFHFF/"
        "FHFFHFHFFFFF/FFFHFFFFFFFF/FFFFFFFFHFFF/HFFFFHFFFFHH/FFFFFFGFFFFF/FFFFFFFFFFFF"
    ),
}
# Each action lies between the two perpendicular to it, so slipping is a step along this circle.
STEPS = {"Left": (0, -1), "Down": (1, 0), "Right": (0, 1), "Up": (-1, 0)}

ATTEMPTS = 100
"""Maximum number of random maps that are drawn until one has a way to the goal; with few holes one of the first has."""

Tiles = NDArray[np.str_]


def frozenlake(
    *,
    map: str | Sequence[str] | None = None,
    size: int | None = None,
    seed: int | None = None,
    hole_probability: float | None = None,
    slippery: bool = True,
    discount: float = 0.99,
) -> MDP:
    """A walk over ice with holes, on a map of the paper, a given map or a random one.

    What it models:
        A walker on a grid of frozen tiles wants to get from the start to the goal; the ice is slippery and some tiles
        are holes.

    States:
        The tiles in row order, holes included; the features are X (column) and Y (row). Tiles that cannot be reached
        are left out.

    Actions:
        Left, Down, Right, Up.

    Transitions:
        The walker moves in the intended direction or in one of the two perpendicular ones, with probability 1/3 each;
        a move off the map stays put. Holes and goals are absorbing.

    Rewards:
        +1 for entering a goal.

    Start:
        The tile S.

    Parameters:
        map: a map of the paper by name (4x4, 8x8 or 12x12), or rows of the letters S (start), F (frozen), H (hole) and
            G (goal), as a list of strings or joined by '/'; 4x4 if neither map nor size is given.
        size: edge of a random square map instead, at least 2, with S in the first and G in the last corner. Maps are
            drawn until one has a way from S to G around the holes.
        seed: of the random map; 0 if not given.
        hole_probability: of each other tile of the random map; 0.2 if not given.
        slippery: whether the walker may slip; if false, every move goes where it is intended.
        discount: γ.

    Source:
        Vos and Verwer, "Optimal Decision Tree Policies for Markov Decision Processes" (IJCAI 2023), with the rules and
        the two smaller maps of Gymnasium's FrozenLake.
    """
    if size is None:
        if seed is not None or hole_probability is not None:
            raise InputError("seed and hole_probability describe a random map; give its size as well")
        tiles = _read_map("4x4" if map is None else map)
    elif map is None:
        tiles = _random_map(size, 0 if seed is None else seed, 0.2 if hole_probability is None else hole_probability)
    else:
        raise InputError("map and size exclude each other: give a map, or the size of a random one")
    return _walk(tiles, slippery, discount)


def _walk(tiles: Tiles, slippery: bool, discount: float) -> MDP:
    flat = tiles.ravel()
    S, A = tiles.size, len(STEPS)
    check_size(f"frozenlake of {tiles.shape[0]} rows and {tiles.shape[1]} columns", S * A * 3)
    slips = np.array([-1, 0, 1] if slippery else [0])
    directions = (np.arange(A)[:, None] + slips) % A
    successors = moved((tiles.shape[0], tiles.shape[1]), list(STEPS.values()))[:, directions]
    absorbing = np.flatnonzero((flat == "H") | (flat == "G"))
    successors[absorbing] = absorbing[:, None, None]
    rewards = (flat == "G")[successors].mean(axis=2)
    rewards[absorbing] = 0.0
    Y, X = np.divmod(np.arange(S), tiles.shape[1])
    return MDP(
        transitions=transition_matrix(successors, 1 / len(slips)),
        rewards=rewards,
        initial=flat == "S",
        features=np.stack([X, Y], axis=1),
        discount=discount,
        feature_names=("X", "Y"),
        action_names=tuple(STEPS),
        name="frozenlake",
    ).reachable()


def _read_map(map: str | Sequence[str]) -> Tiles:
    rows = list(MAPS.get(map, map).split("/") if isinstance(map, str) else map)
    if not rows or not all(isinstance(row, str) for row in rows):
        raise InputError("a map must have at least one row, and every row must be a string")
    for y, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise InputError(f"row {y} of the map has {len(row)} tiles but row 0 has {len(rows[0])}")
        if unknown := set(row) - set("SFHG"):
            raise InputError(
                f"row {y} of the map has the letter {min(unknown)!r}; a map consists of S, F, H and G, its rows joined "
                f"by '/', or is one of {', '.join(MAPS)}"
            )
    tiles = np.array([list(row) for row in rows], dtype=np.str_)
    if (starts := int((tiles == "S").sum())) != 1:
        raise InputError(f"the map has {starts} tiles S; it must have exactly one start")
    if not (tiles == "G").any():
        raise InputError("the map has no tile G; it must have at least one goal")
    return tiles


def _random_map(size: int, seed: int, hole_probability: float) -> Tiles:
    # Importing this takes a tenth of a second, and no other lake needs it.
    from scipy import ndimage

    check("size", size, low=2)
    check("seed", seed, 0, LARGEST_SEED)
    check("hole_probability", hole_probability, 0, 1)
    check_size(f"frozenlake of size {size}", size * size * len(STEPS) * 3)
    generator = np.random.default_rng(seed)
    for _ in range(ATTEMPTS):
        solid = generator.random((size, size)) >= hole_probability
        solid[0, 0] = solid[-1, -1] = True
        regions, _ = ndimage.label(solid)
        if regions[0, 0] == regions[-1, -1]:
            tiles = np.where(solid, "F", "H")
            tiles[0, 0], tiles[-1, -1] = "S", "G"
            return tiles
    raise InputError(
        f"none of {ATTEMPTS} random maps of size {size} with hole_probability {hole_probability} has a way from the "
        "start to the goal; lower hole_probability"
    )
