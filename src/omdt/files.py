"""Files are written whole or not at all: into a temporary file beside the target, which is then renamed."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from omdt.errors import InputError, OutputError


def check_writable(path: Path) -> None:
    """Raise if a file could not be written to `path`; to be called before the long work whose result it will hold."""
    folder = path.parent
    try:
        if not folder.is_dir():
            raise InputError(f"cannot write {path}: there is no directory {folder}")
        if path.is_dir():
            raise InputError(f"cannot write {path}: it is a directory")
        if path.exists() and not path.is_file():
            raise InputError(f"cannot write {path}: it is not a regular file")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
    # Permissions do not tell everything: only creating a file shows that files can be created there.
    temporary = _beside(path)
    try:
        temporary.touch()
        temporary.unlink()
    except OSError as error:
        message = f"cannot write {path}: the directory {folder} is not writable ({error.strerror or error})"
        raise InputError(message) from None


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file through `write` so that `path` holds either its old content or all of the new content."""
    check_writable(path)
    temporary = _beside(path)
    try:
        with open(temporary, "wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def read_json(path: str | Path) -> Any:
    """The content of a JSON file.

    Raises:
        InputError: if it cannot be read, or is none.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a JSON file: {error}") from None


def _beside(path: Path) -> Path:
    """The temporary file that this process uses for a file."""
    return path.with_name(f".omdt.{os.getpid()}.tmp")
