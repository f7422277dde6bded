"""Experience: what a solution records about the world its tree was learned from, in JSON and back."""

import json
from dataclasses import replace

import pytest

from omdt import InputError, Solution, load
from solutions import LOGGED, SIMULATED, made_solution


@pytest.mark.parametrize("experience", [SIMULATED, LOGGED], ids=["simulator", "log"])
def test_saving_and_loading_keeps_the_experience(tmp_path, experience):
    original = made_solution(experience=experience)
    original.save(tmp_path / "tree.json")
    assert load(tmp_path / "tree.json") == original
    assert load(tmp_path / "tree.json").experience == experience


def test_the_json_leaves_out_what_is_not_known():
    assert "experience" not in json.loads(made_solution().to_json())
    data = json.loads(made_solution(experience=LOGGED).to_json())["experience"]
    assert not {"interval", "seeds", "rounds", "settings"} & set(data)
    assert data["guarantee"] == {"value": -3.25, "bound": "inf", "confidence": 0.9, "exact": True, "stop": "complete"}
    data = json.loads(made_solution(experience=SIMULATED).to_json())["experience"]
    assert data["seeds"] == [1_000_000, 1_000_199]
    assert data["interval"]["n"] == 200
    assert data["settings"] == {"steps": 20_000, "bins": 12, "confidence": 0.95}
    assert not {"guarantee", "judged", "coverage"} & set(data)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"origin": "dream"}, "'origin' is 'dream'"),
        ({"steps": "many"}, "'steps' is 'many'"),
        ({"seeds": [1]}, "'seeds' is"),
        ({"seeds": [1, True]}, "'seeds' is"),
        ({"rounds": [3]}, "'rounds' must be a list of objects"),
        ({"interval": {"mean": 1.0}}, "'low' is missing"),
        ({"interval": 3}, "'interval' is 3"),
        ({"settings": {"steps": "few"}}, "'steps' is 'few'"),
    ],
)
def test_a_malformed_experience_is_refused_with_the_entry(changes, message):
    data = made_solution(experience=SIMULATED).to_dict()
    data["experience"] |= changes
    with pytest.raises(InputError, match=f"in 'experience', {message}"):
        Solution.from_dict(data)


def test_an_experience_that_is_no_object_is_refused():
    with pytest.raises(InputError, match="'experience' is 3"):
        Solution.from_dict(made_solution().to_dict() | {"experience": 3})


def test_two_solutions_with_different_experiences_differ():
    one = made_solution(experience=SIMULATED)
    assert one != made_solution(experience=replace(SIMULATED, steps=1))
