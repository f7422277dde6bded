"""Raised targets: their answers are bounds on all trees, and nothing of them shows in the proof."""

from concurrent.futures import Future
from dataclasses import replace

import numpy as np
import pytest

from omdt.limits import Limits
from omdt.methods.search.bounds.news import News
from omdt.methods.search.explorers import Explorers
from omdt.methods.search.frontier import Frontier
from omdt.methods.search.helpers import Answer
from omdt.methods.search.model import Model
from omdt.methods.search.nodes import Findings
from omdt.methods.search.raised import RaisedTargets
from omdt.methods.search.subject import Subject, Work
from omdt.methods.search.symmetry import Symmetries
from omdt.watch import Watch
from search_parts import model_of, root_of, rounds_of, same_in_any_run, started
from strategies import environment
from tasks import RandomTask

EAGER = {"patience": 0.0, "nodes_per_case": 1, "proof_share": 0.0, "leading_proof_share": 0.0}
"""Settings that begin with raised targets and give them all the time."""


def test_raised_targets_bound_every_tree_and_leave_the_proof_alone() -> None:
    """Answers to raised targets are bounds, also while the proof has told nothing yet."""
    lowered = 0
    for seed in range(60):
        rng = np.random.default_rng(60_000 + seed)
        task = RandomTask.random(rng)
        alone = same_in_any_run(task.solve(seed=seed))
        eager = replace(task, settings=EAGER)
        rounds = rounds_of(Model.of(eager.asked, eager.search_settings, Watch()))
        rounds.round(lambda: None)
        lowered += rounds.raised.proven < rounds._incumbent.unrestricted
        assert rounds.bound >= task.best - 1e-12 * abs(task.best), seed
        assert same_in_any_run(replace(task, settings={"patience": 0.0}).solve(seed=seed)) == alone
    assert lowered > 10


def raised_of(model: Model, *, may_raise: bool = True, slack: float = 0.0) -> tuple[RaisedTargets, Frontier]:
    """Raised targets and the frontier of a proof that has not begun."""
    local = started(model)
    subject = Subject.of(model, Symmetries.none(model), 1 << 26)
    explorers = Explorers(subject, 1, None, local.watch)
    root = root_of(explorers.knowledge)
    limits = {"slack": slack, "max_vectors": 100, "may_raise": may_raise, "may_pin": False}
    return RaisedTargets(root, local.incumbent, explorers, local.watch, **limits), Frontier(root)


def let_the_proof_take_time(raised: RaisedTargets) -> None:
    """Turn the clock on, as if the proof had had its share of the time."""
    raised._watch.start -= 10.0


def test_levels_are_answered_one_by_one_until_none_is_left() -> None:
    levels = (0.9, 0.5, 0.1)
    model = model_of(environment("frozenlake_4x4"), 2, raised_levels=levels, **EAGER)
    raised, main = raised_of(model)
    assert raised.active
    assert raised.proven == raised.bound(main) == main.top
    while raised.active:
        let_the_proof_take_time(raised)
        raised.work(main)
    # The last target is below the best tree, whose return is then the lowest bound that there is.
    assert raised.proven == pytest.approx(0.365167, abs=1e-6)
    assert raised._incumbent.bound == raised.bound(main) == raised.proven
    assert len({point[2] for point in raised._watch.trace}) > 2


def test_the_turns_of_others_give_raised_targets_no_time() -> None:
    model = model_of(environment("frozenlake_4x4"), 2, raised_levels=(0.5,), **EAGER | {"patience": 5.0})
    raised, main = raised_of(model)
    let_the_proof_take_time(raised)
    raised._watch.away += 10.0
    raised.work(main)
    assert raised.proven == main.top
    raised._watch.away = 0.0
    raised.work(main)
    assert raised.proven < main.top


