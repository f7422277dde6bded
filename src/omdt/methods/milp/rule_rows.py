"""The rows and columns of rules, in the notation of `formulation.py`.

Further variables, each only where a rule needs it, all between 0 and 1:

    o_j     column j is asked about anywhere
    v_sm    what state s pays in node m for its question, in units of P M_s
    y_st    visits of state s that leaf t receives, in units of M_s

with p_j the price of column j per use, P the largest, and M_s the most that state s can be visited. Splits are
connected from the root down, so that leaf t exists unless b_{r(t)0} = 1, r(t) being the lowest node that has t on its
right. With B_mj = Σ_{k about j} b_mk and X_s = Σ_q x_sq / M_s, the visits of state s,

    shape     b_m0 ≤ b_m'0                                                       children m' of m
    act       Σ_a c_ta + b_{r(t)0} = 1                                           all t
    use       B_mj ≤ o_j                                                         all m, j
    features  Σ_j o_j ≤ the limit
    leaves    Σ_t c_ta ≤ the limit                                               actions a with a limit
    place     Σ_{m' below m} Σ_{k > 0} b_m'k ≤ the limit − 1                     open places m of a kept tree
    order     Σ_{a at least as high} π_ua ≤ Σ_{a at least as high} π_u'a         u' larger than u, all levels but one
    pay       p_j / P (X_s − Σ_{A_l(m)} d_u(s)m' − Σ_{A_r(m)} (1 − d_u(s)m') − 1 + B_mj) ≤ v_sm
    limit     Σ cost_sq x_sq ≤ the limit
    enter     y_st ≤ 1 − d_u(s)m for m ∈ A_l(t),  y_st ≤ d_u(s)m for m ∈ A_r(t)
    visits    Σ_t y_st ≤ X_s
    share     Σ_s M_s y_st ≥ the share · (Σ_s M_s X_s − H b_{r(t)0})             all t, states s that are not terminal

The objective is less Σ_sm P M_s v_sm and what o_j cost once. All rows are exact if b and c are integer: v and o are as
low as the rows allow because they cost something, y as high because only the share limits it.
"""

from collections.abc import Iterable

import numpy as np
from scipy import sparse

from omdt.judging import SHARE_TOLERANCE
from omdt.mdp import Floats, Ints
from omdt.methods.milp.demands import Demands, ancestors, descendants, last_right_turn, way_to
from omdt.methods.milp.forms import Parts
from omdt.methods.milp.occupancy import horizon
from omdt.methods.milp.rows import Rows
from omdt.rules import Ceiling, FeatureCount, LeavesPerAction, Monotone

SLACK = 1e-7
"""By which part of its largest entry a limit on visits is relaxed, so that no solver's tolerance cuts a tree off that
meets it exactly. Trees that break the limit by so little are recognised afterwards."""


class RuleColumns:
    """The further columns: how many there are of each kind, and what they cost."""

    def __init__(self, parts: Parts, demands: Demands) -> None:
        self.parts, self.task = parts, demands.task
        prices, mdp = self.task.prices, parts.mdp
        counts = any(isinstance(rule, FeatureCount) for rule in self.task.shapes)
        self.once: Floats = np.zeros(len(self.task.splits.feature_names)) if prices is None else prices.once
        self.per_use: Floats = np.zeros_like(self.once) if prices is None else prices.per_use
        self.counts_columns = counts or bool(self.once.any())
        tied = np.flatnonzero((parts.kind >= 0) & mdp.reached)
        deciding = tied[~mdp.terminal[tied]]
        self.payers: Ints = deciding if self.per_use.any() else np.arange(0)
        # Where all states are terminal, a leaf's share is counted over all of them.
        self.visitors: Ints = tied if mdp.terminal.all() else deciding
        if self.task.least_share is None:
            self.visitors = np.arange(0)
        self.most: Floats = np.zeros(mdp.n_states)
        np.maximum.at(self.most, parts.state, parts.most)

    @property
    def sizes(self) -> dict[str, int]:
        """How many columns there are, by the letter of their variable."""
        nodes, leaves = self.parts.n_nodes, self.parts.n_leaves
        return {
            "o": len(self.once) if self.counts_columns else 0,
            "v": len(self.payers) * nodes,
            "y": len(self.visitors) * leaves,
        }

    @property
    def costs(self) -> Floats:
        """What a unit of each column costs, in units of the return."""
        highest = float(self.per_use.max(initial=0.0))
        once = self.once if self.counts_columns else self.once[:0]
        paid = np.repeat(highest * self.most[self.payers], self.parts.n_nodes)
        return np.concatenate([once, paid, np.zeros(self.sizes["y"])])

    @property
    def names(self) -> Iterable[tuple[str, tuple[int, ...]]]:
        """The letter and the indices of every column."""
        yield from (("o", (j,)) for j in range(self.sizes["o"]))
        yield from (("v", (s, m)) for s in self.payers.tolist() for m in range(self.parts.n_nodes))
        yield from (("y", (s, t)) for s in self.visitors.tolist() for t in range(self.parts.n_leaves))


