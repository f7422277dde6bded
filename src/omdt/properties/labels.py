"""Labels by conditions: names for sets of states, for MDPs whose source has none."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from numpy.typing import ArrayLike

from omdt.errors import InputError
from omdt.mdp import MDP
from omdt.properties.conditions import Condition, Given
from omdt.properties.expressions import condition, parsed


def labelled(mdp: MDP, labels: "Mapping[str, str | ArrayLike | Condition]") -> MDP:
    """The MDP with further labels, each for the states of a condition such as `x=5 & y=5`, or of an array [S].

    Raises:
        InputError: if a condition speaks of something that the MDP does not have, or a label is there already.
    """
    if not labels:
        return mdp
    conditions = {name: condition(states, name) for name, states in labels.items()}
    for name in conditions:
        if name in mdp.labels:
            raise InputError(f"{mdp.name} has a label {name!r} already; choose another name")
    marked = {name: states.states(mdp) for name, states in conditions.items()}
    source = mdp.source
    if source is not None:
        again = not any(isinstance(states, Given) for states in conditions.values())
        spelled = tuple(f"{name}: {states}" for name, states in conditions.items())
        source = replace(source, labels=source.labels + spelled) if again else None
    return replace(mdp, labels={**mdp.labels, **marked}, source=source)


def parsed_labels(texts: Iterable[str]) -> dict[str, Condition]:
    """The labels that texts such as `goal: x=5 & y=5` give.

    Raises:
        InputError: if a text has no name, or no condition behind it; or if a name comes twice.
    """
    labels: dict[str, Condition] = {}
    for text in texts:
        name, colon, states = text.partition(":")
        name = name.strip().strip('"').strip()
        if not colon or not name:
            raise InputError(f"{text!r:.80} gives no label; write NAME: CONDITION, as in 'goal: x=5 & y=5'")
        if name in labels:
            raise InputError(f"the label {name!r:.80} is given twice")
        labels[name] = parsed(states.strip())
    return labels
