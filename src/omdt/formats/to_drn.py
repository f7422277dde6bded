"""An MDP as a DRN file, the explicit format of the model checker Storm.

States keep their numbers and labels. The observation of a state stands in a comment below it, as Storm writes state
valuations; the expected rewards are the reward model `reward`, unless they are one of the named ones, which follow.
Every possible first state is labelled `init`, and unless these are equally likely, the reward model `initial` holds the
probability of each. The discount and names that are not identifiers are comments (see `omdt.formats.drn_comments`).

Only available actions are choices, so Storm sees the true model. Where some are missing, comments give the order of the
actions and the fallback, so that `from_drn` gives the same MDP back.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from omdt.files import write_whole
from omdt.formats.drn_comments import START, Identifiers, comments
from omdt.formats.states import INIT, successors, values_of
from omdt.mdp import MDP, Floats
from omdt.names import identifiers, prism_identifiers

OWN = "reward"
"""The reward model that holds the rewards of the MDP if they are none of its named ones."""


def write(mdp: MDP, path: Path) -> None:
    """Write an MDP to a DRN file."""
    write_whole(path, lambda stream: stream.writelines(line.encode() + b"\n" for line in _lines(mdp)))


def _lines(mdp: MDP) -> Iterator[str]:
    starts = mdp.initial[mdp.initial > 0]
    uniform = bool(np.all(starts == 1 / len(starts)))
    called = _identifiers(mdp)
    columns = _columns(mdp, called)
    yield from comments(mdp, called, uniform=uniform)
    yield "@type: MDP"
    yield "@parameters"
    yield ""
    yield "@reward_models"
    yield " ".join([*columns, *([] if uniform else [START])])
    yield "@nr_states"
    yield str(mdp.n_states)
    yield "@nr_choices"
    yield str(int(mdp.available.sum()))
    yield "@model"
    for s in range(mdp.n_states):
        yield from _state(mdp, s, called, columns, uniform=uniform)


def _identifiers(mdp: MDP) -> Identifiers:
    """What the parts of the MDP are called in the file; its rewards are a named one if they are the same."""
    features, actions = prism_identifiers(mdp.feature_names, mdp.action_names)
    labels = identifiers(mdp.labels, "label", reserved={INIT})
    same = [bool((model == mdp.rewards).all()) for model in mdp.reward_models.values()]
    # Rewards of 0 mean that nothing was chosen among several.
    own = not any(same) and (len(same) < 2 or bool(mdp.rewards.any()))
    rewards = identifiers(mdp.reward_models, "reward", reserved={START, OWN} if own else {START})
    counting = rewards[same.index(True)] if any(same) else OWN if own else None
    return Identifiers(features, actions, labels, rewards, counting)


def _columns(mdp: MDP, called: Identifiers) -> dict[str, Floats]:
    """The reward models of the file: the MDP's own rewards first, unless a named one is the same."""
    models = dict(zip(called.rewards, mdp.reward_models.values(), strict=True))
    return models if called.counting is None or called.counting in models else {OWN: mdp.rewards, **models}


def _state(mdp: MDP, s: int, called: Identifiers, columns: Mapping[str, Floats], *, uniform: bool) -> Iterator[str]:
    """A state with its labels, its observation, its available actions and their transitions."""
    start = float(mdp.initial[s])
    rewards = "" if uniform else f" [{', '.join(['0'] * len(columns) + [repr(start)])}]"
    labels = [name for name, states in zip(called.labels, mdp.labels.values(), strict=True) if states[s]]
    yield f"state {s}{rewards}{''.join(f' {name}' for name in [*([INIT] if start > 0 else []), *labels])}"
    values = values_of(mdp, s)
    yield f"//[{' & '.join(f'{name}={x}' for name, x in zip(called.features, values, strict=True))}]"
    for a in np.flatnonzero(mdp.available[s]).tolist():
        earned = [repr(float(rewards[s, a])) for rewards in columns.values()] + ([] if uniform else ["0"])
        yield f"\taction {called.actions[a]} [{', '.join(earned)}]"
        yield from (f"\t\t{target} : {probability!r}" for target, probability in successors(mdp, s, a))
