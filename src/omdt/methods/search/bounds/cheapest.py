"""The cheapest policy: policy iteration for costs that are δ(s, a) times one price inside F and another outside.

Three solvers find it. `DenseSolver` iterates around the base policy, which costs nothing, so that only the states with
another action enter a linear system (Woodbury); `SweptSolver`, for many states with few successors, uses Gauss–Seidel
sweeps; `AcyclicSolver`, where no state can be visited twice, needs one backward pass.

**Rounding.** All costs are non-negative, so sums of n terms are exact up to a factor 1 ± (n + 8) ε. The values V that
policy iteration ends with are not taken on trust: with e = max_s V(s) − min_a [c(s, a) + γ P(s, a)·V], at least 0, the
cheapest policy costs at least p0·V − e / (1 − γ), whatever V is.
"""

from copy import copy
from typing import NamedTuple, Protocol

import numpy as np

from omdt.mdp import Bools, Floats, Ints
from omdt.methods.search.bounds.blame import leave_out, lost_by_state
from omdt.methods.search.bounds.cheapest_kernels import cheapest_acyclic, cheapest_dense, cheapest_swept
from omdt.methods.search.model import Model
from omdt.methods.search.sweeps import forward

SPARSE = 0.1
"""Below this density a sparse product of matrices is faster than a dense one."""


class Costs(NamedTuple):
    """Losses of actions as compiled kernels read them.

    Attributes:
        indptr: [S·A + 1] where the transitions of row s·A + a begin.
        indices: successors.
        discounted: probabilities of the transitions times the discount.
        delta: [S, A] δ, rounded down; infinite where an action is not allowed.
        base: [S] the policy that loses nothing.
        initial: [S].
        contraction: at most 1 − γ times the largest sum of a row.
        shrink: factor that makes up for the rounding of one sum.
    """

    indptr: Ints
    indices: Ints
    discounted: Floats
    delta: Floats
    base: Ints
    initial: Floats
    contraction: float
    shrink: float


class Cheapest(NamedTuple):
    """The cheapest policy.

    Attributes:
        bound: a lower bound on its cost.
        loss: its loss inside F.
        total: its loss everywhere.
        values: [S] its costs from every state.
    """

    bound: float
    loss: float
    total: float
    values: Floats


class Prices(NamedTuple):
    """What is asked of a solver.

    Attributes:
        forced: [S] the action of every state in F, −1 elsewhere.
        inside: cost of one unit of loss inside F.
        outside: cost of one unit of loss elsewhere.
        cheap: `DenseSolver` ends its search with a policy that costs no more than this; the bound may then be far below
            what the policy costs.
        tolerance: by how much losses that are found by sweeps may still change.
        iterations: most iterations of policy iteration.
    """

    forced: Ints
    inside: float
    outside: float
    cheap: float
    tolerance: float
    iterations: int


class Solver(Protocol):
    """Finds the cheapest policy.

    Attributes:
        visits: [S] discounted visits of the base policy.
    """

    visits: Floats

    def cheapest(self, costs: Costs, prices: Prices, policy: Ints, memory: Floats) -> Cheapest:
        """The cheapest policy.

        Args:
            costs: what actions lose.
            prices: what that costs.
            policy: [S] where to start; it becomes the cheapest policy.
            memory: [S + 1, 2] from `no_memory`, for several calls that start from one another's policy.
        """

    def start(self, forced: Ints, base: Ints) -> tuple[Ints, Floats]:
        """A policy to start from that takes the given actions, and an empty memory."""

    def among(self, states: Bools) -> "Solver":
        """The same, but nothing is lost in other states; only where one pass over the states is enough."""

    def to_blame(self, costs: Costs, prices: Prices, values: Floats, attempts: int) -> Ints | None:
        """Some states of F with whose actions alone every policy costs too much; None if one pass does not tell.

        Args:
            costs: what actions lose.
            prices: F, and what is lost there and elsewhere; `cheap` is what is exceeded.
            values: [S] costs of the cheapest policy.
            attempts: maximum number of passes.
        """


def start(forced: Ints, base: Ints) -> tuple[Ints, Floats]:
    """Where policy iteration starts: the base policy with the given actions, and no memory."""
    return np.where(forced >= 0, forced, base), no_memory(len(forced))


def no_memory(n_states: int) -> Floats:
    """[S + 1, 2] room for the losses inside F and everywhere; the last row tells whether they are known."""
    return np.zeros((n_states + 1, 2))


def solver_for(model: Model, costs: Costs) -> Solver:
    """The solver that fits the shape of the MDP."""
    if model.order is None:
        return DenseSolver(model, costs)
    return AcyclicSolver(model, costs, model.order) if model.acyclic else SweptSolver(model, costs, model.order)


