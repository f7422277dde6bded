"""Upper bounds M_sq on how often a state-action pair can occur while little enough is lost.

For every pair j = (s, q) the bound is the value of the linear program

    max  x_j    subject to   flow rows,   Σ g x ≤ B,   x ≥ 0,

with g the advantage lost per occurrence and B the budget. Only the objective changes from pair to pair, so every
program starts from the basis of the last one.

What the solver answers is not taken on trust. For *any* multipliers W (flow) and λ ≥ 0 (budget), every feasible x has

    x_j ≤ p0·W + λ B + δ H,   δ = max over pairs of  1[pair = j] − (W(s) − γ P W) − λ g,  at least 0,

because all occurrences together are at most the horizon H. The bound is computed from the multipliers by this formula,
and the solver's tolerances can make it loose but not false. Without time for a program, x_j ≤ min(H, B / g_j).

**Horizon.** With a discount, all occurrences together are 1/(1 − γ). Without one they are the expected number of steps,
which is bounded only if every policy ends: then H is the number of steps of the policy that takes longest, and one more
for the terminal state in which it ends. What enters a terminal state leaves the system there, so that the flow rows
have bounded solutions only.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

from omdt import planning
from omdt.errors import InputError, require
from omdt.mdp import MDP, Bools, Floats, Ints
from omdt.norms import norms
from omdt.watch import Watch

MARGIN = 1e-4
"""By which fraction bounds are enlarged: SCIP's presolve takes bounds that a tree meets exactly for contradictions."""

SMALLEST = 1e-6
"""Bounds are not pushed below this fraction of the horizon; smaller ones help no solver and blur its arithmetic."""

_HORIZONS: WeakKeyDictionary[MDP, float] = WeakKeyDictionary()
"""The horizons of the MDPs in use; an MDP never changes."""


def horizon(mdp: MDP) -> float:
    """H, the most that all occurrences together can be.

    Raises:
        InputError: if it is infinite.
    """
    if mdp.discount < 1:
        return norms(mdp).horizon
    known = _HORIZONS.get(mdp)
    if known is None:
        known = _HORIZONS[mdp] = 1 + planning.longest(mdp)
    if np.isinf(known):
        raise InputError(
            "the method milp needs a problem in which every policy comes to an end, because its program counts visits, "
            f"and in {mdp.name} some policy goes on for ever; use the method search, which does not need this, or a "
            "discount below 1"
        )
    return known


def occupancy_bounds(
    mdp: MDP, state: Ints, action: Ints, lost: Floats, budget: float, *, wanted: Bools, watch: Watch | None
) -> Floats:
    """[X] the most that each pair can occur under the budget.

    Args:
        mdp: the problem.
        state: [X] state of each pair.
        action: [X] action of each pair.
        lost: [X] advantage g lost with each occurrence.
        budget: B, the advantage that may be lost in total.
        wanted: [X] pairs to spend time on; others get a simple bound.
        watch: time to spend; None for none.
    """
    total = horizon(mdp)
    simple = np.divide(budget, lost, out=np.full(len(lost), total), where=lost > budget / total)
    most: Floats = np.clip(simple * (1 + MARGIN), SMALLEST * total, total * (1 + MARGIN))
    pairs = np.flatnonzero(wanted & (most > SMALLEST * total))
    if watch is not None and len(pairs):
        for pair, bound in _linear_programs(mdp, state, action, lost, budget, pairs, watch):
            most[pair] = max(min(most[pair], bound * (1 + MARGIN)), SMALLEST * total)
    return most


def flow_matrix(mdp: MDP, state: Ints, action: Ints) -> sparse.csr_array:
    """[S, X] what each pair takes out of its own state less what it brings into others."""
    pairs = np.arange(len(state))
    out = sparse.csr_array((np.ones(len(state)), (state, pairs)), shape=(mdp.n_states, len(state)))
    into = mdp.discount * mdp.transitions[state * mdp.n_actions + action]
    if mdp.discount == 1:
        into = into * np.where(mdp.terminal[state], 0.0, 1.0)[:, None]
    return sparse.csr_array(out - into.T)


def _linear_programs(
    mdp: MDP, state: Ints, action: Ints, lost: Floats, budget: float, pairs: Ints, watch: Watch
) -> Iterator[tuple[int, float]]:
    """Yield pairs with their bounds until the watch runs out."""
    require("highspy", "highs", "bounding occupancies in the strong form")
    highspy: Any = import_module("highspy")

    S, X = mdp.n_states, len(state)
    flow = flow_matrix(mdp, state, action)
    rows = sparse.csc_array(sparse.vstack([flow, sparse.csr_array(lost[None, :] / budget)]))
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = X, S + 1
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = np.zeros(X), np.zeros(X), np.full(X, highspy.kHighsInf)
    lp.row_lower_ = np.append(mdp.initial, -highspy.kHighsInf)
    lp.row_upper_ = np.append(mdp.initial, 1.0)
    lp.sense_ = highspy.ObjSense.kMaximize
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = rows.indptr, rows.indices, rows.data
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("presolve", "off")
    solver.setOptionValue("simplex_strategy", 4)  # primal: the last basis stays feasible when the objective changes
    solver.passModel(lp)
    columns = sparse.csr_array(flow.T)
    for pair in pairs:
        if watch.remaining == 0:
            return
        solver.setOptionValue("time_limit", solver.getRunTime() + watch.remaining)
        solver.changeColCost(int(pair), 1.0)
        solver.run()
        solution = solver.getSolution()
        if solution.dual_valid:
            dual = np.array(solution.row_dual)
            W, multiplier = dual[:S], max(dual[S], 0.0)
            surplus = -(columns @ W) - multiplier * lost / budget
            surplus[pair] += 1.0
            rounding = 1e-12 * (np.abs(W).max() + multiplier + 1.0)
            excess = horizon(mdp) * (max(0.0, surplus.max()) + rounding)
            yield int(pair), float(mdp.initial @ W) + multiplier + excess
        solver.changeColCost(int(pair), 0.0)
