"""The parts of the program under rules: which states and questions it is written for.

Both forms describe less than without rules. Every state is tied to the tree that can be reached or that a rule about
actions speaks of, and every action is a class of its own, because rules are about the names of actions. "No split" is
always among the questions, and so are the questions of a kept tree, which no other node may ask. Questions that divide
the tied states alike are one, unless rules tell their columns apart. A first question that divides no tied states can
be what a rule about the root asks for.
"""

from dataclasses import replace

import numpy as np

from omdt.errors import InputError
from omdt.mdp import Bools, Ints
from omdt.methods.milp.demands import demands_of, kept_questions
from omdt.methods.milp.forms import Parts, Tuning, division, smallest_depth
from omdt.methods.milp.occupancy import horizon
from omdt.rules import FeatureCount, LeavesPerAction, Monotone, Root
from omdt.splits import Splits
from omdt.task import Task


def ruled_parts(task: Task, form: str, tuning: Tuning) -> Parts:
    """The parts under the rules of a task; `with_demands` completes them, and `weigh` for the strong form.

    Raises:
        InputError: if there is a rule about the shape of trees for which there are no rows.
    """
    _check_shapes(task)
    problem = task.problem
    S, A = problem.rewards.shape
    tied = np.flatnonzero(_tied(task))
    general = _general(task, tied)
    questions = _with_kept(task, general)
    sides = np.hstack([questions.sides()[tied], np.ones((len(tied), 1), np.bool_)])
    _, first, kinds = np.unique(sides, axis=0, return_index=True, return_inverse=True)
    kind = np.full(S, -1)
    kind[tied] = kinds.ravel()
    unit = float(np.abs(problem.rewards).max()) or 1.0
    return Parts(
        mdp=problem,
        depth=_depth(task, len(first), asks=len(general) > 0),
        max_leaves=task.size.max_leaf_nodes,
        questions=questions,
        no_split=True,
        states=tied[first],
        kind=kind,
        classes=np.tile(np.arange(A), (S, 1)),
        state=np.repeat(np.arange(S), A),
        action=np.tile(np.arange(A), S),
        most=np.full(S * A, horizon(problem)),
        scale=np.ones(S * A),
        flow_unit=np.ones(S),
        reference=np.zeros(S),
        objective=problem.rewards.ravel() / unit,
        offset=0.0,
        unit=unit,
        budget=form == "strong",
        tuning=tuning if form == "strong" else Tuning(integer_paths=True),
    )


def rule_entries(task: Task, parts: Parts) -> int:
    """About how many entries the rows of prices and shares have, which are those that grow with the states."""
    paying = parts.n_nodes * (parts.n_questions + parts.depth) if task.prices is not None else 0
    sharing = parts.n_leaves * 2 * (parts.depth + 1) if task.least_share is not None else 0
    return parts.mdp.n_states * (paying + sharing)


def with_demands(parts: Parts, task: Task) -> Parts:
    """The parts with what the rules ask of the full tree.

    Raises:
        InputError: if the kept tree is deeper than the full tree.
    """
    acts = np.ones((len(parts.states), parts.mdp.n_actions), dtype=np.bool_)
    if task.allowed is not None:
        tied = np.flatnonzero(parts.kind >= 0)
        np.logical_and.at(acts, parts.kind[tied], task.allowed[tied])
    return replace(parts, demands=demands_of(task, parts.depth, parts.questions.feature, acts))


def tells_columns_apart(task: Task) -> bool:
    """Whether a rule speaks of the columns of questions, so that two questions that divide alike may differ."""
    return task.prices is not None or any(isinstance(rule, Root | FeatureCount) for rule in task.shapes)


def _check_shapes(task: Task) -> None:
    for rule in task.shapes:
        if not isinstance(rule, Root | FeatureCount | LeavesPerAction | Monotone):
            raise InputError(
                f"the method milp has no rows for the rule that a tree {rule.words}; use the method search, "
                "or leave out the rule"
            )


def _tied(task: Task) -> Bools:
    """[S] the states whose leaf matters: for the return, for a rule about actions, or for the order of actions."""
    tied: Bools = task.problem.reached | task.mdp.reached
    return tied if task.allowed is None else tied | ~task.allowed.all(axis=1)


def _general(task: Task, tied: Ints) -> Ints:
    """The questions that every node may ask, by their numbers."""
    splits = task.splits
    sides = splits.sides()[tied]
    apart = tells_columns_apart(task)
    roots = {rule.column for rule in task.shapes if isinstance(rule, Root)}
    seen: dict[tuple[int, bytes], int] = {}
    for k, j in enumerate(splits.feature.tolist()):
        divides = bool(sides[:, k].any() and not sides[:, k].all())
        if divides or j in roots:
            seen.setdefault((j if apart else 0, division(sides[:, k])), k)
    return np.array(list(seen.values()), dtype=np.int64)


def _with_kept(task: Task, general: Ints) -> Splits:
    """The questions of the program: the general ones, then those of the kept tree."""
    splits, kept = task.splits, kept_questions(task.kept)
    return replace(
        splits,
        feature=np.append(splits.feature[general], kept.feature),
        threshold=np.append(splits.threshold[general], kept.threshold),
        equality=np.append(splits.equality[general], kept.equality),
    )


def _depth(task: Task, kinds: int, *, asks: bool) -> int:
    """The depth of a full tree that holds a best tree."""
    size, kept = task.size, task.kept
    if kept is not None:
        own = None if kept.depth is None else kept.depth + 1
        return smallest_depth(size.max_depth, size.max_leaf_nodes, own)
    # A tree without questions that divide nothing has at most one leaf per kind of state; its root may be one.
    spare = any(isinstance(rule, Root) for rule in task.shapes)
    return smallest_depth(size.max_depth, size.max_leaf_nodes, max(1, kinds) + spare if asks else 1)
