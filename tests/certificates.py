"""Certificates as lists of records, for tests that change them."""

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omdt import check
from omdt.certificate import Writer, model_of
from omdt.mdp import MDP
from omdt.solution import Solution

Records = list[tuple[list[Any], bytes]]
"""The records of a certificate with their raw bytes; the first one is its head."""


def read(path: Path) -> Records:
    with gzip.open(path) as stream:
        return list(check.records(stream, 1 << 30))


def write(path: Path, records: Records) -> None:
    with open(path, "wb") as stream:
        writer = Writer(stream, records[0][0][1])
        for record, raw in records[1:]:
            writer.write(*record, raw=raw)
        writer.close()


@dataclass(frozen=True)
class Certified:
    """A solved problem with its certificate."""

    mdp: MDP
    solution: Solution
    path: Path

    def check(self, **changes: Any) -> check.Verdict:
        """The verdict, with the option `exact` or with changes in the solution."""
        exactly = changes.pop("exact", False)
        return check.check(model_of(self.mdp), self.solution.to_dict() | changes, self.path, exact=exactly)

    def accepts(self, records: Records, **changes: Any) -> bool:
        """Whether other records, with a fitting checksum, are accepted."""
        write(self.path, records)
        try:
            self.check(**changes)
        except (check.RejectedError, check.UnreadableError):
            return False
        return True


def lines(*records: Any) -> bytes:
    """Lines of JSON."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def packed(content: bytes) -> bytes:
    """The content of a certificate, packed as the checker wants it."""
    return check.HEAD + gzip.compress(content, mtime=0)[10:]
