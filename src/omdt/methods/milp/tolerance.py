"""What a solver's tolerances can do to a bound and to a solution, in units of the return.

Every solver is asked for the feasibility and integrality tolerance ε = `TOLERANCE` and a dual tolerance ε' of its own.
Columns and rows of the strong form are scaled (`formulation.py`), so these mean the same everywhere.

**Bound.** A relaxation is bounded by its dual. Multipliers that are dual feasible up to ε' prove, for every solution z,

    objective · z ≤ dual value + ε' (Σ_j (upper_j − lower_j) + Σ_i slack_i),

where slack_i is the most by which an inequality can be loose within the column bounds: a reduced cost of the wrong sign
gains at most ε' times the way its variable or slack can go. Primal infeasibility of a basis does not enter, because the
objective of a basis *is* its dual value. To this comes ε once for the cutoff of branches that are no better than the
incumbent, and the rounding of the coefficients of the objective.

**Solution.** A solution within the tolerances stands for a tree T, but its π may give other actions a little weight: b
and c are off by ε, so d is off by 4ε on each of the D nodes of a path, and with c and the rows follow, one and link,
x' of another action is at most (4D + 5) ε. On the flow rows with residuals ρ,

    claimed return = return of T + Σ A^T(s, q) x_sq + Σ_s ρ_s (V^T − V̂)(s),

with A^T the advantages over T and V̂ the values in the objective (0 in the paper's form). So what the solution claims
and what its tree returns differ by at most

    leak(T) = ε ((4D + 5) Σ_{q not of T} |A^T(s, q)| M_sq + Σ_s flow_unit_s |V^T − V̂|(s)).

Under prices, v and o may be too low by as much, and what a solution pays beyond that is not seen: its tree returns no
less. A larger difference means that the solution is not that tree, and is an error. A branch is also closed when its
relaxation is such a solution; what else is in that branch may be better than T by the leak, so the bound is widened by
it, too.

What a solver finds in a presolved program can miss the rows of the program itself by more than it was asked for. So ε
is, for a solution that was found, by how much it really does, up to `LOOSEST`.
"""

import numpy as np

from omdt import planning
from omdt.mdp import EPSILON, Floats
from omdt.methods.milp.formulation import Model
from omdt.methods.milp.occupancy import horizon
from omdt.tree import TreePolicy

TOLERANCE = 1e-9

LOOSEST = 1e-5
"""No solution that misses a row by more than this is believed to stand for its tree."""


def dual_error(model: Model, dual_tolerance: float) -> float:
    """By how much the dual bound of a solver may be too low, in units of the return."""
    A, lower, upper = model.A, model.lower, model.upper
    positive, negative = A.maximum(0), A.minimum(0)
    least, most = positive @ lower + negative @ upper, positive @ upper + negative @ lower
    slack = np.where(np.isinf(model.row_lower), model.row_upper - least, most - model.row_lower)
    inequality = model.row_lower < model.row_upper
    ways = float((upper - lower).sum() + slack[inequality].sum())
    mdp = model.parts.mdp
    rounding = horizon(mdp) * 16 * EPSILON * (abs(model.offset) + float(np.abs(mdp.rewards).max()))
    return model.unit * (dual_tolerance * ways + TOLERANCE) + rounding


def looseness(model: Model, vector: Floats) -> float:
    """The most by which a solution misses a row or a column bound, at least the tolerance that was asked for."""
    rows = model.A @ vector
    missed = (model.row_lower - rows, rows - model.row_upper, model.lower - vector, vector - model.upper)
    return min(max(TOLERANCE, *(float(amounts.max(initial=0.0)) for amounts in missed)), LOOSEST)


def leak(model: Model, tree: TreePolicy, tolerance: float = TOLERANCE) -> float:
    """By how much a solution within a tolerance that stands for the tree may misstate its return."""
    parts = model.parts
    mdp, s = parts.mdp, parts.state
    policy = tree.actions(parts.questions.observations)
    values = planning.policy_values(mdp, policy)
    advantages = planning.q_values(mdp, values).value - values.value[:, None]
    other = (parts.classes[s, parts.action] != parts.classes[s, policy[s]]) & (parts.kind[s] >= 0)
    strayed = float((np.abs(advantages[s, parts.action]) * parts.most)[other].sum())
    residual = float((parts.flow_unit * np.abs(values.value - parts.reference)).sum())
    return tolerance * ((4 * parts.depth + 5) * (strayed + _payable(model)) + residual)


def _payable(model: Model) -> float:
    """What all columns of payments cost together, in units of the return; each may be too low by as much as d."""
    begin = model.first["x"] + len(model.parts.state)
    return -model.unit * float(model.objective[begin:].sum())
