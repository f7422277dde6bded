"""Reading alternatives: the JSON that `omdt alternatives --output` wrote, checked entry by entry."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from omdt import questions as statements
from omdt.errors import InputError
from omdt.exceptions import Exceptions
from omdt.files import read_json
from omdt.solution import MAX, MIN, stated_objective
from omdt.solution.entries import entry, figure, names, number, one_of
from omdt.source import Source
from omdt.tradeoffs.alternatives_result import FORMAT, Alternative, Alternatives, Ended
from omdt.tradeoffs.alternatives_words import Difference, Forced
from omdt.tree import TreePolicy


def load_alternatives(path: str | Path) -> Alternatives:
    """Read what `Alternatives.save` or `omdt alternatives --output` wrote."""
    data = read_json(path)
    try:
        return alternatives_from_dict(data, Path(path).parent)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def alternatives_from_dict(data: Any, folder: str | Path = ".") -> Alternatives:
    """The alternatives of a dictionary as `to_dict` makes it for a folder; derived entries are derived anew."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(f"these are no alternatives: the format is not {FORMAT!r}")
    trees = entry(data, "trees", list)
    if not trees:
        raise InputError("'trees' is empty")
    return Alternatives(
        problem=entry(data, "problem", str),
        max_depth=entry(data, "max_depth", int, type(None)),
        max_leaf_nodes=entry(data, "max_leaf_nodes", int, type(None)),
        discount=number(data, "discount"),
        within=number(data, "within"),
        absolute=_truth(data, "absolute"),
        limit=entry(data, "limit", int),
        least=figure(data, "least"),
        random_return=figure(data, "random_return"),
        ended=Ended(one_of(data, "stop", tuple(Ended))),
        members=tuple(_member(found, data) for found in trees),
        forced=tuple(_forced(found) for found in entry(data, "forced", list)),
        seconds=number(data, "seconds"),
        seed=entry(data, "seed", int),
        objective=stated_objective(data),
        sense=one_of(data, "sense", (MAX, MIN), MAX),
        questions=None if data.get("questions") is None else statements.from_dict(data["questions"]),
        source=None if data.get("source") is None else Source.from_dict(data["source"], folder),
        rules=tuple(names(data, "rules")) if "rules" in data else (),
    )


def _truth(data: dict[str, Any], key: str) -> bool:
    if not isinstance(data.get(key), bool):
        raise InputError(f"{key!r} is {data.get(key)!r:.40}; it must be true or false")
    return bool(data[key])


def _dictionary(found: Any, key: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise InputError(f"{key!r} holds {found!r:.40}; it must hold objects")
    return found


def _member(found: Any, shared: dict[str, Any]) -> Alternative:
    """One of the trees; the names of features and actions stand once in the file."""
    data = _dictionary(found, "trees")
    tree = TreePolicy.from_dict(
        entry(data, "tree", dict),
        names(shared, "feature_names"),
        names(shared, "action_names"),
        [mark is True for mark in entry(shared, "integer_features", list)],
    )
    exceptions = Exceptions.from_dict(data, tree.action_names)
    return Alternative(
        tree=replace(tree, exceptions=exceptions, truths=tuple(names(shared, "truth_features"))),
        value=figure(data, "value"),
        visited=entry(data, "visited_states", int),
        features=tuple(names(data, "features")),
        needed=tuple(names(data, "needed_features")),
        differences=tuple(_difference(it) for it in entry(data, "differences", list)),
    )


def _difference(found: Any) -> Difference:
    data = _dictionary(found, "differences")
    plays, instead_of, where = (entry(data, key, str) for key in ("plays", "instead_of", "where"))
    return Difference(plays, instead_of, where, entry(data, "states", int))


def _forced(found: Any) -> Forced:
    data = _dictionary(found, "forced")
    return Forced(
        entry(data, "action", str), entry(data, "where", str), entry(data, "states", int), entry(data, "of", int)
    )
