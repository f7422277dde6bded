"""Planning: values and occupancies of optimal, worst, random and given policies, each with a certified error.

The optimal values are the fixpoint of the Bellman operator

    (T V)(s) = max_a r(s, a) + γ Σ_s' P(s, a, s') V(s'),

the values of a policy π that of T_π, where π replaces the maximum, and the discounted occupancies of π solve
x = p0 + γ P_πᵀ x, so that the return is p0·V^π = Σ_s x(s) r(s, π(s)).

**Certificate.** Every result is an estimate with an error bound computed from the estimate alone, whatever found it.
T is monotone and a γ-contraction, so |V − V̂| ≤ ‖T V̂ − V̂‖∞ / (1 − γ) in every state; for occupancies the same holds in
the 1-norm. The residual is summed with compensation, its own rounding error is added, and γ is enlarged by the amount
by which a stored row may exceed 1, so the bound holds for the MDP exactly as stored.

**Method.** Policy iteration. Before every improvement a few Gauss–Seidel sweeps of T in alternating directions carry
values across the state space, which policy iteration alone does one step an iteration on grid-like problems. A policy
is evaluated by whatever solves its linear system soonest (`omdt.systems`).

**Time.** Functions that may take long accept a `Watch`. When its time is up they return the estimate they have reached;
its error is certified like any other, only wider.
"""

import math
from dataclasses import dataclass
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from omdt.errors import InputError
from omdt.graph import reached_from
from omdt.mdp import EPSILON, MDP, Bools, Floats, Ints
from omdt.norms import norms, row_excess
from omdt.systems import TARGET, fixpoint, late, product
from omdt.tree import TreePolicy
from omdt.watch import Watch, one_thread

Policy = NDArray[np.int64] | NDArray[np.float64]
"""[S] one action a state, or [S, A] the probability of each action in each state."""

T = TypeVar("T", float, Floats)

MAX_IMPROVEMENTS = 10_000
"""Policies tried at most; what is returned then is still certified, with a wider error."""

TIE = 1e-13
"""Actions whose Q-values differ by less, relative to the largest absolute Q-value, count as equally good."""

ROUNDING = 1e-12
"""Part of the scale of a problem that counts as rounding: no return is known better where rewards add up."""

NOTHING, STAND_IN = 1e-13, 1e-3
"""What is earned counts as nothing below the first part of the smallest reward; the second part is then the scale."""

UNCERTAIN = 1e-6
"""A certified error that is a larger part of the returns than this comes from a computation that was cut off."""

_UNDERFLOW = 2.0**-1000


@dataclass(frozen=True, eq=False)
class Certified(Generic[T]):
    """A number or array whose true value differs from `value` by at most `error` in every entry."""

    value: T
    error: float

    @property
    def lower(self) -> T:
        """A lower bound on the true value."""
        return _toward(self.value - self.error, -np.inf)

    @property
    def upper(self) -> T:
        """An upper bound on the true value."""
        return _toward(self.value + self.error, np.inf)


def _toward(value: T, direction: float) -> T:
    """The next representable number on the way, which undoes the rounding of one addition."""
    moved: T = np.nextafter(value, direction)
    return moved if isinstance(value, np.ndarray) else float(moved)


_OPTIMA: WeakKeyDictionary[MDP, tuple[Certified[Floats], bool]] = WeakKeyDictionary()
"""The optimal values of the MDPs in use, since an MDP never changes, and whether they are final."""


def optimal_values(mdp: MDP, watch: Watch | None = None) -> Certified[Floats]:
    """[S] value of each state under the best policy without any size limit.

    They are computed once per MDP. Where a watch ended the computation, the next call goes on from there.
    """
    known, final = _OPTIMA.get(mdp, (None, False))
    if known is None or not (final or late(watch)):
        start = np.zeros(mdp.n_states) if known is None else known.value
        known = _best_values(mdp, mdp.rewards, start, watch)
        _OPTIMA[mdp] = (known, not late(watch))
    return known


