"""Planning: values and occupancies of optimal, worst, random and given policies, each with a certified error.

The optimal values are the fixpoint of the Bellman operator

    (T V)(s) = max_a r(s, a) + γ Σ_s' P(s, a, s') V(s'),

the values of a policy π that of T_π, where π replaces the maximum, and the discounted occupancies of π solve
x = p0 + γ P_πᵀ x, so that the return is p0·V^π = Σ_s x(s) r(s, π(s)).

**Certificate.** Every result is an estimate with an error bound computed from the estimate alone, whatever found it.
T is monotone and a γ-contraction, so |V − V̂| ≤ ‖T V̂ − V̂‖∞ / (1 − γ) in every state; for occupancies the same holds in
the 1-norm. Where this would not be small, the expected number of steps until the end replaces 1 / (1 − γ), state by
state (`omdt.planning.durations`). The residual is summed with compensation, its own rounding error is added, and γ is
enlarged by the amount by which a stored row may exceed 1, so the bound holds for the MDP exactly as stored.

**Method.** Policy iteration. Before every improvement a few Gauss–Seidel sweeps of T in alternating directions carry
values across the state space, which policy iteration alone does one step per iteration on grid-like problems. A policy
is evaluated by whatever is estimated to solve its linear system soonest (`omdt.systems`).

**Without a discount** nothing shrinks. What replaces the contraction is the graph: where a policy may go on for ever,
and what that is worth (`omdt.planning.endings`, `omdt.planning.quotient`). What remains has a certified error as well
(`omdt.planning.totals`).

**Time.** Functions that may take long accept a `Watch`. When its time is up they return the estimate they have reached;
its error is certified like any other, only wider.
"""

from omdt.planning.certified import Certified
from omdt.planning.chains import Policy, markov_chain, random_policy, visited
from omdt.planning.lookahead import best_actions, greedy, q_values, tie
from omdt.planning.optimal import optimal_values, restricted_values, worst_values
from omdt.planning.policies import (
    certified_values,
    evaluate,
    expected_return,
    least_return,
    occupancies,
    policy_return,
    policy_values,
    tree_return,
)
from omdt.planning.quotient import check_totals
from omdt.planning.scales import ROUNDING, is_rounding, scale
from omdt.planning.totals import inductive_totals, longest

__all__ = [
    "ROUNDING",
    "Certified",
    "Policy",
    "best_actions",
    "certified_values",
    "check_totals",
    "evaluate",
    "expected_return",
    "greedy",
    "inductive_totals",
    "is_rounding",
    "least_return",
    "longest",
    "markov_chain",
    "occupancies",
    "optimal_values",
    "policy_return",
    "policy_values",
    "q_values",
    "random_policy",
    "restricted_values",
    "scale",
    "tie",
    "tree_return",
    "visited",
    "worst_values",
]
