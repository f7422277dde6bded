"""The parts of the search, put together for its tests."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from brute_force import returns
from omdt import planning
from omdt.limits import Limits
from omdt.mdp import MDP
from omdt.methods.search.bounds.bases import Basis, budget_of
from omdt.methods.search.branching import Branching
from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.knowledge import Knowledge
from omdt.methods.search.local import LocalSearch
from omdt.methods.search.model import Model
from omdt.methods.search.nodes import Case, Goal, Node, Partial
from omdt.methods.search.partial_tree import HOLE, Hole, Leaf, Split, Tree
from omdt.methods.search.rounds import Rounds
from omdt.methods.search.settings import SearchSettings
from omdt.methods.search.symmetry import Symmetries, find
from omdt.rules import Rule
from omdt.solution import Solution
from omdt.splits import Splits
from omdt.task import Size, Task
from omdt.watch import Watch
from tasks import LABELS, dense, policies_of_trees, random_questions


def random_splits(mdp: MDP, rng: np.random.Generator) -> Splits:
    """Random questions about an MDP."""
    categorical, predicates = random_questions(mdp, rng)
    return Splits.of(mdp, categorical=categorical, predicates=predicates, labels=LABELS[: predicates.shape[1]])


def model_of(
    mdp: MDP,
    depth: int | None = 2,
    leaves: int | None = None,
    *,
    splits: Splits | None = None,
    rules: Sequence[Rule] = (),
    **fields: Any,
) -> Model:
    """The model of a task; further arguments are fields of the settings."""
    splits = Splits.of(mdp) if splits is None else splits
    task = Task(mdp, splits, Size(depth, leaves), rules=tuple(rules))
    return Model.of(task, SearchSettings(**fields), Watch())


def started(model: Model, gap: float = 1e-4, watch: Watch | None = None) -> LocalSearch:
    """A local search that has evaluated all leaves and the copies of the optimal policy."""
    watch = Watch() if watch is None else watch
    local = LocalSearch(model, Incumbent(model, gap, watch), 0, watch)
    local.start()
    return local


def rounds_of(model: Model, *, gap: float = 1e-4, limits: Limits | None = None, **rest: Any) -> Rounds:
    """The rounds of a search whose incumbent is the best leaf or a copy of the optimal policy."""
    local = started(model, gap)
    return Rounds(local.incumbent, Limits(gap=gap) if limits is None else limits, local.watch, **rest)


def knowledge_of(model: Model, *, symmetric: bool = False, max_bytes: int = 1 << 28) -> Knowledge:
    """What is known of a task at first, with or without its symmetries."""
    return Knowledge(model, find(model) if symmetric else Symmetries.none(model), max_bytes)


def root_of(knowledge: Knowledge) -> Case:
    """The case of all trees."""
    return Case(knowledge.model.optimal_return.upper, Partial(HOLE))


def goal_of(knowledge: Knowledge, target: float, **rest: Any) -> Goal:
    """The goal to show that no tree returns more than a target, without an incumbent."""
    return Goal(-np.inf, target, budget_of(knowledge.bases.losses.optimum, target), **rest)


def basis_of(knowledge: Knowledge, target: float) -> Basis:
    """The basis without leaves for a target."""
    return knowledge.bases.general(goal_of(knowledge, target), Watch())


def node_of(knowledge: Knowledge, basis: Basis, tree: Tree) -> Node:
    """A partial tree as bounds see it."""
    return Branching(knowledge, basis).node(Partial(tree))


def all_policies(mdp: MDP) -> np.ndarray:
    """[n, S] all deterministic policies."""
    return np.array(list(product(range(mdp.n_actions), repeat=mdp.n_states)))


def returns_of(mdp: MDP, policies: np.ndarray) -> np.ndarray:
    """[n] the returns of policies [n, S]."""
    return returns(*dense(mdp), policies)


def visits_of(mdp: MDP, policies: np.ndarray) -> np.ndarray:
    """[n, S] the discounted visits of policies [n, S]."""
    P, _, initial, discount = dense(mdp)
    systems = np.eye(mdp.n_states) - discount * P[np.arange(mdp.n_states), policies]
    right = np.broadcast_to(initial[:, None], (*policies.shape, 1))
    return np.asarray(np.linalg.solve(np.swapaxes(systems, 1, 2), right)[..., 0])


def tree_policies(model: Model) -> np.ndarray:
    """[n, S] all policies of trees within the limits of a model."""
    return policies_of_trees(model.mdp, model.sides, model.size.depth, model.size.leaves)


def random_partial(rng: np.random.Generator, model: Model, depth: int, leaves: int) -> Tree:
    """A random partial tree within a depth and a number of leaves, with at least one hole."""
    while True:
        tree = _random_tree(rng, model, depth, leaves)
        if any(isinstance(it, Hole) for it, _ in places(model, tree)):
            return tree


def _random_tree(rng: np.random.Generator, model: Model, depth: int, leaves: int) -> Tree:
    questions = model.sides.shape[1]
    if depth == 0 or leaves == 1 or questions == 0 or rng.random() < 0.3:
        return HOLE if rng.random() < 0.6 else Leaf(int(rng.integers(model.mdp.n_actions)))
    share = int(rng.integers(1, leaves))
    left, right = (_random_tree(rng, model, depth - 1, n) for n in (share, leaves - share))
    return Split(int(rng.integers(questions)), left, right)


def places(model: Model, tree: Tree, states: np.ndarray | None = None) -> Iterator[tuple[Leaf | Hole, np.ndarray]]:
    """The leaves and holes of a tree with the states that reach them."""
    states = np.arange(model.mdp.n_states) if states is None else states
    if not isinstance(tree, Split):
        yield tree, states
        return
    right = model.sides[states, tree.question]
    yield from places(model, tree.left, states[~right])
    yield from places(model, tree.right, states[right])


def completions(model: Model, tree: Tree) -> np.ndarray:
    """[n, S] the policies of all trees within the limits that complete a partial tree."""
    found = set(_completed(model, tree, np.arange(model.mdp.n_states), model.size.depth, model.size.leaves))
    return np.array(sorted(policy for policy, _ in found))


def _completed(
    model: Model, tree: Tree, states: np.ndarray, depth: int, leaves: int
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Partial policies, −1 elsewhere, with the number of leaves that they need."""
    S = model.mdp.n_states

    def leaf(action: int) -> tuple[int, ...]:
        return tuple(np.where(np.isin(np.arange(S), states), action, -1).tolist())

    if isinstance(tree, Leaf):
        yield leaf(tree.action), 1
        return
    if isinstance(tree, Hole):
        yield from ((leaf(action), 1) for action in range(model.mdp.n_actions))
    asked = range(model.sides.shape[1]) if isinstance(tree, Hole) and min(depth, leaves - 1) > 0 else ()
    split = [(k, HOLE, HOLE) for k in asked]
    for k, left, right in [tree] if isinstance(tree, Split) else split:
        goes = model.sides[states, k]
        if isinstance(tree, Hole) and (goes.all() or not goes.any()):
            continue
        firsts = set(_completed(model, left, states[~goes], depth - 1, leaves - 1))
        seconds = set(_completed(model, right, states[goes], depth - 1, leaves - 1))
        for (one, n), (other, m) in product(firsts, seconds):
            if n + m <= leaves:
                yield tuple(map(max, one, other)), n + m