def worst_values(mdp: MDP) -> Certified[Floats]:
    """[S] value of each state under the worst policy."""
    negated = _best_values(mdp, -mdp.rewards, np.zeros(mdp.n_states))
    return Certified(0.0 - negated.value, negated.error)


def restricted_values(mdp: MDP, forced: Ints, start: Floats, watch: Watch | None = None) -> Certified[Floats]:
    """[S] value of each state under the best policy that plays given actions in some states.

    Args:
        mdp: the problem.
        forced: [S] the action that must be played in each state; −1 where every action may be played.
        start: [S] values to start from, for example the optimal values of a less restricted problem.
        watch: ends the computation early.
    """
    return _best_values(mdp, mdp.rewards, start, watch, forced)


def q_values(mdp: MDP, values: Certified[Floats]) -> Certified[Floats]:
    """[S, A] value of taking each action once and earning `values` from the next state on."""
    q = mdp.rewards + mdp.discount * product(mdp.transitions, values.value).reshape(mdp.rewards.shape)
    rounding = _rounding(float(np.abs(mdp.rewards).max()), float(np.abs(values.value).max()))
    return Certified(q, values.error * (1 + row_excess(mdp.transitions)) + rounding)


def best_actions(q: Certified[Floats]) -> Bools:
    """[S, A] whether an action is a best one in each state; equally good ones all are."""
    best = q.value.max(axis=1, keepdims=True)
    among_best: Bools = q.value >= best - tie(q)
    return among_best


def greedy(q: Certified[Floats]) -> Ints:
    """[S] the best action in each state; among equally good ones that of lowest index."""
    actions: Ints = np.argmax(best_actions(q), axis=1)
    return actions


def tie(q: Certified[Floats]) -> float:
    """The difference of Q-values up to which actions count as equally good."""
    return max(TIE * float(np.abs(q.value.max(axis=1)).max()), 2 * q.error)


def random_policy(mdp: MDP) -> Floats:
    """[S, A] every available action with the same probability."""
    policy: Floats = mdp.available / mdp.available.sum(axis=1, keepdims=True)
    return policy


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
    M = mdp.discount * P
    begin = np.zeros(mdp.n_states) if start is None else start
    values = fixpoint(M, r, begin, norms(mdp).shrinkage, norm=np.inf, watch=watch)
    residual = float(np.abs(r + product(M, values) - values).max())
    rounding = _rounding(float(np.abs(r).max()), float(np.abs(values).max()), terms=mdp.n_actions)
    return Certified(values, norms(mdp).error_of(residual + rounding))


def occupancies(mdp: MDP, policy: Policy, watch: Watch | None = None) -> Certified[Floats]:
    """[S] discounted number of visits Σ_t γ^t Pr(s_t = s) under the given policy."""
    P, _ = markov_chain(mdp, policy)
    return _occupancies(mdp, P, mdp.initial, watch)


def _occupancies(mdp: MDP, P: sparse.csr_array, p0: Floats, watch: Watch | None) -> Certified[Floats]:
    """The discounted visits of a chain P that begins in p0; the error bounds their difference in the 1-norm."""
    M = sparse.csr_array((mdp.discount * P).T)
    visits = fixpoint(M, p0, p0, norms(mdp).shrinkage, norm=1, watch=watch)
    residual = np.abs(p0 + product(M, visits) - visits).sum()
    rounding = (8 + mdp.n_actions) * EPSILON * np.abs(visits).sum() + _UNDERFLOW
    return Certified(visits, norms(mdp).error_of(residual + rounding))


def expected_return(mdp: MDP, values: Certified[Floats]) -> Certified[float]:
    """p0·V, the value of the first state on average."""
    first = np.flatnonzero(mdp.initial)
    total = math.fsum(mdp.initial[first] * values.value[first])
    rounding = 4 * EPSILON * float(np.abs(values.value).max())
    return Certified(total, values.error * (1 + mdp.n_states * EPSILON) + rounding)


