"""What to say of a search that ended: why it found no tree, and why it stopped before it was complete."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from omdt import planning
from omdt.counting import counted
from omdt.errors import InputError
from omdt.methods.search.turns import Proof
from omdt.rules import OPEN, Ceiling, Kept, KeptLeaf, KeptSplit, Outline
from omdt.solution import Stop
from omdt.task import Task
from omdt.watch import Watch


def no_tree(task: Task, complete: bool) -> InputError:
    """Why there is nothing to return, by the smallest reason that is found without another search."""
    trees = f"tree of {task.size.words} {' and '.join(rule.words for rule in task.rules)}"
    relaxed = "relax a rule" if task.further_rules else "use --unavailable fallback"
    reason = next(_reasons(task), None)
    if reason is not None:
        return InputError(f"no {trees}: {reason}")
    if not complete:
        return InputError(f"no {trees}, as far as was searched; allow more time or a larger tree, or {relaxed}")
    if task.only_leaf_rules:
        why = "states that such a tree cannot tell apart have no allowed action in common"
    else:
        why = f"no tree of this size keeps {'this rule' if len(task.rules) == 1 else 'all of these rules'}"
    return InputError(f"no {trees}: {why}; allow a larger tree, or {relaxed}")


def why_stopped(proof: Proof | None, watch: Watch) -> Stop:
    """Why a search ended before it was complete."""
    if watch.interrupted:
        return Stop.INTERRUPTED
    if proof is not None and proof.out_of_memory:
        return Stop.MEMORY
    if watch.remaining == 0:
        return Stop.TIME
    return Stop.NODES if watch.out_of_nodes else Stop.HEURISTIC


def _reasons(task: Task) -> Iterator[str]:
    """What single rules make impossible, with what to do about it."""
    if task.kept is not None:
        yield from _about_kept(task, task.kept)
    for ceiling in task.ceilings:
        least = _least_total(task, ceiling)
        if least is not None and least > ceiling.limit + ceiling.tolerance:
            told = f"{ceiling.total(least):.6g} {ceiling.name}"
            rest = ", of those that the rules about leaves allow," if task.allowed is not None else ""
            yield f"even the best policy of any form{rest} has {told}; change the limit"


def _about_kept(task: Task, kept: Kept) -> Iterator[str]:
    """How the kept tree alone is too large, or breaks a rule about shape."""
    ends = [path for path, node in kept.nodes() if not isinstance(node, KeptSplit)]
    depth, leaves = max(map(len, ends)), len(ends)
    if task.size.max_leaf_nodes is not None and leaves > task.size.max_leaf_nodes:
        yield f"the kept tree alone has {counted(leaves, 'leaf', 'leaves')}; allow a larger tree"
    if task.size.max_depth is not None and depth > task.size.max_depth:
        yield f"the kept tree alone has depth {depth}; allow a larger tree"
    asked = {path: node.column for path, node in kept.nodes() if isinstance(node, KeptSplit)}
    named = {path: node.action if isinstance(node, KeptLeaf) else OPEN for path, node in kept.nodes()}
    named = {path: named[path] for path in ends}
    outline = Outline(asked, named, lambda: np.full(task.mdp.n_states, OPEN))
    for rule in task.shapes:
        if (found := rule.broken_by(outline)) is not None:
            yield f"the kept tree {found}; relax a rule"


def _least_total(task: Task, ceiling: Ceiling) -> float | None:
    """The smallest total of all policies that the rules about leaves allow, rounded down; None if there is none."""
    problem = replace(task.problem, rewards=0.0 - ceiling.costs, endless=None)
    choices = np.ones(problem.rewards.shape, dtype=np.bool_) if task.allowed is None else task.allowed
    try:
        planning.check_totals(problem)
    except InputError:
        return None
    values = planning.restricted_values(problem, choices, np.zeros(problem.n_states))
    return -planning.expected_return(problem, values).upper
