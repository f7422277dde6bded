"""An MDP as a DRN file, the explicit format of the model checker Storm.

States keep their numbers. The observation of a state stands in a comment below it, as Storm writes state valuations;
the expected rewards are the reward model `reward`. Every possible first state is labelled `init`, and unless these are
equally likely, the reward model `initial` holds the probability of each. The discount and names that are not
identifiers are comments (see `omdt.formats.drn_comments`).

Only available actions are choices, so Storm sees the true model. Where some are missing, comments give the order of the
actions and the fallback, so that `from_drn` gives the same MDP back.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from omdt.files import write_whole
from omdt.formats.drn_comments import START, comments
from omdt.formats.states import successors, values_of
from omdt.mdp import MDP
from omdt.names import prism_identifiers


def write(mdp: MDP, path: Path) -> None:
    """Write an MDP to a DRN file."""
    write_whole(path, lambda stream: stream.writelines(line.encode() + b"\n" for line in _lines(mdp)))


def _lines(mdp: MDP) -> Iterator[str]:
    starts = mdp.initial[mdp.initial > 0]
    uniform = bool(np.all(starts == 1 / len(starts)))
    features, actions = prism_identifiers(mdp.feature_names, mdp.action_names)
    yield from comments(mdp, features, actions, uniform=uniform)
    yield "@type: MDP"
    yield "@parameters"
    yield ""
    yield "@reward_models"
    yield "reward" if uniform else f"reward {START}"
    yield "@nr_states"
    yield str(mdp.n_states)
    yield "@nr_choices"
    yield str(int(mdp.available.sum()))
    yield "@model"
    for s in range(mdp.n_states):
        yield from _state(mdp, s, features, actions, uniform=uniform)


def _state(mdp: MDP, s: int, features: Sequence[str], actions: Sequence[str], *, uniform: bool) -> Iterator[str]:
    """A state with its observation, its available actions and their transitions."""
    start = float(mdp.initial[s])
    rewards = "" if uniform else f" [0, {start!r}]"
    yield f"state {s}{rewards}{' init' if start > 0 else ''}"
    values = values_of(mdp, s)
    yield f"//[{' & '.join(f'{name}={x}' for name, x in zip(features, values, strict=True))}]"
    for a in np.flatnonzero(mdp.available[s]).tolist():
        reward = float(mdp.rewards[s, a])
        yield f"\taction {actions[a]} [{reward!r}]" if uniform else f"\taction {actions[a]} [{reward!r}, 0]"
        yield from (f"\t\t{target} : {probability!r}" for target, probability in successors(mdp, s, a))
