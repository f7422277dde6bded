"""The store: one line of JSON per finished run, in a file that survives the end of the process at any moment.

A line ends with a checksum of its content. It is written in one piece and synced before the run counts as finished.
When the file is opened, an incomplete last line, which a crash can leave, is recognised and cut off, and a line that
was damaged later is skipped. Either way its run is done again, and a message says so. Only one process at a time can
use the file.
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
"""The text between the content of a line and its checksum."""


@dataclass(frozen=True)
class Record:
    """A finished run.

    Attributes:
        key: identifies the run.
        run: what was run.
        problem_digest: the digest of its problem.
        solution: what it found, with its trace.
        cpu_seconds: processor time of the process during the run.
        peak_memory: peak memory of the process during the run in bytes; None where the system does not tell.
        machine: facts about the machine and the versions of the packages there.
        finished: when it finished, as an ISO date in UTC.
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
        """How long it took; a solution is without its time only if nodes were limited, which the grid never does."""
        return self.solution.seconds or 0.0

    def to_line(self) -> bytes:
        """The line of the store, with its checksum and the newline."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        text = json.dumps({"format": FORMAT, **fields, "run": asdict(self.run), "solution": self.solution.to_dict()})
        content = text.removesuffix("}")
        return f'{content}{CHECK}{_checksum(content)}"}}\n'.encode()

    @classmethod
    def from_line(cls, line: bytes) -> "Record":
        """The record of a line; raises `InputError` if the line is damaged or of another format."""
        content, _, check = line.decode(errors="replace").rpartition(CHECK)
        if check != _checksum(content) + '"}':
            raise InputError("the checksum is wrong")
        data: dict[str, Any] = json.loads(content + "}")
        if data.pop("format", None) != FORMAT:
            raise InputError(f"its format is not {FORMAT!r}")
        try:
            return cls(**data | {"run": Run(**data["run"]), "solution": Solution.from_dict(data["solution"])})
        except (KeyError, TypeError) as error:
            raise InputError(f"a field is missing or unknown: {error}") from None


def _checksum(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()[:16]


class Store:
    """The finished runs of a file, by key; a context that keeps the file open and other processes out.

    Args:
        path: the file; it is created if it does not exist.
        tell: called with a message for the user about every line that is skipped.
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
        """Add a finished run; when this returns, it is on the disk."""
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
    """Lock a file until it is closed or the process ends, in whatever way."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(f"another process is using {path}; wait for it, or choose another --output") from None
