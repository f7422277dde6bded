"""Alternatives come back from their files as they were, and files that hold none are refused."""

import copy
import json
from typing import Any

import numpy as np
import pytest

import omdt
from omdt import InputError, Objective
from omdt.tradeoffs.alternatives_reading import alternatives_from_dict, load_alternatives
from omdt.tradeoffs.alternatives_result import Alternatives
from random_mdps import random_model
from strategies import environment
from test_objective_problems import corridor


def with_predicates() -> Alternatives:
    mdp = environment("frozenlake_4x4")
    edge = (mdp.features == 0).any(axis=1)
    splits = omdt.Splits.of(mdp, categorical=["X"], predicates=edge[:, None], labels=["edge"])
    return omdt.alternatives(mdp, max_depth=2, within=0.05, splits=splits)


def with_missing_actions() -> Alternatives:
    mdp = random_model(np.random.default_rng(3), states=6, actions=3, unavailable=0.3).mdp()
    return omdt.alternatives(mdp, max_depth=1, within=0.3)


FOUND = {
    "a lake": lambda: omdt.alternatives(environment("frozenlake_4x4"), max_depth=3, within=0.01),
    "cut off": lambda: omdt.alternatives(environment("frozenlake_4x4"), max_leaf_nodes=4, within=0.2, limit=3),
    "costs": lambda: omdt.alternatives(
        corridor(),
        max_depth=1,
        within=10.0,
        absolute=True,
        objective=Objective.total("time", until="goal | x=0", maximise=False),
    ),
    "predicates": with_predicates,
    "missing actions": with_missing_actions,
}


@pytest.mark.parametrize("kind", FOUND)
def test_what_was_written_is_read(kind: str, tmp_path) -> None:
    found = FOUND[kind]()
    found.save(tmp_path / "found.json")
    again = load_alternatives(tmp_path / "found.json")
    assert again.to_dict(tmp_path) == json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert again.trees == found.trees
    assert (again.words, again.summary(), again.complete) == (found.words, found.summary(), found.complete)
    assert [again.loss_words(member) for member in again.members] == [found.loss_words(it) for it in found.members]


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    return omdt.alternatives(environment("frozenlake_4x4"), max_depth=3, within=0.01).to_dict()


def entries_of(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all entries outside of trees and questions; of every list, those of the last element."""
    if isinstance(data, dict):
        inner = {key: value for key, value in data.items() if key not in ("tree", "questions")}
        return [it for key, value in inner.items() for it in ((*path, key), *entries_of(value, (*path, key)))]
    if isinstance(data, list) and data and isinstance(data[-1], dict):
        return entries_of(data[-1], (*path, len(data) - 1))
    return []


def test_every_entry_of_a_wrong_type_is_named(data: dict[str, Any]) -> None:
    derived = {"complete", "best", "needed_by_all", "needed_by_none", "n_leaves"}
    refused = 0
    for *above, key in entries_of(data):
        if key in derived:
            continue
        changed = copy.deepcopy(data)
        holder = changed
        for step in above:
            holder = holder[step]
        holder[key] = {"wrong": None}
        with pytest.raises(InputError, match=f"{key}|format" if key != "settings" else "source"):
            alternatives_from_dict(changed)
        refused += 1
    assert refused > 25


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "these are no alternatives"),
        ('{"format": "omdt-front-1"}', "these are no alternatives"),
        ('{"format": "omdt-alternatives-1", "trees": []}', "'trees' is empty"),
        ('{"format": "omdt-alternatives-1"}', "'trees' is missing"),
        ("{", "is not a JSON file"),
    ],
)
def test_a_file_without_alternatives_is_refused(text: str, message: str, tmp_path) -> None:
    (tmp_path / "found.json").write_text(text)
    with pytest.raises(InputError, match=message):
        load_alternatives(tmp_path / "found.json")