@pytest.mark.parametrize("tells", [False, True])
def test_a_proof_that_tells_something_is_left_alone_for_longer(tells: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = EAGER | {"patience": 8.0, "telling_patience": 2.0}
    raised, main = raised_of(model_of(environment("frozenlake_4x4"), 2, raised_levels=(0.5,), **settings))
    monkeypatch.setattr(raised, "_tells", lambda _: tells)
    let_the_proof_take_time(raised)
    raised.work(main)
    assert (raised.proven == main.top) == tells
    let_the_proof_take_time(raised)
    raised.work(main)
    assert raised.proven < main.top


def test_answers_count_what_symmetries_may_cost() -> None:
    model = model_of(environment("frozenlake_4x4"), 2, raised_levels=(0.5,), **EAGER)
    exact, main = raised_of(model)
    slack, other = raised_of(model, slack=1e-3)
    while exact.active:
        let_the_proof_take_time(exact)
        exact.work(main)
    while slack.active:
        let_the_proof_take_time(slack)
        slack.work(other)
    assert slack.proven == pytest.approx(exact.proven + 1e-3)


@pytest.mark.parametrize("why", ["not allowed", "patience", "out of memory", "done", "no time"])
def test_there_is_no_turn(why: str) -> None:
    settings = EAGER | ({"patience": 1e9} if why == "patience" else {})
    raised, main = raised_of(model_of(environment("frozenlake_4x4"), 2, **settings), may_raise=why != "not allowed")
    if why == "out of memory":
        raised._explorers.out_of_memory = True
    if why == "done":
        main.take(-np.inf, 1)
        main.put(Findings([], -np.inf, None, -np.inf), 10)
    if why == "no time":
        raised._watch.interrupt()
    raised.work(main)
    assert raised.proven == raised._incumbent.unrestricted
    assert raised._frontier is None


def test_levels_that_the_proof_has_passed_are_skipped() -> None:
    """A target above the bound of the proof would tell nothing."""
    raised, main = raised_of(model_of(environment("frozenlake_4x4"), 2, raised_levels=(0.9, 0.5), **EAGER))
    main.take(-np.inf, 1)
    value, optimum = raised._incumbent.value, raised._incumbent.unrestricted
    half = root_of(raised._explorers.knowledge)._replace(bound=value + 0.4 * (optimum - value))
    main = Frontier(half)
    raised.work(main)
    assert not raised.active
    assert raised.proven == optimum
    assert raised.bound(main) == half.bound


def test_a_level_that_is_cut_off_gets_twice_the_time() -> None:
    model = model_of(environment("frozenlake_8x8"), 3, raised_levels=(0.3,), slice_seconds=1e-4, **EAGER)
    raised, main = raised_of(model)
    raised._watch.time_limit = raised._watch.elapsed + 3.0
    raised.work(main)
    assert raised._slice > 1e-4


def test_a_limit_on_nodes_leaves_no_room_for_raised_targets() -> None:
    """They are counted in seconds, and would not be the same in every run."""
    model = model_of(environment("frozenlake_4x4"), 2, **EAGER)
    assert not rounds_of(model, limits=Limits(node_limit=5)).raised.active
    assert rounds_of(model).raised.active


def test_other_processes_work_on_raised_targets_when_they_are_idle() -> None:
    """Also while the proof has not had its share of the time."""
    model = model_of(environment("frozenlake_4x4"), 2, raised_levels=(0.5,), patience=0.0)
    raised, main = raised_of(model)
    raised._spent = 1e9
    raised.work(main)
    assert raised._jobs == []
    raised._explorers._ready = [Never()]
    raised.work(main)
    assert [job.findings for job in raised._jobs] == [None]
    assert raised._jobs[0].spare
    assert raised._jobs[0] in raised._explorers._queue
    while raised.active:
        assert not raised._explorers.explore_spare()
        raised._explorers._ready = []
        while raised._explorers.explore_spare():
            pass
        raised._explorers._ready = [Never()]
        raised.work(main)
    assert raised.proven < raised._incumbent.unrestricted


@pytest.mark.parametrize("proof", ["tells nothing", "tells something", "leads"])
@pytest.mark.parametrize("spent", [30.0, 100.0])
def test_a_proof_that_tells_nothing_gets_less_of_the_time(proof: str, spent: float) -> None:
    """It has three times the time of raised targets, or nine times, after a minute or where its bound is lower."""
    raised, main = raised_of(model_of(environment("frozenlake_4x4"), 2, patience=0.0))
    optimum = raised._incumbent.unrestricted
    raised.proven = 0.9 * optimum
    if proof != "tells nothing":
        part = 0.99 if proof == "tells something" else 0.8
        main = Frontier(root_of(raised._explorers.knowledge)._replace(bound=part * optimum))
    raised._spent = spent
    shares = []
    for share in (3.5, 9.5):
        raised._begun = raised._watch.worked - (share + 1) * spent
        shares.append(raised._has_time(main))
    leads = proof == "leads" or (proof == "tells something" and spent > 60)
    assert shares == [not leads, True]


@pytest.mark.parametrize("spent", [0.0, 1e9])
def test_other_processes_take_raised_targets_first_when_these_have_time(spent: float) -> None:
    """This process does not wait for them: the first cases take seconds."""
    model = model_of(environment("frozenlake_4x4"), 2, raised_levels=(0.5,), patience=0.0)
    raised, main = raised_of(model)
    raised._spent = spent
    raised._explorers._ready = [Never()]
    raised.work(main)
    assert raised._explorers._spare_first == (spent == 0.0)
    assert raised._jobs[0].findings is None


class Never:
    """A process that never has anything to do."""

    def tell(self, news: list[News]) -> None:
        raise AssertionError(news)

    def explore(self, works: list[Work]) -> Future[Answer]:
        raise AssertionError(works)
