"""An MDP as PRISM's explicit files: transitions (.tra), observations (.sta), labels (.lab) and rewards (.trew).

States and choices keep their numbers, and each choice carries the name of its action. The expected reward of a choice
stands at each of its transitions. The files have no discount and no start distribution: every possible first state is
labelled `init`.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from omdt.files import write_whole
from omdt.formats.write_drn import number, successors
from omdt.mdp import MDP
from omdt.names import prism_identifiers


def write_prism(mdp: MDP, path: Path) -> None:
    """Write an MDP to path (.tra) and to the files of the same name with the other endings; the .tra comes last."""
    features, actions = prism_identifiers(mdp.feature_names, mdp.action_names)
    _write(path.with_suffix(".sta"), _states(mdp, features))
    _write(path.with_suffix(".lab"), _labels(mdp))
    _write(path.with_suffix(".trew"), _rewards(mdp))
    _write(path, _transitions(mdp, actions))


def _write(path: Path, lines: Iterable[str]) -> None:
    write_whole(path, lambda stream: stream.writelines(line.encode() + b"\n" for line in lines))


def _states(mdp: MDP, features: list[str]) -> Iterator[str]:
    yield f"({','.join(features)})"
    for s in range(mdp.n_states):
        yield f"{s}:({','.join(number(x) for x in mdp.features[s])})"


def _labels(mdp: MDP) -> Iterator[str]:
    yield '0="init" 1="deadlock"'
    yield from (f"{s}: 0" for s in np.flatnonzero(mdp.initial))


def _transitions(mdp: MDP, actions: list[str]) -> Iterator[str]:
    yield f"{mdp.n_states} {mdp.n_states * mdp.n_actions} {mdp.transitions.nnz}"
    for s in range(mdp.n_states):
        for a, action in enumerate(actions):
            yield from (f"{s} {a} {target} {probability!r} {action}" for target, probability in successors(mdp, s, a))


def _rewards(mdp: MDP) -> Iterator[str]:
    counts = np.diff(mdp.transitions.indptr)
    yield f"{mdp.n_states} {mdp.n_states * mdp.n_actions} {counts[mdp.rewards.ravel() != 0].sum()}"
    for s in range(mdp.n_states):
        for a in np.flatnonzero(mdp.rewards[s]):
            reward = float(mdp.rewards[s, a])
            yield from (f"{s} {a} {target} {reward!r}" for target, _ in successors(mdp, s, int(a)))
