"""The one verb: solve(mdp, …) runs a method, recomputes the value of its tree, and refuses a false claim."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from omdt.concluding import References, concluded
from omdt.errors import InputError
from omdt.limits import Limits
from omdt.mdp import MDP
from omdt.methods.options import Options
from omdt.methods.registry import Method, method_named, owners
from omdt.objective import DISCOUNTED_RETURN, Asked, Objective, objective_of
from omdt.progress import words
from omdt.robust.interval_mdp import IntervalMDP
from omdt.robust.solution import robust_solution
from omdt.rules import FALLBACK, AvailableOnly, Rule, Rules, rules_of
from omdt.solution import Solution
from omdt.splits import Splits
from omdt.task import Size, Task
from omdt.terminal import cores
from omdt.verbs import verb
from omdt.watch import TracePoint, Watch, one_thread


@verb(words.solving, owners, also=IntervalMDP)
def solve(
    mdp: MDP | IntervalMDP,
    *,
    max_depth: int | None = None,
    max_leaf_nodes: int | None = None,
    method: str = "search",
    splits: Splits | None = None,
    time_limit: float | None = None,
    gap: float = 1e-4,
    seed: int = 0,
    threads: int | None = None,
    memory_limit: int = 2048,
    node_limit: int | None = None,
    unavailable: str = FALLBACK,
    rules: Rules | Sequence[Rule] = (),
    objective: Asked | str = DISCOUNTED_RETURN,
    progress: Callable[[TracePoint], None] | None = None,
    **options: object,
) -> Solution:
    """The best decision tree policy of limited size that the method finds, with its exact value and a bound.

    Args:
        mdp: the problem; a Gymnasium environment with a table of transitions is converted first. For an `IntervalMDP`
            every figure is a guaranteed return, in the worst case; only the size and the limits can be given then.
        max_depth: maximum number of questions on any path.
        max_leaf_nodes: maximum number of leaves.
        method: the name of a method: search, milp, viper, iddt or copy.
        splits: the questions a tree may ask; by default thresholds on every feature.
        time_limit: seconds after which the best tree so far is returned.
        gap: relative distance between bound and value that counts as a proof.
        seed: the same seed gives the same tree.
        threads: how many cores to use; by default all of the machine for search, unless an executor or a scheduler
            explores elsewhere, and one for the other methods. The result is the same with any number, as long as the
            time limit does not end the search.
        memory_limit: MiB for what the search remembers; it forgets what is least useful.
        node_limit: how many partial trees the search looks at before it returns the best tree so far. The solution is
            then the same in every run, to the last byte of its file; times are left out of it.
        unavailable: "fallback" lets a leaf name an action that is not available in some of its states, where another
            is then played (see `MDP`); "forbid" does not, in any state that can be reached.
        rules: what the tree must respect (see `omdt.Rules`). Only search and milp look for a tree under rules; the tree
            of another method is refused if it breaks one.
        objective: what is maximised or minimised (see `omdt.Objective`), also in PRISM's syntax, as in
            `Pmax=? [F "goal"]`; by default the discounted return.
        progress: called with (seconds, value, bound) as these improve.
        options: options of the method (see `omdt.methods.options`): `executor`, `certificate` and
            `settings` of search; `backend`, `form` and `start_seconds` of milp; `iterations` of viper; `ties` of copy.

    Raises:
        InputError: if the limits, the rules, the objective or the options of the method do not fit.
        FalseClaimError: if the method's bound is below the value of its own tree, or its tree is not an allowed one.
    """
    how = method_named(method)
    chosen = how.made_options(options)
    size = Size(max_depth, max_leaf_nodes)
    if isinstance(mdp, IntervalMDP):
        further = {"method": method != "search", "splits": splits, "unavailable": unavailable != FALLBACK}
        _check_robust({**further, "rules": rules, "objective": objective != DISCOUNTED_RETURN, **options})
        limits = Limits(time_limit, gap, seed, 1, memory_limit, node_limit)
        return robust_solution(mdp, size, limits, Watch(time_limit, progress, limits.node_limit))
    threads = default_threads(how, chosen) if threads is None else threads
    limits = Limits(time_limit, gap, seed, threads, memory_limit, node_limit)
    objective = objective_of(objective)
    certifying = getattr(chosen, "certificate", None) is not None
    watch = Watch(time_limit, node_limit=limits.node_limit)
    with watch.catching_interrupts(), one_thread():
        task = task_of(mdp, size, splits, objective, unavailable, rules)
        if certifying:
            _check_certifiable(task)
        watch.listener = _translated(progress, task)
        how.check(task, limits)
        before = References.of(task, watch, lambda: how.begin(task, watch))
    claim = how.run(task, limits, watch, chosen)
    return concluded(task, claim, how, limits, watch, before, certifying=certifying)


def _check_robust(given: Mapping[str, object]) -> None:
    """Raise for the first of these arguments that says something, as none of them is for interval MDPs."""
    for name, value in given.items():
        if value:
            raise InputError(f"{name} is not for interval MDPs; give a size, limits and a seed only")


def default_threads(how: Method, options: Options) -> int:
    """The number of cores that a method uses if nothing else is said: all if it can, unless it explores elsewhere."""
    elsewhere = any(getattr(options, name, None) is not None for name in ("executor", "scheduler"))
    return cores() if how.uses_cores and not elsewhere else 1


def task_of(
    mdp: MDP,
    size: Size,
    splits: Splits | None,
    objective: Asked,
    unavailable: str,
    rules: Rules | Sequence[Rule],
) -> Task:
    """The task that the arguments of `solve` and its neighbours state.

    Raises:
        InputError: if the rules do not fit the problem, or contradict the splits.
    """
    stated = replace(rules, further=()) if isinstance(rules, Rules) and rules.to_dict() else None
    held = rules_of(unavailable, rules.further if isinstance(rules, Rules) else rules)
    if stated is not None and stated.about_questions:
        if splits is not None:
            raise InputError("splits and rules about features both say what may be asked; leave one out")
        splits = stated.splits(mdp)
    if splits is None:
        return Task.over_thresholds(mdp, size, objective, held, stated)
    return Task(mdp, splits, size, objective, held, stated)


def _translated(progress: Callable[[TracePoint], None] | None, task: Task) -> Callable[[TracePoint], None] | None:
    """A listener to returns for a listener to the figures that users see."""
    if progress is None:
        return None

    def listen(point: TracePoint) -> None:
        seconds, value, bound = point
        progress((seconds, task.shown(value), task.shown_bound(bound)))

    return listen


def _check_certifiable(task: Task) -> None:
    """Raise before long work starts if a certificate has no words for what is asked."""
    stated = () if task.stated is None else task.stated.on(task.mdp, task.splits)
    own = task.rules[: len(task.rules) - len(stated)]
    told = " and ".join(rule.words for rule in own if rule != AvailableOnly())
    if told:
        raise InputError(
            f"a certificate states rules as omdt.Rules has them, so there is none for a tree that {told}; leave one out"
        )
    if not isinstance(task.objective, Objective):
        raise InputError(
            f"a certificate states its objective in PRISM's syntax, so there is none for the {task.objective.words}; "
            "leave one out"
        )
