"""front(mdp, …): the best tree of every size, each with value, bound and proof, in one run."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from omdt.concluding import SECONDS_PER_TRANSITION, References, concluded
from omdt.errors import InputError
from omdt.limits import Limits
from omdt.mdp import MDP
from omdt.methods.registry import method_named
from omdt.methods.search.model import Model
from omdt.methods.search.outcome import no_tree
from omdt.methods.search.settings import DEFAULTS, SearchSettings
from omdt.objective import DISCOUNTED_RETURN, Asked, objective_of
from omdt.progress import words
from omdt.rules import FALLBACK, Rule, Rules
from omdt.solution import MIN, Claim, Solution
from omdt.solving import task_of
from omdt.splits import Splits
from omdt.task import Size, Task
from omdt.terminal import cores
from omdt.tradeoffs.front_points import DEPTH, LEAVES, Front, Point
from omdt.tradeoffs.front_search import FrontSearch, Listener
from omdt.verbs import verb
from omdt.watch import TracePoint, Watch, one_thread

MOST_SIZES = 64
"""Maximum number of sizes of a front: each has a search of its own, and larger trees are not small any more."""


@verb(words.front)
def front(
    mdp: MDP,
    *,
    max_leaf_nodes: int | None = None,
    max_depth: int | None = None,
    by: str = LEAVES,
    splits: Splits | None = None,
    time_limit: float | None = None,
    gap: float = 1e-4,
    seed: int = 0,
    threads: int | None = None,
    memory_limit: int = 2048,
    unavailable: str = FALLBACK,
    rules: Rules | Sequence[Rule] = (),
    objective: Asked | str = DISCOUNTED_RETURN,
    progress: Listener | None = None,
    settings: SearchSettings = DEFAULTS,
) -> Front:
    """The best tree of every size up to the given one, each with value, bound and proof.

    Everything is shared between sizes, so this takes far less time than solving for each of them. When the time limit
    is reached or Ctrl-C is pressed, the result is what was found so far: the best tree of each size, with its bound.

    Args:
        mdp: the problem.
        max_leaf_nodes: the largest number of leaves; by default as many as the depth allows.
        max_depth: the largest depth; by default as deep as the leaves allow.
        by: "leaves" for the best tree of every number of leaves, from one on; "depth" for every depth, from 0 on. The
            other limit, if there is one, holds for all trees.
        splits: the questions a tree may ask; by default thresholds on every feature.
        time_limit: seconds for the whole front.
        gap: relative distance between bound and value that counts as a proof.
        seed: the same seed gives the same trees.
        threads: how many cores to use; by default all. The trees are the same with any number.
        memory_limit: MiB for what the search remembers.
        unavailable: as in `omdt.solve`.
        rules: as in `omdt.solve`.
        objective: as in `omdt.solve`.
        progress: called with a size and with (seconds, value, bound) as these improve.
        settings: as the option of the method search.

    Raises:
        InputError: if the limits, the rules or the objective do not fit, or if no tree of any size keeps the rules.
    """
    sizes = _sizes(Size(max_depth, max_leaf_nodes), by)
    limits = Limits(time_limit, gap, seed, cores() if threads is None else threads, memory_limit)
    watch = Watch(time_limit)
    with watch.catching_interrupts(), one_thread():
        task = task_of(mdp, sizes[-1], splits, objective_of(objective), unavailable, rules)
        before = References.of(task, watch)
        # Afterwards up to one tree per size is evaluated.
        watch.reserve(len(sizes) * SECONDS_PER_TRANSITION * int(task.problem.transitions.nnz))
        search = FrontSearch(Model.of(task, settings, watch), sizes, limits, watch, _translated(progress, task))
        search.run()
        claims = search.claims()
    if claims[-1] is None:
        raise no_tree(task, search.searches[-1].complete)
    solutions = _concluded(search, claims, limits, before)
    return Front(by, tuple(_point(by, replace(solution, seconds=watch.elapsed)) for solution in solutions))


def _sizes(largest: Size, by: str) -> list[Size]:
    """The sizes of a front, the smallest first."""
    depth, leaves = largest.max_depth, largest.max_leaf_nodes
    if by not in (LEAVES, DEPTH):
        raise InputError(f"by is {by!r:.40}; it must be {LEAVES} or {DEPTH}")
    if by == DEPTH:
        if depth is None:
            raise InputError("a front by depth needs a largest depth; give a depth")
        count, sizes = depth + 1, (Size(d, leaves) for d in range(depth + 1))
    else:
        if depth is None and leaves is None:
            raise InputError("a front needs a largest size; give a number of leaves, a depth, or both")
        most = 2 ** min(MOST_SIZES, depth) if depth is not None else MOST_SIZES + 1
        count = most if leaves is None else min(leaves, most)
        sizes = (Size(depth, n) for n in range(1, count + 1))
    if count > MOST_SIZES:
        raise InputError(f"this front would have more than {MOST_SIZES} sizes; give a smaller one")
    return list(sizes)


def _concluded(
    search: FrontSearch, claims: Sequence[Claim | None], limits: Limits, before: References
) -> Iterator[Solution]:
    """The solutions of all sizes of which there is a tree."""
    method = method_named("search")
    earlier: tuple[Claim, Solution] | None = None
    for one, claim in zip(search.searches, claims, strict=True):
        if claim is None:
            continue
        task = one.model.task
        if earlier is None or earlier[0].tree is not claim.tree:
            solution = concluded(task, claim, method, limits, one.watch, before)
            if earlier is None or not _is_worse(solution, earlier[1]):
                earlier = claim, solution
                yield solution
                continue
        yield _of_another_size(earlier[1], task, claim, one.watch)


def _is_worse(solution: Solution, smaller: Solution) -> bool:
    """Whether a tree has a worse value than a smaller one: where time ran out in the middle of its evaluation."""
    if solution.sense == MIN:
        return solution.value > smaller.value
    return solution.value < smaller.value


def _of_another_size(solution: Solution, task: Task, claim: Claim, watch: Watch) -> Solution:
    """The solution with the same tree for a larger size."""
    bound = task.shown_bound(claim.bound)
    # What is not known of the value counts for the bound.
    if solution.sense == MIN:
        bound = min(bound, solution.value - solution.value_error)
    else:
        bound = max(bound, solution.value + solution.value_error)
    return replace(
        solution,
        max_depth=task.size.max_depth,
        max_leaf_nodes=task.size.max_leaf_nodes,
        bound=bound,
        stop=claim.stop,
        trace=tuple((when, task.shown(lower), task.shown_bound(upper)) for when, lower, upper in watch.trace),
    )


def _point(by: str, solution: Solution) -> Point:
    """The point of a solution: the limit of its size, and how large the tree is in the other respect."""
    size, tree = solution.size, solution.tree
    if by == DEPTH:
        return Point(tree.n_leaves, tree.depth if size.max_depth is None else size.max_depth, solution)
    return Point(tree.n_leaves if size.max_leaf_nodes is None else size.max_leaf_nodes, tree.depth, solution)


def _translated(progress: Listener | None, task: Task) -> Listener | None:
    """A listener to returns for a listener to the figures that users see."""
    if progress is None:
        return None

    def listen(size: Size, point: TracePoint) -> None:
        seconds, value, bound = point
        progress(size, (seconds, task.shown(value), task.shown_bound(bound)))

    return listen
