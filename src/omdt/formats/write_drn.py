"""An MDP as a DRN file, the explicit format of the model checker Storm.

States keep their numbers. The observation of a state stands in a comment below it, as Storm writes state
valuations; the expected rewards are the reward model `reward`. The format has no discount and no start distribution:
the discount is a comment, every possible first state is labelled `init`, and unless these are equally likely, the
reward model `initial` holds the probability of each. Names that are no identifiers are comments, too.

Only available actions are choices, so Storm sees the true model. Where some are missing, comments give the order of the
actions and the fallback. So `read_drn` gives the same MDP back.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from omdt.files import write_whole
from omdt.formats.drn import START, START_REMARK
from omdt.mdp import MDP
from omdt.names import prism_identifiers


def write_drn(mdp: MDP, path: Path) -> None:
    """Write an MDP to a DRN file."""
    write_whole(path, lambda stream: stream.writelines(line.encode() + b"\n" for line in _lines(mdp)))


def _lines(mdp: MDP) -> Iterator[str]:
    S = mdp.n_states
    starts = mdp.initial[mdp.initial > 0]
    uniform = bool(np.all(starts == 1 / len(starts)))
    features, actions = prism_identifiers(mdp.feature_names, mdp.action_names)
    yield f"// discount {mdp.discount!r}"
    if not uniform:
        yield START_REMARK
    yield from _names("feature", features, mdp.feature_names)
    yield from _names("action", actions, mdp.action_names)
    if not mdp.all_available:
        yield f"// actions {' '.join(actions)}"
    if mdp.fallback is not None:
        yield f"// fallback {actions[mdp.action_names.index(mdp.fallback)]}"
    yield "@type: MDP"
    yield "@parameters"
    yield ""
    yield "@reward_models"
    yield "reward" if uniform else f"reward {START}"
    yield "@nr_states"
    yield str(S)
    yield "@nr_choices"
    yield str(int(mdp.available.sum()))
    yield "@model"
    for s in range(S):
        start = float(mdp.initial[s])
        rewards = "" if uniform else f" [0, {start!r}]"
        yield f"state {s}{rewards}{' init' if start > 0 else ''}"
        values = values_of(mdp, s)
        yield f"//[{' & '.join(f'{name}={x}' for name, x in zip(features, values, strict=True))}]"
        for a in np.flatnonzero(mdp.available[s]).tolist():
            reward = float(mdp.rewards[s, a])
            yield f"\taction {actions[a]} [{reward!r}]" if uniform else f"\taction {actions[a]} [{reward!r}, 0]"
            yield from (f"\t\t{target} : {probability!r}" for target, probability in successors(mdp, s, a))


def _names(kind: str, identifiers: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """A comment for every name that is not its own identifier."""
    for identifier, name in zip(identifiers, names, strict=True):
        if identifier != name:
            yield f"// {kind} {identifier} is called {json.dumps(name)}"


def values_of(mdp: MDP, s: int) -> list[str]:
    """The features of a state, truth values as such."""
    truths = [name in mdp.truths for name in mdp.feature_names]
    pairs = zip(mdp.features[s], truths, strict=True)
    return [("true" if x else "false") if truth else number(x) for x, truth in pairs]


def successors(mdp: MDP, s: int, a: int) -> Iterator[tuple[int, float]]:
    """The states that an action can lead to, in their order, each with its probability."""
    P, row = mdp.transitions, s * mdp.n_actions + a
    entries = slice(P.indptr[row], P.indptr[row + 1])
    return zip(P.indices[entries].tolist(), P.data[entries].tolist(), strict=True)


def number(x: float) -> str:
    """A number to the last bit, and without a fraction where it is whole."""
    return str(int(x)) if x == int(x) and abs(x) < 2**53 else repr(float(x))
