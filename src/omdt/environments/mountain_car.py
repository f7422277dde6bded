"""mountain_car: drive an underpowered car out of a valley."""

import numpy as np

from omdt.environments._grid import Axis, Grid, Moved, grid_rows
from omdt.environments._shared import check, check_size, stacked_rows
from omdt.mdp import MDP, Floats

LEFT_WALL, GOAL, MAX_SPEED = -1.2, 0.5, 0.07
START = (-0.6, -0.4)
PUSHES = {"push_left": -1.0, "coast": 0.0, "push_right": 1.0}


def mountain_car(
    *,
    size: int = 34,
    steps: int = 5,
    force: float = 0.001,
    gravity: float = 0.0025,
    discount: float = 0.99,
) -> MDP:
    """A car in a valley, too weak to climb the hill at once, must build up speed by driving back and forth.

    What it models:
        Gymnasium's MountainCar on a grid of positions and velocities. The finer the grid, the closer it is to the
        original; a tree decides on the same observations and can be played there.

    States:
        (position, velocity) on a grid of size × size points, in lexicographic order; those are the features, in
        Gymnasium's units. Positions run from −1.2 to the goal at 0.5, velocities from −0.07 to 0.07. Points that cannot
        be reached are left out: sizes 34, 112, 361 and 1148 have about 10³, 10⁴, 10⁵ and 10⁶ states.

    Actions:
        push_left, coast, push_right.

    Transitions:
        The action is held for a number of time steps. In each, the velocity changes by the push (−force, 0 or force)
        less gravity · cos(3 · position), and the position by the velocity; both stay within their ranges, and the
        wall on the left stops the car. The place that is reached lies between four grid points; each of them is the
        next state with its weight in bilinear interpolation, which keeps the expected position and velocity. A car
        at the goal stays as it is.

    Rewards:
        −1 for every time step until the goal is reached.

    Start:
        A position uniformly between −0.6 and −0.4, velocity 0.

    Parameters:
        size: number of positions and of velocities, at least 3.
        steps: time steps per decision, from 1 to 1000. With few of them on a coarse grid, interpolation blurs the
            velocity.
        force: change of the velocity by a push per time step, from 0 to 1.
        gravity: largest change of the velocity by the slope per time step, from 0 to 1.
        discount: γ of a decision.

    Source:
        Moore, "Efficient Memory-based Learning for Robot Control" (1990), with the constants of Gymnasium's
        MountainCar-v0; multilinear interpolation as in Davies, "Multidimensional Triangulation and Interpolation for
        Reinforcement Learning" (NIPS 1996).
    """
    check("size", size, low=3)
    check("steps", steps, 1, 1000)
    check("force", force, 0, 1)
    check("gravity", gravity, 0, 1)
    grid = Grid((Axis(LEFT_WALL, GOAL, size), Axis(-MAX_SPEED, MAX_SPEED, size)))
    S, pushes = grid.size, [force * direction for direction in PUSHES.values()]
    A = len(pushes)
    check_size(f"mountain_car of size {size}", S * A * grid.corners)

    def move(points: list[Floats], action: int) -> Moved:
        position, velocity = points
        return _drive(position, velocity, pushes[action], gravity, steps)

    rewards = np.zeros((S, A))
    positions, velocities = grid.axes
    return MDP(
        transitions=stacked_rows(grid_rows(grid, move, rewards), S * A, S, grid.corners),
        rewards=rewards,
        initial=np.outer(positions.uniform(*START), velocities.uniform(0.0, 0.0)).ravel(),
        features=np.stack(grid.points(slice(S)), axis=1),
        discount=discount,
        feature_names=("position", "velocity"),
        action_names=tuple(PUSHES),
        name="mountain_car",
    ).reachable()


def _drive(x: Floats, v: Floats, push: float, gravity: float, steps: int) -> Moved:
    """Positions and velocities after some time steps under a push; a car at the goal stays and pays nothing."""
    rewards = np.zeros(len(x))
    for _ in range(steps):
        on_the_way = x < GOAL
        rewards -= on_the_way
        new_v = np.clip(v + push - gravity * np.cos(3 * x), -MAX_SPEED, MAX_SPEED)
        new_x = np.clip(x + new_v, LEFT_WALL, GOAL)
        new_v = np.where((new_x == LEFT_WALL) & (new_v < 0), 0.0, new_v)
        x, v = np.where(on_the_way, new_x, x), np.where(on_the_way, new_v, v)
    return Moved([x, v], rewards, ended=np.zeros(len(x), dtype=np.bool_))
