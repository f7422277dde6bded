"""Given policies: their values, occupancies and returns, each with a certified error."""

import math

import numpy as np

from omdt.graph import reached_from
from omdt.mdp import EPSILON, MDP, Floats, Ints
from omdt.norms import norms
from omdt.planning.certified import UNDERFLOW, Certified, rounding
from omdt.planning.chains import Policy, chain_on, check_policy, markov_chain, reward_sizes, visited, visited_chain
from omdt.planning.durations import durations
from omdt.planning.endings import Chain
from omdt.systems import TARGET, System, product, product_transposed, rough_solution
from omdt.tree import TreePolicy
from omdt.watch import Watch, late, one_thread


def policy_values(
    mdp: MDP, policy: Policy, watch: Watch | None = None, *, start: Floats | None = None
) -> Certified[Floats]:
    """[S] value of each state under the given policy.

    Args:
        mdp: the problem.
        policy: actions or their probabilities.
        watch: ends the computation early.
        start: [S] values of a similar policy, if known.
    """
    P, r = markov_chain(mdp, policy)
    if mdp.discount == 1:
        return Chain(P, mdp.terminal, mdp.n_actions).values(r, mdp.endless, watch)
    system = System(mdp.discount * P, norms(mdp).shrinkage)
    values = system.solve(r, start, watch=watch)
    values[mdp.terminal] = 0.0
    return certified_values(mdp, policy, system, r, values, watch)


def certified_values(
    mdp: MDP, policy: Policy, system: System, r: Floats, values: Floats, watch: Watch | None
) -> Certified[Floats]:
    """Values of a policy with their error: state by state where 1 / (1 − γ) would make it large.

    Args:
        mdp: the problem.
        policy: the policy.
        system: γ P_π.
        r: [S] r_π.
        values: [S] an estimate, 0 in terminal states.
        watch: ends the computation early.
    """
    terms = mdp.n_actions if policy.ndim == 2 else 0
    size = float(np.abs(values).max())
    residual = float(np.abs(r + product(system.M, values) - values).max())
    residual += rounding(float(reward_sizes(mdp, policy).max()), size, terms=terms)
    error = norms(mdp).error_of(residual)
    if error <= TARGET * size or late(watch):
        return Certified(values, error)
    h = durations(system, mdp.terminal, terms, watch)
    return Certified(values, error if h is None else np.minimum(error, residual * h * (1 + 4 * EPSILON)))


def occupancies(mdp: MDP, policy: Policy, watch: Watch | None = None) -> Certified[Floats]:
    """[S] discounted number of visits Σ_t γ^t Pr(s_t = s) under the given policy.

    Without a discount, a state of a class that is never left counts as often as the class is entered there.
    """
    P, _ = markov_chain(mdp, policy)
    if mdp.discount == 1:
        return Certified(Chain(P, mdp.terminal).visits(mdp.initial, watch), np.inf)
    return _occupancies(mdp, System(mdp.discount * P, norms(mdp).shrinkage), mdp.initial, watch)


def _occupancies(mdp: MDP, system: System, p0: Floats, watch: Watch | None) -> Certified[Floats]:
    """The discounted visits of a chain that begins in p0; the error bounds their difference in the 1-norm."""
    visits = system.solve_transposed(p0, p0, watch=watch)
    residual = np.abs(p0 + product_transposed(system.M, visits) - visits).sum()
    rounded = (8 + mdp.n_actions) * EPSILON * np.abs(visits).sum() + UNDERFLOW
    return Certified(visits, norms(mdp).error_of(residual + rounded))


def expected_return(mdp: MDP, values: Certified[Floats]) -> Certified[float]:
    """p0·V, the value of the first state on average."""
    return _expected(mdp.initial, values)


def _expected(p0: Floats, values: Certified[Floats]) -> Certified[float]:
    """p0·V"""
    first = np.flatnonzero(p0)
    p0, V = p0[first], values.value[first]
    total = math.fsum(p0 * V)
    if math.isinf(total):
        return Certified(total, 0.0)
    errors = values.errors[first] if isinstance(values.errors, np.ndarray) else np.full(len(first), values.errors)
    if not (V.any() or errors.any()):
        return Certified(0.0, 0.0)
    error = float(p0 @ errors) * (1 + 2 * (len(first) + 1) * EPSILON)
    return Certified(total, error + 4 * EPSILON * float(p0 @ np.abs(V)) + UNDERFLOW)


