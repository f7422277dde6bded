"""The two forms of the program: which states, actions, questions and bounds it is written for."""

from dataclasses import dataclass, replace

import numpy as np

from omdt import planning
from omdt.mdp import MDP, Bools, Floats, Ints
from omdt.methods.milp.demands import Demands
from omdt.methods.milp.occupancy import MARGIN, flow_matrix, horizon, occupancy_bounds
from omdt.splits import Splits
from omdt.watch import Watch


@dataclass(frozen=True)
class Tuning:
    """What the strong form does for one solver and not for another.

    Attributes:
        integer_paths: declare d and π integer.
        symmetry_rows: add the rows twins, alike, shape and order.
    """

    integer_paths: bool = False
    symmetry_rows: bool = False


@dataclass(frozen=True, eq=False)
class Parts:
    """What the two forms decide differently, before any row is written.

    Attributes:
        mdp: the problem.
        depth: D of the full tree.
        max_leaves: L, or None when the depth alone limits the size.
        questions: the questions a node chooses from, without "no split".
        no_split: whether "no split" is question 0, in front of them.
        states: [U] one state of each kind.
        kind: [S] kind u of each state, −1 where the choice of action does not matter.
        classes: [S, A] class q of each action in each state, numbered from 0.
        state: [X] state s of each column x_sq.
        action: [X] first action of its class q.
        most: [X] M_sq.
        scale: [X] x_sq = scale · column.
        flow_unit: [S] what each flow row is divided by.
        reference: [S] V̂, the values that the objective is written with.
        objective: [X] per unit of x_sq; the return is offset + unit · objective.
        offset: see objective.
        unit: see objective.
        budget: whether the objective must be at least −1.
        tuning: what suits the solver.
        demands: what rules ask of the full tree; None without rules.
    """

    mdp: MDP
    depth: int
    max_leaves: int | None
    questions: Splits
    no_split: bool
    states: Ints
    kind: Ints
    classes: Ints
    state: Ints
    action: Ints
    most: Floats
    scale: Floats
    flow_unit: Floats
    reference: Floats
    objective: Floats
    offset: float
    unit: float
    budget: bool
    tuning: Tuning
    demands: Demands | None = None

    @property
    def n_nodes(self) -> int:
        """Decision nodes of the full tree, numbered level by level: the children of m are 2m + 1 and 2m + 2."""
        return int(2**self.depth - 1)

    @property
    def n_leaves(self) -> int:
        """Leaves of the full tree; leaf t is the node n_nodes + t."""
        return int(2**self.depth)

    @property
    def n_questions(self) -> int:
        """K: questions a node chooses from, "no split" included."""
        return len(self.questions) + self.no_split

    @property
    def n_classes(self) -> Ints:
        """[U] classes of actions of each kind."""
        counts: Ints = self.classes[self.states].max(axis=1, initial=-1) + 1
        return counts

    def sides(self) -> Bools:
        """[U, K] whether each kind goes right of each question, "no split" included."""
        sides = self.questions.sides()[self.states]
        return np.hstack([np.zeros((len(sides), 1), np.bool_), sides]) if self.no_split else sides


def paper_parts(mdp: MDP, splits: Splits, max_depth: int | None, max_leaf_nodes: int | None) -> Parts:
    """Every state, every action, every distinct value of every feature, and one M for all."""
    S, A = mdp.rewards.shape
    questions = _all_values(splits) if _is_default(splits, mdp) else splits
    unit = float(np.abs(mdp.rewards).max()) or 1.0
    return Parts(
        mdp=mdp,
        depth=smallest_depth(max_depth, max_leaf_nodes, None if len(questions) else 1),
        max_leaves=max_leaf_nodes,
        questions=questions,
        no_split=max_leaf_nodes is not None,
        states=np.arange(S),
        kind=np.arange(S),
        classes=np.tile(np.arange(A), (S, 1)),
        state=np.repeat(np.arange(S), A),
        action=np.tile(np.arange(A), S),
        most=np.full(S * A, horizon(mdp)),
        scale=np.ones(S * A),
        flow_unit=np.ones(S),
        reference=np.zeros(S),
        objective=mdp.rewards.ravel() / unit,
        offset=0.0,
        unit=unit,
        budget=False,
        tuning=Tuning(integer_paths=True),
    )


