"""Objectives of the user's own: what is minimised or computed from other rewards is shown in the user's terms."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings

import omdt
from omdt import MDP, InputError, solve
from omdt.objective import DISCOUNTED_RETURN, Asked, Objective
from omdt.task import Size, Task
from strategies import environment, mdps

FIGURES = ("value", "bound", "optimal_return", "random_return")
SAME = ("gap", "proven", "excess", "normalized_return", "scale", "rounding", "value_error", "stop", "bound_is_optimum")


@dataclass(frozen=True)
class Cost:
    """The expected discounted cost, where the rewards of an MDP are costs."""

    words: str = "expected discounted cost"
    minimised: bool = True

    def problem(self, mdp: MDP) -> MDP:
        return replace(mdp, rewards=0.0 - mdp.rewards)

    def offset(self, mdp: MDP) -> float:
        return 0.0


def test_the_discounted_return_is_the_mdp_itself() -> None:
    mdp = environment("xor")
    assert DISCOUNTED_RETURN == Objective() == omdt.Objective.discounted()
    assert isinstance(DISCOUNTED_RETURN, Asked)
    assert isinstance(Cost(), Asked)
    assert DISCOUNTED_RETURN.problem(mdp) is mdp
    assert Task.over_thresholds(mdp, Size(1)).problem is mdp
    assert Task.over_thresholds(mdp, Size(1)).asked is None
    assert not DISCOUNTED_RETURN.minimised


@given(mdps(max_states=6, max_actions=3))
@settings(max_examples=40)
def test_the_least_cost_is_the_largest_return_of_the_negated_rewards(mdp: MDP) -> None:
    cost = solve(mdp, max_depth=2, objective=Cost(), node_limit=100)
    best = solve(replace(mdp, rewards=0.0 - mdp.rewards), max_depth=2, node_limit=100)
    assert cost.tree == best.tree
    assert cost.value == omdt.evaluate(mdp, cost.tree) or cost.value == pytest.approx(omdt.evaluate(mdp, cost.tree))
    for name in FIGURES:
        assert getattr(cost, name) == 0.0 - getattr(best, name), name
    for name in SAME:
        assert getattr(cost, name) == getattr(best, name), name
    assert [(t, -v, -b) for t, v, b in cost.trace] == list(best.trace)
    assert cost.bound <= cost.value
    assert (cost.objective, cost.sense) == ("expected discounted cost", "min")


@pytest.mark.needs("sklearn")
@pytest.mark.parametrize("method", ["search", "milp", "viper", "iddt", "copy"])
def test_every_method_minimises(method: str) -> None:
    mdp = environment("frozenlake_4x4")
    costs = replace(mdp, rewards=0.0 - mdp.rewards)
    limits = {} if method == "copy" else {"max_depth": 1}
    points: list[tuple[float, float, float]] = []
    cost = solve(costs, method=method, objective=Cost(), time_limit=30, progress=points.append, **limits)
    best = solve(mdp, method=method, time_limit=30, **limits)
    assert cost.value == -best.value
    assert cost.tree == best.tree
    assert all(bound <= value + 1e-9 for _, value, bound in points)
    assert points[-1][1:] == (cost.value, cost.bound)


def test_a_solution_with_an_objective_is_written_and_read(tmp_path) -> None:
    mdp = environment("frozenlake_4x4")
    cost, best = solve(mdp, max_depth=1, objective=Cost()), solve(mdp, max_depth=1)
    cost.save(tmp_path / "cost.json")
    again = omdt.load(tmp_path / "cost.json")
    assert (again.objective, again.sense, again.gap) == (cost.objective, "min", cost.gap)
    assert (again.value, again.bound, again.proven) == (cost.value, cost.bound, cost.proven)
    assert (best.to_dict()["objective"], best.to_dict()["sense"]) == ("Rmax=? [Cdiscount=0.99]", "max")
    assert omdt.Solution.from_dict(best.to_dict()).objective is None
    older = {key: value for key, value in best.to_dict().items() if key not in ("objective", "sense")}
    assert omdt.Solution.from_dict(older).to_dict() == omdt.Solution.from_dict(best.to_dict()).to_dict()
    with pytest.raises(InputError, match="'sense' is 'up'; it must be max or min"):
        omdt.Solution.from_dict(cost.to_dict() | {"sense": "up"})
    with pytest.raises(InputError, match="'objective' is 3"):
        omdt.Solution.from_dict(cost.to_dict() | {"objective": 3})


def test_printing_speaks_of_the_objective(run, tmp_path, monkeypatch) -> None:
    from omdt.printing import show
    from omdt.terminal import console

    mdp = environment("frozenlake_4x4")
    printed = console()
    with printed.capture() as captured:
        show(solve(mdp, max_depth=1, objective=Cost("cost [b]\x1b in cents")), printed)
        show(solve(mdp, max_depth=3, objective=Cost(), node_limit=1), printed)
    out = captured.get()
    assert "exact cost [b]\\x1b in cents of this tree" in out
    assert "no tree of depth ≤ 1 has less" in out
    assert "\x1b" not in out


def test_check_and_report_refuse_what_they_cannot_recompute(run, tmp_path) -> None:
    path = tmp_path / "cost.json"
    solve(omdt.make("frozenlake_4x4"), max_depth=1, objective=Cost()).save(path)
    for command in ("check", "report"):
        status, out, err = run(command, path)
        assert (status, out) == (2, "")
        assert "is about the expected discounted cost" in err


def test_there_is_no_certificate_for_an_objective_of_ones_own(tmp_path) -> None:
    with pytest.raises(InputError, match=r"a certificate states its objective in PRISM.s syntax"):
        solve(environment("xor"), max_depth=1, objective=Cost(), certificate=tmp_path / "proof")


class OtherStates(Cost):
    def problem(self, mdp: MDP) -> MDP:
        return replace(mdp, features=mdp.features + 1)


def test_what_is_no_objective_is_refused() -> None:
    mdp = environment("xor")
    with pytest.raises(InputError, match="'cost', column 1: this asks neither for a probability nor for a reward"):
        solve(mdp, max_depth=1, objective="cost")
    for wrong in (b"cost", 3, None):
        with pytest.raises(InputError, match="needs words, minimised, problem and offset"):
            solve(mdp, max_depth=1, objective=wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="changes states, features or actions"):
        solve(mdp, max_depth=1, objective=OtherStates())


def test_rules_and_objectives_go_together() -> None:
    mdp = environment("frozenlake_4x4")
    array = np.ones(mdp.rewards.shape, dtype=np.bool_)
    array[:, 0] = False

    @dataclass(frozen=True, eq=False)
    class NotFirst:
        words: str = "never takes the first action"

        def allowed(self, mdp):
            return array

        def violation(self, mdp, policy):
            return "takes the first action" if (policy == 0).any() else None

    solution = solve(mdp, max_depth=1, objective=Cost(), rules=[NotFirst()])
    assert 0 not in solution.tree.actions(mdp.features)
    task = Task.of(mdp, solution, Cost(), [NotFirst()])
    assert task.problem.rewards.min() == -mdp.rewards.max()
    with pytest.raises(InputError, match="the solution is about the expected discounted cost"):
        Task.of(mdp, solution)
    with pytest.raises(InputError, match="a tree that never takes the first action"):
        Task.of(mdp, solution, Cost())
