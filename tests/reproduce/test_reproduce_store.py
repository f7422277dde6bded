"""The store: every record is whole or absent, whatever happens to the file, and one process at a time has it."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from reproduce_cases import lake_record

from omdt.errors import InputError
from omdt.reproduce.store import Record, Store

RECORDS = [lake_record(1), lake_record(2), lake_record(1, seed=1)]


def opened(path: Path) -> tuple[list[Record], list[str]]:
    messages: list[str] = []
    with Store(path, messages.append) as store:
        return list(store.records.values()), messages


@pytest.fixture
def path(tmp_path) -> Path:
    path = tmp_path / "runs.jsonl"
    with Store(path, pytest.fail) as store:
        for record in RECORDS:
            store.append(record)
    return path


def test_what_was_appended_is_read_again(path):
    assert opened(path) == (RECORDS, [])


def test_every_line_is_json_with_the_whole_solution(path):
    for line, record in zip(path.read_text().splitlines(), RECORDS, strict=True):
        data = json.loads(line)
        assert data["solution"] == json.loads(record.solution.to_json())
        assert data["solution"]["trace"]
        assert data["run"]["method"] == "search"
        assert {"cpu_seconds", "peak_memory", "machine", "problem_digest", "finished", "check"} <= set(data)


def test_a_last_line_cut_off_anywhere_is_dropped_with_a_message(path):
    whole = path.read_bytes()
    start = whole.rindex(b"\n", 0, -1) + 1
    for end in range(start, len(whole), 7):
        path.write_bytes(whole[:end])
        records, messages = opened(path)
        assert records == RECORDS[:2]
        assert len(messages) == (end > start)
        assert all("half-written" in message for message in messages)
        assert path.read_bytes() == whole[:start]
    with Store(path, pytest.fail) as store:
        store.append(RECORDS[2])
    assert path.read_bytes() == whole


def test_a_last_line_of_the_right_length_with_wrong_content_is_dropped(path):
    whole = path.read_bytes()
    path.write_bytes(whole[:-400] + b"\0" * 399 + b"\n")
    records, messages = opened(path)
    assert records == RECORDS[:2]
    assert len(messages) == 1
    assert opened(path) == (RECORDS[:2], [])


def test_a_line_that_was_damaged_later_is_left_out_and_the_others_stay(path):
    lines = path.read_bytes().split(b"\n")
    lines[1] = lines[1].replace(b'"depth": 2', b'"depth": 3')
    path.write_bytes(b"\n".join(lines))
    records, messages = opened(path)
    assert records == [RECORDS[0], RECORDS[2]]
    assert len(messages) == 1
    assert "line 2" in messages[0]


def test_records_of_another_format_are_left_out(path):
    line = RECORDS[0].to_line()
    assert Record.from_line(line.rstrip(b"\n")) == RECORDS[0]
    with pytest.raises(InputError, match="checksum"):
        Record.from_line(line.replace(b"omdt-run-1", b"omdt-run-2"))


def test_one_process_at_a_time_has_the_store(path):
    with Store(path, pytest.fail), pytest.raises(InputError, match="another process"):
        Store(path, pytest.fail)
    assert opened(path) == (RECORDS, [])


def test_a_full_disk_leaves_no_half_a_line(path, monkeypatch):
    whole, write = path.read_bytes(), os.write

    def half(file: int, data: bytes) -> int:
        if len(data) < 500:
            raise OSError(28, "No space left on device")
        return write(file, data[: len(data) - 400])

    with Store(path, pytest.fail) as store:
        monkeypatch.setattr(os, "write", half)
        with pytest.raises(InputError, match="No space left"):
            store.append(replace(RECORDS[0], key="other"))
        monkeypatch.undo()
    assert path.read_bytes() == whole


def test_a_store_that_cannot_be_made_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no directory"):
        Store(tmp_path / "none" / "runs.jsonl", pytest.fail)
