"""The verb: learn(source, …) learns a small tree where there is no model, from a simulator or from a log."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from omdt.errors import InputError
from omdt.imitating import Teacher
from omdt.learning.from_log import LogRequest, Searching, learn_from_log
from omdt.learning.from_simulator import Request, learn_from_simulator
from omdt.learning.learned import Learned
from omdt.learning.logs import Log, log_of
from omdt.learning.modelling import LEAST_BINS
from omdt.learning.simulators import Simulator, simulator
from omdt.learning.steps import Steps
from omdt.learning.teachers import check_teacher, rivals
from omdt.limits import Limits, whole
from omdt.progress import Known
from omdt.solution import Round, Stop
from omdt.source import GYMNASIUM
from omdt.task import Size
from omdt.verbs import verb
from omdt.watch import Watch

STEPS, EPISODES = 200_000, 200
"""By default: steps in a simulator, and fresh episodes there."""

BINS, CONFIDENCE, DISCOUNT = 12, 0.95, 0.99
"""By default: bins per feature, the confidence of intervals and guarantees, and the discount of the learned model."""


def known(point: Round | Searching) -> Known:
    """What is told after a round of learning from a simulator, or while a log is searched."""
    if isinstance(point, Searching):
        what = "guaranteed" if point.guaranteed else "on the model"
        room = f"at most {point.bound - point.value:.3g} more"
        return Known(f"{what} {point.value:.6g}   bound {point.bound:.6g}   {room}", point.value)
    model = f"on the model {point.value:.6g}, bound {point.bound:.6g}"
    return Known(f"{point.steps:,} steps   {point.mean:.6g} per episode   {model}", point.mean)


def is_log(source: object) -> bool:
    """Whether something is a log, and not a simulator.

    A log is what has columns or steps, and a name of a file; `gym:ENV_ID` and `module:factory` are not.
    """
    if isinstance(source, str):
        named = not source.startswith(GYMNASIUM)
        return named and (os.path.exists(source) or os.sep in source or Path(source).suffix.lower() in (".csv", ".tsv"))
    return isinstance(source, Path | Log | Steps | dict) or hasattr(source, "columns")


@verb(known, also=object)
def learn(
    source: Any,
    *,
    max_depth: int | None = None,
    max_leaf_nodes: int | None = None,
    steps: int | None = None,
    bins: int = BINS,
    confidence: float = CONFIDENCE,
    discount: float = DISCOUNT,
    episodes: int | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    teacher: Teacher | None = None,
    progress: Callable[[Round | Searching], None] | None = None,
) -> Learned:
    """A small tree that is learned where there is no model, with what is known of it.

    Three kinds of numbers are never mixed up: `learned.solution.value` is what the tree returns on the learned model,
    exactly; `learned.solution.bound` is what no tree of the size exceeds there; and what the tree returns in the world
    is `learned.interval` for a simulator, the mean of fresh episodes that had no part in choosing the tree, and
    `learned.guarantee` for a log, what the tree returns at least with the confidence that is asked for.

    Args:
        source: a simulator, which is a Gymnasium environment, a function that makes one, `gym:ENV_ID` or
            `module:factory`; or a log, which is a CSV file, a data frame or a dictionary of columns.
        max_depth: maximum number of questions on any path.
        max_leaf_nodes: maximum number of leaves.
        steps: number of steps that may be taken in the simulator, by default 200,000; the fresh episodes are not among
            them.
        bins: maximum number of bins per feature that takes many values.
        confidence: of the interval of the mean return, or of the guarantee.
        discount: that of the learned model. Episodes in the simulator are judged by their undiscounted return.
        episodes: number of fresh episodes in the simulator, by default 200.
        time_limit: seconds after which the best tree so far is returned; a comparison with a teacher has as many again.
        seed: the same seed gives the same tree, unless time runs out.
        threads: number of processes that play in the simulator, by default one; the result is the same with any number.
        teacher: a policy to compare with, which has `predict` as in Stable-Baselines3: it plays episodes with the seeds
            of the fresh ones, and so does a tree that imitates it (`omdt.imitate`).
        progress: called with every `Round` of learning from a simulator, or with every improvement of the searches in a
            log.

    Raises:
        InputError: if the source, the teacher or the limits do not fit.
    """
    size = Size(max_depth, max_leaf_nodes)
    if size.max_depth is None and size.max_leaf_nodes is None:
        raise InputError("learning needs a size limit; give a depth, a number of leaves, or both")
    limits = Limits(time_limit, seed=seed, threads=1 if threads is None else threads)
    common = LogRequest(
        size=size,
        bins=whole("bins", bins, LEAST_BINS),
        discount=_between("discount", discount),
        confidence=_between("confidence", confidence),
        seed=limits.seed,
    )
    if is_log(source):
        _refuse(steps=steps, episodes=episodes, threads=threads, teacher=teacher)
        learned = learn_from_log(log_of(source), common, Watch(time_limit), progress)
        return _with_settings(learned, bins=bins, confidence=confidence)
    request = Request(
        **vars(common),
        steps=STEPS if steps is None else whole("steps", steps, 1),
        episodes=EPISODES if episodes is None else whole("episodes", episodes, 2),
        processes=limits.threads,
    )
    return _from_simulator(simulator(source), request, time_limit, teacher, progress)


def _refuse(**given: object) -> None:
    """Raise for the first parameter that only a simulator has, if it is given for a log."""
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name} is {value!r:.40}, but a log cannot be played; it is for simulators only")


def _from_simulator(
    played: Simulator,
    request: Request,
    time_limit: float | None,
    teacher: Teacher | None,
    progress: Callable[[Round], None] | None,
) -> Learned:
    """What is learned from a simulator, with the comparison if there is a teacher."""
    if teacher is not None:
        check_teacher(played, teacher)
    learned = _learned(played, request, Watch(time_limit), progress)
    asked = {name: getattr(request, name) for name in ("steps", "bins", "confidence", "episodes")}
    learned = _with_settings(learned, **asked)
    if teacher is None or learned.solution.stop is Stop.INTERRUPTED:
        return learned
    return _compared(learned, played, teacher, request, time_limit)


def _learned(played: Simulator, request: Request, watch: Watch, progress: Callable[[Round], None] | None) -> Learned:
    """What is learned from a simulator; Ctrl-C before there is any tree ends the program, as if nothing caught it."""
    try:
        return learn_from_simulator(played, request, watch, progress)
    except InputError:
        if watch.interrupted:
            raise KeyboardInterrupt from None
        raise


def _between(name: str, value: float) -> float:
    """A parameter that must be a number between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise InputError(f"{name} is {value!r}; it must be a number above 0 and below 1")
    return float(value)


def _with_settings(learned: Learned, **settings: float) -> Learned:
    """The same with what was asked of learning, so that it can be asked again."""
    experience = replace(learned.experience, settings=tuple(settings.items()))
    return replace(learned, solution=replace(learned.solution, experience=experience))


def _compared(
    learned: Learned, played: Simulator, teacher: Teacher, request: Request, time_limit: float | None
) -> Learned:
    """The same with what the teacher and a tree that imitates it return in episodes with the same seeds."""
    found = rivals(played, teacher, learned.experience, request.size, seed=request.seed, time_limit=time_limit)
    experience = replace(learned.experience, rivals=found)
    return replace(learned, solution=replace(learned.solution, experience=experience))
