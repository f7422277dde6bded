"""A file is written whole or not at all."""

import os
from pathlib import Path

import pytest

from omdt.errors import InputError, OutputError
from omdt.files import check_writable, write_whole
from strategies import refusal


def test_what_is_written_is_in_the_file_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "result"
    write_whole(path, lambda stream: stream.write(b"first"))
    write_whole(path, lambda stream: stream.write(b"second"))
    assert path.read_bytes() == b"second"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("error", "raised"), [(OSError(28, "No space left"), OutputError), (ZeroDivisionError(), None)]
)
def test_a_write_that_fails_midway_leaves_the_old_file(tmp_path, error, raised):
    path = tmp_path / "result"
    path.write_bytes(b"old")

    def fail(stream):
        stream.write(b"half of the n")
        raise error

    with pytest.raises(raised or type(error)):
        write_whole(path, fail)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_disk_that_fails_leaves_the_old_file_and_a_message(tmp_path, monkeypatch, step):
    path = tmp_path / "result"
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OutputError, match=r"cannot write .*result: Input/output error"):
        write_whole(path, lambda stream: stream.write(b"new"))
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("function", [check_writable, lambda path: write_whole(path, lambda stream: None)])
def test_places_that_cannot_be_written_are_refused_by_name(tmp_path, function):
    with pytest.raises(InputError, match=r"cannot write .*nowhere.result: there is no directory"):
        function(tmp_path / "nowhere" / "result")
    with pytest.raises(InputError, match="it is a directory"):
        function(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_without_permission_is_refused(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "touch", refuse)
    with pytest.raises(InputError, match=r"is not writable \(Permission denied\)"):
        check_writable(tmp_path / "result")


@pytest.mark.parametrize("length", [250, 300])
def test_a_long_name_is_written_or_refused(tmp_path, length):
    path = tmp_path / ("n" * length)
    if length <= 255:
        write_whole(path, lambda stream: stream.write(b"x"))
        assert path.read_bytes() == b"x"
    else:
        with pytest.raises(InputError, match="cannot write"):
            write_whole(path, lambda stream: stream.write(b"x"))
        assert list(tmp_path.iterdir()) == []


def test_a_link_to_a_device_is_not_replaced_by_a_file(tmp_path):
    link = tmp_path / "null"
    link.symlink_to(os.devnull)
    error = refusal(lambda: write_whole(link, lambda stream: stream.write(b"x")))
    assert error is None or "null" in str(error)
    assert link.is_symlink()
