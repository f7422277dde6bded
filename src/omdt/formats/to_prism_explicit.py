"""An MDP as PRISM's explicit files: transitions (.tra), observations (.sta), labels (.lab) and rewards (.trew).

States keep their numbers and labels. Each available action is a choice that carries its name. The expected reward of a
choice stands at each of its transitions; named rewards have files of their own, model1.trew, model2.trew, …, and the
MDP's rewards one more if they are none of these. The files have no discount, no start distribution and no fallback:
every possible first state is labelled `init`, and the order of the actions is that of their first appearance.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from omdt.files import write_whole
from omdt.formats.states import INIT, successors, values_of
from omdt.mdp import MDP, Bools, Floats
from omdt.names import identifiers, prism_identifiers

DEADLOCK = "deadlock"
"""The label that PRISM expects beside `init`; no state carries it unless the MDP says so."""


def write(mdp: MDP, path: Path) -> None:
    """Write an MDP to path (.tra) and to the files of the same name with the other endings; the .tra comes last."""
    features, actions = prism_identifiers(mdp.feature_names, mdp.action_names)
    _write(path.with_suffix(".sta"), _states(mdp, features))
    _write(path.with_suffix(".lab"), _labels(mdp))
    for file, lines in _reward_files(mdp, path):
        _write(file, lines)
    _write(path, _transitions(mdp, actions))


def _write(path: Path, lines: Iterable[str]) -> None:
    write_whole(path, lambda stream: stream.writelines(line.encode() + b"\n" for line in lines))


def _states(mdp: MDP, features: list[str]) -> Iterator[str]:
    yield f"({','.join(features)})"
    for s in range(mdp.n_states):
        yield f"{s}:({','.join(values_of(mdp, s))})"


def _labels(mdp: MDP) -> Iterator[str]:
    """All labels by their identifiers; `init` are the possible first states."""
    marked = {INIT: mdp.initial > 0, DEADLOCK: np.zeros(mdp.n_states, dtype=np.bool_)}
    marked |= dict(zip(identifiers(mdp.labels, "label", reserved={INIT}), mdp.labels.values(), strict=True))
    yield " ".join(f'{place}="{name}"' for place, name in enumerate(marked))
    carried = np.column_stack(list(marked.values()))
    for s in np.flatnonzero(carried.any(axis=1)).tolist():
        yield f"{s}: {' '.join(map(str, np.flatnonzero(carried[s]).tolist()))}"


def _reward_files(mdp: MDP, path: Path) -> Iterator[tuple[Path, Iterator[str]]]:
    """The files of rewards with their lines; a title names the reward."""
    if not mdp.reward_models:
        yield path.with_suffix(".trew"), _rewards(mdp, mdp.rewards)
        return
    models = dict(zip(identifiers(mdp.reward_models, "reward"), mdp.reward_models.values(), strict=True))
    if mdp.rewards.any() and not any((model == mdp.rewards).all() for model in models.values()):
        (own,) = identifiers(["reward"], "reward", reserved=models)
        models |= {own: mdp.rewards}
    for number, (name, rewards) in enumerate(models.items(), 1):
        title = f'# Reward structure "{name}"'
        yield path.with_name(f"{path.stem}{number}.trew"), chain([title], _rewards(mdp, rewards))


def _transitions(mdp: MDP, actions: list[str]) -> Iterator[str]:
    yield _sizes(mdp, mdp.available)
    for s, choice, a in _choices(mdp):
        yield from (f"{s} {choice} {target} {p!r} {actions[a]}" for target, p in successors(mdp, s, a))


def _rewards(mdp: MDP, rewards: Floats) -> Iterator[str]:
    yield _sizes(mdp, mdp.available & (rewards != 0))
    for s, choice, a in _choices(mdp):
        reward = float(rewards[s, a])
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
