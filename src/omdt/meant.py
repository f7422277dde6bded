"""What a user probably meant by a parameter that does not exist."""

from collections.abc import Collection
from difflib import get_close_matches

MEANT = {
    "depth": "max_depth",
    "maxdepth": "max_depth",
    "leaves": "max_leaf_nodes",
    "n_leaves": "max_leaf_nodes",
    "max_leaves": "max_leaf_nodes",
    "time": "time_limit",
    "timeout": "time_limit",
    "seconds": "time_limit",
    "max_time": "time_limit",
    "nodes": "node_limit",
    "memory": "memory_limit",
    "cores": "threads",
    "n_jobs": "threads",
    "n_threads": "threads",
    "num_threads": "threads",
    "workers": "threads",
    "random_state": "seed",
    "tolerance": "gap",
    "tol": "gap",
    "property": "objective",
    "goal": "objective",
    "callback": "progress",
    "algorithm": "method",
    "solver": "backend",
}
"""What parameters are called on the command line or in other packages, and what they are called in Python here."""

ALIKE = 0.7
"""Minimum similarity, from 0 to 1, of two names of which one is probably a misspelling of the other."""


def meant(name: str, known: Collection[str]) -> str | None:
    """The known parameter that a name probably means, or None."""
    if MEANT.get(name) in known:
        return MEANT[name]
    return next(iter(get_close_matches(name, list(known), 1, ALIKE)), None)


def hint(name: str, known: Collection[str]) -> str:
    """The end of a message about an unknown parameter, such as "; did you mean max_depth?"; empty if nothing fits."""
    found = meant(name, known)
    return "" if found is None else f"; did you mean {found}?"
