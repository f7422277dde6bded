"""The MDP that each objective makes of the user's: which states end it, what is earned, and what is added."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omdt import MDP, InputError, Objective
from omdt.objective import recorded
from omdt.planning import policy_values
from omdt.task import Size, Task
from strategies import environment, mdps

GAMMA = 0.9


def corridor() -> MDP:
    """Five places in a row; left and right; the right one goes wrong in 1 of 4 cases; 4 is the goal, 0 a pit."""
    transitions = []
    for s in range(5):
        for action, step in (("left", -1), ("right", 1)):
            if s in (0, 4):
                transitions.append((s, action, s, 1.0, 0.0))
            elif action == "left":
                transitions.append((s, action, s + step, 1.0, 1.0))
            else:
                transitions += [(s, action, s + 1, 0.75, 2.0), (s, action, s - 1, 0.25, 2.0)]
    places = np.arange(5)
    return MDP.from_transitions(
        transitions,
        {2: 0.5, 3: 0.25, 4: 0.25},
        lambda s: [s, s % 2],
        feature_names=["x", "odd place"],
        truths=["odd place"],
        labels={"goal": places == 4, "pit": places == 0, "low": places < 3},
        reward_models={"time": np.ones((5, 2)), "energy": np.tile([1.0, 2.0], (5, 1))},
        discount=GAMMA,
        name="corridor",
    )


def test_reaching_a_target() -> None:
    mdp = corridor()
    problem = Objective.reach("goal").problem(mdp)
    assert (problem.discount, problem.endless) == (1.0, None)
    assert problem.terminal.tolist() == [True, False, False, False, True]
    assert problem.rewards.tolist() == [[0, 0], [0, 0], [0, 0], [0, 0.75], [0, 0]]
    assert Objective.reach("goal").offset(mdp) == 0.25
    least = Objective.reach("goal", maximise=False)
    assert np.array_equal(least.problem(mdp).rewards, 0.0 - problem.rewards)
    assert not np.signbit(least.problem(mdp).rewards[0]).any()
    assert least.offset(mdp) == -0.25


def test_reaching_a_target_without_leaving_other_states() -> None:
    mdp = corridor()
    problem = Objective.reach("x=1", staying="x>2").problem(mdp)
    assert problem.terminal.tolist() == [True, True, True, False, True]
    assert problem.rewards.tolist() == [[0, 0]] * 5
    problem = Objective.reach("pit", staying='"low"').problem(mdp)
    assert problem.terminal.tolist() == [True, False, False, True, True]
    assert problem.rewards[1].tolist() == [1.0, 0.25]


def test_staying_is_never_reaching_the_other_states() -> None:
    mdp = corridor()
    stay, leave = Objective.stay('!"pit"'), Objective.reach("pit", maximise=False)
    assert np.array_equal(stay.problem(mdp).rewards, leave.problem(mdp).rewards)
    task, other = (Task.over_thresholds(mdp, Size(1), objective) for objective in (stay, leave))
    assert not stay.minimised
    assert (task.offset, other.offset) == (1.0, 0.0)
    assert task.shown(-0.25) == 1 - other.shown(-0.25) == 0.75
    least = Task.over_thresholds(mdp, Size(1), Objective.stay("low", maximise=False))
    assert least.problem.rewards[2].tolist() == [0.0, 0.75]
    # Half of the mass starts outside of the low states.
    assert (least.offset, least.shown(0.125)) == (-0.5, 0.375)
    assert 0.375 - 1e-14 < least.shown_bound(0.125) < 0.375


def test_totals_until_a_target_are_infinite_where_it_is_missed() -> None:
    mdp = corridor()
    for maximise, sign in ((True, 1.0), (False, -1.0)):
        problem = Objective.total("time", until='"goal"', maximise=maximise).problem(mdp)
        assert (problem.discount, problem.endless) == (1.0, sign * np.inf)
        # The pit earns nothing and is never left, but it is not the goal.
        assert problem.terminal.tolist() == [False, False, False, False, True]
        assert (problem.rewards[1:4] == sign).all()
        assert (problem.rewards[4] == 0).all()
    both = Objective.total("energy", until='"goal" | "pit"').problem(mdp)
    assert both.terminal.tolist() == [True, False, False, False, True]


def test_totals_over_all_time() -> None:
    mdp = corridor()
    assert Objective.total().problem(mdp).discount == 1.0
    assert Objective.total(maximise=False).problem(mdp).rewards.min() == -2.0
    assert Objective.total("time").problem(mdp).rewards.tolist() == [[1.0, 1.0]] * 5
    undiscounted = replace(mdp, discount=1.0)
    assert Objective.total().problem(undiscounted) is undiscounted
    # A total is what is asked for where the MDP has no discount.
    task = Task.over_thresholds(undiscounted, Size(1))
    assert (task.asked, task.objective.words) == ("Rmax=? [C]", "expected total reward")
    endless = replace(undiscounted, endless=-np.inf)
    assert Objective.total().problem(endless) is endless
    assert Objective.total(maximise=False).problem(endless).endless == np.inf


def test_discounted_totals() -> None:
    mdp = corridor()
    time = Objective.discounted("time", maximise=False)
    assert time.problem(mdp).rewards.tolist() == [[-1.0, -1.0]] * 5
    assert time.problem(mdp).discount == GAMMA
    assert Objective.discounted(discount=0.5).problem(mdp).discount == 0.5
    task = Task.over_thresholds(mdp, Size(1), time)
    assert task.asked == 'R{"time"}min=? [Cdiscount=0.9]'
    assert recorded(task.asked) == task.objective


@given(mdps(max_states=6, max_actions=3), st.data())
def test_a_probability_is_what_a_simulated_chain_gives(mdp: MDP, data: st.DataObject) -> None:
    S, A = mdp.rewards.shape
    target = np.array(data.draw(st.lists(st.booleans(), min_size=S, max_size=S)))
    policy = np.array(data.draw(st.lists(st.integers(0, A - 1), min_size=S, max_size=S)))
    objective = Objective.reach(target)
    problem = objective.problem(mdp)
    rows = mdp.transitions.toarray().reshape(S, A, S)[np.arange(S), policy]
    within = np.where(target, 1.0, 0.0)
    for _ in range(50):
        within = np.where(target, 1.0, rows @ within)
    # The same steps on the translated MDP, whose rewards add up to the probability.
    total, chain = np.zeros(S), problem.transitions.toarray().reshape(S, A, S)[np.arange(S), policy]
    for _ in range(50):
        total = problem.rewards[np.arange(S), policy] + chain @ total
    assert mdp.initial @ total + objective.offset(mdp) == pytest.approx(mdp.initial @ within, abs=1e-12)
    assert (problem.rewards <= 1).all()
    assert np.array_equal(problem.available, mdp.available)


def test_shown_bounds_are_rounded_to_the_safe_side() -> None:
    mdp = replace(corridor(), initial=np.array([0, 0, 0.9, 0, 0.1]))
    most = Task.over_thresholds(mdp, Size(1), Objective.reach("goal"))
    least = Task.over_thresholds(mdp, Size(1), Objective.reach("goal", maximise=False))
    for bound in np.linspace(0.001, 0.9, 57):
        assert most.shown_bound(bound) >= most.shown(bound)
        assert least.shown_bound(-bound) <= least.shown(-bound)
    for bound in np.linspace(0.001, 0.9, 57):
        assert Fraction(most.shown_bound(bound)) >= min(Fraction(bound) + Fraction(0.1), 1)
    assert most.shown_bound(np.inf) == 1.0
    assert least.shown_bound(np.inf) == 0.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('Pmax=? [F "gaol"]', 'corridor has no label "gaol"; it has "goal", "pit", "low", "init"'),
        ("Pmax=? [F y=3]", "corridor has no feature 'y'; it has x, odd_place"),
        ("Pmax=? [F goal=3]", 'the label is written "goal", in quotes'),
        ("Pmax=? [F x]", "is no truth value; compare it with a number, as in x="),
        ('R{"speed"}max=? [C]', "corridor has no reward 'speed'; it has the rewards 'time', 'energy'"),
    ],
)
def test_what_the_mdp_lacks_is_said(text: str, message: str) -> None:
    with pytest.raises(InputError) as found:
        Objective.parse(text).problem(corridor())
    assert message in str(found.value)


def test_conditions_name_states() -> None:
    mdp = corridor()
    for text, places in {
        "x>=3": [3, 4],
        "odd_place": [1, 3],
        "odd_place=false & x!=0": [2, 4],
        '"init" & !goal': [2, 3],
        'x<1 | x>3 => "goal"': [1, 2, 3, 4],
        "x<odd_place": [],
        "1=odd_place": [1, 3],
        "true": [0, 1, 2, 3, 4],
    }.items():
        target = Objective.reach(text).target
        assert target is not None
        assert np.flatnonzero(target.states(mdp)).tolist() == places, text


def test_arrays_of_states() -> None:
    mdp = corridor()
    by_array = Objective.reach(mdp.features[:, 0] == 4)
    assert np.array_equal(by_array.problem(mdp).rewards, Objective.reach("goal").problem(mdp).rewards)
    assert by_array.property == 'Pmax=? [F "target"]'
    with pytest.raises(InputError, match="must be an array of 5 truth values"):
        Objective.reach([True]).problem(mdp)
    labelled = replace(mdp, labels={"target": mdp.labels["pit"]})
    with pytest.raises(InputError, match='has a label "target" for other states'):
        by_array.problem(labelled)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "reach"}, "a probability is asked about a target"),
        ({"discount": 1.0}, "discount is 1.0; it must be above 0 and below 1"),
        ({"kind": "total", "discount": 0.5}, "probabilities and totals have no discount"),
        ({"kind": "discounted", "target": Objective.reach("x").target}, "a discounted total goes over all time"),
        ({"kind": "total", "staying": Objective.reach("x").target}, "for probabilities to reach it only"),
    ],
)
def test_what_is_no_objective(fields: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Objective(**fields)  # type: ignore[arg-type]


def test_several_rewards_need_a_choice() -> None:
    mdp = replace(corridor(), rewards=np.zeros((5, 2)))
    with pytest.raises(InputError, match=r"has the rewards 'time', 'energy'.*R\{\"time\"\}min=\? \[C\]"):
        Objective().problem(mdp)
    assert Objective.total("time").problem(mdp).rewards.any()


def test_a_recorded_objective_of_ones_own_is_refused() -> None:
    with pytest.raises(InputError, match="the solution is about the cost in cents"):
        recorded("cost in cents")
    assert recorded(None) == Objective()


def test_the_values_of_a_discounted_objective() -> None:
    mdp = environment("frozenlake_4x4")
    policy = np.zeros(mdp.n_states, dtype=np.int64)
    cost = Objective.discounted(maximise=False).problem(mdp)
    assert np.array_equal(policy_values(cost, policy).value, 0.0 - policy_values(mdp, policy).value)
