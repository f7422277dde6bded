"""Storm builds what is written in the PRISM language or in JANI, and agrees with what is read from explicit files."""

import json
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from choice_models import MODELS, read_quietly, read_with_warnings

import omdt
from omdt import InputError, InputWarning, errors, planning
from omdt.errors import MissingExtraError
from omdt.formats import from_prism_language
from strategies import refusal

needs_storm = pytest.mark.needs("stormpy")

CTMC = "ctmc module m x : [0..1]; <> x=0 -> 2 : (x'=1); endmodule rewards x=0 : 1; endrewards"
ROBOT = (MODELS / "robot.prism").read_text(encoding="utf-8")


@needs_storm
@pytest.mark.parametrize("parameters", [{"reward": "steps"}, {"cost": "energy"}])
def test_the_robot_is_the_same_in_every_language(parameters):
    built = read_quietly(MODELS / "robot.prism", discount=0.9, constants="dry=0.75", **parameters)
    written = read_quietly(MODELS / "robot.drn", discount=0.9, **parameters)
    place = {tuple(x): s for s, x in enumerate(built.features.tolist())}
    order = [place[tuple(x)] for x in written.features.tolist()]
    actions = [built.action_names.index(name) for name in written.action_names]
    P = built.transitions.toarray().reshape(6, 3, 6)[order][:, actions][:, :, order]
    np.testing.assert_allclose(P, written.transitions.toarray().reshape(6, 3, 6), rtol=0, atol=1e-12)
    np.testing.assert_allclose(built.rewards[order][:, actions], written.rewards, rtol=0, atol=1e-12)
    assert built.initial[order].tolist() == written.initial.tolist()
    assert built.feature_names == written.feature_names
    assert built.name == str(MODELS / "robot.prism")


@needs_storm
@pytest.mark.parametrize(("parameters", "direction"), [({"reward": "energy"}, "max"), ({"cost": "energy"}, "min")])
def test_storm_computes_the_same_optimal_return(tmp_path, parameters, direction):
    """A discount γ is a chance of 1 − γ to stop after every step; Storm adds up what is earned until then."""
    import stormpy

    path = tmp_path / "stopping.drn"
    path.write_text(stopping((MODELS / "robot.drn").read_text(encoding="utf-8"), 0.9), encoding="utf-8")
    model = stormpy.build_model_from_drn(path)
    (name,) = parameters.values()
    formula = stormpy.parse_property(f'R{{"{name}"}}{direction}=? [F "stopped"]')
    theirs = stormpy.model_checking(model, formula).get_value(model.initial_states[0])
    mdp = read_quietly(MODELS / "robot.drn", discount=0.9, **parameters)
    ours = planning.expected_return(mdp, planning.optimal_values(mdp)).value
    assert ours == pytest.approx(theirs if direction == "max" else -theirs, abs=1e-5)


def stopping(drn: str, discount: float) -> str:
    """The six-state model with a seventh state, labelled stopped, into which every choice leads with 1 − γ."""
    drn = re.sub(r"\t\t(\d) : (\S+)", lambda m: f"\t\t{m[1]} : {discount * float(Fraction(m[2]))!r}", drn)
    drn = re.sub(r"((?:\t\t\d : \S+\n)+)", rf"\g<1>\t\t6 : {1 - discount!r}\n", drn)
    drn = drn.replace("@nr_states\n6", "@nr_states\n7").replace("@nr_choices\n11", "@nr_choices\n12")
    return drn + "state 6 [0, 0] stopped\n\taction stay [0, 0]\n\t\t6 : 1\n"


def walk(*, actions: tuple[str | None, ...] = ("go", "stay"), transient: str = "real", properties: int = 0) -> dict:
    """A walk from 0 to 2 in JANI, which pays x per step if the transient variable is a number."""
    edges = (({"op": "<", "left": "x", "right": 2}, {"op": "+", "left": "x", "right": 1}), (True, "x"))
    wait = {"op": "Emin", "exp": "paid", "accumulate": ["steps"], "reach": {"op": "=", "left": "x", "right": 2}}
    return {
        "jani-version": 1,
        "name": "walk",
        "type": "mdp",
        "actions": [{"name": name} for name in actions if name],
        "variables": [
            {
                "name": "x",
                "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 2},
                "initial-value": 0,
            },
            {
                "name": "paid",
                "type": transient,
                "transient": True,
                "initial-value": False if transient == "bool" else 0,
            },
        ],
        "properties": [
            {
                "name": f"p{i}",
                "expression": {"op": "filter", "fun": "max", "values": wait, "states": {"op": "initial"}},
            }
            for i in range(properties)
        ],
        "automata": [
            {
                "name": "walker",
                "locations": [
                    {"name": "here", "transient-values": [{"ref": "paid", "value": "x"}] if transient == "real" else []}
                ],
                "initial-locations": ["here"],
                "edges": [
                    {
                        "location": "here",
                        **({"action": name} if name else {}),
                        "guard": {"exp": guard},
                        "destinations": [{"location": "here", "assignments": [{"ref": "x", "value": value}]}],
                    }
                    for name, (guard, value) in zip(actions, edges, strict=True)
                ],
            }
        ],
        "system": {
            "elements": [{"automaton": "walker"}],
            "syncs": [{"synchronise": [a], "result": a} for a in actions if a],
        },
    }


