"""From a log to a tree: what is guaranteed holds in the world, which tree is taken, and what is said of short logs."""

import signal
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from made_logs import logged

import omdt
from omdt.learning import from_log, off_policy
from omdt.learning.from_log import LogRequest, Searching, learn_from_log
from omdt.learning.learned import Learned
from omdt.learning.logs import Log, log_of
from omdt.learning.steps import Steps
from omdt.mdp import MDP
from omdt.robust.solve import robust_solve
from omdt.solution import Experience, Stop
from omdt.task import Size
from omdt.watch import Watch


@pytest.fixture(autouse=True)
def _few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(off_policy, "SAMPLES", 40)


def machine() -> MDP:
    """Wear from 0 to 4; running earns less and breaks more the more it is worn, and repairing costs 4."""
    P = np.zeros((6, 2, 6))
    r = np.zeros((6, 2))
    for wear in range(5):
        P[wear, 0, min(wear + 1, 4)] += 0.5
        P[wear, 0, wear] += 0.5 - 0.08 * wear
        P[wear, 0, 5] += 0.08 * wear
        P[wear, 1, 0] = 1
        r[wear] = [4 - wear, -4]
    P[5, :, 5] = 1
    names = {"feature_names": ("wear",), "action_names": ("run", "repair")}
    return MDP.from_dense(P, r, np.eye(6)[0], np.arange(6.0)[:, None], discount=0.9, **names)


def learned(
    log: Log,
    *,
    max_depth: int = 1,
    watch: Watch | None = None,
    progress: Callable[[Searching], None] | None = None,
    **asked: float,
) -> tuple[Learned, list[str]]:
    """What is learned, and what is said meanwhile."""
    request = LogRequest(size=Size(max_depth, None), discount=0.9, **asked)  # type: ignore[arg-type]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", omdt.InputWarning)
        found = learn_from_log(log, request, watch or Watch(), progress)
    return found, [str(one.message) for one in told]


def test_a_long_log_gives_the_best_tree_with_a_guarantee_below_its_true_return() -> None:
    mdp = machine()
    log = logged(mdp, np.full((6, 2), 0.5), 2000, 40, 0)
    found, told = learned(log)
    best = omdt.solve(mdp, max_depth=1)
    assert found.tree == best.tree
    guarantee = found.guarantee
    assert guarantee is not None
    assert guarantee.confidence == 0.95
    assert 0.8 * best.value < guarantee.value <= best.value
    assert guarantee.value <= guarantee.bound <= guarantee.value * 1.001
    assert found.solution.value == pytest.approx(best.value, rel=0.05)
    assert found.solution.value == pytest.approx(omdt.evaluate(found.model, found.tree))
    assert found.solution.stop is Stop.COMPLETE
    experience = found.experience
    assert (experience.origin, experience.source) == ("log", "a log")
    assert (experience.steps, experience.episodes) == (len(log.steps), 2000)
    assert experience.coverage is not None
    assert experience.coverage.share == pytest.approx(1)
    assert [one.estimator for one in experience.judged] == ["weighted importance sampling", "estimated model"]
    assert experience.judged[1].interval.mean == pytest.approx(found.solution.value)
    # Forty steps at random like the tree are rarer than one in all these episodes.
    assert len(told) == 1
    assert "weighted importance sampling rests on" in told[0]


def test_guarantees_hold_in_the_world_over_many_logs() -> None:
    mdp = machine()
    held = []
    for seed in range(12):
        log = logged(mdp, np.full((6, 2), 0.5), 60 + 10 * seed, 30, seed)
        found, _ = learned(log, confidence=0.8)
        assert found.guarantee is not None
        held.append(found.guarantee.value <= omdt.evaluate(mdp, found.tree) + 1e-9)
    assert sum(held) >= 9


def test_a_short_log_gives_the_best_tree_on_the_model_and_says_that_it_guarantees_little() -> None:
    log = logged(machine(), np.full((6, 2), 0.5), 3, 10, 0)
    found, told = learned(log)
    assert found.solution.proven
    assert any("too few steps for a guarantee that says much" in one for one in told)
    assert found.guarantee is not None
    assert found.guarantee.value < found.solution.value


def test_the_guaranteed_tree_avoids_what_was_hardly_tried() -> None:
    # In one state, `rare` earned more, but was tried four times in 4,000 steps; `often` is known well.
    n = 4000
    often = np.arange(n) % 1000 > 0
    log = log_of(
        {
            "x": np.zeros(n),
            "action": np.where(often, "often", "rare").tolist(),
            "reward": np.where(often, 1.0, 1.5),
            "next_x": np.zeros(n),
            "done": np.zeros(n, dtype=int),
        }
    )
    found, _ = learned(log)
    assert found.tree.action_names[found.tree.action[0]] == "often"
    assert found.guarantee is not None
    assert 9 < found.guarantee.value <= 10
    assert found.solution.value == pytest.approx(10)
    assert found.solution.bound == pytest.approx(15)
    assert found.solution.stop is Stop.HEURISTIC