class Around(NamedTuple):
    """The base policy, with N = (I − γ P_base)⁻¹.

    Attributes:
        columns: [S, S] the transpose of N.
        changes: [S·A, S] row s·A + a is that of (I − γ P_a) N: a unit vector for the action of the base policy.
        visits: [S] p0·N.
        discount: γ.
    """

    columns: Floats
    changes: Floats
    visits: Floats
    discount: float


class DenseSolver:
    """Policy iteration around the base policy."""

    def __init__(self, model: Model, costs: Costs) -> None:
        mdp = model.mdp
        P = mdp.discount * mdp.transitions
        rows = np.arange(mdp.n_states) * mdp.n_actions + costs.base
        inverse = np.linalg.inv(np.eye(mdp.n_states) - P[rows].toarray())
        self.visits: Floats = mdp.initial @ inverse
        changes: Floats = (P if P.nnz < SPARSE * P.shape[0] * P.shape[1] else P.toarray()) @ inverse
        by_action = changes.reshape(mdp.n_states, mdp.n_actions, mdp.n_states)
        np.subtract(inverse[:, None, :], by_action, out=by_action)
        self.around = Around(np.ascontiguousarray(inverse.T), changes, self.visits, mdp.discount)

    def cheapest(self, costs: Costs, prices: Prices, policy: Ints, memory: Floats) -> Cheapest:
        """As in `Solver`."""
        return Cheapest(*cheapest_dense(costs, self.around, prices, policy, memory))

    def start(self, forced: Ints, base: Ints) -> tuple[Ints, Floats]:
        """As in `Solver`."""
        return start(forced, base)

    def among(self, states: Bools) -> Solver:
        """As in `Solver`."""
        raise NotImplementedError("states can be visited again")

    def to_blame(self, costs: Costs, prices: Prices, values: Floats, attempts: int) -> Ints | None:
        """As in `Solver`."""
        return None


class SweptSolver:
    """Policy iteration with Gauss–Seidel sweeps in the given order of states."""

    def __init__(self, model: Model, costs: Costs, order: Ints) -> None:
        self.order, self.sweeps = order, model.settings.loss_sweeps
        self.visits: Floats = forward(model.arrays, order[::-1], costs.base, model.settings.visit_sweeps)

    def cheapest(self, costs: Costs, prices: Prices, policy: Ints, memory: Floats) -> Cheapest:
        """As in `Solver`."""
        return Cheapest(*cheapest_swept(costs, self.order, self.sweeps, prices, policy, memory))

    def start(self, forced: Ints, base: Ints) -> tuple[Ints, Floats]:
        """As in `Solver`."""
        return start(forced, base)

    def among(self, states: Bools) -> Solver:
        """As in `Solver`."""
        raise NotImplementedError("states can be visited again")

    def to_blame(self, costs: Costs, prices: Prices, values: Floats, attempts: int) -> Ints | None:
        """As in `Solver`."""
        return None


class Backwards(NamedTuple):
    """The way of one pass against the topological order.

    Attributes:
        order: states with all their successors before them.
        indptr: [S + 1] where the predecessors of every state begin.
        predecessors: the states from which some action leads to a state.
        shrink: factor that makes up for all rounding: a value is rounded at every one of the steps it is made of.
    """

    order: Ints
    indptr: Ints
    predecessors: Ints
    shrink: float


class AcyclicSolver:
    """One backward pass over the states."""

    def __init__(self, model: Model, costs: Costs, order: Ints) -> None:
        self._way = Backwards(np.ascontiguousarray(order), *model.predecessors, costs.shrink**model.mdp.n_states)
        self._nothing: Floats = np.empty((0, 2))
        self.visits: Floats = forward(model.arrays, order[::-1], costs.base, 1)

    def cheapest(self, costs: Costs, prices: Prices, policy: Ints, memory: Floats) -> Cheapest:
        """As in `Solver`."""
        return Cheapest(*cheapest_acyclic(costs, self._way, prices))

    def start(self, forced: Ints, base: Ints) -> tuple[Ints, Floats]:
        """As in `Solver`; one pass starts from nothing."""
        return forced, self._nothing

    def among(self, states: Bools) -> "AcyclicSolver":
        """As in `Solver`."""
        some = copy(self)
        some._way = self._way._replace(order=self._way.order[states[self._way.order]])
        return some

    def to_blame(self, costs: Costs, prices: Prices, values: Floats, attempts: int) -> Ints | None:
        """As in `Solver`: those come first that lose most now, or if the base policy changed in them alone."""
        states = np.flatnonzero((prices.forced >= 0) & (values > 0))
        lost = lost_by_state(costs, self._way, prices.forced, values)[states]
        lost += self.visits[states] * costs.delta[states, prices.forced[states]]
        states = states[np.lexsort((-values[states], -lost))]
        actions, forced = prices.forced[states], np.full_like(prices.forced, -1)
        forced[states] = actions
        enough = leave_out(costs, self._way, prices._replace(forced=forced), prices.cheap, states, actions, attempts)
        return np.sort(states[:enough])