def written(path: Path, content: str | dict) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


@needs_storm
def test_jani_is_read_like_the_prism_language(tmp_path):
    with pytest.warns(InputWarning, match="1 of 3 states offers some but not all of the 2 actions"):
        mdp = omdt.read(written(tmp_path / "walk.jani", walk()), discount=0.5, reward="paid")
    assert sorted(mdp.features[:, mdp.feature_names.index("x")].tolist()) == [0, 1, 2]
    assert set(mdp.action_names) == {"go", "stay"}
    # Go, go and collect 2 for ever: 0 + 1/2 (1 + 1/2 · 2 · 2).
    assert planning.expected_return(mdp, planning.optimal_values(mdp)).value == pytest.approx(1.5)


@needs_storm
@pytest.mark.parametrize(
    ("text", "parameters", "fragment"),
    [
        (
            ROBOT,
            {"reward": "steps"},
            "the constant dry has no value; set constants=dry=VALUE (on the command line --set constants=dry=VALUE)",
        ),
        (
            ROBOT.replace("[0..2]", "[0..n]").replace("module", "const int n; module", 1),
            {"reward": "steps"},
            "the constants dry, n have no value; set constants=dry=VALUE,n=VALUE (on",
        ),
        (ROBOT, {"constants": "wet=1", "reward": "steps"}, "wet"),
        (ROBOT, {"constants": "dry=0.75"}, "'steps', 'energy'"),
        (ROBOT.replace("endmodule", ""), {"constants": "dry=0.75"}, "Storm cannot build"),
        (CTMC, {}, "type 'CTMC'"),
        ("\0\1\2", {}, "Storm cannot build"),
        (ROBOT.replace("x>0 & y=0", "(" * 100_000 + "true" + ")" * 100_000), {"constants": "dry=0.75"}, "Storm cannot"),
    ],
)
def test_what_storm_cannot_build_is_refused(tmp_path, capfd, text, parameters, fragment):
    path = tmp_path / "model.prism"
    path.write_text(text)
    message = str(refusal(lambda: read_quietly(path, **parameters)))
    assert str(path) in message
    assert fragment in message
    assert capfd.readouterr().out == ""


WALKER = """
mdp
const double slip;
module walker
  x : [0..3] init 0;
  [] x<3 -> 1-slip : (x'=x+1) + slip : true;
  [jump] x=0 -> (x'=2);
  [] x>0 & x<3 -> (x'=x-1);
  [go] x<2 -> (x'=x+1);
  [go] x>0 & x<3 -> (x'=0);
endmodule
module other
  y : bool init false;
  [] x=1 -> (y'=true);
  [] x=3 -> true;
endmodule
label "goal" = x=3;
rewards "steps"
  true : 1;
endrewards
"""
COMMANDS = {
    "walker command 1": lambda x, y: {(x + 1, y): 0.8, (x, y): 0.2},
    "walker command 3": lambda x, y: {(x - 1, y): 1},
    "jump": lambda x, y: {(2, y): 1},
    "go": lambda x, y: {(x + 1, y): 1},
    "go (2)": lambda x, y: {(0, y): 1},
    "other command 1": lambda x, y: {(x, 1): 1},
}
OFFERED = {
    0: {"walker command 1", "jump", "go"},
    1: {"walker command 1", "walker command 3", "go", "go (2)", "other command 1"},
    2: {"walker command 1", "walker command 3", "go (2)"},
}


@needs_storm
def test_a_name_means_the_same_command_in_every_state(tmp_path):
    path = written(tmp_path / "walker.prism", WALKER)
    mdp, messages = read_with_warnings(path, discount=0.9, constants="slip=0.2", reward="steps")
    assert set(mdp.action_names) == set(COMMANDS)
    S, A = mdp.rewards.shape
    P = mdp.transitions.toarray().reshape(S, A, S)
    X = [(x, y) for x, y in mdp.features[:, [mdp.feature_names.index(name) for name in "xy"]].astype(int).tolist()]
    assert len(X) == 8
    for s, (x, y) in enumerate(X):
        for name in OFFERED.get(x, ()):
            row = P[s, mdp.action_names.index(name)]
            assert {X[t]: pytest.approx(row[t]) for t in np.flatnonzero(row)} == COMMANDS[name](x, y), (x, y, name)
    (named,) = (message for message in messages if "have no name" in message)
    assert "3 commands have no name and are called by their module and place" in named
    assert "other command 1: [] (x = 1) -> 1 : (y' = true);" in named


