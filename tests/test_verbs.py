"""The verbs convert environments, name what was meant, and use the same number of cores as the command line."""

import inspect
from pathlib import Path

import pytest

import omdt
from omdt import InputError, InputWarning, solving
from omdt.meant import MEANT
from omdt.methods.options import CopyOptions, SearchOptions
from omdt.methods.registry import method_named, owners
from omdt.terminal import cores
from strategies import environment, refusal

VERBS = {"solve": omdt.solve, "front": omdt.front, "alternatives": omdt.alternatives, "compare": omdt.compare}


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("depth", "max_depth"),
        ("leaves", "max_leaf_nodes"),
        ("max_leafs", "max_leaf_nodes"),
        ("time", "time_limit"),
        ("timelimit", "time_limit"),
        ("n_jobs", "threads"),
        ("max_dept", "max_depth"),
        ("property", "objective"),
    ],
)
def test_solve_says_which_parameter_was_meant(wrong, right):
    message = str(refusal(lambda: omdt.solve(environment("xor"), **{wrong: 2})))
    assert message == f"omdt.solve has no parameter {wrong!r}; did you mean {right}?"


@pytest.mark.parametrize("name", ["front", "alternatives", "compare"])
def test_its_neighbours_do_so_as_well(name):
    message = str(refusal(lambda: VERBS[name](environment("xor"), depth=2)))
    assert message == f"omdt.{name} has no parameter 'depth'; did you mean max_depth?"
    message = str(refusal(lambda: VERBS[name](environment("xor"), quux=2)))
    assert message == f"omdt.{name} has no parameter 'quux'"


def test_options_of_methods_are_not_taken_for_mistakes():
    assert omdt.solve(environment("xor"), method="copy", ties="any").proven
    message = str(refusal(lambda: omdt.solve(environment("xor"), max_depth=1, ties="any")))
    assert message.startswith("the method search has no option 'ties', which is one of copy")
    message = str(refusal(lambda: omdt.solve(environment("xor"), max_depth=1, quux=1)))
    assert message.startswith("the method search has no option 'quux'; it has")


def test_every_suggestion_exists():
    known = {*inspect.signature(omdt.solve).parameters, *owners()}
    assert set(MEANT.values()) <= known
    assert not known & set(MEANT)


@pytest.mark.parametrize("name", VERBS)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("frozenlake_4x4", "expected an MDP, not the name 'frozenlake_4x4'; omdt.make('frozenlake_4x4') makes one"),
        (Path("a/model.drn"), "expected an MDP, not the name 'a/model.drn'; omdt.read('a/model.drn') makes one"),
        ("gym:Taxi-v3", "expected an MDP, not the name 'gym:Taxi-v3'; omdt.read('gym:Taxi-v3') makes one"),
        (None, "expected an MDP or a Gymnasium environment, not NoneType"),
    ],
)
def test_what_is_no_mdp_is_answered_with_how_to_make_one(name, given, message):
    assert str(refusal(lambda: VERBS[name](given, max_depth=1))) == message


def test_a_data_frame_is_answered_with_how_to_read_it():
    frame = type("Frame", (), {"columns": ["x"]})()
    assert "omdt.MDP.from_dataframe(frame) makes one" in str(refusal(lambda: omdt.solve(frame, max_depth=1)))


def test_the_mdp_may_be_named():
    assert omdt.solve(mdp=environment("xor"), max_depth=1).proven


@pytest.mark.needs("gymnasium")
def test_an_environment_with_a_table_is_converted():
    import gymnasium

    env = gymnasium.make("FrozenLake-v1")
    with pytest.warns(
        InputWarning, match=r"0\.99 is assumed, and omdt\.from_gymnasium\(env, discount=…\) sets another"
    ):
        solution = omdt.solve(env, max_depth=2)
    expected = omdt.solve(omdt.from_gymnasium(env), max_depth=2)
    assert (solution.value, solution.tree, solution.problem) == (expected.value, expected.tree, "FrozenLake-v1")


@pytest.mark.needs("gymnasium")
def test_an_objective_without_a_discount_needs_none():
    import gymnasium

    solution = omdt.solve(gymnasium.make("FrozenLake-v1"), max_depth=1, objective="Rmax=? [C]")
    assert solution.discount == 1


@pytest.mark.needs("gymnasium")
def test_an_environment_without_a_table_points_to_imitation():
    import gymnasium

    with pytest.raises(InputError, match=r"CartPoleEnv has no table.*omdt\.imitate\(env, teacher, max_depth=3\)"):
        omdt.solve(gymnasium.make("CartPole-v1"), max_depth=2)


def test_all_cores_search_by_default(monkeypatch):
    search, copy = method_named("search"), method_named("copy")
    assert solving.default_threads(search, SearchOptions()) == cores()
    assert solving.default_threads(search, SearchOptions(scheduler="tcp://here:8786")) == 1
    assert solving.default_threads(copy, CopyOptions()) == 1
    heard = []
    monkeypatch.setattr(solving, "Limits", lambda *limits: heard.append(limits[3]) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        omdt.solve(environment("xor"), max_depth=1)
    with pytest.raises(ZeroDivisionError):
        omdt.solve(environment("xor"), max_depth=1, threads=3)
    assert heard == [cores(), 3]
