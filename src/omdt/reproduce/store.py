"""The store: one line of JSON for every finished run, in a file that survives the end of the process at any moment.

A line ends with a checksum of what stands before it and is written in one piece and synced before the run counts as
finished. Whatever a crash leaves of a last line is recognised and cut off when the file is opened; a line that was
damaged later is left out. Either way its run is done again, and a message says so. One process at a time has the file.
"""

import hashlib
import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from omdt.errors import InputError
from omdt.files import check_writable
from omdt.reproduce.grid import Run
from omdt.solution import Solution

FORMAT = "omdt-run-1"
CHECK = ', "check": "'
"""What stands between the content of a line and its checksum."""


@dataclass(frozen=True)
class Record:
    """A finished run.

    Attributes:
        key: what tells the run from every other.
        run: what was run.
        problem_digest: of its problem.
        solution: all of what it found, with its trace.
        cpu_seconds: of the process, over the run.
        peak_memory: most bytes of the process during the run; None where the system does not say.
        machine: facts about the machine and the versions of what ran there.
        finished: when, as an ISO date in UTC.
    """

    key: str
    run: Run
    problem_digest: str
    solution: Solution
    cpu_seconds: float
    peak_memory: int | None
    machine: dict[str, str]
    finished: str

    @property
    def seconds(self) -> float:
        """How long it took; only runs with a node limit, which the grid has not, keep that to themselves."""
        return self.solution.seconds or 0.0

    def to_line(self) -> bytes:
        """The line of the store, with its checksum and its end."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        text = json.dumps({"format": FORMAT, **fields, "run": asdict(self.run), "solution": self.solution.to_dict()})
        content = text.removesuffix("}")
        return f'{content}{CHECK}{_checksum(content)}"}}\n'.encode()

    @classmethod
    def from_line(cls, line: bytes) -> "Record":
        """The record of a line; raises `InputError` if it is damaged or of another format."""
        content, _, check = line.decode(errors="replace").rpartition(CHECK)
        if check != _checksum(content) + '"}':
            raise InputError("the checksum is wrong")
        data: dict[str, Any] = json.loads(content + "}")
        if data.pop("format", None) != FORMAT:
            raise InputError(f"its format is not {FORMAT!r}")
        try:
            return cls(**data | {"run": Run(**data["run"]), "solution": Solution.from_dict(data["solution"])})
        except (KeyError, TypeError) as error:
            raise InputError(f"it lacks or has too much: {error}") from None


def _checksum(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()[:16]


class Store:
    """The finished runs of a file, by key; a context that holds the file for one process.

    Args:
        path: the file; it is made if it is not there.
        tell: called with a message for the user about anything that is left out.
    """

    def __init__(self, path: Path, tell: Callable[[str], None]) -> None:
        check_writable(path)
        self.path = path
        self.records: dict[str, Record] = {}
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
        except OSError as error:
            raise InputError(f"cannot open {path}: {error.strerror or error}") from None
        try:
            _lock(self._file, path)
            self._read(tell)
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def append(self, record: Record) -> None:
        """Add a finished run; when this returns it is on the disk."""
        line = record.to_line()
        size = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, line)
            while written < len(line):
                written += os.write(self._file, line[written:])
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, size)
            raise InputError(f"cannot write {self.path}: {error.strerror or error}") from None
        self.records[record.key] = record

    def _read(self, tell: Callable[[str], None]) -> None:
        data = b"".join(iter(lambda: os.read(self._file, 1 << 20), b""))
        whole, _, rest = data.rpartition(b"\n")
        lines = whole.split(b"\n") if whole else []
        for number, line in enumerate(lines, start=1):
            try:
                record = Record.from_line(line)
            except (InputError, ValueError) as error:
                if number == len(lines) and not rest:
                    rest = line + b"\n"
                else:
                    tell(f"{self.path}, line {number}, is left out and its run done again: {error}")
            else:
                self.records[record.key] = record
        if rest:
            tell(f"{self.path} ends in a half-written line, which is dropped; its run is done again")
            os.ftruncate(self._file, len(data) - len(rest))


def _lock(file: int, path: Path) -> None:
    """Hold a file until it is closed or the process ends, however that happens."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(f"another process is using {path}; wait for it, or choose another --output") from None
