"""MDPs in and out of files, by the ending of the file's name."""

from pathlib import Path

from omdt.errors import InputError
from omdt.formats.npz import read_npz, write_npz
from omdt.formats.write_drn import write_drn
from omdt.formats.write_prism import write_prism
from omdt.mdp import MDP

READERS = {".npz": read_npz}
WRITERS = {".npz": write_npz, ".drn": write_drn, ".tra": write_prism}


def read(path: str | Path) -> MDP:
    """Read an MDP from a file."""
    path = Path(path)
    if path.suffix not in READERS:
        raise InputError(f"cannot read {path}: its name must end in {' or '.join(READERS)}")
    return READERS[path.suffix](path)


def write(mdp: MDP, path: str | Path) -> None:
    """Write an MDP to a file, whole or not at all."""
    path = Path(path)
    if path.suffix not in WRITERS:
        raise InputError(f"cannot write {path}: its name must end in {' or '.join(WRITERS)}")
    WRITERS[path.suffix](mdp, path)
