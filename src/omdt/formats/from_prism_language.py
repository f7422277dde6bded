"""Models in the PRISM language and in JANI, built state by state by Storm (needs the extra `storm`)."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from omdt.counting import counted
from omdt.errors import InputError, require, warn_input
from omdt.formats.drn_header import TYPES
from omdt.formats.drn_model import Built
from omdt.formats.from_drn import read_as
from omdt.formats.options import ReadOptions
from omdt.formats.rewards import chosen_reward
from omdt.formats.text import check_is_file
from omdt.mdp import MDP

BUILD = Path(__file__).with_name("storm_build.py")

MOST_COMMANDS = 12
"""Maximum number of unnamed commands that a warning spells out."""


def read(path: Path, options: ReadOptions) -> MDP:
    """Read a model in JANI (.jani) or in the PRISM language; its variables become the features."""
    known = _described(path)
    with TemporaryDirectory() as folder:
        drn, choices = (Path(folder) / name for name in ("model.drn", "choices.json"))
        # Building can take minutes, so the facts that lead to an error in any case are checked before it.
        if known["type"] not in TYPES:
            raise InputError(f"{path}: the model is of type {known['type']!r}; only MDP and DTMC can be read")
        chosen_reward(path, known["rewards"], options)
        _run(path, "build", path, options.constants or "", drn, choices)
        named = _json(choices)
        _tell_names(path, named["meanings"])
        names = [named["names"][i] if i >= 0 else None for i in named["of_choice"]]
        built = Built(names, len(known["properties"]), named["labels"])
        return read_as(drn, path, options, built)


def own_properties(path: Path) -> list[tuple[str, str]]:
    """The properties that a JANI file holds itself: their names, and what they ask in PRISM's syntax."""
    return [(name, text) for name, text in _described(path)["properties"]]


def _described(path: Path) -> dict[str, Any]:
    """What Storm says about a model without building it."""
    require("stormpy", "storm", f"reading {path.suffix} files")
    check_is_file(path)
    with TemporaryDirectory() as folder:
        facts = Path(folder) / "facts.json"
        _run(path, "describe", path, facts)
        known: dict[str, Any] = _json(facts)
        return known


def _run(path: Path, *arguments: object) -> None:
    """Let Storm describe or build a model in a process of its own."""
    # Without -P the script would find this folder's modules before those of the same name that Storm needs.
    command = [sys.executable, "-P", str(BUILD), *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode < 0:
        raise InputError(f"Storm cannot build {path}: it crashed ({signal.Signals(-done.returncode).name})")
    if done.returncode > 0:
        raise InputError(f"Storm cannot build {path}: {done.stderr.strip().expandtabs(2)}")


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _tell_names(path: Path, meanings: dict[str, str]) -> None:
    """Warn how commands without a name are called."""
    if not meanings:
        return
    lines = [f"  {name}: {text}" for name, text in list(meanings.items())[:MOST_COMMANDS]]
    if len(meanings) > MOST_COMMANDS:
        lines.append(f"  and {len(meanings) - MOST_COMMANDS:,} more")
    have = "has no name and is called by its module and place", "have no name and are called by their module and place"
    commands = counted(len(meanings), f"command {have[0]}", f"commands {have[1]}")
    warn_input(f"{path}: {commands}:\n" + "\n".join(lines))
