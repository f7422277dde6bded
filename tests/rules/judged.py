"""Problems of the brute force as tasks of the package, and its trees as trees of the package."""

from omdt.errors import InputError
from omdt.objective import DISCOUNTED_RETURN
from omdt.solving import task_of
from omdt.task import Size, Task
from omdt.tree import Nodes, TreePolicy
from rules.brute import Ask, Problem, Tree


def task_for(problem: Problem) -> Task | None:
    """What is asked of the package; None if it refuses the rules because they leave no action for some state."""
    size = Size(problem.max_depth, problem.max_leaves)
    task = task_of(problem.mdp, size, None, DISCOUNTED_RETURN, problem.unavailable, problem.rules)
    try:
        _ = task.allowed
    except InputError as error:
        if "no action is allowed in" in str(error):
            return None
        raise
    return task


def grown(tree: Tree, problem: Problem) -> TreePolicy:
    """A tree of the package from nested tuples."""
    nodes, stack = Nodes(), [(tree, None)]
    while stack:
        node, attach = stack.pop()
        if not isinstance(node, Ask):
            nodes.leaf(node.action, attach)
            continue
        index = nodes.split(node.column, node.number, node.equality, attach)
        stack += [(node.right, (index, "right")), (node.left, (index, "left"))]
    return nodes.tree(TreePolicy, problem.mdp.feature_names, problem.mdp.action_names)
