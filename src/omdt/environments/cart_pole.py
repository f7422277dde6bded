"""cart_pole: balance a pole on a cart by pushing the cart."""

import math
from collections.abc import Iterator

import numpy as np

from omdt.environments._grid import Axis, Grid, Moved, grid_rows
from omdt.environments._shared import Numbers, check, check_size, stacked_rows
from omdt.mdp import MDP, Floats

GRAVITY, CART_MASS, POLE_MASS, HALF_LENGTH, TIME_STEP = 9.8, 1.0, 0.1, 0.5, 0.02
# The angle to the last bit as Gymnasium computes it, so that a pole at the limit falls neither here nor there.
MAX_POSITION, MAX_ANGLE = 2.4, 12 * 2 * math.pi / 360
MAX_VELOCITY, MAX_ANGULAR_VELOCITY = 2.0, 2.0
START = 0.05
FALLEN = (0.0, 0.0, math.pi / 2, 0.0)
DIRECTIONS = {"push_left": -1.0, "push_right": 1.0}


def cart_pole(
    *,
    cart_points: int = 5,
    pole_points: int = 7,
    steps: int = 2,
    force: float = 10.0,
    discount: float = 0.99,
) -> MDP:
    """A pole stands on a cart and falls unless the cart is pushed to and fro under it.

    What it models:
        Gymnasium's CartPole on a grid of its four observations. The finer the grid, the closer it is to the original;
        a tree decides on the same observations and can be played there.

    States:
        (position, velocity, angle, angular_velocity) on a grid, in lexicographic order; those are the features, in
        metres, radians and seconds. Positions run to 2.4 on either side, velocities to 2, angles to 12 degrees and
        angular velocities to 2. One more state, with an angle of 90 degrees, stands for a pole that has fallen or a
        cart that has left the track. Grid points that cannot be reached are left out: (cart_points, pole_points) =
        (5, 7), (9, 11), (15, 22) and (29, 37) have about 10³, 10⁴, 10⁵ and 10⁶ states.

    Actions:
        push_left, push_right.

    Transitions:
        The action is held for a number of time steps of 0.02 seconds, in which cart and pole follow the laws of motion
        (Euler's method). What is reached lies between 16 grid points; each of them is the next state with its weight
        in multilinear interpolation, which keeps the expected observation. Velocities beyond the grid count as its
        ends. If position or angle leave their ranges, the pole has fallen and remains so.

    Rewards:
        +1 for every time step after which the pole still stands.

    Start:
        All four observations uniformly between −0.05 and 0.05.

    Parameters:
        cart_points: number of positions and of velocities, at least 2.
        pole_points: number of angles and of angular velocities, at least 2.
        steps: time steps per decision, from 1 to 100.
        force: of a push in newtons, from 0 to 1000.
        discount: γ of a decision.

    Source:
        Barto, Sutton and Anderson, "Neuronlike Adaptive Elements That Can Solve Difficult Learning Control Problems"
        (1983), with the constants of Gymnasium's CartPole-v1; multilinear interpolation as in Davies,
        "Multidimensional Triangulation and Interpolation for Reinforcement Learning" (NIPS 1996).
    """
    check("cart_points", cart_points, low=2)
    check("pole_points", pole_points, low=2)
    check("steps", steps, 1, 100)
    check("force", force, 0, 1000)
    grid = _grid(cart_points, pole_points)
    S, pushes = grid.size + 1, [force * direction for direction in DIRECTIONS.values()]
    A = len(pushes)
    check_size(f"cart_pole with {cart_points} cart_points and {pole_points} pole_points", S * A * grid.corners)

    rewards = np.zeros((S, A))

    def rows() -> Iterator[tuple[Numbers, Floats]]:
        yield from grid_rows(grid, lambda points, action: _swing(points, pushes[action], steps), rewards)
        yield np.full((A, 1), grid.size, dtype=np.int32), np.ones((A, 1))

    return MDP(
        transitions=stacked_rows(rows(), S * A, S, grid.corners),
        rewards=rewards,
        initial=_start(grid),
        features=np.append(np.stack(grid.points(slice(grid.size)), axis=1), [FALLEN], axis=0),
        discount=discount,
        feature_names=("position", "velocity", "angle", "angular_velocity"),
        action_names=tuple(DIRECTIONS),
        name="cart_pole",
    ).reachable()


def _grid(cart_points: int, pole_points: int) -> Grid:
    cart = [(MAX_POSITION, cart_points), (MAX_VELOCITY, cart_points)]
    pole = [(MAX_ANGLE, pole_points), (MAX_ANGULAR_VELOCITY, pole_points)]
    return Grid(tuple(Axis(-largest, largest, n) for largest, n in (*cart, *pole)))


def _start(grid: Grid) -> Floats:
    """[S] the distribution of the first state: all observations are independent of one another."""
    initial = np.ones(1)
    for axis in grid.axes:
        initial = np.outer(initial, axis.uniform(-START, START)).ravel()
    return np.append(initial, 0.0)


def _swing(points: list[Floats], push: float, steps: int) -> Moved:
    """Where cart and pole are after some time steps under a push, and whether the pole has fallen on the way."""
    x, v, angle, w = points
    mass, lever = CART_MASS + POLE_MASS, POLE_MASS * HALF_LENGTH
    standing, rewards = np.ones(len(x), dtype=np.bool_), np.zeros(len(x))
    for _ in range(steps):
        sine, cosine = np.sin(angle), np.cos(angle)
        thrust = (push + lever * w**2 * sine) / mass
        w_rate = (GRAVITY * sine - cosine * thrust) / (HALF_LENGTH * (4 / 3 - POLE_MASS * cosine**2 / mass))
        v_rate = thrust - lever * w_rate * cosine / mass
        # What has fallen moves no further, since the laws of motion would take it to infinity.
        time = TIME_STEP * standing
        x, v, angle, w = x + time * v, v + time * v_rate, angle + time * w, w + time * w_rate
        standing &= (np.abs(x) <= MAX_POSITION) & (np.abs(angle) <= MAX_ANGLE)
        rewards += standing
    return Moved([x, v, angle, w], rewards, ended=~standing)
