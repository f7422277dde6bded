"""Every solver and both forms against brute force, known optima, and everything that may go wrong."""

import importlib.util
import os
import signal
import threading
from typing import Any

import numpy as np
import pytest
from cases import limits_of, mdps, random_mdp, sizes
from hypothesis import given, settings

from brute_force import best_return
from omdt import planning
from omdt.environments import make
from omdt.errors import FalseClaimError, InputError, MissingExtraError
from omdt.limits import Limits
from omdt.mdp import MDP
from omdt.methods.milp import gurobi, highs, scip
from omdt.methods.milp.backend import Record, SolverError, interruptible
from omdt.methods.milp.encoding import encode
from omdt.methods.milp.formulation import formulate
from omdt.methods.milp.method import solve_milp
from omdt.methods.options import BACKENDS, MilpOptions
from omdt.methods.registry import METHODS
from omdt.solution import Claim, Stop
from omdt.splits import Splits
from omdt.task import Size, Task
from omdt.tree import TreePolicy
from omdt.watch import Watch

MODULES = {"highs": "highspy", "scip": "pyscipopt", "gurobi": "gurobipy"}
EACH_BACKEND = [pytest.param(name, marks=pytest.mark.needs(MODULES[name])) for name in BACKENDS]
EACH_FORM = ["paper", "strong"]


def run(mdp: MDP, size: dict[str, int], **options: Any) -> Claim:
    limits = Limits(gap=options.pop("gap", 0.0), time_limit=options.pop("time_limit", 60.0))
    options.setdefault("start_seconds", 0.0)
    task = Task.over_thresholds(mdp, Size(**size))
    METHODS["milp"].check(task, limits)
    return solve_milp(task, limits, Watch(limits.time_limit), MilpOptions(**options))


def brute_force(mdp: MDP, size: dict[str, int]) -> float:
    P = mdp.transitions.toarray().reshape(mdp.n_states, mdp.n_actions, mdp.n_states)
    depth, leaves = limits_of(size)
    return best_return(P, mdp.rewards, mdp.initial, mdp.features, mdp.discount, max_depth=depth, max_leaves=leaves)


def assert_optimal(mdp: MDP, size: dict[str, int], claim: Claim) -> None:
    best, value = brute_force(mdp, size), planning.evaluate(mdp, claim.tree)
    scale = max(1.0, np.abs(mdp.rewards).max()) / (1 - mdp.discount)
    tree = claim.tree.pruned(mdp.features)
    depth, leaves = limits_of(size)
    assert claim.stop is Stop.COMPLETE
    assert tree.depth <= depth
    assert tree.n_leaves <= leaves
    assert value == pytest.approx(best, abs=1e-8 * scale)
    assert best - 1e-11 * scale <= claim.bound <= best + 1e-4 * scale


@pytest.mark.parametrize("backend", EACH_BACKEND)
@pytest.mark.parametrize("form", EACH_FORM)
@given(mdp=mdps, size=sizes)
@settings(max_examples=30, deadline=None, derandomize=True)
def test_agrees_with_brute_force(backend: str, form: str, mdp: MDP, size: dict[str, int]) -> None:
    assert_optimal(mdp, size, run(mdp, size, backend=backend, form=form))


SPECIAL = {
    "one state": random_mdp(0, states=1),
    "one action": random_mdp(1, actions=1),
    "one feature": random_mdp(2, features=1, levels=6),
    "constant features": random_mdp(3, levels=1),
    "duplicate observations": random_mdp(4, states=8, features=1, levels=2),
    "ties": random_mdp(5, rewards="zero or one"),
    "negative rewards": random_mdp(6, rewards="negative"),
    "huge rewards": random_mdp(7, states=8, levels=5, rewards="large", discount=0.999),
    "no rewards": MDP.from_dense(np.full((3, 2, 3), 1 / 3), np.zeros((3, 2)), np.ones(3) / 3, np.arange(3.0)),
    "absorbing": MDP.from_dense(
        [[[0, 1], [1, 0]], [[0, 1], [0, 1]]], [[1.0, 0.0], [0.0, 0.0]], [1.0, 0.0], [0.0, 1.0], discount=0.5
    ),
}


@pytest.mark.parametrize("backend", EACH_BACKEND)
@pytest.mark.parametrize("form", EACH_FORM)
@pytest.mark.parametrize("name", SPECIAL)
def test_special_cases(name: str, form: str, backend: str) -> None:
    for size in ({"max_depth": 2}, {"max_leaf_nodes": 3}):
        assert_optimal(SPECIAL[name], size, run(SPECIAL[name], size, backend=backend, form=form))


@pytest.mark.parametrize("backend", EACH_BACKEND)
def test_bounds_that_the_best_tree_meets_exactly_do_not_cut_it_off(backend: str) -> None:
    tight = [
        ({"max_depth": 1}, random_mdp(977619186, states=5, actions=3, levels=8, discount=0.999)),
        (
            {"max_leaf_nodes": 3},
            random_mdp(892776668, states=3, actions=3, levels=5, discount=0.5, rewards="zero or one"),
        ),
    ]
    for size, mdp in tight:
        assert_optimal(mdp, size, run(mdp, size, backend=backend))


KNOWN = [
    ("frozenlake_4x4", 1, 0.110398),
    ("frozenlake_4x4", 2, 0.365167),
    ("frozenlake_4x4", 3, 0.520125),
    ("frozenlake_8x8", 1, 0.306871),
]


