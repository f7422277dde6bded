"""The search against brute force over all trees, on every kind of question, limit and MDP; and its conduct."""

import signal
import sys
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import omdt
from omdt import cli, planning
from omdt.errors import InputError
from omdt.mdp import MDP
from omdt.methods.search import evaluation, exact, frontier, symmetry, tables
from omdt.methods.search.boxes import Regions, decisive
from omdt.methods.search.local import LocalSearch, local_search, to_policy
from omdt.methods.search.losses import AcyclicLosses, DenseLosses, Losses, SweptLosses
from omdt.methods.search.options import DenseOptions, SweptOptions
from omdt.solution import Limits, Solution, Stop
from omdt.splits import Splits
from omdt.watch import INTERRUPT_SECONDS, OutOfTimeError, Watch
from tasks import LABELS, Task, best_return, game, random_mdp, random_questions, rare_paths, symmetric_mdp

PROVEN_RETURNS = [  # as published, found by two other solvers
    ("frozenlake_4x4", 3, 0.520125),
    ("frozenlake_8x8", 2, 0.387023),
    ("frozenlake_8x8", 3, 0.392685),
    ("frozenlake_12x12", 1, 0.020660),
    ("3d_navigation", 1, 0.0),
    ("3d_navigation", 2, 0.020666),
    ("system_administrator_tree", 1, 325.574267),
    ("traffic_intersection", 1, -72.066847),
    ("traffic_intersection", 2, -0.217401),
    ("xor", 2, 100.0),
]


def random_splits(mdp: MDP, rng: np.random.Generator) -> Splits:
    categorical, predicates = random_questions(mdp, rng)
    return Splits.of(mdp, categorical=categorical, predicates=predicates, labels=LABELS[: predicates.shape[1]])


@pytest.mark.parametrize("block", range(40))
def test_search_agrees_with_brute_force(block: int) -> None:
    for seed in range(50 * block, 50 * block + 50):
        rng = np.random.default_rng(seed)
        task = replace(Task.random(rng), settings=rare_paths(rng))
        solution = task.solve(seed=seed)
        best, optimal = task.best, solution.optimal_return
        rounding = 1e-8 * max(abs(best), abs(optimal))
        # A return that is nothing but rounding beside the rewards has no relative gap.
        scale = np.abs(task.mdp.rewards).max() / (1 - task.mdp.discount)
        assert solution.proven or max(abs(best), abs(optimal)) < 1e-6 * scale, seed
        assert solution.stop is Stop.COMPLETE, seed
        assert solution.bound >= best - rounding, seed
        assert best - task.gap * abs(solution.value) - rounding <= solution.value <= best + rounding, seed


def test_any_executor_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever explores and however often a worker is lost, tree, value and bound are those of one process."""
    monkeypatch.setattr(frontier, "NODES_A_CASE", 4)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes, ThreadPoolExecutor(4) as threads:
        for seed in range(60):
            rng = np.random.default_rng(20_000 + seed)
            task = Task.random(rng)
            alone = same_in_any_run(task.solve(seed=seed))
            assert same_in_any_run(task.solve(seed=seed, executor=processes)) == alone
            assert same_in_any_run(task.solve(seed=seed, executor=threads)) == alone
            assert same_in_any_run(task.solve(seed=seed, executor=Unreliable(rng))) == alone


def same_in_any_run(solution: Solution) -> dict[str, Any]:
    return {key: value for key, value in solution.to_dict().items() if key not in ("seconds", "trace")}


class Unreliable(Executor):
    """Loses every third case, and breaks for good in the end."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.left = rng, 30

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.left -= 1
        if self.left < 0:
            raise BrokenExecutor("all workers are gone")
        future: Future[Any] = Future()
        if self.rng.random() < 0.3:
            future.set_exception(BrokenExecutor("the worker is gone"))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


@pytest.mark.parametrize(("name", "depth"), [("frozenlake_8x8", 4), ("frozenlake_12x12", 2)])
def test_threads_find_the_same(name: str, depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontier, "SOLO_SECONDS", 0.0)
    mdp = omdt.make(name)
    alone, together = (omdt.solve(mdp, max_depth=depth, threads=threads) for threads in (1, 2))
    assert alone.proven
    assert same_in_any_run(together) == same_in_any_run(alone)


