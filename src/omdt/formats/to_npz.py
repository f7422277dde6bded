"""An MDP as an npz file, one numpy archive of plain arrays; `omdt.formats.from_npz` says which."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from omdt.files import write_whole
from omdt.mdp import MDP


def write(mdp: MDP, path: Path) -> None:
    """Write an MDP to an npz file."""
    write_arrays(path, arrays_of(mdp))


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays to an npz file, whole or not at all."""
    write_whole(path, lambda stream: np.savez_compressed(stream, **arrays))


def arrays_of(mdp: MDP) -> dict[str, Any]:
    """The arrays of an MDP by their names."""
    arrays: dict[str, Any] = {
        "data": mdp.transitions.data,
        "indices": mdp.transitions.indices,
        "indptr": mdp.transitions.indptr,
        "rewards": mdp.rewards,
        "initial": mdp.initial,
        "features": mdp.features,
        "discount": np.float64(mdp.discount),
        "feature_names": np.array(mdp.feature_names),
        "action_names": np.array(mdp.action_names),
        "origin": mdp.origin,
    }
    if not mdp.all_available:
        arrays["available"] = mdp.available
    if mdp.fallback is not None:
        arrays["fallback"] = np.array(mdp.fallback)
    if mdp.truths:
        arrays["truths"] = np.array(mdp.truths)
    if mdp.labels:
        arrays["label_names"] = np.array(list(mdp.labels))
        arrays["labels"] = np.array(list(mdp.labels.values()))
    if mdp.reward_models:
        arrays["reward_names"] = np.array(list(mdp.reward_models))
        arrays["reward_models"] = np.array(list(mdp.reward_models.values()))
    if mdp.endless is not None:
        arrays["endless"] = np.float64(mdp.endless)
    return arrays