@pytest.mark.parametrize("backend", EACH_BACKEND)
@pytest.mark.parametrize(("name", "depth", "value"), KNOWN)
def test_known_optima(backend: str, name: str, depth: int, value: float) -> None:
    mdp = make(name)
    claim = run(mdp, {"max_depth": depth}, backend=backend, gap=1e-4, start_seconds=0.3)
    assert planning.evaluate(mdp, claim.tree) == pytest.approx(value, abs=1e-6)
    assert value - 1e-6 <= claim.bound <= value * (1 + 1e-4)


@pytest.mark.needs("highspy")
def test_progress_is_reported_from_the_start_and_only_improves() -> None:
    mdp = make("frozenlake_4x4")
    watch = Watch(60.0)
    claim = solve_milp(Task.over_thresholds(mdp, Size(2)), Limits(), watch, MilpOptions(start_seconds=0.0))
    seconds, values, bounds = (np.array(column) for column in zip(*watch.trace, strict=True))
    optimal = planning.expected_return(mdp, planning.optimal_values(mdp)).upper
    assert np.all(np.diff(seconds) >= 0)
    assert bounds[0] == optimal
    assert len(values) > 2
    assert np.all(np.diff(values) >= 0)
    assert np.all(np.diff(bounds) <= 1e-6)
    assert values[-1] == pytest.approx(planning.evaluate(mdp, claim.tree))


@pytest.mark.parametrize("backend", EACH_BACKEND[:2])
def test_time_limit_keeps_a_tree(backend: str) -> None:
    mdp = make("frozenlake_12x12")
    claim = run(mdp, {"max_depth": 3}, backend=backend, time_limit=3.0, start_seconds=0.5)
    assert claim.stop is Stop.TIME
    assert planning.evaluate(mdp, claim.tree) <= claim.bound
    assert claim.bound <= planning.expected_return(mdp, planning.optimal_values(mdp)).upper


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("backend", EACH_BACKEND[:2])
@pytest.mark.parametrize("seconds", [0.3, 2.5], ids=["while starting", "while solving"])
def test_interruption_keeps_a_tree(backend: str, seconds: float) -> None:
    mdp = make("frozenlake_12x12")
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    watch = Watch(60.0, lambda _: None if timer.ident else timer.start())
    claim = solve_milp(Task.over_thresholds(mdp, Size(3)), Limits(), watch, MilpOptions(backend=backend))
    timer.join()
    assert claim.stop is Stop.INTERRUPTED
    assert planning.evaluate(mdp, claim.tree) <= claim.bound


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_absent_solver_names_its_extra(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    absent = lambda name: None if name == MODULES[backend] else found(name)  # noqa: E731
    monkeypatch.setattr("omdt.errors.find_spec", absent)
    with pytest.raises(MissingExtraError, match=rf"{MODULES[backend]}.*omdt\[{backend}\]"):
        run(random_mdp(2, states=8, actions=3, levels=5), {"max_depth": 1}, backend=backend, form="paper")


@pytest.mark.needs("gurobipy")
def test_gurobi_names_its_limit_and_the_alternatives() -> None:
    with pytest.raises(InputError, match=r"2,000.*highs or scip"):
        run(make("frozenlake_12x12"), {"max_depth": 3}, backend="gurobi")


@pytest.mark.parametrize(
    ("size", "options", "complaint"),
    [
        ({}, {}, "size limit"),
        ({"max_depth": 1}, {"backend": "cplex"}, "backend is 'cplex'; it must be highs, scip or gurobi"),
        ({"max_depth": 1}, {"form": "weak"}, "form is 'weak'; it must be strong or paper"),
    ],
)
def test_wrong_usage(size: dict[str, int], options: dict[str, str], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        run(random_mdp(0), size, **options)


@pytest.mark.parametrize("backend", EACH_BACKEND)
def test_an_unknown_status_is_no_proof(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = {"highs": highs, "scip": scip, "gurobi": gurobi}[backend]
    monkeypatch.setattr(module, "STOPS", {})
    mdp = make("frozenlake_4x4")
    claim = run(mdp, {"max_depth": 1}, backend=backend, form="paper")
    assert claim.stop is Stop.HEURISTIC


@pytest.mark.parametrize("backend", EACH_BACKEND)
def test_an_infeasible_program_is_an_error(backend: str) -> None:
    module = {"highs": highs, "scip": scip, "gurobi": gurobi}[backend]
    mdp = make("frozenlake_4x4")
    record, start = start_of(mdp)
    record.model.row_lower[record.model.row_names.index("act[0]")] = 2
    record.model.row_upper[record.model.row_names.index("act[0]")] = 2
    with pytest.raises(SolverError, match="has a solution"):
        module.run(record.model, start, Limits(), record)


def start_of(mdp: MDP) -> tuple[Record, np.ndarray]:
    splits = Splits.of(mdp)
    tree = TreePolicy.leaf(2, splits.feature_names, mdp.action_names)
    model = formulate(mdp, splits, max_depth=1)
    return Record(model, tree, 1.0, Watch(), 1e-9), encode(model, tree)


def test_a_solution_that_is_not_its_tree_is_refused() -> None:
    record, start = start_of(make("frozenlake_4x4"))
    record.found(start)
    start[record.model.first["x"] :] = 0
    with pytest.raises(FalseClaimError, match="its tree returns"):
        record.found(start)


def test_errors_leave_the_thread() -> None:
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 / 0, lambda: None)
