"""The formulation as arrays: from an MDP, questions and a size limit to a mixed-integer program.

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
every feature is a threshold, the largest included, M = 1/(1 − γ), and b, c, d, π are all integer. Without a discount
the horizon takes the place of 1/(1 − γ) (`occupancy.py`).

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

**Rules** of a task change both forms (`ruled_forms.py`), bound columns (`demands.py`) and add columns and rows
(`rule_rows.py`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy import sparse

from omdt.errors import InputError
from omdt.mdp import MDP, Bools, Floats, Ints
from omdt.methods.milp.forms import Parts, Tuning, paper_parts, strong_parts, weigh
from omdt.methods.milp.rows import Rows, names
from omdt.methods.milp.rule_rows import RuleColumns, RuleRows
from omdt.methods.milp.ruled_forms import rule_entries, ruled_parts, with_demands
from omdt.methods.options import FORMS, choice
from omdt.splits import Splits
from omdt.task import Task
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
        first: where the columns of b, c, d, π and x begin, and those of rules (`rule_rows.py`).
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
    choice(*FORMS).checked("form", form)
    if form == "paper":
        parts = paper_parts(mdp, splits, max_depth, max_leaf_nodes)
        _refuse_giants(parts)
    else:
        parts = strong_parts(mdp, splits, max_depth, max_leaf_nodes, tuning or Tuning())
        _refuse_giants(parts)
        parts = weigh(parts, start_value, occupancy_watch)
    return assemble(parts)


def formulate_task(
    task: Task,
    *,
    form: str = "strong",
    start_value: float | None = None,
    occupancy_watch: Watch | None = None,
    tuning: Tuning | None = None,
) -> Model:
    """The program whose best solutions are the best trees of a task, rules included; see `formulate`.

    Raises:
        InputError: if there is a rule for which there are no rows, or no tree of this size keeps the kept nodes.
    """
    if not task.rules:
        return formulate(
            task.problem,
            task.splits,
            max_depth=task.size.max_depth,
            max_leaf_nodes=task.size.max_leaf_nodes,
            form=form,
            start_value=start_value,
            occupancy_watch=occupancy_watch,
            tuning=tuning,
        )
    parts = ruled_parts(task, form, tuning or Tuning())
    _refuse_giants(parts, rule_entries(task, parts))
    parts = with_demands(parts, task)
    return assemble(parts if form == "paper" else weigh(parts, start_value, occupancy_watch))


def _refuse_giants(parts: Parts, of_rules: int = 0) -> None:
    kinds, (S, A) = len(parts.states), parts.mdp.rewards.shape
    paths = parts.n_nodes * kinds * (1 + parts.n_questions // 2)
    entries = of_rules + paths + parts.n_leaves * int(parts.n_classes.sum()) * (parts.depth + 2)
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
    further = None if parts.demands is None else RuleColumns(parts, parts.demands)
    sizes = {"b": nodes * K, "c": leaves * A, "d": nodes * U, "π": choices, "x": X}
    sizes |= {} if further is None else further.sizes
    *begin, width = np.cumsum([0, *sizes.values()]).tolist()
    rows = Rows(parts, dict(zip(sizes, begin, strict=True)), width)
    objective = np.concatenate([parts.objective * parts.scale, _worth(parts, further)])
    _add_rows(rows, objective, further)
    level = np.floor(np.log2(np.arange(nodes) + 1)).astype(np.int64)
    counts = [begin[2] - begin[1], begin[4] - begin[2], width - begin[4]]
    return Model(
        A=sparse.csr_array(sparse.vstack(rows.blocks, format="csr")),
        row_lower=np.concatenate(rows.lower),
        row_upper=np.concatenate(rows.upper),
        lower=np.zeros(width),
        upper=np.concatenate([*_most(parts), np.ones(width - begin[4] - X)]),
        integer=np.repeat([True, parts.tuning.integer_paths, False], [begin[2], *counts[1:]]),
        objective=np.concatenate([np.zeros(begin[4]), objective]),
        offset=parts.offset,
        unit=parts.unit,
        priority=np.concatenate([np.repeat(2 + parts.depth - level, K), np.repeat([2, 1, 0], counts)]),
        column_names=tuple(_column_names(parts, further)),
        row_names=tuple(rows.names),
        first=rows.first,
        parts=parts,
    )


def _worth(parts: Parts, further: RuleColumns | None) -> Floats:
    """What a unit of each column of rules is worth, in units of the objective."""
    return np.zeros(0) if further is None else -further.costs / parts.unit


def _add_rows(rows: Rows, objective: Floats, further: RuleColumns | None) -> None:
    parts = rows.parts
    rows.of_the_paper()
    if parts.budget:
        rows.budget(objective)
    if parts.demands is not None and further is not None:
        RuleRows(rows, further, parts.demands).add()
    elif parts.tuning.symmetry_rows:
        rows.symmetry()


def _most(parts: Parts) -> list[Floats]:
    """The upper bounds of b, c, d, π and x."""
    demands, kinds = parts.demands, parts.n_nodes * len(parts.states)
    if demands is None:
        asks, names = np.ones(parts.n_nodes * parts.n_questions), np.ones(parts.n_leaves * parts.mdp.n_actions)
        acts = np.ones(int(parts.n_classes.sum()))
    else:
        asks, names, acts = (it.ravel().astype(np.float64) for it in (demands.asks, demands.names, demands.acts))
    return [asks, names, np.ones(kinds), acts, parts.most / parts.scale]


def _column_names(parts: Parts, further: RuleColumns | None) -> Iterator[str]:
    yield from names("b", product(range(parts.n_nodes), range(parts.n_questions)))
    yield from names("c", product(range(parts.n_leaves), range(parts.mdp.n_actions)))
    yield from names("d", ((s, m) for m in range(parts.n_nodes) for s in parts.states))
    yield from names("π", ((s, q) for s, n in zip(parts.states, parts.n_classes, strict=True) for q in range(n)))
    yield from names("x", zip(parts.state, parts.action, strict=True))
    for letter, index in () if further is None else further.names:
        yield from names(letter, [index])
