"""Limits, the clock, and the JSON form of a solution."""

import json
import math
import os

import pytest

from omdt import InputError, Solution, TreePolicy, load
from omdt.errors import OutputError
from omdt.limits import Limits
from omdt.task import Size
from omdt.watch import Watch
from solutions import made_solution
from strategies import refusal

PROMISED = [
    "format",
    "problem",
    "method",
    "max_depth",
    "max_leaf_nodes",
    "discount",
    "value",
    "bound",
    "gap",
    "proven",
    "stop",
    "optimal_return",
    "random_return",
    "normalized_return",
    "seconds",
    "seed",
    "trace",
    "tree",
]
EXTENSIONS = {
    "objective",
    "sense",
    *("node_limit", "rounding", "scale", "value_error", "optimal_error", "random_error", "requested_gap"),
    *("feature_names", "integer_features", "truth_features", "action_names"),
    *("source", "fingerprint"),
    *("unavailable", "fallback", "replaced", "exceptions", "look_alike_states", "exceptions_left_out"),
    "forced_actions",
}


def test_the_json_has_the_promised_keys_in_their_order():
    data = json.loads(made_solution().to_json())
    assert [key for key in data if key in PROMISED] == PROMISED
    assert set(data) == set(PROMISED) | EXTENSIONS


def test_the_json_has_the_promised_values():
    data = json.loads(made_solution().to_json())
    assert data["format"] == "omdt-solution-1"
    assert (data["problem"], data["method"], data["max_depth"], data["max_leaf_nodes"]) == ("lake", "search", 2, None)
    assert (data["value"], data["bound"], data["gap"], data["proven"]) == (0.365, 0.365, 0.0, True)
    assert (data["stop"], data["seconds"], data["seed"]) == ("complete", 0.125, 3)
    assert data["normalized_return"] == pytest.approx((0.365 - 0.012) / (0.542 - 0.012))
    assert data["trace"] == [[0.0, 0.1, 0.542], [0.125, 0.365, 0.365]]
    assert data["tree"] == made_solution().tree.to_dict()
    assert (data["objective"], data["sense"]) == (f"Rmax=? [Cdiscount={data['discount']}]", "max")


def test_the_json_is_one_line():
    text = made_solution(problem="two\nlines").to_json()
    assert text.count("\n") == 1
    assert text.endswith("\n")


def test_saving_and_loading_keeps_everything(tmp_path):
    path = tmp_path / "policy.json"
    original = made_solution()
    original.save(path)
    loaded = load(str(path))
    assert loaded == original
    assert loaded.to_json() == original.to_json()
    assert loaded.tree.integer == (True, False)
    assert list(tmp_path.iterdir()) == [path]


def test_derived_entries_are_derived_anew():
    data = made_solution(bound=0.73).to_dict() | {"gap": 0.0, "proven": True, "normalized_return": 7.0}
    loaded = Solution.from_dict(data)
    assert loaded.gap == pytest.approx(1.0)
    assert not loaded.proven
    assert loaded.normalized_return < 1


@pytest.mark.parametrize(
    ("value", "bound", "gap"),
    [(2.0, 3.0, 0.5), (-2.0, -1.0, 0.5), (0.0, 0.0, 0.0), (0.0, 1.0, 1e12), (1.0, 1.0 - 1e-15, 0.0), (1e-9, 2e-9, 1.0)],
)
def test_the_gap_is_relative_to_the_value(value, bound, gap):
    made = made_solution(value=value, bound=bound)
    assert made.gap == pytest.approx(gap)
    assert made.gap >= 0


@pytest.mark.parametrize(("requested", "proven"), [(0.0, False), (0.4, False), (0.5, True), (1.0, True)])
def test_a_proof_is_a_gap_within_the_requested_one(requested, proven):
    assert made_solution(value=2.0, bound=3.0, requested_gap=requested).proven is proven


def test_the_normalised_return_is_zero_for_random_and_one_for_optimal():
    assert made_solution(value=0.012).normalized_return == 0
    assert made_solution(value=0.542).normalized_return == 1
    assert made_solution(value=-0.518).normalized_return == pytest.approx(-1)


@pytest.mark.parametrize("same", [0.0, 5.0, -1e9, 1e-9])
def test_where_every_policy_is_optimal_the_normalised_return_is_one(same):
    assert made_solution(value=same, optimal_return=same, random_return=same).normalized_return == 1
    nearly = same * (1 - 1e-15)
    assert made_solution(value=nearly, optimal_return=same, random_return=nearly).normalized_return == 1


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_the_normalised_return_does_not_depend_on_the_scale_of_rewards(factor):
    scaled = made_solution(value=0.365 * factor, optimal_return=0.542 * factor, random_return=0.012 * factor)
    assert scaled.normalized_return == pytest.approx(made_solution().normalized_return)


@pytest.mark.parametrize(
    "key", [key for key in PROMISED if key not in ("gap", "proven", "normalized_return", "format")]
)
def test_a_missing_key_is_named_with_the_file(tmp_path, key):
    data = made_solution().to_dict()
    del data[key]
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(data))
    with pytest.raises(InputError) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert f"'{key}' is missing" in str(caught.value)


