"""Pictures of frozen lakes: maps, policies and simulated walks (needs the extra `plots`)."""

from typing import TYPE_CHECKING

import numpy as np

from omdt.environments.frozenlake import MAPS, STEPS
from omdt.export.palette import INK
from omdt.mdp import Floats, Ints
from omdt.reproduce.grid import problem
from omdt.simulation import simulate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPISODES = 10_000
"""Number of simulated walks per policy, as in the paper."""

STEPS_COLOUR = "#c2570c"


def walked(environment: str, actions: Ints) -> tuple[float, dict[tuple[int, int], int]]:
    """Simulate walks; return the share that reaches the goal, and how often each step from tile to tile was taken."""
    mdp = problem(environment)
    walks = simulate(mdp, actions, episodes=EPISODES, seed=0)
    start, end = walks.states[:-1], walks.states[1:]
    # The last state of a walk is followed by the first state of the next walk, which is not a step.
    inside = np.ones(len(start), dtype=np.bool_)
    inside[walks.starts[1:-1] - 1] = False
    S = mdp.n_states
    counts = np.bincount(S * start[inside].astype(np.int64) + end[inside], minlength=S * S).reshape(S, S)
    steps = {(int(s), int(t)): int(counts[s, t]) for s, t in zip(*np.nonzero(counts), strict=True) if s != t}
    last = walks.states[walks.starts[1:] - 1]
    tiles = "".join(MAPS[environment.removeprefix("frozenlake_")].split("/"))
    goals = [s for s in range(mdp.n_states) if tiles[mdp.origin[s]] == "G"]
    return float(np.isin(last, goals).mean()), steps


def draw_lake(axes: "Axes", name: str) -> None:
    """Draw the tiles of a map."""
    from matplotlib.patches import Rectangle

    rows = MAPS[name].split("/")
    for y, row in enumerate(rows):
        for x, tile in enumerate(row):
            shade = {"H": "#5b6b7b", "G": "#b2df8a", "S": "#fdecc8"}.get(tile, "#eef4f9")
            axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=shade, edgecolor="#c4cdd6", linewidth=0.6))
            if tile in "SG":
                axes.text(x - 0.42, y - 0.4, tile, fontsize=8, fontweight="bold", ha="left", va="top", color=INK)
    axes.set(xlim=(-0.55, len(rows[0]) - 0.45), ylim=(len(rows) - 0.45, -0.55), aspect="equal")
    axes.set_axis_off()


def draw_arrows(axes: "Axes", actions: Ints, features: Floats, name: str) -> None:
    """Draw the action of every tile except holes and goals, where no action matters."""
    rows = MAPS[name].split("/")
    moves = list(STEPS.values())
    for action, (x, y) in zip(actions, features.astype(int), strict=True):
        if rows[y][x] in "HG":
            continue
        down, right = moves[action]
        axes.annotate(
            "",
            (x + 0.32 * right, y + 0.32 * down),
            (x - 0.32 * right, y - 0.32 * down),
            arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 0.9, "shrinkA": 0, "shrinkB": 0},
        )


def draw_steps(axes: "Axes", steps: dict[tuple[int, int], int], features: Floats) -> None:
    """Draw the steps of walks: the more often a step was taken, the thicker its line."""
    from matplotlib.collections import LineCollection

    most = max(steps.values())
    ends = [(features[s], features[t]) for s, t in steps]
    share = np.array([count / most for count in steps.values()])
    axes.add_collection(
        LineCollection(ends, linewidths=0.3 + 9 * share, colors=STEPS_COLOUR, alpha=0.55, capstyle="round")
    )
