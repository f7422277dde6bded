"""Trees as solutions of the program, and solutions as trees."""

from collections.abc import Iterator

import numpy as np

from omdt import planning
from omdt.divisions import answers
from omdt.mdp import Bools, Floats
from omdt.methods.milp.forms import Parts, division
from omdt.methods.milp.formulation import Model
from omdt.methods.milp.ruled_encoding import encode_ruled
from omdt.tree import LEAF, Attach, Nodes, TreePolicy


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


def start_vector(model: Model, tree: TreePolicy) -> Floats | None:
    """[columns] the solution that stands for a tree; None if a tree under rules asks what the program has merged."""
    return encode(model, tree) if model.parts.demands is None else encode_ruled(model, model.parts.demands, tree)


def decode(model: Model, vector: Floats) -> TreePolicy:
    """The tree that a solution stands for; nodes without a split are left out."""
    parts, first = model.parts, model.first
    asked = [
        int(choices.argmax()) for choices in vector[first["b"] : first["c"]].reshape(parts.n_nodes, parts.n_questions)
    ]
    taken = vector[first["c"] : first["d"]].reshape(parts.n_leaves, parts.mdp.n_actions).argmax(axis=1)
    questions, nodes = parts.questions, Nodes()
    stack: list[tuple[int, Attach | None]] = [(0, None)]
    while stack:
        m, attach = stack.pop()
        if m >= parts.n_nodes:
            nodes.leaf(int(taken[m - parts.n_nodes]), attach)
            continue
        k = asked[m] - parts.no_split
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