@pytest.mark.parametrize("nodes", [1, 128])
def test_rounds_that_are_cut_off_come_to_the_same_end(nodes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontier, "NODES_A_CASE", nodes)
    mdp = omdt.make("frozenlake_8x8")
    whole = omdt.solve(mdp, max_depth=2)
    monkeypatch.setattr(frontier, "SLICE", 0.01)
    monkeypatch.setattr(frontier, "PATIENCE", 0.0)
    cut = omdt.solve(mdp, max_depth=2)
    assert whole.proven
    assert cut.proven
    assert (cut.tree, cut.value, cut.bound) == (whole.tree, whole.value, whole.bound)


def test_a_node_that_runs_out_of_time_is_late_even_if_it_is_the_last() -> None:
    search = _frontier("frozenlake_4x4")
    incumbent = search._incumbent(search.main, search.local.target)
    exploration = exact.Exploration(
        search.explorer, search.explorer._basis(incumbent, search.watch), incumbent, Watch(1000)
    )

    def run_out(bound: float, partial: exact.Partial) -> None:
        raise OutOfTimeError

    exploration._bound = run_out  # type: ignore[method-assign]
    findings = exploration.run(search.root, 1)
    assert findings.late
    assert findings.open == [search.root]


def test_budget_grows_with_the_target_of_a_wide_gap() -> None:
    """A gap of more than a negative value lowers the target when the value rises."""
    search = _frontier("frozenlake_4x4", gap=2.0)
    for value in (-10.0, -9.0, -8.95):
        search.local.value = value
        incumbent = search._incumbent(search.main, search.local.target)
        assert incumbent.budget >= search.explorer.losses.optimum - search.local.target


def test_raised_targets_leave_the_tables_of_the_proof_where_they_are() -> None:
    search = _frontier("frozenlake_4x4")
    incumbent = search._incumbent(search.main, search.local.target)
    search.explorer.explore(search.root, incumbent, 1, search.watch)
    proof = search.explorer.bases[False]
    for part in (0.9, 0.5):
        raised = replace(incumbent, budget=part * incumbent.budget, raised=True)
        search.explorer.explore(search.root, raised, 1, search.watch)
    search.explorer.explore(search.root, incumbent, 1, search.watch)
    assert search.explorer.bases[False] is proof
    assert len(search.explorer.bases) == 2


def _frontier(name: str, gap: float = 1e-4) -> frontier.Frontier:
    mdp = omdt.make(name)
    return _frontier_of(mdp, Splits.of(mdp), Limits(max_depth=2, gap=gap))


def _frontier_of(mdp: MDP, splits: Splits, limits: Limits) -> frontier.Frontier:
    watch = Watch()
    local = LocalSearch(mdp, splits, limits, watch)
    local.start()
    return frontier.Frontier(mdp, limits, watch, local)


def test_symmetries_are_found_and_leave_returns_as_they_are() -> None:
    rng = np.random.default_rng(4)
    for _ in range(40):
        mdp = symmetric_mdp(rng)
        sides = Splits.of(mdp).sides()
        found = symmetry.find(mdp, sides, decisive(mdp))
        assert len(found) == {2: 1, 3: 5}[mdp.n_actions]
        assert found.error < 1e-12
        policy = rng.integers(mdp.n_actions, size=mdp.n_states)
        value = planning.expected_return(mdp, planning.policy_values(mdp, policy)).value
        for states, actions, questions in zip(found.states, found.actions, found.questions, strict=True):
            turned = np.empty_like(policy)
            turned[states] = actions[policy]
            assert planning.expected_return(mdp, planning.policy_values(mdp, turned)).value == pytest.approx(value)
            for k, other in enumerate(questions):
                one, two = sides[: mdp.n_states - 1, k], sides[states[: mdp.n_states - 1], other]
                assert np.array_equal(one, two) or np.array_equal(one, ~two)


