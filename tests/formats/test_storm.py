"""Storm builds what is written in the PRISM language or in JANI, and agrees with what is read from explicit files."""

import json
import re
from fractions import Fraction

import numpy as np
import pytest
from choice_models import MODELS, read_quietly

import omdt
from omdt import InputError, InputWarning, errors, planning
from omdt.errors import MissingExtraError
from strategies import refusal

needs_storm = pytest.mark.needs("stormpy")

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


@needs_storm
def test_jani_is_read_like_the_prism_language(tmp_path):
    jani = {
        "jani-version": 1,
        "name": "walk",
        "type": "mdp",
        "actions": [{"name": "go"}, {"name": "stay"}],
        "variables": [
            {
                "name": "x",
                "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 2},
                "initial-value": 0,
            },
            {"name": "paid", "type": "real", "transient": True, "initial-value": 0},
        ],
        "properties": [],
        "automata": [
            {
                "name": "walker",
                "locations": [{"name": "here", "transient-values": [{"ref": "paid", "value": "x"}]}],
                "initial-locations": ["here"],
                "edges": [
                    {
                        "location": "here",
                        "action": name,
                        "guard": {"exp": guard},
                        "destinations": [{"location": "here", "assignments": [{"ref": "x", "value": value}]}],
                    }
                    for name, guard, value in (
                        ("go", {"op": "<", "left": "x", "right": 2}, {"op": "+", "left": "x", "right": 1}),
                        ("stay", True, "x"),
                    )
                ],
            }
        ],
        "system": {
            "elements": [{"automaton": "walker"}],
            "syncs": [{"synchronise": [a], "result": a} for a in ("go", "stay")],
        },
    }
    path = tmp_path / "walk.jani"
    path.write_text(json.dumps(jani))
    with pytest.warns(InputWarning, match="1 of 3 states offer some but not all of the 2 actions"):
        mdp = omdt.read(path, discount=0.5)
    assert sorted(mdp.features[:, mdp.feature_names.index("x")].tolist()) == [0, 1, 2]
    assert set(mdp.action_names) == {"go", "stay"}
    # Go, go and collect 2 for ever: 0 + 1/2 (1 + 1/2 · 2 · 2).
    assert planning.expected_return(mdp, planning.optimal_values(mdp)).value == pytest.approx(1.5)


@needs_storm
@pytest.mark.parametrize(
    ("text", "parameters", "fragment"),
    [
        (ROBOT, {}, "dry"),
        (ROBOT.replace("[0..2]", "[0..n]").replace("module", "const int n; module", 1), {}, "undefined constants"),
        (ROBOT, {"constants": "wet=1"}, "wet"),
        (ROBOT, {"constants": "dry=0.75"}, "'energy', 'steps'"),
        (ROBOT.replace("endmodule", ""), {"constants": "dry=0.75"}, "Storm cannot build"),
        ("ctmc module m x : [0..1]; <> x=0 -> 2 : (x'=1); endmodule rewards x=0 : 1; endrewards", {}, "type 'CTMC'"),
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


@needs_storm
def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*model\.nm"):
        omdt.read(tmp_path / "model.nm")


def test_without_stormpy_the_message_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'omdt\[storm\]'"):
        omdt.read(tmp_path / "model.prism")
