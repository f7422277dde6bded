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
from omdt.formats.drn import TYPES, Built, read_drn_as
from omdt.formats.objective import chosen_reward
from omdt.formats.text import check_is_file
from omdt.mdp import MDP

BUILD = Path(__file__).with_name("storm_build.py")

MOST_COMMANDS = 12
"""As many commands are spelled out in a message; the others are called in the same way."""


def read_symbolic(
    path: Path,
    *,
    discount: float | None = None,
    reward: str | None = None,
    cost: str | None = None,
    constants: str | None = None,
    fallback: str | None = None,
) -> MDP:
    """Read a model in the PRISM language or in JANI; its variables become the features.

    Args:
        path: the file; .jani is JANI, everything else the PRISM language.
        discount: the languages have none; 0.99 is assumed, with a warning.
        reward: name of the reward model to maximise; needed when there are several.
        cost: name of the reward model to minimise instead.
        constants: values of the constants that the model leaves open, such as "N=3,p=0.5".
        fallback: the action that is played where a tree names an unavailable one; see `MDP`.
    """
    require("stormpy", "storm", f"reading {path.suffix} files")
    check_is_file(path)
    with TemporaryDirectory() as folder:
        facts, drn, choices = (Path(folder) / name for name in ("facts.json", "model.drn", "choices.json"))
        _run(path, "describe", path, facts)
        known = _json(facts)
        # Building can take minutes; what is refused in any case is refused before.
        if known["type"] not in TYPES:
            raise InputError(f"{path}: the model is of type {known['type']!r}; only MDP and DTMC can be read")
        chosen_reward(path, known["rewards"], reward, cost)
        _run(path, "build", path, constants or "", drn, choices)
        named = _json(choices)
        _tell_names(path, named["meanings"])
        names = [named["names"][i] if i >= 0 else None for i in named["of_choice"]]
        built = Built(names, known["properties"])
        return read_drn_as(drn, path, discount=discount, reward=reward, cost=cost, fallback=fallback, built=built)


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
    """Say what commands without a name are called."""
    if not meanings:
        return
    lines = [f"  {name}: {text}" for name, text in list(meanings.items())[:MOST_COMMANDS]]
    if len(meanings) > MOST_COMMANDS:
        lines.append(f"  and {len(meanings) - MOST_COMMANDS:,} more")
    have = "has no name and is called by its module and place", "have no name and are called by their module and place"
    commands = counted(len(meanings), f"command {have[0]}", f"commands {have[1]}")
    warn_input(f"{path}: {commands}:\n" + "\n".join(lines))