def policy_return(mdp: MDP, policy: Ints, watch: Watch | None = None) -> Certified[float]:
    """The return of a policy [S], with an error that knows where the policy goes.

    Only the states that it visits count. With estimates V̂ and x̂ of their values and visits and the residual
    e = r + γ P V̂ − V̂ the return is p0·V̂ + x·e, so that p0·V̂ + x̂·e is off by no more than ‖x − x̂‖₁ ‖e‖∞.
    """
    _check_policy(policy, *mdp.rewards.shape)
    P, r, p0 = _visited_chain(mdp, policy)
    V = fixpoint(mdp.discount * P, r, np.zeros(len(r)), norms(mdp).shrinkage, norm=np.inf, watch=watch)
    visits = _occupancies(mdp, P, p0, watch)
    e = r + mdp.discount * product(P, V) - V
    rounding = 8 * EPSILON * (np.abs(r) + np.abs(V) + mdp.discount * (P @ np.abs(V))) + _UNDERFLOW
    weights = np.abs(visits.value)
    error = float(weights @ rounding) + visits.error * float((np.abs(e) + rounding).max())
    error += 4 * EPSILON * float(p0 @ np.abs(V) + weights @ np.abs(e)) + _UNDERFLOW
    total = math.fsum([*(p0 * V).tolist(), *(visits.value * e).tolist()])
    return Certified(total, error * (1 + 2 * len(r) * EPSILON))


def _visited_chain(mdp: MDP, policy: Ints) -> tuple[sparse.csr_array, Floats, Floats]:
    """P_π [n, n], r_π [n] and p0 [n] of the states that a policy visits."""
    states = np.flatnonzero(visited(mdp, policy))
    rows = states * mdp.n_actions + policy[states]
    return mdp.transitions[rows][:, states], mdp.rewards[states, policy[states]], mdp.initial[states]


def scale(mdp: MDP, watch: Watch | None = None) -> float:
    """The scale of a problem's returns, against which differences are judged; 0 while it is not known.

    It is Σ_s x(s) |r(s, a)| under the optimal policy: rewards may cancel in the return, but their rounding does not.
    Rewards that are never earned do not count. Where nothing is earned, a small part of the smallest reward stands in.
    """
    optimal = optimal_values(mdp, watch)
    if not _OPTIMA[mdp][1]:
        return 0.0
    P, r, p0 = _visited_chain(mdp, greedy(q_values(mdp, optimal)))
    values = fixpoint(mdp.discount * P, np.abs(r), np.zeros(len(r)), norms(mdp).shrinkage, norm=np.inf, watch=watch)
    smallest = float(np.abs(mdp.rewards).min(where=mdp.rewards != 0, initial=np.inf))
    if not np.isfinite(smallest):
        return 0.0
    earned = float(p0 @ values)
    return earned if earned > NOTHING * smallest else STAND_IN * smallest


def visited(mdp: MDP, policy: Ints) -> Bools:
    """[S] whether a policy [S] ever comes to each state."""
    chosen = mdp.transitions[np.arange(mdp.n_states) * mdp.n_actions + policy]
    return reached_from(mdp.initial > 0, chosen.indices, chosen.indptr)


