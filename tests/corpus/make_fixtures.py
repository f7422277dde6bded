"""Let Storm build the corpus anew: the table of optima, and the smaller models in explicit form.

    python tests/corpus/make_fixtures.py

writes optima.json for all models, NAME.drn for the models in DRN, and NAME.tra with the files beside it for the models
in EXPLICIT. Run it after a change of a model or its properties, and commit what it writes.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpus_cases import FOLDER, NAMES, OPTIMA, properties
from storm_witness import built, model_path, value
from stormpy.developer import DirectEncodingExporterOptions
from stormpy.io import export_to_drn

DRN = ("bets", "clinic", "election", "lake", "mutex", "portals", "power", "resend", "stockroom")
"""The models that are kept in Storm's explicit format, the smaller half."""

EXPLICIT = ("bets", "clinic", "lake", "portals", "stockroom")
"""The models that are kept in PRISM's explicit format: one with several initial states, one with three rewards."""

DIGITS = 17
"""Significant digits with which every double can be read back exactly."""


def main() -> None:
    """Write everything."""
    OPTIMA.write_text(json.dumps({name: facts(name) for name in NAMES}, indent=1) + "\n", encoding="utf-8")
    for name in DRN:
        encoding = DirectEncodingExporterOptions()
        encoding.output_precision = DIGITS
        export_to_drn(built(model_path(name)), str(FOLDER / f"{name}.drn"), options=encoding)
    for name in EXPLICIT:
        for path, lines in explicit(name, built(model_path(name))):
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def facts(name: str) -> dict[str, Any]:
    """The sizes of a model, and Storm's optimum of each of its properties."""
    model = built(model_path(name))
    optima = {text: value(model_path(name), text) for text in properties(name)}
    return {
        "states": model.nr_states,
        "choices": model.nr_choices,
        # JSON has no number for infinity.
        "optima": {text: "inf" if optimum == float("inf") else optimum for text, optimum in optima.items()},
    }


def explicit(name: str, model: Any) -> Iterator[tuple[Path, list[str]]]:
    """The files that PRISM writes for a model: transitions, states, labels, and two files per reward structure."""
    yield FOLDER / f"{name}.tra", transitions(model)
    yield FOLDER / f"{name}.sta", variables(model)
    yield FOLDER / f"{name}.lab", labels(model)
    for number, (title, rewards) in enumerate(sorted(model.reward_models.items()), 1):
        heading = f'# Reward structure "{title}"'
        yield FOLDER / f"{name}{number}.srew", [heading, "# State rewards", *state_rewards(model, rewards)]
        yield FOLDER / f"{name}{number}.trew", [heading, "# Transition rewards", *choice_rewards(model, rewards)]


def choices(model: Any) -> Iterator[tuple[int, int, int]]:
    """Every choice as its state, its place among the choices of the state, and its place among all choices."""
    rows = model.transition_matrix
    for s in range(model.nr_states):
        for place, choice in enumerate(range(rows.get_row_group_start(s), rows.get_row_group_end(s))):
            yield s, place, choice


def transitions(model: Any) -> list[str]:
    """State, choice, next state, probability, action."""
    lines = [f"{model.nr_states} {model.nr_choices} {model.nr_transitions}"]
    for s, place, choice in choices(model):
        action = " ".join(model.choice_labeling.get_labels_of_choice(choice))
        for entry in model.transition_matrix.get_row(choice):
            lines.append(f"{s} {place} {entry.column} {entry.value!r} {action}".rstrip())
    return lines


def variables(model: Any) -> list[str]:
    """The values of the variables of every state."""
    states = [json.loads(str(model.state_valuations.to_json(s))) for s in range(model.nr_states)]
    lines = [f"({','.join(states[0])})"]
    return lines + [f"{s}:({','.join(map(json.dumps, values.values()))})" for s, values in enumerate(states)]


def labels(model: Any) -> list[str]:
    """The labels of every state that has one; the first two are init and deadlock, as in PRISM."""
    names = ["init", "deadlock", *sorted(set(model.labeling.get_labels()) - {"init", "deadlock"})]
    lines = [" ".join(f'{number}="{name}"' for number, name in enumerate(names))]
    for s in range(model.nr_states):
        here = model.labeling.get_labels_of_state(s)
        if here:
            lines.append(f"{s}: {' '.join(str(number) for number, name in enumerate(names) if name in here)}")
    return lines


def state_rewards(model: Any, rewards: Any) -> list[str]:
    """State, reward."""
    earned = rewards.state_rewards if rewards.has_state_rewards else []
    rows = [f"{s} {reward!r}" for s, reward in enumerate(earned) if reward]
    return [f"{model.nr_states} {len(rows)}", *rows]


def choice_rewards(model: Any, rewards: Any) -> list[str]:
    """State, choice, next state, reward: that of the choice at each of its transitions."""
    rows = []
    for s, place, choice in choices(model) if rewards.has_state_action_rewards else ():
        reward = rewards.state_action_rewards[choice]
        targets = [entry.column for entry in model.transition_matrix.get_row(choice)] if reward else []
        rows += [f"{s} {place} {target} {reward!r}" for target in targets]
    return [f"{model.nr_states} {model.nr_choices} {len(rows)}", *rows]


if __name__ == "__main__":
    main()
