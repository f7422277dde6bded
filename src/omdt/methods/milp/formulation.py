"""The formulation as arrays: from an MDP, questions and a size limit to a mixed-integer program, and back.

Decision nodes m and leaves t form the full binary tree of depth D; A(t) are the ancestors of leaf t, A_l(t) those that
have it on their left, A_r(t) on their right. The variables are

    b_mk ∈ {0, 1}   node m asks question k
    c_ta ∈ {0, 1}   leaf t takes action a
    d_um ∈ {0, 1}   kind u of state goes right in node m
    π_uq ∈ {0, 1}   kind u of state takes an action of class q
    x_sq ≥ 0        discounted number of times that state s takes an action of class q

and the program is

    max    Σ r_sq x_sq
    flow   Σ_q x_sq − γ Σ_s'q P(s', q, s) x_s'q = p0(s)                                          all s
    ask    Σ_k b_mk = 1                                                                          all m
    path   d_um = Σ_k side(u, k) b_mk                                                            all u, m
    act    Σ_a c_ta = 1                                                                          all t
    follow Σ_{m ∈ A_l(t)} (1 − d_um) + Σ_{m ∈ A_r(t)} d_um + Σ_{a ∈ q} c_ta − |A(t)| ≤ π_uq      all u, q, t
    one    Σ_q π_uq = 1                                                                          all u
    link   x_sq ≤ M_sq π_u(s)q                                                                   all s, q
    size   Σ_m Σ_{k > 0} b_mk ≤ L − 1                                      only with a limit of L leaves

With a limit on leaves question 0 is "no split": everything goes left. Unused nodes then cost nothing.

**`paper`** takes the paper's words literally: every state is a kind, every action a class, every distinct value of
every feature is a threshold, the largest included, M = 1/(1 − γ), and b, c, d, π are all integer.

**`strong`** describes the same trees with less, given the value LB of some tree (or of the worst policy):

- Only states R that some policy reaches and whose actions differ in their transitions or reward are tied to the tree.
  Actions that do not differ there are one class q. States of R with the same answers to all questions and the same
  classes are one kind u. Questions that divide R alike are one; those that do not divide R are dropped.
- "No split" is always among the questions, and D is cut to what kinds and leaves allow.
- Since Σ r x = p0·V̂ − Σ (V̂ − Q̂) x holds on the flow rows for every V̂, the objective is written with the optimal
  values, as V* less the advantage lost, g_sq = V*(s) − Q*(s, q) ≥ 0. The budget B = V* − LB bounds what a tree at least
  as good as the start may lose: the row  Σ g_sq x_sq ≤ B  cuts the others off.
- M_sq is the most that x_sq can be under the flow rows and the budget (`occupancy.py`).
- The columns are x'_sq = x_sq / M_sq, the objective is measured in units of B, and flow rows are divided by their
  largest entry. So all columns lie in [0, 1], links read x' ≤ π without a big M, and a solver's absolute tolerances
  mean the same on every problem (`tolerance.py`).
- b and c being integer, d and π are so by themselves; whether they are declared so, and whether rows are added that
  leave only one of several trees with the same policy, suits one solver and not another (`Tuning`):

      twins    c_la + c_ra ≤ 1 + b_m0                                  leaves l, r below the same node m
      alike    c_ra ≤ c_la + 1 − b_m0                                  the same leaves
      shape    b_m0 ≤ b_m'0                                            children m' of m
      order    b_mk + Σ_{k' does not divide the side} b_m'k' ≤ 1       m' below the left or right side of (m, k)
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy import sparse

from omdt import planning
from omdt.errors import InputError
from omdt.mdp import MDP, Bools, Floats, Ints
from omdt.methods.milp.forms import Parts, Tuning, division, paper_parts, strong_parts, weigh
from omdt.methods.milp.occupancy import flow_matrix
from omdt.splits import Splits, answers
from omdt.tree import LEAF, Attach, Nodes, TreePolicy
from omdt.watch import Watch

MAX_ENTRIES = 20_000_000
"""Entries of the matrix beyond which solvers need gigabytes before they get anywhere."""


@dataclass(frozen=True, eq=False)
class Model:
    """A mixed-integer program: maximise objective · z + offset / unit, subject to bounds on A z and on z.

    Attributes:
        A: [rows, columns] sparse.
        row_lower: [rows]
        row_upper: [rows]
        lower: [columns]
        upper: [columns]
        integer: [columns] whether the variable is integer.
        objective: [columns] how many units of return each variable is worth.
        offset: the return at z = 0.
        unit: how much return one unit of the objective is.
        priority: [columns] the higher, the earlier a solver should branch on the variable.
        column_names: name of each column, as in b[0,3].
        row_names: name of each row, as in flow[7].
        first: where the columns of b, c, d, π and x begin.
        parts: what the columns stand for.
    """

    A: sparse.csr_array
    row_lower: Floats
    row_upper: Floats
    lower: Floats
    upper: Floats
    integer: Bools
    objective: Floats
    offset: float
    unit: float
    priority: Ints
    column_names: tuple[str, ...]
    row_names: tuple[str, ...]
    first: dict[str, int]
    parts: Parts

    def claimed_return(self, vector: Floats) -> float:
        """The return that a vector has by the objective."""
        return self.offset + self.unit * float(self.objective @ vector)


def formulate(
    mdp: MDP,
    splits: Splits,
    *,
    max_depth: int | None = None,
    max_leaf_nodes: int | None = None,
    form: str = "strong",
    start_value: float | None = None,
    occupancy_watch: Watch | None = None,
    tuning: Tuning | None = None,
) -> Model:
    """The mixed-integer program whose best solutions are the best trees within the size limit.

    Args:
        mdp: the problem.
        splits: the questions a tree may ask.
        max_depth: most questions on any path.
        max_leaf_nodes: most leaves.
        form: `paper` or `strong`.
        start_value: for the strong form, LB, the return of some tree within the limit; worse trees are cut off.
        occupancy_watch: for the strong form, time to compute M_sq; what is left then keeps its simple bound.
        tuning: for the strong form, what suits the solver.
    """
    if max_depth is None and max_leaf_nodes is None:
        raise InputError("the program needs a size limit: a depth, a number of leaves, or both")
    if form == "paper":
        parts = paper_parts(mdp, splits, max_depth, max_leaf_nodes)
        _refuse_giants(parts)
    else:
        parts = strong_parts(mdp, splits, max_depth, max_leaf_nodes, tuning or Tuning())
        _refuse_giants(parts)
        parts = weigh(parts, start_value, occupancy_watch)
    return assemble(parts)


def encode(model: Model, tree: TreePolicy) -> Floats:
    """[columns] the solution that stands for a tree, which must be within the size limit and ask known questions."""
    parts, first = model.parts, model.first
    mdp, splits = parts.mdp, parts.questions
    vector = np.zeros(len(model.objective))
    sides = parts.sides()
    right = np.zeros((parts.n_nodes, len(parts.states)), dtype=np.bool_)
    for m, k, t, action in _placed(parts, tree, sides):
        if t is None:
            vector[first["b"] + m * parts.n_questions + k] = 1
            right[m] = sides[:, k]
        else:
            vector[first["c"] + t * mdp.n_actions + action] = 1
    vector[first["d"] : first["π"]] = right.ravel()
    policy = tree.actions(splits.observations)
    begin = np.cumsum(parts.n_classes) - parts.n_classes
    vector[first["π"] + begin + parts.classes[parts.states, policy[parts.states]]] = 1
    taken = parts.classes[parts.state, parts.action] == parts.classes[parts.state, policy[parts.state]]
    visits = np.maximum(planning.occupancies(mdp, policy).value, 0.0)
    vector[first["x"] :] = np.where(taken, visits[parts.state] / parts.scale, 0.0)
    return vector


def decode(model: Model, vector: Floats) -> TreePolicy:
    """The tree that a solution stands for; nodes without a split are left out."""
    parts, first = model.parts, model.first
    asked = vector[first["b"] : first["c"]].reshape(parts.n_nodes, parts.n_questions).argmax(axis=1)
    taken = vector[first["c"] : first["d"]].reshape(parts.n_leaves, parts.mdp.n_actions).argmax(axis=1)
    questions, nodes = parts.questions, Nodes()
    stack: list[tuple[int, Attach | None]] = [(0, None)]
    while stack:
        m, attach = stack.pop()
        if m >= parts.n_nodes:
            nodes.leaf(int(taken[m - parts.n_nodes]), attach)
            continue
        k = int(asked[m]) - parts.no_split
        if k < 0:
            stack.append((2 * m + 1, attach))
            continue
        feature, threshold = int(questions.feature[k]), float(questions.threshold[k])
        index = nodes.split(feature, threshold, bool(questions.equality[k]), attach)
        stack += [(2 * m + 2, (index, "right")), (2 * m + 1, (index, "left"))]
    return nodes.tree(TreePolicy, questions.feature_names, parts.mdp.action_names)


def _placed(parts: Parts, tree: TreePolicy, sides: Bools) -> Iterator[tuple[int, int, int | None, int]]:
    """Where a tree lies in the full tree: (m, k, None, −1) for each node and (−1, −1, t, action) for each leaf."""
    observations = parts.questions.observations[parts.states if len(parts.states) else [0]]
    tree = tree.pruned(observations)
    known = {division(sides[:, k]): k for k in reversed(range(parts.n_questions))} if len(sides) else {}
    # Below a leaf of the tree nothing is left to ask: both sides of any question act alike.
    idle = 0
    stack = [(0, 0)]
    while stack:
        m, node = stack.pop()
        leaf = tree.feature[node] == LEAF
        if m >= parts.n_nodes:
            if not leaf:
                raise ValueError(f"the tree is deeper than {parts.depth}")
            yield -1, -1, m - parts.n_nodes, int(tree.action[node])
            continue
        left, right, k = node, node, idle
        if not leaf:
            feature, threshold = int(tree.feature[node]), float(tree.threshold[node])
            side = answers(observations[:, feature], threshold, bool(tree.equality[node]))
            left, right, k = int(tree.left[node]), int(tree.right[node]), known.get(division(side), -1)
            if k < 0:
                raise ValueError(f"{tree.question(node)} is not among the questions")
            if not np.array_equal(sides[:, k], side):
                left, right = right, left
        yield m, k, None, -1
        stack += [(2 * m + 2, right), (2 * m + 1, left)]


def _refuse_giants(parts: Parts) -> None:
    kinds, (S, A) = len(parts.states), parts.mdp.rewards.shape
    paths = parts.n_nodes * kinds * (1 + parts.n_questions // 2)
    entries = paths + parts.n_leaves * int(parts.n_classes.sum()) * (parts.depth + 2)
    if entries > MAX_ENTRIES:
        raise InputError(
            f"the program would have about {entries:.1e} entries: a full tree of depth {parts.depth} with "
            f"{parts.n_leaves:.4g} leaves over {kinds} of {S} states and {A} actions. Lower the limit on the depth "
            "(a limit of L leaves alone needs depth L − 1), or use the method search"
        )


def assemble(parts: Parts) -> Model:
    """The arrays of the program whose parts are given."""
    nodes, leaves, K, A = parts.n_nodes, parts.n_leaves, parts.n_questions, parts.mdp.n_actions
    U, X, choices = len(parts.states), len(parts.state), int(parts.n_classes.sum())
    sizes = {"b": nodes * K, "c": leaves * A, "d": nodes * U, "π": choices, "x": X}
    *begin, width = np.cumsum([0, *sizes.values()]).tolist()
    rows = _Rows(parts, dict(zip(sizes, begin, strict=True)), width)
    rows.of_the_paper()
    if parts.budget:
        rows.budget()
    if parts.tuning.symmetry_rows:
        rows.symmetry()
    level = np.floor(np.log2(np.arange(nodes) + 1)).astype(np.int64)
    return Model(
        A=sparse.csr_array(sparse.vstack(rows.blocks, format="csr")),
        row_lower=np.concatenate(rows.lower),
        row_upper=np.concatenate(rows.upper),
        lower=np.zeros(width),
        upper=np.concatenate([np.ones(width - X), parts.most / parts.scale]),
        integer=np.repeat([True, parts.tuning.integer_paths, False], [begin[2], begin[4] - begin[2], X]),
        objective=np.concatenate([np.zeros(width - X), parts.objective * parts.scale]),
        offset=parts.offset,
        unit=parts.unit,
        priority=np.concatenate(
            [np.repeat(2 + parts.depth - level, K), np.repeat([2, 1, 0], [begin[2] - begin[1], begin[4] - begin[2], X])]
        ),
        column_names=tuple(_column_names(parts)),
        row_names=tuple(rows.names),
        first=rows.first,
        parts=parts,
    )


def _column_names(parts: Parts) -> Iterator[str]:
    yield from _names("b", product(range(parts.n_nodes), range(parts.n_questions)))
    yield from _names("c", product(range(parts.n_leaves), range(parts.mdp.n_actions)))
    yield from _names("d", ((s, m) for m in range(parts.n_nodes) for s in parts.states))
    yield from _names("π", ((s, q) for s, n in zip(parts.states, parts.n_classes, strict=True) for q in range(n)))
    yield from _names("x", zip(parts.state, parts.action, strict=True))


def _names(sort: str, indices: Iterable[Sequence[int]]) -> Iterator[str]:
    return (f"{sort}[{','.join(map(str, index))}]" for index in indices)


class _Rows:
    """Collects the rows of the program, block by block, in the notation of the module."""

    def __init__(self, parts: Parts, first: dict[str, int], width: int) -> None:
        self.parts, self.first, self.width = parts, first, width
        self.kind = np.repeat(np.arange(len(parts.states)), parts.n_classes)
        self.begin = np.cumsum(parts.n_classes) - parts.n_classes
        self.blocks: list[sparse.csr_array] = []
        self.lower: list[Floats] = []
        self.upper: list[Floats] = []
        self.names: list[str] = []

    def add(
        self,
        sort: str,
        indices: Iterable[Sequence[int]],
        columns: dict[str, sparse.sparray],
        lower: Floats | float,
        upper: Floats | float,
    ) -> None:
        """Rows of one sort, given by the matrices in front of the columns of b, c, d, π and x."""
        height = next(iter(columns.values())).shape[0]
        if height == 0:
            return
        ends = [*list(self.first.values())[1:], self.width]
        widths = {name: end - begin for (name, begin), end in zip(self.first.items(), ends, strict=True)}
        blocks = [columns.get(name, sparse.csr_array((height, width))) for name, width in widths.items()]
        block = sparse.csr_array(sparse.hstack(blocks, format="csr"))
        block.eliminate_zeros()
        self.blocks.append(block)
        self.lower.append(np.broadcast_to(lower, height).astype(np.float64))
        self.upper.append(np.broadcast_to(upper, height).astype(np.float64))
        self.names += _names(sort, indices)

    def of_the_paper(self) -> None:
        """flow, ask, path, act, follow, one, link and size."""
        parts, mdp = self.parts, self.parts.mdp
        nodes, leaves, K, A = parts.n_nodes, parts.n_leaves, parts.n_questions, mdp.n_actions
        U, choices = len(parts.states), len(self.kind)
        flow = flow_matrix(mdp, parts.state, parts.action) * parts.scale[None, :] / parts.flow_unit[:, None]
        inflow = mdp.initial / parts.flow_unit
        self.add("flow", ((s,) for s in range(mdp.n_states)), {"x": flow}, inflow, inflow)
        each = np.ones((1, K))
        self.add("ask", ((m,) for m in range(nodes)), {"b": sparse.kron(sparse.eye_array(nodes), each)}, 1, 1)
        sides = sparse.csr_array(parts.sides().astype(np.float64))
        self.add(
            "path",
            ((s, m) for m in range(nodes) for s in parts.states),
            {"b": -sparse.kron(sparse.eye_array(nodes), sides), "d": sparse.eye_array(nodes * U)},
            0,
            0,
        )
        self.add(
            "act", ((t,) for t in range(leaves)), {"c": sparse.kron(sparse.eye_array(leaves), np.ones((1, A)))}, 1, 1
        )
        for t in range(leaves):
            self._follow(t)
        one = sparse.csr_array((np.ones(choices), (self.kind, np.arange(choices))), shape=(U, choices))
        self.add("one", ((s,) for s in parts.states), {"π": one}, 1, 1)
        self._link()
        if parts.max_leaves is not None and parts.max_leaves < leaves:
            split = sparse.csr_array(np.tile(np.arange(K) > 0, nodes)[None, :].astype(np.float64))
            self.add("size", [()], {"b": split}, -np.inf, parts.max_leaves - 1)

    def _follow(self, t: int) -> None:
        parts, U, choices = self.parts, len(self.parts.states), len(self.kind)
        m, right = _ancestors(parts.depth, t)
        signs = np.where(right, 1.0, -1.0)
        directions = sparse.csr_array(
            (
                np.tile(signs, choices),
                (np.repeat(np.arange(choices), len(m)), (m[None, :] * U + self.kind[:, None]).ravel()),
            ),
            shape=(choices, parts.n_nodes * U),
        )
        member = parts.classes[parts.states][self.kind] == (np.arange(choices) - self.begin[self.kind])[:, None]
        leaf = sparse.csr_array(([1.0], ([0], [t])), shape=(1, parts.n_leaves))
        self.add(
            "follow",
            ((parts.states[u], i - self.begin[u], t) for i, u in enumerate(self.kind)),
            {
                "c": sparse.kron(leaf, sparse.csr_array(member.astype(np.float64))),
                "d": directions,
                "π": -sparse.eye_array(choices),
            },
            -np.inf,
            float(right.sum()),
        )

    def _link(self) -> None:
        parts, choices = self.parts, len(self.kind)
        pairs = np.flatnonzero(parts.kind[parts.state] >= 0)
        s, rows = parts.state[pairs], np.arange(len(pairs))
        choice = self.begin[parts.kind[s]] + parts.classes[s, parts.action[pairs]]
        ratio = parts.most[pairs] / parts.scale[pairs]
        self.add(
            "link",
            zip(s, parts.action[pairs], strict=True),
            {
                "x": sparse.csr_array((np.ones(len(pairs)), (rows, pairs)), shape=(len(pairs), len(parts.state))),
                "π": sparse.csr_array((-ratio, (rows, choice)), shape=(len(pairs), choices)),
            },
            -np.inf,
            0,
        )

    def budget(self) -> None:
        """At most the budget may be lost."""
        worth = self.parts.objective * self.parts.scale
        self.add("budget", [()], {"x": sparse.csr_array(worth[None, :])}, -1, np.inf)

    def symmetry(self) -> None:
        """twins, alike, shape and order."""
        parts = self.parts
        for m in range(parts.n_nodes):
            children = [child for child in (2 * m + 1, 2 * m + 2) if child < parts.n_nodes]
            if children:
                self._shape(m, children)
            else:
                self._twins(m)
            for child in (2 * m + 1, 2 * m + 2):
                for below in _descendants(child, parts.n_nodes):
                    self._order(m, below, right=child == 2 * m + 2)

    def _shape(self, m: int, children: list[int]) -> None:
        entries = sparse.lil_array((len(children), self.parts.n_nodes * self.parts.n_questions))
        for row, child in enumerate(children):
            entries[row, m * self.parts.n_questions] = 1
            entries[row, child * self.parts.n_questions] = -1
        self.add("shape", ((m, child) for child in children), {"b": entries}, -np.inf, 0)

    def _twins(self, m: int) -> None:
        parts, A = self.parts, self.parts.mdp.n_actions
        unsplit = sparse.lil_array((A, parts.n_nodes * parts.n_questions))
        unsplit[:, m * parts.n_questions] = np.ones((A, 1))
        left = 2 * m + 1 - parts.n_nodes
        leaves = sparse.eye_array(parts.n_leaves, format="csr")
        one, other = leaves[[left]], leaves[[left + 1]]
        both, differ = (sparse.kron(row, sparse.eye_array(A)) for row in (one + other, other - one))
        self.add("twins", ((m, a) for a in range(A)), {"b": -unsplit, "c": both}, -np.inf, 1)
        self.add("alike", ((m, a) for a in range(A)), {"b": unsplit, "c": differ}, -np.inf, 1)

    def _order(self, m: int, below: int, *, right: bool) -> None:
        parts, K = self.parts, self.parts.n_questions
        sides = parts.sides().astype(np.float64)
        here = sides if right else 1 - sides
        # Question k' divides the side of question k when some kinds there go right and some do not.
        went_right = here.T @ sides
        useless = (went_right == 0) | (went_right == here.sum(axis=0)[:, None])
        useless[:, 0] = False
        rows = 1 + np.flatnonzero(useless[1:].any(axis=1))
        entries = sparse.lil_array((len(rows), parts.n_nodes * K))
        entries[:, below * K : (below + 1) * K] = useless[rows]
        entries[np.arange(len(rows)), m * K + rows] = 1
        self.add("order", ((m, k, below) for k in rows.tolist()), {"b": entries}, -np.inf, 1)


def _ancestors(depth: int, t: int) -> tuple[Ints, Bools]:
    """The nodes above leaf t from the root down, and whether it lies on their right."""
    right = np.array([t >> (depth - 1 - level) & 1 for level in range(depth)], dtype=np.bool_)
    nodes = np.array([2**level - 1 + (t >> (depth - level)) for level in range(depth)], dtype=np.int64)
    return nodes, right


def _descendants(m: int, n_nodes: int) -> Iterator[int]:
    """A node and all nodes below it."""
    if m < n_nodes:
        yield m
        yield from _descendants(2 * m + 1, n_nodes)
        yield from _descendants(2 * m + 2, n_nodes)
