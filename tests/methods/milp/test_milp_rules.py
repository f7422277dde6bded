"""The program under rules: its solutions are exactly the trees that keep them, and every solver finds the best one."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import fuzz_rules
import omdt
from fuzz_rules import WAYS, checked
from omdt.errors import InputError
from omdt.judging import net_return
from omdt.mdp import MDP
from omdt.methods.milp.backend import NO_SOLUTION, SolverError
from omdt.methods.milp.encoding import decode, start_vector
from omdt.methods.milp.formulation import Model, formulate_task
from omdt.rules import Outline, Rules
from omdt.solution import Stop
from omdt.task import Size, Task
from rules.brute import Ask, Problem, Tree, plain
from rules.judged import grown, task_for
from rules.random_rules import KINDS, random_problem

FORMS = ("strong", "paper")


def misses(model: Model, vector: np.ndarray) -> str | None:
    """A row or a column bound that a vector misses."""
    activity = model.A @ vector
    worst = np.maximum(model.row_lower - activity, activity - model.row_upper)
    if worst.max() > 1e-9:
        return model.row_names[worst.argmax()]
    outside = np.maximum(model.lower - vector, vector - model.upper)
    return model.column_names[outside.argmax()] if outside.max() > 1e-9 else None


def divides_throughout(tree: Tree, X: np.ndarray) -> bool:
    """Whether every question of a tree divides the observations that come to it."""
    if not isinstance(tree, Ask):
        return True
    left = X[:, tree.column] == tree.number if tree.equality else X[:, tree.column] <= tree.number
    sides = ((tree.left, left), (tree.right, ~left))
    return bool(left.any() and not left.all()) and all(divides_throughout(below, X[rows]) for below, rows in sides)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [*KINDS, "pairs"])
def test_solutions_are_the_trees_that_keep_the_rules(kind: str, form: str) -> None:
    seen = {"kept": 0, "broken": 0}
    for number in range(8):
        rng = np.random.default_rng([number, 5, len(kind)])
        problem = random_problem(rng, None if kind == "pairs" else (kind,))
        task = task_for(problem)
        trees = list(problem.trees())
        if task is None or not trees:
            continue
        model = formulate_task(task, form=form)
        for i in rng.integers(len(trees), size=12):
            tree, verdict = trees[i], problem.judged(trees[i])
            vector = start_vector(model, grown(tree, problem))
            if verdict.broken:
                assert vector is None or misses(model, vector) is not None, (problem.rules, tree, verdict)
                seen["broken"] += 1
            elif vector is not None:
                assert misses(model, vector) is None, (misses(model, vector), problem.rules, tree)
                scale = 1e-9 * max(1.0, problem.scale)
                assert model.claimed_return(vector) == pytest.approx(verdict.value, abs=scale)
                again = problem.judged(plain(decode(model, vector)))
                assert not again.broken
                assert again.value == pytest.approx(verdict.value, abs=scale)
                seen["kept"] += 1
            else:
                # Only questions that tell no states apart that can be reached have no place in the program.
                reached = problem.mdp.features[np.array(problem.reached)]
                assert not divides_throughout(tree, reached), (problem.rules, tree)
    assert seen["kept"] > 0


@pytest.mark.needs("highspy")
@pytest.mark.parametrize("way", [name for name in WAYS if name != "search"])
@pytest.mark.parametrize("seed", range(3))
def test_the_program_finds_the_best_tree_under_random_rules(way: str, seed: int) -> None:
    tally = fuzz_rules.fuzz(10, 100 + seed, [way])
    assert tally.faults == []
    assert tally.answers[way] == 10 - tally.doubtful


def tempting(excess: float) -> Problem:
    """In one state, the better action exceeds the limit on energy by an excess."""
    P, costs = np.ones((1, 2, 1)), np.array([[1.0 + excess, 1.0]])
    mdp = MDP.from_dense(P, [[1.0, 0.0]], [1.0], [[0.0]], discount=0.5, reward_models={"energy": costs})
    return Problem(mdp, Rules(at_most="energy <= 2"), max_depth=0)


@pytest.mark.needs("highspy")
@pytest.mark.parametrize(
    ("excess", "value"), [(1e-8, 0.0), (3e-9, 0.0), (1e-10, 2.0), (0.0, 2.0)], ids=["more", "a little", "less", "none"]
)
def test_limits_are_decided_more_precisely_than_solvers_see(excess: float, value: float) -> None:
    problem = tempting(excess)
    assert problem.best.value == pytest.approx(value)
    solution = fuzz_rules.solved(problem, method="milp")
    assert solution.value == pytest.approx(value)
    assert solution.stop is Stop.COMPLETE


@pytest.mark.needs("highspy")
def test_trees_that_break_a_limit_by_next_to_nothing_are_excluded_one_by_one() -> None:
    rng = np.random.default_rng(0)
    S = 3
    P = np.tile(rng.dirichlet(np.ones(S), size=S)[:, None, :], (1, 2, 1))
    energy = np.array([[1.0 + 2e-8, 1.0]] * S)
    mdp = MDP.from_dense(
        P, np.array([[1.0, 0.0]] * S), np.ones(S) / S, np.arange(S), discount=0.5, reward_models={"energy": energy}
    )
    problem = Problem(mdp, Rules(at_most="energy <= 2"), max_depth=2)
    assert problem.best.obeying < problem.best.trees
    assert checked(WAYS["milp on highs"], problem) is None


@pytest.mark.needs("highspy")
@pytest.mark.parametrize("way", [name for name in WAYS if name != "search"])
def test_rules_that_no_tree_keeps_are_recognised(way: str) -> None:
    problem = replace(tempting(0.0), rules=Rules(at_most="energy <= 1.9"))
    assert problem.best.value is None
    assert checked(WAYS[way], problem) is None


@pytest.mark.needs("highspy")
def test_a_kept_tree_deeper_than_the_limit_has_no_completion() -> None:
    mdp = tempting(0.0).mdp
    asks = {"feature": mdp.feature_names[0], "threshold": 0.5}
    leaf = {"action": mdp.action_names[0]}
    keep = {**asks, "left": {**asks, "left": {"open": True}, "right": leaf}, "right": leaf}
    with pytest.raises(InputError, match=r"no tree of depth ≤ 1 keeps the given tree but for tree\.left\.left"):
        omdt.solve(mdp, method="milp", max_depth=1, rules=Rules(keep=keep))
    solution = omdt.solve(mdp, method="milp", max_depth=2, rules=Rules(keep=keep))
    assert (solution.tree.depth, solution.tree.n_leaves) == (2, 3)
    assert solution.value == pytest.approx(2.0)


@pytest.mark.needs("highspy")
def test_a_start_that_keeps_the_rules_is_the_first_value() -> None:
    mdp = omdt.make("frozenlake_4x4")
    values: list[float] = []
    rules = Rules(forbid=[f"{mdp.action_names[0]}: X > 1"], prices_once=0.01)
    solution = omdt.solve(
        mdp, method="milp", max_depth=2, rules=rules, time_limit=30, progress=lambda it: values.append(it[1])
    )
    task = Task.over_thresholds(mdp, Size(2), stated=rules)
    assert values == sorted(values)
    assert values[-1] == pytest.approx(net_return(task, solution.tree).value)
    assert solution.proven


@pytest.mark.needs("highspy")
def test_without_further_exclusions_nothing_is_called_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omdt.methods.milp.method.MOST_EXCLUSIONS", 1)
    solution = fuzz_rules.solved(tempting(1e-8), method="milp")
    assert solution.stop is Stop.HEURISTIC
    assert solution.value == pytest.approx(0.0)
    assert solution.bound >= 2.0


@pytest.mark.needs("highspy")
def test_a_solver_that_loses_a_known_tree_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omdt.methods.milp.highs.run", lambda *_: NO_SOLUTION)
    with pytest.raises(SolverError, match="no solution of a program for which a tree is known"):
        fuzz_rules.solved(tempting(1e-8), method="milp")


@dataclass(frozen=True)
class Symmetrical:
    """A rule of the user's own about the shape of trees."""

    words = "has as many leaves on the left as on the right"

    def broken_by(self, outline: Outline) -> str | None:
        return None


@pytest.mark.needs("highspy")
def test_a_rule_without_rows_is_refused() -> None:
    task = Task.over_thresholds(tempting(0.0).mdp, Size(1), rules=[Symmetrical()])
    with pytest.raises(InputError, match="milp has no rows for the rule that a tree has as many leaves on the left"):
        formulate_task(task)