@pytest.mark.parametrize(
    ("name", "count", "different"),
    [
        ("system_administrator_tree", 7, 3),
        ("tictactoe_vs_random", 7, 10),
        ("tiger_vs_antelope", 7, 5),
        ("frozenlake_8x8", 0, 14),
        ("xor", 0, 398),
    ],
)
def test_symmetries_of_the_environments(name: str, count: int, different: int) -> None:
    mdp = omdt.make(name)
    sides = Splits.of(mdp).sides()
    found = symmetry.find(mdp, sides, decisive(mdp))
    assert len(found) == count
    assert len({min([k, *found.questions[:, k]]) for k in range(sides.shape[1])}) == different


def test_almost_symmetric_is_not_symmetric() -> None:
    mdp = symmetric_mdp(np.random.default_rng(0))
    rewards = mdp.rewards.copy()
    rewards[1, 0] += 1e-6
    sides = Splits.of(mdp).sides()
    assert len(symmetry.find(mdp, sides, decisive(mdp))) > 0
    assert len(symmetry.find(replace(mdp, rewards=rewards), sides, decisive(mdp))) == 0


@pytest.mark.parametrize("kind", [DenseLosses, SweptLosses, AcyclicLosses])
def test_losses_hold_for_every_policy_within_the_budget(kind: type[Losses]) -> None:
    """ℓ(F) is at most what any policy loses inside F that plays the same actions there and stays within the budget."""
    checked = 0
    for seed in range(60):
        rng = np.random.default_rng(30_000 + seed)
        mdp = random_mdp(rng)
        order = evaluation.topological_order(mdp) if kind is AcyclicLosses else rng.permutation(mdp.n_states)
        if mdp.n_actions**mdp.n_states > 300 or order is None:
            continue
        optimal = planning.optimal_values(mdp)
        everything = np.ones(mdp.rewards.shape, dtype=np.bool_)
        losses = kind(mdp, optimal.value, everything, *([] if kind is DenseLosses else [order[::-1]]))
        policies = np.array(list(product(range(mdp.n_actions), repeat=mdp.n_states)))
        visits = np.array([planning.occupancies(mdp, policy).value for policy in policies])
        lost = visits * np.array([losses.delta[np.arange(mdp.n_states), policy] for policy in policies])
        total = lost.sum(axis=1)
        budget = float(rng.choice([np.median(total), total.max(), total.max() / 4])) + 1e-9 * np.abs(total).max()
        within = losses.within(budget, Watch())
        for trial in range(10):
            policy = policies[rng.integers(len(policies))]
            inside = rng.random(mdp.n_states) < rng.random()
            bound = (within if trial % 2 else losses).inside(np.where(inside, policy, -1), budget, np.inf)
            alike = np.all((policies == policy) | ~inside, axis=1) & (total <= budget)
            least = lost[alike][:, inside].sum(axis=1).min(initial=np.inf)
            assert bound <= least + 1e-9 * np.abs(total).max(), seed
            checked += np.isfinite(least)
    assert checked > 50


def test_tables_do_not_depend_on_what_was_asked_before() -> None:
    mdp = omdt.make("frozenlake_4x4")
    regions = Regions(Splits.of(mdp).sides())
    losses = DenseLosses(mdp, planning.optimal_values(mdp).value, np.ones(mdp.rewards.shape, dtype=np.bool_))
    questions = [
        (side, depth, leaves, enough)
        for k in range(6)
        for side in regions.split(regions.everything, k)
        for depth, leaves, enough in ((0, 1, 0.1), (1, 2, 0.02), (2, 4, 0.2), (2, 3, 0.05), (3, 5, 0.2))
    ]
    rng = np.random.default_rng(0)
    answers = []
    for order in (np.arange(len(questions)), rng.permutation(len(questions)), rng.permutation(len(questions))):
        table = tables.Tables(losses, regions, 0.2, max_entries=int(rng.integers(5, 1000)), watch=Watch())
        found = {int(i): table.loss(*questions[i]) for i in order}
        answers.append([found[i] for i in range(len(questions))])
    assert answers[0] == answers[1] == answers[2]
    assert 0 < np.count_nonzero(answers[0]) < len(questions)


