"""The rows of the program, in the notation of `formulation.py`."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from scipy import sparse

from omdt.mdp import Floats
from omdt.methods.milp.demands import ancestors, descendants, last_right_turn
from omdt.methods.milp.forms import Parts
from omdt.methods.milp.occupancy import flow_matrix


def names(sort: str, indices: Iterable[Sequence[int]]) -> Iterator[str]:
    """The names of rows or columns of one sort, as in flow[7]."""
    return (f"{sort}[{','.join(map(str, index))}]" for index in indices)


class Rows:
    """Collects the rows of the program, block by block."""

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
        """Rows of one sort, given by the matrices in front of the columns of each variable."""
        height = next(iter(columns.values())).shape[0]
        if height == 0:
            return
        ends = [*list(self.first.values())[1:], self.width]
        widths = {name: end - begin for (name, begin), end in zip(self.first.items(), ends, strict=True)}
        blocks = [columns.get(name, sparse.csr_array((height, width))) for name, width in widths.items()]
        self._append(sort, indices, sparse.csr_array(sparse.hstack(blocks, format="csr")), lower, upper)

    def _append(
        self,
        sort: str,
        indices: Iterable[Sequence[int]],
        block: sparse.csr_array,
        lower: Floats | float,
        upper: Floats | float,
    ) -> None:
        """Rows of one sort, given by their matrix."""
        height = block.shape[0]
        block.eliminate_zeros()
        self.blocks.append(block)
        self.lower.append(np.broadcast_to(lower, height).astype(np.float64))
        self.upper.append(np.broadcast_to(upper, height).astype(np.float64))
        self.names += names(sort, indices)

    def of_the_paper(self) -> None:
        """flow, ask, path, act, follow, one, link and size."""
        parts, mdp = self.parts, self.parts.mdp
        nodes, leaves, K = parts.n_nodes, parts.n_leaves, parts.n_questions
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
        self._act()
        for t in range(leaves):
            self._follow(t)
        one = sparse.csr_array((np.ones(choices), (self.kind, np.arange(choices))), shape=(U, choices))
        self.add("one", ((s,) for s in parts.states), {"π": one}, 1, 1)
        self._link()
        if parts.max_leaves is not None and parts.max_leaves < leaves:
            split = sparse.csr_array(np.tile(np.arange(K) > 0, nodes)[None, :].astype(np.float64))
            self.add("size", [()], {"b": split}, -np.inf, parts.max_leaves - 1)

    def _act(self) -> None:
        """Every leaf has one action; under rules, a leaf that does not exist has none."""
        parts, leaves = self.parts, self.parts.n_leaves
        columns = {"c": sparse.kron(sparse.eye_array(leaves), np.ones((1, parts.mdp.n_actions)))}
        if parts.demands is not None:
            missing = sparse.lil_array((leaves, parts.n_nodes * parts.n_questions))
            for t in range(leaves):
                turn = last_right_turn(parts.depth, t)
                if turn is not None:
                    missing[t, turn * parts.n_questions] = 1
            columns["b"] = missing
        self.add("act", ((t,) for t in range(leaves)), columns, 1, 1)

    def _follow(self, t: int) -> None:
        parts, U, choices = self.parts, len(self.parts.states), len(self.kind)
        m, right = ancestors(parts.depth, t)
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

    def budget(self, objective: Floats) -> None:
        """At most the budget may be lost; the objective is given per column from x on."""
        before = np.zeros(self.width - len(objective))
        self._append("budget", [()], sparse.csr_array(np.append(before, objective)[None, :]), -1, np.inf)

    def symmetry(self) -> None:
        """twins, alike, shape and order."""
        parts = self.parts
        self.shape()
        for m in range(parts.n_nodes):
            if 2 * m + 1 >= parts.n_nodes:
                self._twins(m)
            for child in (2 * m + 1, 2 * m + 2):
                for below in descendants(child, parts.n_nodes):
                    self._order(m, below, right=child == 2 * m + 2)

    def shape(self) -> None:
        """Below a node without a split there are no splits."""
        for m in range(self.parts.n_nodes // 2):
            self._shape(m, [2 * m + 1, 2 * m + 2])

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