@needs_storm
def test_silent_edges_of_jani_are_called_by_their_automaton(tmp_path):
    path = written(tmp_path / "walk.jani", walk(actions=(None, None)))
    mdp, messages = read_with_warnings(path, discount=0.5, reward="paid")
    assert mdp.action_names == ("walker edge 1", "walker edge 2")
    assert planning.expected_return(mdp, planning.optimal_values(mdp)).value == pytest.approx(1.5)
    assert any("walker edge 1: the edge from location here where (x < 2)" in message for message in messages)


@needs_storm
def test_what_is_maximised_is_said_and_that_targets_are_not_looked_at(tmp_path):
    path = written(tmp_path / "walker.prism", WALKER)
    properties = written(tmp_path / "walker.props", 'R{"steps"}min=? [F "goal"]')
    _, messages = read_with_warnings(path, constants="slip=0.2", discount=0.9)
    (said,) = (message for message in messages if "maximising" in message)
    assert said == (
        f"{path}: maximising the reward 'steps', its discounted sum over all time; targets and properties are not "
        f"looked at (here the label 'goal' and {properties}); objective=… (on the command line --property) asks for "
        "them; for minimising it: cost=steps (on the command line --set cost=steps)"
    )
    _, messages = read_with_warnings(path, constants="slip=0.2", discount=0.9, cost="steps")
    (said,) = (message for message in messages if "minimising" in message)
    assert f"targets and properties are not looked at (here the label 'goal' and {properties})" in said


@needs_storm
def test_properties_of_jani_are_not_looked_at_either(tmp_path):
    path = written(tmp_path / "walk.jani", walk(properties=2))
    _, messages = read_with_warnings(path, discount=0.5)
    assert any("not looked at (here 2 properties in the file)" in message for message in messages)


@needs_storm
@pytest.mark.parametrize(
    ("name", "content", "parameters", "fragment"),
    [
        ("model.prism", re.sub(r"rewards(.|\n)*endrewards", "", WALKER), {}, "has no rewards, and a discounted sum"),
        ("model.prism", WALKER, {"reward": "time"}, "has the reward model 'steps', but not 'time'"),
        ("model.prism", WALKER + 'rewards "r" true : 2; endrewards', {}, "'steps', 'r'; choose one"),
        ("model.nm", CTMC, {}, "type 'CTMC'"),
        ("model.jani", walk(transient="bool"), {}, "has no rewards, and a discounted sum"),
        ("model.jani", walk(), {"cost": "time"}, "has the reward model 'paid', but not 'time'"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_the_model_is_built(
    tmp_path, monkeypatch, run, name, content, parameters, fragment
):
    asked = []
    really = from_prism_language._run
    monkeypatch.setattr(
        from_prism_language, "_run", lambda path, what, *rest: (asked.append(what), really(path, what, *rest))
    )
    path = written(tmp_path / name, content)
    words = [word for key, value in parameters.items() for word in ("--set", f"{key}={value}")]
    status, out, err = run("solve", path, "--depth", 1, "--output", tmp_path / "policy.json", *words)
    assert (status, out) == (2, "")
    assert str(path) in err
    assert fragment in err
    assert set(asked) == {"describe"}
    assert [file.name for file in tmp_path.iterdir()] == [name]


@needs_storm
def test_a_markov_chain_is_built(tmp_path):
    chain = "dtmc module m x : [0..1]; [] x=0 -> 0.5 : (x'=1) + 0.5 : true; [] x=1 -> true; endmodule"
    path = written(tmp_path / "chain.pm", chain + ' rewards "r" x=1 : 1; endrewards')
    mdp = omdt.read(path, discount=0.5, reward="r")
    assert mdp.action_names == ("step",)
    assert mdp.rewards.ravel().tolist() == [0, 1]


@needs_storm
def test_a_state_that_storm_built_has_no_line_in_the_users_file(tmp_path):
    path = written(tmp_path / "walker.prism", WALKER.replace("1-slip", "0.9-slip"))
    message = str(refusal(lambda: read_quietly(path, constants="slip=0.2", reward="steps")))
    assert message == f"{path}: state 0, action 'walker command 1' has probabilities that sum to 0.9, not to 1"


@needs_storm
def test_warnings_about_a_model_are_printed_once(tmp_path, run):
    """Also where `check` needs the discount of the solution, not the one that is assumed."""
    path, solution = written(tmp_path / "walker.prism", WALKER), tmp_path / "policy.json"
    constants = ("--set", "constants=slip=0.2")
    status, _, err = run("solve", path, "--depth", 1, "--discount", 0.9, "--output", solution, *constants)
    assert status == 0
    assert err.count("maximising the reward 'steps'") == 1
    status, out, err = run("check", solution, path, *constants)
    assert status == 0, err
    assert "VERIFIED" in out
    assert err.count("maximising the reward 'steps'") == 1
    assert err.count("the discount is 0.9, as in the solution") == 1


@needs_storm
def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*model\.nm"):
        omdt.read(tmp_path / "model.nm")


def test_without_stormpy_the_message_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'omdt\[storm\]'"):
        omdt.read(tmp_path / "model.prism")