def strong_parts(mdp: MDP, splits: Splits, max_depth: int | None, max_leaf_nodes: int | None, tuning: Tuning) -> Parts:
    """Only the states, classes of actions and questions that matter; `weigh` fills in the objective."""
    S, A = mdp.rewards.shape
    classes = _action_classes(mdp)
    reached = np.isin(mdp.origin, mdp.reachable().origin)
    choosing = np.flatnonzero(reached & (classes.max(axis=1) > 0))
    sides = splits.sides()[choosing]
    kept = _distinct_columns(sides)
    _, first, kinds = np.unique(
        np.hstack([sides[:, kept], classes[choosing]]), axis=0, return_index=True, return_inverse=True
    )
    kind = np.full(S, -1)
    kind[choosing] = kinds.ravel()
    # The smallest tree of its policy has no leaf that no kind of state reaches.
    useful = max(1, len(first)) if len(kept) else 1
    is_first = np.array([classes[:, a] > classes[:, :a].max(axis=1, initial=-1) for a in range(A)]).T
    state, action = np.nonzero(is_first)
    return Parts(
        mdp=mdp,
        depth=smallest_depth(max_depth, max_leaf_nodes, useful),
        max_leaves=max_leaf_nodes,
        questions=replace(
            splits, feature=splits.feature[kept], threshold=splits.threshold[kept], equality=splits.equality[kept]
        ),
        no_split=True,
        states=choosing[first],
        kind=kind,
        classes=classes,
        state=state,
        action=action,
        most=np.full(len(state), horizon(mdp)),
        scale=np.ones(len(state)),
        flow_unit=np.ones(S),
        reference=np.zeros(S),
        objective=np.zeros(len(state)),
        offset=0.0,
        unit=1.0,
        budget=True,
        tuning=tuning,
    )


def weigh(parts: Parts, start_value: float | None, occupancy_watch: Watch | None) -> Parts:
    """The strong parts with the objective in terms of advantages, M_sq, and everything in its own units."""
    mdp = parts.mdp
    values = planning.optimal_values(mdp)
    q = planning.q_values(mdp, values)
    optimal = planning.expected_return(mdp, values)
    if start_value is None:
        start_value = planning.expected_return(mdp, planning.worst_values(mdp)).lower - _most_paid(parts)
    size = max(abs(optimal.value), float(np.abs(mdp.rewards).max())) or 1.0
    budget = max((optimal.upper - start_value) * (1 + MARGIN), MARGIN * size)
    lost = np.maximum(values.value[parts.state] - q.value[parts.state, parts.action], 0.0)
    tied = parts.kind[parts.state] >= 0
    most = occupancy_bounds(mdp, parts.state, parts.action, lost, budget, wanted=tied, watch=occupancy_watch)
    flow = abs(flow_matrix(mdp, parts.state, parts.action)) * most[None, :]
    return replace(
        parts,
        most=most,
        scale=most,
        flow_unit=flow.max(axis=1).toarray().ravel(),
        reference=values.value,
        objective=-lost / budget,
        offset=optimal.value,
        unit=budget,
    )


def _most_paid(parts: Parts) -> float:
    """No tree pays more for its questions."""
    prices = None if parts.demands is None else parts.demands.task.prices
    if prices is None:
        return 0.0
    return float(horizon(parts.mdp) * parts.depth * prices.per_use.max() + prices.once.sum())


def division(side: Bools) -> bytes:
    """The same bytes for a division of the rows into two sets and for its mirror image."""
    return np.packbits(side ^ side[0]).tobytes()


def smallest_depth(max_depth: int | None, *leaves: int | None) -> int:
    """The depth of the full tree that holds every tree within the limits."""
    return min(limit for limit in (max_depth, *(n - 1 for n in leaves if n is not None)) if limit is not None)


def _is_default(splits: Splits, mdp: MDP) -> bool:
    default = Splits.of(mdp)
    return (
        np.array_equal(splits.observations, mdp.features)
        and np.array_equal(splits.feature, default.feature)
        and np.array_equal(splits.threshold, default.threshold)
        and not splits.equality.any()
    )


def _all_values(splits: Splits) -> Splits:
    """One threshold at every distinct value of every feature, the useless largest included."""
    values = [np.unique(column) for column in splits.observations.T]
    lengths = [len(column) for column in values]
    return replace(
        splits,
        feature=np.repeat(np.arange(len(values)), lengths),
        threshold=np.concatenate(values),
        equality=np.zeros(sum(lengths), np.bool_),
    )


def _action_classes(mdp: MDP) -> Ints:
    """[S, A] actions of a state with the same number have the same transitions and reward there."""
    P, (S, A) = mdp.transitions, mdp.rewards.shape
    classes = np.zeros((S, A), dtype=np.int64)
    for s in range(S):
        seen: dict[tuple[float, bytes, bytes], int] = {}
        for a in range(A):
            row = slice(P.indptr[s * A + a], P.indptr[s * A + a + 1])
            key = (float(mdp.rewards[s, a]), P.indices[row].tobytes(), P.data[row].tobytes())
            classes[s, a] = seen.setdefault(key, len(seen))
    return classes


def _distinct_columns(sides: Bools) -> Ints:
    """Indices of the columns that divide the rows, one for each division."""
    seen: dict[bytes, int] = {}
    for k in range(sides.shape[1]):
        if sides[:, k].any() and not sides[:, k].all():
            seen.setdefault(division(sides[:, k]), k)
    return np.array(list(seen.values()), dtype=np.int64)