def test_tables_claim_no_more_than_the_cheapest_leaf_loses() -> None:
    """However little is asked for."""
    checked = 0
    for seed in range(60):
        rng = np.random.default_rng(60_000 + seed)
        mdp = random_mdp(rng)
        losses = DenseLosses(mdp, planning.optimal_values(mdp).value, np.ones(mdp.rewards.shape, dtype=np.bool_))
        regions = Regions(Splits.of(mdp).sides())
        budget = float(np.max(losses.expected)) * float(rng.choice([0.5, 1.0, 5.0])) + 1e-300
        for k in regions.questions(regions.everything):
            for region in regions.split(regions.everything, int(k)):
                table = tables.Tables(losses, regions, budget, max_entries=100, watch=Watch())
                forced = np.full((mdp.n_actions, mdp.n_states), -1)
                forced[:, region.states] = np.arange(mdp.n_actions)[:, None]
                least = min(losses.inside(row, budget, np.inf) for row in forced)
                for part in (1e-4, 1e-3, 1e-2, 1.0):
                    assert table.loss(region, 0, 1, part * budget) <= least, seed
                    checked += least < budget
    assert checked > 100


@pytest.mark.parametrize("block", range(4))
def test_option_bound_holds_for_every_completion(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root bounds without any branching are above the best tree, on cyclic and acyclic MDPs alike, by any solver."""
    monkeypatch.setattr(evaluation, "SWEPT_STATES", 0 if block % 2 else 600)
    for seed in range(50 * block, 50 * block + 50):
        rng = np.random.default_rng(10_000 + seed)
        mdp = random_mdp(rng)
        splits = random_splits(mdp, rng)
        depth = int(rng.integers(0, 3))
        limits, watch = Limits(max_depth=depth), Watch()
        local = LocalSearch(mdp, splits, limits, watch)
        local.start()
        local.climb(3)
        search = frontier.Frontier(mdp, limits, watch, local)
        local.value = best_return(mdp, splits.sides(), depth, 2**depth) - 1e3
        for _ in range(int(rng.integers(1, 4))):
            search.round(lambda: None)
        best = best_return(mdp, splits.sides(), depth, 2**depth)
        assert search.bound >= best - 1e-12 * abs(best), seed


def test_sweeps_and_policy_iteration_find_the_same_option_bound() -> None:
    checked = 0
    for seed in range(60):
        rng = np.random.default_rng(70_000 + seed)
        mdp = random_mdp(rng)
        regions = Regions(Splits.of(mdp).sides())
        boxes = regions.boxes_of(regions.everything, int(rng.integers(0, 3)), Watch())
        leaf = np.full(mdp.n_states, -1)
        start = planning.optimal_values(mdp).upper
        dense = DenseOptions(mdp, regions, 2**30).bound(leaf, boxes, start, -np.inf, Watch())[0]
        order = rng.permutation(mdp.n_states)
        swept = SweptOptions(mdp, regions, order, acyclic=False).bound(
            leaf, boxes, start, dense - 1e-6 * abs(dense), Watch()
        )[0]
        scale = float(np.abs(mdp.rewards).max()) / (1 - mdp.discount)
        if mdp.discount < 0.98:
            assert swept == pytest.approx(dense, abs=1e-2 * scale), seed
            checked += 1
    assert checked > 20


def test_a_problem_with_many_states_and_few_successors_is_swept() -> None:
    mdp = omdt.make("tiger_vs_antelope")
    assert evaluation.sweep_order(mdp, planning.optimal_values(mdp)) is not None
    mdp = omdt.make("system_administrator_1")
    assert evaluation.sweep_order(mdp, planning.optimal_values(mdp)) is None
    solution = omdt.solve(omdt.make("tiger_vs_antelope"), max_depth=1)
    assert solution.proven
    assert solution.value == pytest.approx(0.538037, abs=1e-5)


def test_sweeps_solve_what_they_say_is_settled() -> None:
    """Also where extrapolation misleads, as in cycles."""
    settled = 0
    for seed in range(200):
        rng = np.random.default_rng(80_000 + seed)
        mdp = random_mdp(rng)
        S, A = mdp.rewards.shape
        rows = np.arange(S) * A + rng.integers(A, size=S)
        P = mdp.discount * mdp.transitions
        right = rng.random((S, 2))
        values = np.zeros((S, 2))
        tolerance = 1e-10 * (1 - mdp.discount)
        if evaluation.sweep(P.indptr, P.indices, P.data, rng.permutation(S), rows, right, values, tolerance, 3000):
            exact_values = np.linalg.solve(np.eye(S) - P[rows].toarray(), right)
            assert values == pytest.approx(exact_values, rel=1e-10, abs=1e-9), seed
            settled += 1
        assert np.all(np.isfinite(values))
    assert settled > 150


@pytest.mark.parametrize(("name", "depth", "value"), PROVEN_RETURNS)
def test_known_optima(name: str, depth: int, value: float) -> None:
    solution = omdt.solve(omdt.make(name), max_depth=depth)
    assert solution.proven
    assert solution.value == pytest.approx(value, abs=1e-5 * max(1, abs(value)))
    assert solution.tree.depth <= depth


def test_a_huge_reward_that_nobody_earns_does_not_hide_differences() -> None:
    """Neither an unreachable state nor a forbidden action makes the search blind or lets it claim a false proof."""
    swap = np.zeros((3, 2, 3))
    swap[0, :, 1] = swap[1, :, 0] = swap[2, :, 2] = 1
    unreachable = MDP.from_dense(swap, [[1, 0], [0, 1], [1e14, 1e14]], [1, 0, 0], [[0], [1], [2]])
    assert omdt.solve(unreachable, max_depth=1).value == pytest.approx(100)

    cycle = np.zeros((2, 3, 2))
    cycle[0, :, 1] = cycle[1, :, 0] = 1
    forbidden = MDP.from_dense(cycle, [[0.01, 0.011, -1e10], [0.011, 0.01, -1e10]], [1, 0], [[0], [1]])
    assert omdt.solve(forbidden, max_depth=1).value == pytest.approx(1.1)


@pytest.mark.parametrize("block", range(5))
def test_no_false_proof_on_rewards_of_mixed_size(block: int) -> None:
    for seed in range(40 * block, 40 * block + 40):
        rng = np.random.default_rng(50_000 + seed)
        mdp = random_mdp(rng)
        rewards = mdp.rewards * 10.0 ** rng.integers(-9, 10, size=mdp.rewards.shape)
        mdp = replace(mdp, rewards=rewards)
        splits = random_splits(mdp, rng)
        depth = int(rng.integers(0, 3))
        gap = float(rng.choice([1e-9, 1e-4]))
        solution = omdt.solve(mdp, max_depth=depth, splits=splits, gap=gap, time_limit=20)
        best = best_return(mdp, splits.sides(), depth, 2**depth)
        rounding = 1e-10 * max(abs(best), abs(solution.optimal_return))
        assert solution.bound >= best - rounding, seed
        if solution.proven:
            assert solution.value >= best - gap * abs(best) - rounding, seed


def test_boxes_contain_their_state_and_lie_in_every_leaf() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        sides = rng.random((int(rng.integers(1, 9)), int(rng.integers(1, 6)))) < 0.5
        regions = Regions(sides)
        region = regions.region(np.arange(len(sides)))
        k = int(rng.integers(0, 4))
        boxes = [set(regions.boxes[b].tolist()) for b in regions.boxes_of(region, k, Watch())]
        for s in range(len(sides)):
            for questions in product(range(sides.shape[1]), repeat=k):
                leaf = {t for t in range(len(sides)) if all(sides[t, q] == sides[s, q] for q in questions)}
                assert any(s in box and box <= leaf for box in boxes)


def test_engines_agree() -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        mdp = random_mdp(rng)
        base, other = (rng.integers(mdp.n_actions, size=mdp.n_states) for _ in range(2))
        engines = [evaluation.Dense(mdp), evaluation.Sparse(mdp)]
        order = evaluation.topological_order(mdp)
        if order is not None:
            engines.append(evaluation.Acyclic(mdp, order))
        for engine in engines:
            engine.rebase(base)
        expected = planning.expected_return(mdp, planning.policy_values(mdp, other)).value
        scale = np.abs(mdp.rewards).max() / (1 - mdp.discount)
        for engine in engines:
            assert engine.evaluate(other) == pytest.approx(expected, abs=1e-9 * scale)
            assert engine.value == pytest.approx(engines[0].value, abs=1e-9 * scale)
            assert engine.occupancies == pytest.approx(engines[0].occupancies, rel=1e-7, abs=1e-7)


def test_topological_order_is_found_exactly_when_there_is_one() -> None:
    assert evaluation.topological_order(omdt.make("frozenlake_4x4")) is None
    mdp = omdt.make("tictactoe_vs_random")
    order = evaluation.topological_order(mdp)
    assert order is not None
    position = np.argsort(order)
    rows, columns = mdp.transitions.tocoo().coords
    rows = rows // mdp.n_actions
    assert np.all((position[rows] < position[columns]) | (rows == columns))


def test_raised_targets_bound_every_tree_and_leave_the_proof_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers to raised targets are bounds, also while the proof has told nothing yet."""
    lowered = 0
    for seed in range(60):
        rng = np.random.default_rng(60_000 + seed)
        task = Task.random(rng)
        alone = same_in_any_run(task.solve(seed=seed))
        with monkeypatch.context() as patch:
            patch.setattr(frontier, "PATIENCE", 0.0)
            patch.setattr(frontier, "NODES_A_CASE", 1)
            patch.setattr(frontier, "SHARE", 0.0)
            search = _frontier_of(task.mdp, task.splits, Limits(*task.size))
            search.round(lambda: None)
            lowered += search.proven < search.unrestricted
            assert search.bound >= task.best - 1e-12 * abs(task.best), seed
        with monkeypatch.context() as patch:
            patch.setattr(frontier, "PATIENCE", 0.0)
            assert same_in_any_run(task.solve(seed=seed)) == alone
    assert lowered > 10


def test_pinned_states_close_no_tree_that_reaches_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the trees that return more than a raised target the best one is met; if there are none, the target holds."""
    pins = 0
    for seed in range(600):
        rng = np.random.default_rng(80_000 + seed)
        task = Task.random(rng, game)
        monkeypatch.setattr(exact, "SURVIVORS", float(rng.choice([0.5, 1.0])))
        search = _frontier_of(task.mdp, task.splits, Limits(*task.size))
        optimum, rounding = search.explorer.losses.optimum, 1e-9 * max(1.0, abs(task.best))
        for target in (task.best - 1e-6, task.best + 1e-6, task.best + (optimum - task.best) * rng.random()):
            if target >= optimum:
                continue
            # The budget shrinks in between, as when a better tree is found.
            targets = [target - (optimum - target) * rng.random()] * int(rng.integers(4))
            cases, closed, value = [search.root], -np.inf, -np.inf
            while cases:
                now = targets.pop() if targets else target
                incumbent = exact.Incumbent(-np.inf, now, exact.budget_of(optimum, now), raised=True, may_pin=True)
                found = search.explorer.explore(cases.pop(), incumbent, 8, search.watch)
                closed, value = max(closed, found.closed), max(value, found.value)
                cases += found.open
                pins = max([pins, *(len(partial.pins) for _, partial in found.open)])
            assert closed >= task.best - rounding, seed
            assert value <= task.best + rounding, seed
            assert (value >= task.best - rounding) if target < task.best else (closed <= target + rounding), seed
    assert pins > 2


def test_a_limit_is_needed() -> None:
    with pytest.raises(InputError, match="size limit"):
        omdt.solve(omdt.make("frozenlake_4x4"))


def test_time_limit_keeps_tree_and_bound() -> None:
    solution = omdt.solve(omdt.make("frozenlake_12x12"), max_depth=4, time_limit=2)
    assert solution.stop is Stop.TIME
    assert 0 <= solution.value <= solution.bound
    assert solution.tree.depth <= 4


@pytest.mark.usefixtures("ctrl_c")
def test_interrupt_keeps_tree_and_the_bound_that_has_fallen() -> None:
    mdp = omdt.make("frozenlake_12x12")
    optimal = planning.expected_return(mdp, planning.optimal_values(mdp)).value
    interrupted = []

    def interrupt(point: tuple[float, float, float]) -> None:
        if point[2] < 0.99 * optimal and not interrupted:
            interrupted.append(point)
            signal.raise_signal(signal.SIGINT)

    solution = omdt.solve(mdp, max_depth=3, progress=interrupt)
    assert len(interrupted) == 1
    assert solution.stop is Stop.INTERRUPTED
    assert 0 < solution.value < solution.bound < 0.99 * optimal
    assert not solution.proven


def impatient() -> Watch:
    watch = Watch()
    with watch.catching_interrupts():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    return watch


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupt_that_is_repeated_at_once_counts_once() -> None:
    watch = impatient()
    assert watch.interrupted
    assert watch.remaining == 0
    assert 0 < watch.closing().remaining <= INTERRUPT_SECONDS


@pytest.mark.usefixtures("ctrl_c")
def test_second_interrupt_ends_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omdt.watch.INTERRUPT_SECONDS", 0.0)
    with pytest.raises(KeyboardInterrupt):
        impatient()


def test_bound_falls_and_value_rises() -> None:
    solution = omdt.solve(omdt.make("frozenlake_8x8"), max_depth=3)
    _, values, bounds = zip(*solution.trace, strict=True)
    assert np.all(np.diff(values) > -1e-12)
    assert np.all(np.diff(bounds) < 1e-12)
    assert solution.trace[0][0] < solution.trace[-1][0]


def test_same_seed_same_tree() -> None:
    mdp = omdt.make("frozenlake_8x8")
    first, second = (omdt.solve(mdp, max_depth=3, seed=5) for _ in range(2))
    assert first.tree.to_dict() == second.tree.to_dict()
    assert first.bound == second.bound


def test_large_mdp_gets_a_tree_and_the_optimum_as_bound() -> None:
    mdp = omdt.make("frozenlake", size=60, seed=0, hole_probability=0.05, discount=0.999)
    solution = omdt.solve(mdp, max_depth=2, time_limit=8)
    assert not exact.can_search(mdp)
    assert solution.value > solution.random_return
    assert solution.bound >= solution.optimal_return


def test_local_search_respects_limits_and_reports_its_tree() -> None:
    mdp = omdt.make("frozenlake_8x8")
    splits = Splits.of(mdp)
    for limits in (Limits(max_depth=2), Limits(max_leaf_nodes=3), Limits(max_depth=3, max_leaf_nodes=5)):
        tree = local_search(mdp, splits, limits, Watch(0.5))
        assert limits.max_depth is None or tree.depth <= limits.max_depth
        assert limits.max_leaf_nodes is None or tree.n_leaves <= limits.max_leaf_nodes
        assert omdt.evaluate(mdp, tree) > 0.2


def test_value_of_local_search_is_that_of_its_tree() -> None:
    mdp = omdt.make("tictactoe_vs_random")
    splits = Splits.of(mdp)
    local = LocalSearch(mdp, splits, Limits(max_depth=2), Watch())
    local.start()
    local.climb(5)
    assert omdt.evaluate(mdp, to_policy(local.best, splits, mdp)) == pytest.approx(local.value, rel=1e-9)


@pytest.mark.usefixtures("ctrl_c")
def test_interrupt_prints_the_best_tree_and_exits_with_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pending = [signal.SIGINT]

    def interrupt(*_: float) -> str:
        while pending:
            signal.raise_signal(pending.pop())
        return ""

    monkeypatch.setattr(cli, "_progress_line", interrupt)
    monkeypatch.setattr(sys, "argv", ["omdt", "solve", "frozenlake_12x12", "--depth", "4"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 130
    output = capsys.readouterr().out
    assert "not proven" in output
    assert "no policy returns more; nothing lower is known for a tree of depth ≤ 4" in output
