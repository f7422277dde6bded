"""Lets Storm read and build a model: a script, since a model may crash Storm and its process with it.

    storm_build.py describe MODEL FACTS                 its type, rewards and properties, without building it
    storm_build.py build MODEL CONSTANTS DRN CHOICES    all its states as DRN, and the names of its choices
                                                        and labels

FACTS and CHOICES are JSON files to write. What is wrong with the model goes to standard error.
"""

import json
import re
import sys
from collections import Counter, defaultdict
from typing import Any

DIGITS = 17
"""Significant digits with which every double can be read back exactly."""

REWARD = re.compile(r'R\{"([^"]*)"\}')
ACCUMULATED = re.compile(r"\[([FC]) ?\[([a-z, ]+)\]")

NO_CHOICES: dict[str, Any] = {"names": [], "of_choice": [], "meanings": {}}
"""The choices of a Markov chain, which has none."""

EVERYWHERE = {"init", "deadlock"}
"""The labels that Storm gives to every model."""

Origin = tuple[int, ...]
"""The commands (in JANI: edges) that make a choice together."""


def describe(path: str, facts: str) -> None:
    """Write the model's type, the names of its rewards and the properties that its file asks for."""
    model, properties = _parsed(path)
    asked = [(it.get_name(), str(it.get_raw_formula())) for it in properties]
    if path.endswith(".jani"):
        with open(path, encoding="utf-8-sig") as stream:
            content = json.load(stream)
        rewards = _jani_rewards(content, [text for _, text in asked])
        asked = [(name, _without_accumulation(text, content)) for name, text in asked]
    else:
        rewards = [it.name for it in model.reward_models]
    _write(facts, {"type": model.model_type.name, "rewards": rewards, "properties": asked})


def build(path: str, constants: str, drn: str, choices: str) -> None:
    """Explore all states and write them with their variables, labels, choices and rewards."""
    import stormpy
    from stormpy.developer import DirectEncodingExporterOptions
    from stormpy.io import export_to_drn

    model, _ = _parsed(path)
    if constants:
        model, _ = stormpy.instantiate_constants(model, constants)
    _check_constants(model)
    options = stormpy.BuilderOptions(build_full=True)
    options.set_build_choice_origins(True)
    built = stormpy.build_model(model, options=options)
    named = _named_choices(built) if built.model_type.name == "MDP" else NO_CHOICES
    _write(choices, {**named, "labels": sorted(built.labeling.get_labels() - EVERYWHERE)})
    encoding = DirectEncodingExporterOptions()
    encoding.output_precision = DIGITS
    export_to_drn(built, drn, options=encoding)


def _parsed(path: str) -> tuple[Any, list[Any]]:
    import stormpy

    if path.endswith(".jani"):
        model, properties = stormpy.parse_jani_model(path)
        return model, list(properties)
    return stormpy.parse_prism_program(path), []


def _check_constants(model: Any) -> None:
    """Raise if there are constants without a value."""
    names = [constant.name for constant in model.constants if not constant.defined]
    if names:
        what = f"the constant {names[0]} has" if len(names) == 1 else f"the constants {', '.join(names)} have"
        setting = "constants=" + ",".join(f"{name}=VALUE" for name in names)
        raise ValueError(f"{what} no value; set {setting} (on the command line --set {setting})")


def _jani_rewards(content: dict[str, Any], properties: list[str]) -> list[str]:
    """What Storm builds as rewards: the numbers among the transient global variables, and the sums of properties."""
    variables = content.get("variables", [])
    names = [it["name"] for it in variables if it.get("transient") and it["type"] != "bool"]
    return list(dict.fromkeys([*names, *(name for text in properties for name in REWARD.findall(text))]))


def _without_accumulation(text: str, content: dict[str, Any]) -> str:
    """A property without the words on when rewards add up, if they say that all of its reward does."""
    found, names = ACCUMULATED.search(text), REWARD.findall(text)
    if found is None or not names:
        return text
    words = {word.strip() for word in found[2].split(",")}
    return ACCUMULATED.sub(r"[\1 ", text) if _earned_when(names[0], content) <= words else text


def _earned_when(reward: str, content: dict[str, Any]) -> set[str]:
    """When a reward of JANI is earned: on leaving locations ("exit"), on steps along edges ("steps"), or both."""
    if reward not in [it["name"] for it in content.get("variables", [])]:
        return {"exit", "steps"}
    automata = content.get("automata", [])
    locations = [location for automaton in automata for location in automaton["locations"]]
    targets = [it for automaton in automata for edge in automaton["edges"] for it in edge["destinations"]]
    at_locations = any(it["ref"] == reward for place in locations for it in place.get("transient-values", []))
    on_edges = any(it["ref"] == reward for target in targets for it in target.get("assignments", []))
    return {word for word, earned in (("exit", at_locations), ("steps", on_edges)) if earned}


