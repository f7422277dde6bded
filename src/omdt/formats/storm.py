"""Models in the PRISM language and in JANI, built state by state by Storm (needs the extra `storm`)."""

import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from omdt.errors import InputError, require
from omdt.formats.drn import read_drn_as
from omdt.formats.text import check_is_file
from omdt.mdp import MDP

BUILD = Path(__file__).with_name("storm_build.py")


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
        drn = Path(folder) / "model.drn"
        # Without -P the script would find this folder's modules before those of the same name that Storm needs.
        command = [sys.executable, "-P", str(BUILD), str(path), str(drn), constants or ""]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode < 0:
            raise InputError(f"Storm cannot build {path}: it crashed ({signal.Signals(-done.returncode).name})")
        if done.returncode > 0:
            raise InputError(f"Storm cannot build {path}: {done.stderr.strip()}")
        return read_drn_as(drn, path, discount=discount, reward=reward, cost=cost, fallback=fallback)