def test_features_of_many_values_are_divided_into_cells_and_thresholds_are_in_their_units() -> None:
    rng = np.random.default_rng(0)
    n = 3000
    x = rng.uniform(0, 100, n)
    action = rng.integers(0, 2, n)
    steps = Steps(
        x[:, None],
        action,
        np.where((x > 60) == (action == 1), 1.0, 0.0),
        rng.uniform(0, 100, (n, 1)),
        np.ones(n, dtype=bool),
        np.arange(n),
        ("x",),
        ("left", "right"),
    )
    found, told = learned(log_of(steps), bins=10)
    assert found.tree.depth == 1
    assert found.tree.threshold[0] == pytest.approx(60, abs=6)
    assert found.tree.actions([[10.0], [90.0]]).tolist() == [0, 1]
    assert found.experience.judged[0].interval.mean == pytest.approx(0.97, abs=0.05)
    assert any("divided into 10 cells" in one for one in told)


def test_the_same_seed_gives_the_same_and_a_time_limit_and_an_interrupt_keep_a_tree() -> None:
    log = logged(machine(), np.full((6, 2), 0.5), 200, 40, 0)
    one, _ = learned(log, seed=3)
    other, _ = learned(log, seed=3)
    assert one.tree == other.tree
    assert one.experience == other.experience
    limited, _ = learned(log, watch=Watch(5.0))
    assert limited.tree == one.tree
    watch = Watch()
    watch.interrupt()
    interrupted, told = learned(log, watch=watch)
    assert interrupted.solution.stop is Stop.INTERRUPTED
    assert interrupted.guarantee is not None
    assert interrupted.guarantee.stop is Stop.INTERRUPTED
    assert not any("too few steps" in one for one in told)


def test_progress_tells_of_both_searches_with_values_below_their_bounds() -> None:
    told: list[Searching] = []
    found, _ = learned(logged(machine(), np.full((6, 2), 0.5), 200, 40, 0), progress=told.append)
    kinds = [point.guaranteed for point in told]
    assert kinds == sorted(kinds)
    assert set(kinds) == {False, True}
    assert all(point.value <= point.bound for point in told)
    assert found.guarantee is not None
    assert (told[-1].value, told[-1].bound) == pytest.approx((found.guarantee.value, found.guarantee.bound))


def test_a_search_that_ends_at_its_limit_says_so_and_a_time_limit_takes_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = logged(omdt.make("frozenlake_4x4"), np.full((16, 4), 0.25), 8000, 40, 0)
    whole, _ = learned(log, max_depth=1)
    monkeypatch.setattr(from_log, "NODES", 1)
    short, _ = learned(log, max_depth=1)
    assert short.guarantee is not None
    assert whole.guarantee is not None
    assert short.guarantee.stop is Stop.NODES
    assert short.guarantee.value <= whole.guarantee.value <= short.guarantee.bound
    assert "the search ended early, at its limit on partial trees" in str(short)
    assert Experience.from_dict(short.experience.to_dict()) == short.experience
    timed, _ = learned(log, max_depth=1, watch=Watch(60.0))
    assert timed.guarantee == whole.guarantee
    assert whole.guarantee.stop is Stop.COMPLETE


def test_ctrl_c_in_the_robust_search_ends_the_run(ctrl_c: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object) -> object:
        signal.raise_signal(signal.SIGINT)
        return robust_solve(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(from_log, "robust_solve", interrupted)
    found, _ = learned(logged(machine(), np.full((6, 2), 0.5), 200, 40, 0))
    assert found.solution.stop is Stop.INTERRUPTED
    assert found.guarantee is not None
    assert found.guarantee.value <= found.guarantee.bound


def test_truth_values_are_asked_as_such_and_wrong_requests_are_refused() -> None:
    rng = np.random.default_rng(1)
    n = 600
    late, action = rng.random(n) < 0.5, rng.random(n) < 0.5
    columns = {
        "late": late.tolist(),
        "action": np.where(action, "run", "walk").tolist(),
        "reward": (late == action).astype(float),
        "done": [1] * n,
    }
    found, _ = learned(log_of(columns))
    assert "not late" in found.tree.to_text()
    for asked, said in (({"confidence": 1.0}, "confidence is 1.0"), ({"bins": 1}, "bins is 1")):
        with pytest.raises(omdt.InputError, match=said):
            learned(log_of(columns), **asked)
    with pytest.raises(omdt.InputError, match="discount is 1"):
        learn_from_log(log_of(columns), LogRequest(size=Size(1, None), discount=1), Watch())