WRONG = {
    "problem": [3, None],
    "method": [None],
    "max_depth": ["2", 1.5, True],
    "max_leaf_nodes": [[]],
    "discount": ["0.9", None, float("nan")],
    "value": ["high", float("inf"), True, 10**400],
    "bound": [None, float("-inf"), {}],
    "requested_gap": [None],
    "stop": ["maybe", 0, None],
    "optimal_return": ["x"],
    "random_return": [[]],
    "seconds": ["long"],
    "seed": [0.5, None],
    "trace": [None, [1], [[1, 2]], [["a", 1, 2]], [[0, 1, float("nan")]], [[0, 1, 10**400]]],
    "feature_names": ["X", [1, 2], ["X", "X"], None],
    "action_names": [{}, [None]],
    "integer_features": [None, 1],
    "tree": [None, [], "leaf"],
}


@pytest.mark.parametrize(
    ("key", "value"),
    [pytest.param(key, value, id=f"{key}-{i}") for key, values in WRONG.items() for i, value in enumerate(values)],
)
def test_a_wrong_value_is_named_with_the_file(tmp_path, key, value):
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(made_solution().to_dict() | {key: value}))
    with pytest.raises(InputError) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert key in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"tree: 1",
        b"[" * 100_000,
        b"[1, 2]",
        b"null",
        b"{}",
        b'{"format": "omdt-solution-2"}',
        b'{"format": ' + b"9" * 5000 + b"}",
    ],
    ids=["empty", "cut", "binary", "text", "nested", "list", "null", "no format", "other format", "endless number"],
)
def test_what_is_no_solution_is_refused_with_the_file(tmp_path, content):
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_a_bad_tree_is_refused_with_its_place(tmp_path):
    data = made_solution().to_dict()
    data["tree"]["right"]["left"] = {"action": "Fly"}
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match=r"broken\.json: tree\.right\.left names the action 'Fly'"):
        load(path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*missing\.json"):
        load(tmp_path / "missing.json")
    with pytest.raises(InputError, match="cannot read"):
        load(tmp_path)


def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "policy.json"
    made_solution().save(path)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match=r"cannot write .*policy\.json: No space left"):
        made_solution(problem="other").save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_number_that_json_cannot_hold_is_not_written(tmp_path):
    path = tmp_path / "policy.json"
    with pytest.raises(ValueError, match="JSON"):
        made_solution(bound=math.nan).save(path)
    assert list(tmp_path.iterdir()) == []


def test_a_deep_tree_survives_saving_and_loading_or_is_refused(tmp_path):
    nested = {"action": "a"}
    for k in range(3000):
        nested = {"feature": "x", "threshold": float(k), "left": {"action": "b"}, "right": nested}
    deep = made_solution(tree=TreePolicy.from_dict(nested, ("x",), ("a", "b")))
    path = tmp_path / "policy.json"
    error = refusal(lambda: deep.save(path))
    if error is None:
        assert load(path).tree == deep.tree
    else:
        assert "deep" in str(error)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"seed": -1}, "seed is -1"),
        ({"seed": None}, "seed is None"),
        ({"threads": 0}, "threads is 0"),
        ({"time_limit": 0}, "time_limit is 0"),
        ({"time_limit": math.nan}, "time_limit is nan"),
        ({"gap": -1e-9}, "gap is -1e-09"),
        ({"gap": math.nan}, "gap is nan"),
    ],
)
def test_bad_limits_are_refused(limits, message):
    with pytest.raises(InputError, match=message):
        Limits(**limits)


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ({"max_depth": -1}, "max_depth is -1.*at least 0"),
        ({"max_depth": 1.5}, "max_depth is 1.5.*whole number"),
        ({"max_depth": True}, "max_depth is True"),
        ({"max_leaf_nodes": 0}, "max_leaf_nodes is 0.*at least 1"),
    ],
)
def test_bad_sizes_are_refused(size, message):
    with pytest.raises(InputError, match=message):
        Size(**size)


def test_a_size_knows_whether_it_is_limited():
    assert not Size().limited
    assert Size(max_depth=0).limited
    assert Size(max_leaf_nodes=1).limited


def test_the_watch_records_what_changes_and_tells_of_all():
    heard = []
    watch = Watch(None, heard.append)
    watch.report(1.0, 3.0)
    watch.report(1.0, 3.0)
    watch.report(2.0, 3.0)
    assert [point[1:] for point in watch.trace] == [(1.0, 3.0), (2.0, 3.0)]
    assert [point[1:] for point in heard] == [(1.0, 3.0), (1.0, 3.0), (2.0, 3.0)]
    assert [point[0] for point in heard] == sorted(point[0] for point in heard)


def test_the_watch_counts_down():
    assert Watch().remaining == math.inf
    assert 0 < Watch(100.0).remaining <= 100
    late = Watch(1.0)
    late.start -= 5
    assert late.remaining == 0
    assert late.elapsed >= 5