def _named_choices(model: Any) -> dict[str, Any]:
    """The names of the choices, the number of each choice's name, and what the names of unnamed commands stand for.

    A name means the same commands in every state. Choices without a label are called by their commands. Where a state
    offers several choices of one label, they are told apart by numbers, and each group of commands has the same number
    in all states. A choice without a label that is its state's only one is left without a name (-1).
    """
    rows, labeling = model.transition_matrix, model.choice_labeling
    states = [range(rows.get_row_group_start(s), rows.get_row_group_end(s)) for s in range(model.nr_states)]
    labels = [" ".join(sorted(labeling.get_labels_of_choice(c))) for c in range(model.nr_choices)]
    origins = _origins(model, states, labels)
    numbers = _numbers(states, labels, origins)
    spelled = {origin: _spelled(model, origin) for origin in {origins[c] for c in origins if not labels[c]}}
    names: dict[str, int] = {}
    of_choice = []
    for c, label in enumerate(labels):
        if c not in origins:
            name = label
        elif not label:
            name, _ = spelled[origins[c]]
        else:
            number = numbers[label, origins[c]]
            name = label if number == 1 else f"{label} ({number})"
        of_choice.append(names.setdefault(name, len(names)) if name else -1)
    return {
        "names": list(names),
        "of_choice": of_choice,
        "meanings": dict(spelled[origin] for origin in sorted(spelled)),
    }


def _origins(model: Any, states: list[range], labels: list[str]) -> dict[int, Origin]:
    """The commands of those choices whose label does not say it all: none, or one that some state offers twice."""
    repeated: set[str] = set()
    for choices in states:
        repeated.update(label for label, times in Counter(labels[c] for c in choices).items() if times > 1)
    found = model.choice_origins
    commands_of = found.get_command_set if found.is_prism_choice_origins() else found.get_edge_index_set
    origins: dict[int, Origin] = {}
    known: dict[str, Origin] = {}
    for choices in states:
        for c in choices:
            if labels[c] in repeated if labels[c] else len(choices) > 1:
                commands = commands_of(c)
                # Printing one of Storm's sets takes a tenth of the time of going through it.
                text = str(commands)
                if text not in known:
                    known[text] = tuple(sorted(commands))
                origins[c] = known[text]
    return origins


def _numbers(states: list[range], labels: list[str], origins: dict[int, Origin]) -> dict[tuple[str, Origin], int]:
    """A number for each group of commands of a repeated label, different for those that one state offers together."""
    together: dict[tuple[str, Origin], set[Origin]] = defaultdict(set)
    for choices in states:
        here: dict[str, list[Origin]] = defaultdict(list)
        for c in choices:
            if labels[c] and c in origins:
                here[labels[c]].append(origins[c])
        for label, offered in here.items():
            for origin in offered:
                together[label, origin].update(offered)
    numbers: dict[tuple[str, Origin], int] = {}
    for label, origin in sorted(together):
        taken = {numbers.get((label, other)) for other in together[label, origin] - {origin}}
        numbers[label, origin] = next(n for n in range(1, len(taken) + 2) if n not in taken)
    return numbers


def _spelled(model: Any, origin: Origin) -> tuple[str, str]:
    """The name of a group of commands, such as "robot command 3", and their text."""
    origins = model.choice_origins
    spell = _prism_command if origins.is_prism_choice_origins() else _jani_edge
    spelled = [spell(origins, number) for number in origin]
    return " + ".join(name for name, _ in spelled), " + ".join(text for _, text in spelled)


def _prism_command(origins: Any, number: int) -> tuple[str, str]:
    return next(
        (f"{module.name} command {place}", str(command))
        for module in origins.program.modules
        for place, command in enumerate(module.commands, 1)
        if command.global_index == number
    )


def _jani_edge(origins: Any, number: int) -> tuple[str, str]:
    a, e = origins.model.decode_automaton_and_edge_index(number)
    automaton = origins.model.automata[a]
    edge = automaton.edges[e]
    location = automaton.locations[edge.source_location_index].name
    return f"{automaton.name} edge {e + 1}", f"the edge from location {location} where {edge.guard}"


def _write(path: str, content: dict[str, Any]) -> None:
    with open(path, "w", encoding="utf-8") as stream:
        json.dump(content, stream)


if __name__ == "__main__":
    try:
        (describe if sys.argv[1] == "describe" else build)(*sys.argv[2:])
    except Exception as error:
        # Whatever Storm's many exceptions say is about the model.
        sys.exit(str(error))
