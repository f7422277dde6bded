"""Certificates as lists of records, for tests that change them."""

import gzip
import json
from pathlib import Path
from typing import Any

from omdt import check
from omdt.certificate import Writer

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


def lines(*records: Any) -> bytes:
    """Lines of JSON."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def packed(content: bytes) -> bytes:
    """The content of a certificate, packed as the checker wants it."""
    return check.HEAD + gzip.compress(content, mtime=0)[10:]