def same_in_any_run(solution: Solution) -> dict[str, Any]:
    """A solution without what depends on the clock."""
    return {key: value for key, value in solution.to_dict().items() if key not in ("seconds", "trace")}


def scale_of(mdp: MDP) -> float:
    """The largest conceivable return."""
    return float(np.abs(mdp.rewards).max()) / (1 - mdp.discount)


def optimum_of(mdp: MDP) -> float:
    """The return of the best policy of any form."""
    return planning.expected_return(mdp, planning.optimal_values(mdp)).value


def options_value(model: Model, leaf: np.ndarray, boxes: list[np.ndarray]) -> np.ndarray:
    """[S] the value of an agent with options, by iterating with dense inverses.

    Args:
        model: the model.
        leaf: [S] the actions of fixed leaves, −1 elsewhere.
        boxes: the states of all boxes of open regions.
    """
    P, rewards, _, discount = dense(model.mdp)
    S, A = rewards.shape
    inverses = {
        (i, a): np.linalg.inv(np.eye(len(box)) - discount * P[:, a][np.ix_(box, box)])
        for i, box in enumerate(boxes)
        for a in range(A)
    }
    V = model.optimal.upper
    while True:
        Q = rewards + discount * P @ V
        new = np.where(leaf >= 0, Q[np.arange(S), np.maximum(leaf, 0)], -np.inf)
        for (i, a), inverse in inverses.items():
            box = boxes[i]
            new[box] = np.maximum(new[box], V[box] + inverse @ (Q[box, a] - V[box]))
        if np.abs(new - V).max() <= 1e-11 * (1 - discount) * model.scale:
            return new
        V = new
