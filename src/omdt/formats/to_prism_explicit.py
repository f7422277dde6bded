"""An MDP as PRISM's explicit files: transitions (.tra), observations (.sta), labels (.lab) and rewards (.trew).

States keep their numbers. Each available action is a choice that carries its name. The expected reward of a choice
stands at each of its transitions. The files have no discount, no start distribution and no fallback: every possible
first state is labelled `init`, and the order of the actions is that of their first appearance.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from omdt.files import write_whole
from omdt.formats.states import successors, values_of
from omdt.mdp import MDP, Bools
from omdt.names import prism_identifiers


def write(mdp: MDP, path: Path) -> None:
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
        yield f"{s}:({','.join(values_of(mdp, s))})"


def _labels(mdp: MDP) -> Iterator[str]:
    yield '0="init" 1="deadlock"'
    yield from (f"{s}: 0" for s in np.flatnonzero(mdp.initial))


def _transitions(mdp: MDP, actions: list[str]) -> Iterator[str]:
    yield _sizes(mdp, mdp.available)
    for s, choice, a in _choices(mdp):
        yield from (f"{s} {choice} {target} {p!r} {actions[a]}" for target, p in successors(mdp, s, a))


def _rewards(mdp: MDP) -> Iterator[str]:
    yield _sizes(mdp, mdp.available & (mdp.rewards != 0))
    for s, choice, a in _choices(mdp):
        reward = float(mdp.rewards[s, a])
        if reward != 0:
            yield from (f"{s} {choice} {target} {reward!r}" for target, _ in successors(mdp, s, a))


def _choices(mdp: MDP) -> Iterator[tuple[int, int, int]]:
    """State, number within the state, and action of every choice."""
    for s in range(mdp.n_states):
        for choice, a in enumerate(np.flatnonzero(mdp.available[s]).tolist()):
            yield s, choice, a


def _sizes(mdp: MDP, counted: Bools) -> str:
    """The numbers of states, of choices, and of the transitions of the counted state-action pairs [S, A]."""
    transitions = np.diff(mdp.transitions.indptr)[counted.ravel()].sum()
    return f"{mdp.n_states} {mdp.available.sum()} {transitions}"
