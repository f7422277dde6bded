"""Certificates: the file that proves a bound, written record by record while the proof is found.

A certificate is a gzip stream of records. A record is one line of JSON, a list that begins with the kind of the record
and ends with the number of raw bytes that follow the line. These bytes are a vector of little-endian numbers: 32-bit or
64-bit floating-point numbers, or 32-bit integers. The first line names the format and says what the proof is about, the
last line has the SHA-256 of all bytes before it. The page "What proven means here" lists the records; `check` reads
them.
"""

import hashlib
import json
import struct
import zlib
from collections.abc import Mapping
from typing import BinaryIO

import numpy as np

from omdt import check
from omdt.mdp import MDP

COMPRESSION = 6
"""Level of compression: the highest one makes files 3 % smaller and takes six times as long."""


class Writer:
    """Writes a certificate into a stream; `head` says what the proof is about."""

    def __init__(self, stream: BinaryIO, head: Mapping[str, object]) -> None:
        self._stream, self._deflated = stream, zlib.compressobj(COMPRESSION, wbits=-zlib.MAX_WBITS)
        self._crc = self._size = 0
        self.digest = hashlib.sha256()
        stream.write(check.HEAD)
        self._put(json.dumps([check.FORMAT, head]).encode() + b"\n")

    def write(self, *record: object, raw: bytes = b"") -> None:
        """Add a record: its kind, its entries, and the raw bytes of its vector."""
        self._put(json.dumps([*record, len(raw)], separators=(",", ":"), allow_nan=False).encode() + b"\n" + raw)

    def close(self) -> None:
        """Add the checksum."""
        self._put(json.dumps(["end", self.digest.hexdigest()]).encode() + b"\n")
        self._stream.write(self._deflated.flush() + struct.pack("<LL", self._crc, self._size % 2**32))

    def _put(self, content: bytes) -> None:
        self.digest.update(content)
        self._crc, self._size = zlib.crc32(content, self._crc), self._size + len(content)
        self._stream.write(self._deflated.compress(content))


def model_of(mdp: MDP) -> check.Model:
    """The MDP in the plain arrays that the checker reads."""
    return check.Model(
        data=mdp.transitions.data,
        indices=mdp.transitions.indices.astype(np.int64),
        indptr=mdp.transitions.indptr.astype(np.int64),
        rewards=mdp.rewards,
        initial=mdp.initial,
        features=mdp.features,
        discount=mdp.discount,
        feature_names=mdp.feature_names,
        action_names=mdp.action_names,
        available=None if mdp.all_available else mdp.available,
        labels=mdp.labels,
        reward_models=mdp.reward_models,
        endless=mdp.endless,
    )
