"""What to say of a search that ended: why it found no tree, and why it stopped before it was complete."""

from omdt.errors import InputError
from omdt.methods.search.turns import Proof
from omdt.solution import Stop
from omdt.task import Task
from omdt.watch import Watch


def no_tree(task: Task, complete: bool) -> InputError:
    """Why there is nothing to return."""
    trees = f"tree of {task.size.words} {' and '.join(rule.words for rule in task.rules)}"
    relaxed = "relax a rule" if task.further_rules else "use --unavailable fallback"
    if not complete:
        return InputError(f"no {trees}, as far as was searched; allow more time or a larger tree, or {relaxed}")
    return InputError(
        f"no {trees}: states that such a tree cannot tell apart have no allowed action in common; "
        f"allow a larger tree, or {relaxed}"
    )


def why_stopped(proof: Proof | None, watch: Watch) -> Stop:
    """Why a search ended before it was complete."""
    if watch.interrupted:
        return Stop.INTERRUPTED
    if proof is not None and proof.out_of_memory:
        return Stop.MEMORY
    if watch.remaining == 0:
        return Stop.TIME
    return Stop.NODES if watch.out_of_nodes else Stop.HEURISTIC
