"""Trees under rules as solutions of the program: node by node, since rules may speak of each."""

import numpy as np

from omdt import planning
from omdt.divisions import answers
from omdt.mdp import Bools, Floats, Ints
from omdt.methods.milp.demands import Demands, way_to
from omdt.methods.milp.forms import Parts
from omdt.methods.milp.formulation import Model
from omdt.methods.milp.rule_rows import RuleColumns
from omdt.methods.milp.ruled_forms import tells_columns_apart
from omdt.tree import LEAF, TreePolicy


def encode_ruled(model: Model, demands: Demands, tree: TreePolicy) -> Floats | None:
    """[columns] the solution that stands for a tree that keeps the rules; None if it has no place in the program."""
    parts, first = model.parts, model.first
    placed = _placed(parts, demands, tree)
    if placed is None:
        return None
    asked, named = placed
    vector = np.zeros(len(model.objective))
    nodes, A = parts.n_nodes, parts.mdp.n_actions
    vector[first["b"] + np.arange(nodes) * parts.n_questions + asked] = 1
    real = np.flatnonzero(named >= 0)
    vector[first["c"] + real * A + named[real]] = 1
    right = parts.sides().T[asked].reshape(nodes, len(parts.states))
    vector[first["d"] : first["π"]] = right.ravel()
    leaf = _leaves(right, parts.depth, len(parts.states))
    vector[first["π"] + np.arange(len(parts.states)) * A + named[leaf]] = 1
    policy = tree.actions(parts.questions.observations)
    visits = np.maximum(planning.occupancies(parts.mdp, policy).value, 0.0)
    taken = parts.action == policy[parts.state]
    end = first["x"] + len(parts.state)
    vector[first["x"] : end] = np.where(taken, visits[parts.state] / parts.scale, 0.0)
    vector[end:] = _further(parts, RuleColumns(parts, demands), asked, right, leaf, visits)
    return vector


def _placed(parts: Parts, demands: Demands, tree: TreePolicy) -> tuple[Ints, Ints] | None:
    """[nodes] the question of each node and [leaves] the action of each leaf, −1 where there is none."""
    observations, sides = parts.questions.observations[parts.states], parts.sides()
    asked, named = np.zeros(parts.n_nodes, dtype=np.int64), np.full(parts.n_leaves, LEAF)
    apart, stack = tells_columns_apart(demands.task), [(0, 0)]
    while stack:
        m, node = stack.pop()
        if tree.feature[node] == LEAF:
            while m < parts.n_nodes:
                m = 2 * m + 1
            named[m - parts.n_nodes] = tree.action[node]
            continue
        if m >= parts.n_nodes:
            return None
        feature, threshold = int(tree.feature[node]), float(tree.threshold[node])
        side = answers(observations[:, feature], threshold, bool(tree.equality[node]))
        about = (parts.questions.feature == feature) | (not apart)
        found = _question(demands.asks[m], about, sides, side)
        if found is None:
            return None
        asked[m], swapped = found
        left, right = int(tree.left[node]), int(tree.right[node])
        stack += [(2 * m + 2, left if swapped else right), (2 * m + 1, right if swapped else left)]
    return asked, named


def _question(asks: Bools, about: Bools, sides: Bools, side: Bools) -> tuple[int, bool] | None:
    """The question of a node, of those about some columns, that divides like one of a tree; and whether mirrored."""
    for k in (np.flatnonzero(asks[1:] & about) + 1).tolist():
        for swapped in (False, True):
            if np.array_equal(sides[:, k], side ^ swapped):
                return k, swapped
    return None


def _leaves(right: Bools, depth: int, kinds: int) -> Ints:
    """[U] the leaf of the full tree that each kind of state comes to."""
    m = np.zeros(kinds, dtype=np.int64)
    for _ in range(depth):
        m = 2 * m + 1 + right[m, np.arange(kinds)]
    leaf: Ints = m - (2**depth - 1)
    return leaf


def _further(parts: Parts, columns: RuleColumns, asked: Ints, right: Bools, leaf: Ints, visits: Floats) -> Floats:
    """The columns of rules."""
    about = np.append(-1, parts.questions.feature)[asked]
    used = np.isin(np.arange(columns.sizes["o"]), about).astype(np.float64)
    paid = np.zeros((len(columns.payers), parts.n_nodes))
    share = np.divide(visits, columns.most, out=np.zeros_like(visits), where=columns.most > 0)
    prices = np.where(about >= 0, columns.per_use[about], 0.0) / (columns.per_use.max(initial=0.0) or 1.0)
    kind = parts.kind[columns.payers]
    for m in range(parts.n_nodes) if len(kind) else ():
        above, turns = way_to(m)
        comes = (right[np.ix_(above, kind)] == turns[:, None]).all(axis=0)
        paid[:, m] = comes * prices[m] * share[columns.payers]
    received = np.zeros((len(columns.visitors), parts.n_leaves))
    places = leaf[parts.kind[columns.visitors]]
    received[np.arange(len(places)), places] = share[columns.visitors]
    return np.concatenate([used, paid.ravel(), received.ravel()])