def evaluate(mdp: MDP, tree: TreePolicy, observations: Floats | None = None) -> float:
    """The exact discounted return of a tree on an MDP.

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


def markov_chain(mdp: MDP, policy: Policy) -> tuple[sparse.csr_array, Floats]:
    """P_π [S, S] and r_π [S]: the chain that remains when the policy is fixed."""
    S, A = mdp.rewards.shape
    _check_policy(policy, S, A)
    if policy.ndim == 1:
        states = np.arange(S)
        return mdp.transitions[states * A + policy], mdp.rewards[states, policy]
    weights = sparse.csr_array((policy.ravel(), np.arange(S * A), np.arange(0, S * A + 1, A)), shape=(S, S * A))
    P = sparse.csr_array(weights @ mdp.transitions)
    P.eliminate_zeros()
    return P, (policy * mdp.rewards).sum(axis=1)


def _check_policy(policy: Policy, S: int, A: int) -> None:
    if policy.shape not in ((S,), (S, A)):
        raise InputError(f"a policy must have shape [{S}] or [{S}, {A}], one row a state, but has shape {policy.shape}")
    if policy.ndim == 1:
        bad = (policy < 0) | (policy >= A)
        if bad.any():
            s = int(np.argmax(bad))
            raise InputError(f"the policy takes action {policy[s]} in state {s}; there are {A} actions")
    else:
        bad = ~((policy >= 0).all(axis=1) & (np.abs(policy.sum(axis=1) - 1) <= 1e-9))
        if bad.any():
            raise InputError(f"the policy's probabilities in state {int(np.argmax(bad))} are not a distribution")


def _best_values(
    mdp: MDP, rewards: Floats, start: Floats, watch: Watch | None = None, forced: Ints | None = None
) -> Certified[Floats]:
    """Values of the policy that maximises the given rewards [S, A] and plays the forced actions."""
    P, (S, A), states = mdp.transitions, rewards.shape, np.arange(mdp.n_states)
    if forced is not None:
        excluded = (forced >= 0)[:, None] & (forced[:, None] != np.arange(A))
        rewards = np.where(excluded, -np.inf, rewards)
    values, actions = start.copy(), np.argmax(rewards, axis=1)
    for _ in range(MAX_IMPROVEMENTS):
        for forward in (True, False, True, False):
            _sweep(P.indptr, P.indices, P.data, rewards, mdp.discount, values, forward)
        q = rewards + mdp.discount * (P @ values).reshape(S, A)
        best = q.max(axis=1)
        improves = best > q[states, actions] + 4 * EPSILON * np.abs(best)
        actions = np.where(improves, q.argmax(axis=1), actions)
        M = mdp.discount * P[states * A + actions]
        # A policy that will still be improved need not be evaluated better than its improvement is known.
        accuracy = 0.01 * float(np.abs(best - values).max())
        values = fixpoint(
            M, rewards[states, actions], best, norms(mdp).shrinkage, norm=np.inf, accuracy=accuracy, watch=watch
        )
        error = norms(mdp).error_of(_bellman_residual(mdp, rewards, values))
        size = float(np.abs(values).max())
        if error <= TARGET * size + 4 * norms(mdp).error_of(_rounding(size, size)) or late(watch):
            break
    return Certified(values, error)


def _bellman_residual(mdp: MDP, rewards: Floats, values: Floats) -> float:
    """Upper bound on ‖T V − V‖∞ that allows for the rounding of every action's Q-value by itself.

    So a huge penalty on an action that nobody takes does not blur the maximum.
    """
    q = rewards + mdp.discount * product(mdp.transitions, values).reshape(rewards.shape)
    rounding = _rounding(np.where(rewards == -np.inf, 0.0, np.abs(rewards)), float(np.abs(values).max()))
    above = (q + rounding).max(axis=1) - values
    below = values - (q - rounding).max(axis=1)
    return float(np.maximum(above, below).max())


def _rounding(reward: T, value: float, terms: int = 0) -> T:
    """Bound on the rounding error of r + γ P V − V, given |r| and max |V|.

    P V comes from `_product`, and rows of P are mixed from `terms` rows of the MDP.
    """
    return (8 + terms) * EPSILON * (reward + 2 * value) + _UNDERFLOW


@njit(cache=True)
def _sweep(indptr, indices, data, rewards, discount, values, forward):  # type: ignore[no-untyped-def]
    """One Gauss–Seidel pass of T over all states in place, with self-loops solved for exactly."""
    S, A = rewards.shape
    for i in range(S):
        s = i if forward else S - 1 - i
        best = -np.inf
        for a in range(A):
            ahead, stay = 0.0, 0.0
            for k in range(indptr[s * A + a], indptr[s * A + a + 1]):
                if indices[k] == s:
                    stay += data[k]
                else:
                    ahead += data[k] * values[indices[k]]
            best = max(best, (rewards[s, a] + discount * ahead) / (1 - discount * stay))
        values[s] = best