class RuleRows:
    """Adds the rows of rules to those of the program."""

    def __init__(self, rows: Rows, columns: RuleColumns, demands: Demands) -> None:
        self.rows, self.columns, self.demands = rows, columns, demands
        self.parts, self.task = rows.parts, demands.task

    def add(self) -> None:
        """All rows that the rules need."""
        self.rows.shape()
        if self.columns.counts_columns:
            self._use()
        for rule in self.task.shapes:
            if isinstance(rule, FeatureCount):
                self._entries("features", (), {"o": np.ones(self.columns.sizes["o"])}, -np.inf, rule.most)
            elif isinstance(rule, LeavesPerAction):
                self._leaves(rule)
            elif isinstance(rule, Monotone):
                self._order(rule)
        self._places()
        self._pay()
        for ceiling in self.task.ceilings:
            self._limit(ceiling)
        if self.task.least_share is not None:
            self._enter()
            self._visits()
            self._shares(self.task.least_share.least)

    def _entries(
        self, sort: str, index: tuple[int, ...], entries: dict[str, Floats], lower: float, upper: float
    ) -> None:
        """One row from dense entries."""
        self.rows.add(
            sort, [index], {name: sparse.csr_array(row[None, :]) for name, row in entries.items()}, lower, upper
        )

    def _asked(self, m: int, j: int) -> Floats:
        """[nodes · K] 1 for every question of node m about column j."""
        parts = self.parts
        entries = np.zeros((parts.n_nodes, parts.n_questions))
        entries[m, 1:] = parts.questions.feature == j
        return entries.ravel()

    def _use(self) -> None:
        for m in range(self.parts.n_nodes):
            for j in range(self.columns.sizes["o"]):
                asked = self._asked(m, j)
                if asked.any():
                    unused = -np.eye(self.columns.sizes["o"])[j]
                    self._entries("use", (m, j), {"b": asked, "o": unused}, -np.inf, 0)

    def _leaves(self, rule: LeavesPerAction) -> None:
        for action, most in rule.most.items():
            named = np.tile(np.arange(self.parts.mdp.n_actions) == action, self.parts.n_leaves).astype(np.float64)
            self._entries("leaves", (action,), {"c": named}, -np.inf, most)

    def _places(self) -> None:
        parts = self.parts
        for m, leaves in self.demands.places:
            entries = np.zeros((parts.n_nodes, parts.n_questions))
            entries[list(descendants(m, parts.n_nodes)), 1:] = 1
            self._entries("place", (m,), {"b": entries.ravel()}, -np.inf, leaves - 1)

    def _order(self, rule: Monotone) -> None:
        """The rows of one order of actions; where it falls, the states of a pair change places."""
        kind, A = self.parts.kind, self.parts.mdp.n_actions
        pairs = rule.neighbours[kind[rule.neighbours[:, 0]] != kind[rule.neighbours[:, 1]]]
        low, high = kind[pairs[:, ::-1] if rule.falling else pairs].T
        U, n = len(self.parts.states), len(pairs)
        signs, places = np.repeat([1.0, -1.0], n), np.append(low, high)
        differ = sparse.csr_array((signs, (np.tile(np.arange(n), 2), places)), shape=(n, U))
        levels = np.array([rule.rank >= level for level in range(1, A)], dtype=np.float64).reshape(-1, A)
        indices = ((s, t, level) for s, t in pairs.tolist() for level in range(1, A))
        self.rows.add("order", indices, {"π": sparse.kron(differ, levels)}, -np.inf, 0)

    def _visited(self, states: Ints) -> sparse.csr_array:
        """[n, X] the entries that make X_s of the columns of x."""
        parts = self.parts
        weights = parts.scale / np.maximum(self.columns.most[parts.state], np.finfo(float).tiny)
        of = sparse.csr_array(
            (weights, (parts.state, np.arange(len(parts.state)))), shape=(parts.mdp.n_states, len(parts.state))
        )
        return sparse.csr_array(of[states])

    def _directions(self, states: Ints, nodes: Ints, signs: Floats) -> sparse.csr_array:
        """[n, nodes · U] a sign in front of d of every state in each of some nodes."""
        U, n = len(self.parts.states), len(states)
        places = (nodes[None, :] * U + self.parts.kind[states][:, None]).ravel()
        entries = (np.tile(signs, n), (np.repeat(np.arange(n), len(nodes)), places))
        return sparse.csr_array(entries, shape=(n, self.parts.n_nodes * U))

    def _pay(self) -> None:
        states, per_use = self.columns.payers, self.columns.per_use
        n, nodes = len(states), self.parts.n_nodes
        visited = self._visited(states)
        for m in range(nodes) if n else ():
            above, right = way_to(m)
            directions = self._directions(states, above, np.where(right, 1.0, -1.0))
            paid = sparse.csr_array((np.ones(n), (np.arange(n), np.arange(n) * nodes + m)), shape=(n, n * nodes))
            for j in np.flatnonzero(per_use > 0).tolist():
                part, asked = per_use[j] / per_use.max(), self._asked(m, j)
                if asked.any():
                    self.rows.add(
                        "pay",
                        ((s, m, j) for s in states),
                        {
                            "x": part * visited,
                            "d": part * directions,
                            "b": sparse.kron(np.ones((n, 1)), part * asked[None, :]),
                            "v": -paid,
                        },
                        -np.inf,
                        part * (1 + float(right.sum())),
                    )

    def _limit(self, ceiling: Ceiling) -> None:
        parts = self.parts
        entries = ceiling.costs[parts.state, parts.action] * parts.scale
        unit = float(np.abs(entries * parts.most / parts.scale).max(initial=0.0)) or 1.0
        limit = (ceiling.limit + ceiling.tolerance) / unit + SLACK
        self._entries("limit", (), {"x": entries / unit}, -np.inf, limit)

    def _enter(self) -> None:
        states, leaves = self.columns.visitors, self.parts.n_leaves
        n = len(states)
        for t in range(leaves):
            own = sparse.csr_array((np.ones(n), (np.arange(n), np.arange(n) * leaves + t)), shape=(n, n * leaves))
            for m, right in zip(*ancestors(self.parts.depth, t), strict=True):
                sign = np.array([-1.0 if right else 1.0])
                directions = self._directions(states, np.array([m]), sign)
                indices = ((s, t, int(m)) for s in states)
                self.rows.add("enter", indices, {"y": own, "d": directions}, -np.inf, 0.0 if right else 1.0)

    def _visits(self) -> None:
        states = self.columns.visitors
        shares = sparse.kron(sparse.eye_array(len(states)), np.ones((1, self.parts.n_leaves)))
        self.rows.add("visits", ((s,) for s in states), {"y": shares, "x": -self._visited(states)}, -np.inf, 0)

    def _shares(self, least: float) -> None:
        parts, states = self.parts, self.columns.visitors
        most = self.columns.most[states]
        least *= 1 - SHARE_TOLERANCE
        unit, total = float(most.max(initial=0.0)) or 1.0, most @ self._visited(states)
        for t in range(parts.n_leaves):
            received = np.zeros((len(states), parts.n_leaves))
            received[:, t] = most / unit
            entries = {"y": received.ravel(), "x": -least * total / unit}
            turn = last_right_turn(parts.depth, t)
            if turn is not None:
                missing = np.zeros((parts.n_nodes, parts.n_questions))
                missing[turn, 0] = least * horizon(parts.mdp) / unit
                entries["b"] = missing.ravel()
            self._entries("share", (t,), entries, -SLACK, np.inf)