def policy_return(mdp: MDP, policy: Ints, watch: Watch | None = None) -> Certified[float]:
    """The return of a policy [S], with an error that knows where the policy goes.

    Only the states that it visits count. With estimates V̂ and x̂ of their values and visits and the residual
    e = r + γ P V̂ − V̂ the return is p0·V̂ + x·e, so that p0·V̂ + x̂·e is off by no more than ‖x − x̂‖₁ ‖e‖∞.
    """
    check_policy(policy, *mdp.rewards.shape)
    if mdp.discount == 1:
        return _total_return(mdp, policy, watch)
    P, r, p0 = visited_chain(mdp, policy)
    system = System(mdp.discount * P, norms(mdp).shrinkage)
    V = system.solve(r, watch=watch)
    visits = _occupancies(mdp, system, p0, watch)
    e = r + mdp.discount * product(P, V) - V
    rounded = 4 * EPSILON * (np.abs(r) + np.abs(V) + mdp.discount * (P @ np.abs(V))) + UNDERFLOW
    weights = np.abs(visits.value)
    error = float(weights @ rounded) + visits.error * float((np.abs(e) + rounded).max())
    error += 4 * EPSILON * float(p0 @ np.abs(V) + weights @ np.abs(e)) + UNDERFLOW
    total = math.fsum([*(p0 * V).tolist(), *(visits.value * e).tolist()])
    return Certified(total, error * (1 + 2 * len(r) * EPSILON))


def least_return(mdp: MDP, policy: Ints, start: Floats, steps: int, watch: Watch | None = None) -> float:
    """A lower bound on the return of a policy [S] with a discount, from a few steps of an iterative solver.

    For any V with residual e = r + γ P V − V on the states that the policy visits, its values are V + (I − γ P)⁻¹ e.
    They are at least V + min(0, min e) / (1 − γ), since the inverse has no negative entry and its rows sum to at most
    1 / (1 − γ). V = 0, with e = r, gives another bound, which is better where V is still far away.

    Args:
        mdp: the problem.
        policy: the policy.
        start: [S] where the solver begins.
        steps: how many steps it takes.
        watch: ends it early.
    """
    # With many states, choosing the rows of the policy twice would take longer than the steps.
    P, r = markov_chain(mdp, policy)
    states = np.flatnonzero(reached_from(mdp.initial > 0, P.indices, P.indptr))
    if len(states) < mdp.n_states:
        P, r = P[states][:, states], r[states]
    M, p0 = mdp.discount * P, mdp.initial[states]
    V = rough_solution(M, r, start[states], steps, watch)
    e = r + product(M, V) - V
    lost = max(0.0, -float(e.min())) + rounding(float(np.abs(r).max()), float(np.abs(V).max()))
    without_steps = 0.0 - norms(mdp).error_of(max(0.0, -float(r.min())))
    return max(without_steps, _expected(p0, Certified(V, norms(mdp).error_of(lost))).lower)


def _total_return(mdp: MDP, policy: Ints, watch: Watch | None) -> Certified[float]:
    """The return of a policy [S] without a discount."""
    states = np.flatnonzero(visited(mdp, policy))
    P, r, p0 = chain_on(mdp, policy, states)
    values = Chain(P, mdp.terminal[states]).values(r, mdp.endless, watch)
    return _expected(p0, values)


def evaluate(mdp: MDP, tree: TreePolicy, observations: Floats | None = None) -> float:
    """The exact discounted return of a tree on an MDP, or its expected total reward if the discount is 1.

    Args:
        mdp: the problem.
        tree: the policy.
        observations: [S, F'] what the tree reads in each state; by default the features of the MDP.
    """
    with one_thread():
        return tree_return(mdp, tree, observations).value


def tree_return(
    mdp: MDP, tree: TreePolicy, observations: Floats | None = None, watch: Watch | None = None
) -> Certified[float]:
    """The discounted return of a tree on an MDP with its certified error; arguments as in `evaluate`."""
    actions = tree.actions(mdp.features if observations is None else observations)
    return policy_return(mdp, actions, watch)
