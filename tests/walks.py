"""Mazes: problems without a discount that are larger than brute force allows."""

import numpy as np
from scipy import sparse

from omdt.mdp import MDP

MOVES = ((1, 0), (0, 1), (-1, 0), (0, -1))

SLIP = 0.1
"""Probability of going left, and of going right, instead of straight on."""


def maze(
    size: int, *, goal: tuple[int, int] | None = None, seed: int = 0, walls: float = 0.1, traps: float = 0.0
) -> tuple[MDP, np.ndarray]:
    """A square with some walls and mud, in which one may slip to either side; every step costs 1.

    Args:
        size: length of its sides.
        goal: the cell of the goal; by default the corner opposite to the start.
        seed: for walls, mud and traps.
        walls: share of the cells that cannot be entered.
        traps: share of the cells that are never left again.

    Returns:
        The MDP, which begins in one corner, and the goal [S].
    """
    rng = np.random.default_rng(seed)
    wall, trap, mud = (rng.random((size, size)) < share for share in (walls, traps, 0.1))
    goal = (size - 1, size - 1) if goal is None else goal
    wall[0, 0] = wall[goal] = trap[0, 0] = trap[goal] = False
    cells = [(int(x), int(y)) for x, y in np.argwhere(~wall)]
    number = {cell: s for s, cell in enumerate(cells)}
    ends = np.array([cell == goal for cell in cells])
    entries: list[tuple[float, int, int]] = []
    for (x, y), s in number.items():
        for a, (dx, dy) in enumerate(MOVES):
            row = s * len(MOVES) + a
            if ends[s] or trap[x, y]:
                entries.append((1.0, row, s))
                continue
            moves = ((1 - 2 * SLIP, dx, dy), (SLIP, dy, dx), (SLIP, -dy, -dx))
            entries += [(p * (0.2 if mud[x, y] else 1.0), row, number.get((x + i, y + j), s)) for p, i, j in moves]
            entries += [(0.8, row, s)] if mud[x, y] else []
    data, rows, columns = zip(*entries, strict=True)
    S = len(cells)
    P = sparse.csr_array((data, (rows, columns)), shape=(S * len(MOVES), S))
    rewards = np.where(ends, 0.0, 1.0)[:, None] * np.ones(len(MOVES))
    return MDP(P, rewards, np.eye(S)[number[0, 0]], np.array(cells, dtype=float), discount=0.99), ends
