"""An npz keeps an MDP to the last bit, and whatever else has that ending is refused by name."""

import io
import os
import pickle
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from omdt import MDP, InputError, read, write
from omdt.environments import PAPER
from omdt.errors import OutputError
from strategies import BAD_MODELS, environment, good_arrays, mdp_from, mdps, refusal

REQUIRED = list(good_arrays())


def assert_same_bits(one: MDP, other: MDP) -> None:
    for a, b in (
        (one.transitions.data, other.transitions.data),
        (one.transitions.indices, other.transitions.indices),
        (one.transitions.indptr, other.transitions.indptr),
        (one.rewards, other.rewards),
        (one.initial, other.initial),
        (one.features, other.features),
        (one.origin, other.origin),
    ):
        assert a.shape == b.shape
        assert np.array_equal(a, b)
        if a.dtype == np.float64:
            assert a.tobytes() == b.tobytes()
    assert one.discount == other.discount
    assert (one.feature_names, one.action_names) == (other.feature_names, other.action_names)


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.npz"


@given(mdps())
def test_random_mdps_keep_every_bit(tmp_path_factory, mdp):
    path = tmp_path_factory.mktemp("npz") / "model.npz"
    write(mdp, path)
    assert_same_bits(read(path), mdp)


@pytest.mark.parametrize("name", PAPER)
def test_environments_keep_every_bit(path, name):
    mdp = environment(name)
    write(mdp, str(path))
    loaded = read(str(path))
    assert_same_bits(loaded, mdp)
    assert loaded.name == str(path)


def test_reachable_parts_keep_their_origin(path):
    mdp = MDP(np.eye(4)[[1, 1, 3, 3]], np.zeros((4, 1)), [0, 0, 1, 0], np.arange(4)).reachable()
    write(mdp, path)
    assert read(path).origin.tolist() == [2, 3]


def test_names_of_any_script_are_kept(path):
    mdp = replace(mdp_from(good_arrays()), feature_names=("größe", "[red]x[/red]"), action_names=("行く", "a\nb"))
    write(mdp, path)
    assert_same_bits(read(path), mdp)


@pytest.mark.parametrize("name", ["nul\x00", "\x00", "half \ud800 of a pair"])
def test_names_that_a_file_cannot_hold_are_refused(path, name):
    error = refusal(lambda: write(replace(mdp_from(good_arrays()), action_names=(name, "go")), path))
    if error is None:
        assert read(path).action_names == (name, "go")
    else:
        assert "name" in str(error)
        assert not path.exists()


def test_the_file_has_the_promised_arrays(path):
    write(mdp_from(good_arrays()), path)
    with np.load(path, allow_pickle=False) as archive:
        assert set(REQUIRED) <= set(archive.files)
        assert set(archive.files) - set(REQUIRED) <= {"origin"}
        assert archive["rewards"].shape == (3, 2)
        assert archive["indptr"].shape == (7,)
        assert archive["discount"].shape == ()
        assert archive["feature_names"].dtype.kind == "U"
        assert archive["action_names"].tolist() == ["stay", "go"]


def test_the_promised_arrays_are_enough(path):
    np.savez(path, **good_arrays())
    assert_same_bits(read(path), mdp_from(good_arrays()))


@pytest.mark.parametrize("key", REQUIRED)
def test_a_missing_array_is_named(path, key):
    arrays = good_arrays()
    del arrays[key]
    np.savez(path, **arrays)
    assert f"'{key}'" in refused(path)


@pytest.mark.parametrize("kind", BAD_MODELS)
def test_bad_models_are_refused_with_the_file_and_their_message(path, kind):
    changes, fragments = BAD_MODELS[kind]
    np.savez(path, **good_arrays() | changes)
    message = refused(path)
    for fragment in fragments:
        assert fragment in message


BAD_ARRAYS = {
    "rewards of one axis": ({"rewards": np.zeros(6)}, "rewards"),
    "rewards of words": ({"rewards": np.array([["a", "b"]] * 3)}, "rewards"),
    "rewards of complex numbers": ({"rewards": np.full((3, 2), 1j)}, "rewards"),
    "no states": (
        {
            "rewards": np.zeros((0, 2)),
            "initial": np.zeros(0),
            "features": np.zeros((0, 2)),
            "data": np.zeros(0),
            "indices": np.zeros(0, int),
            "indptr": np.zeros(1, int),
        },
        "no states",
    ),
    "no actions": (
        {
            "rewards": np.zeros((3, 0)),
            "data": np.zeros(0),
            "indices": np.zeros(0, int),
            "indptr": np.zeros(1, int),
            "action_names": np.array([], dtype="U1"),
        },
        "no actions",
    ),
    "features of three axes": ({"features": np.zeros((3, 2, 1))}, "features"),
    "features of words": ({"features": np.array([["a", "b"]] * 3)}, "features"),
    "initial of words": ({"initial": np.array(["a", "b", "c"])}, "initial"),
    "a list of discounts": ({"discount": np.array([0.9])}, "discount"),
    "a word for the discount": ({"discount": np.array("high")}, "discount"),
    "names that are numbers": ({"feature_names": np.array([1, 2])}, "feature_names"),
    "names that are bytes": ({"action_names": np.array([b"stay", b"go"])}, "action_names"),
    "a single name": ({"action_names": np.array("stay")}, "action_names"),
    "data of two axes": ({"data": np.ones((8, 1))}, "data"),
    "data of words": ({"data": np.array(["a"] * 8)}, "data|transitions"),
    "data of complex numbers": ({"data": good_arrays()["data"] + 1j}, "data|transitions"),
    "data too short": ({"data": np.ones(7)}, "data"),
    "indices that are not whole": ({"indices": good_arrays()["indices"] + 0.5}, "indices"),
    "indices too large": ({"indices": np.array([0, 1, 2, 0, 3, 1, 2, 2])}, "indices"),
    "indices beyond 32 bits": ({"indices": np.array([0, 1, 2, 0, 2**40, 1, 2, 2])}, "indices"),
    "negative indices": ({"indices": np.array([0, 1, 2, 0, -1, 1, 2, 2])}, "indices"),
    "indptr that is not whole": ({"indptr": good_arrays()["indptr"] * 1.0}, "indptr"),
    "indptr too short": ({"indptr": np.array([0, 2, 3, 5, 6, 8])}, "indptr"),
    "indptr that falls": ({"indptr": np.array([0, 3, 2, 5, 6, 7, 8])}, "indptr"),
    "indptr beyond the end": ({"indptr": np.array([0, 2, 3, 5, 6, 7, 99])}, "indptr"),
    "indptr with a late start": ({"indptr": np.array([1, 2, 3, 5, 6, 7, 8])}, "indptr"),
    "indptr of two axes": ({"indptr": good_arrays()["indptr"][None]}, "indptr"),
    "origin of wrong length": ({"origin": np.array([0, 1])}, "origin"),
    "origin that is not whole": ({"origin": np.array([0.5, 1.0, 2.0])}, "origin"),
}


@pytest.mark.parametrize("kind", BAD_ARRAYS)
def test_malformed_arrays_are_refused_with_the_file(path, kind):
    changes, place = BAD_ARRAYS[kind]
    np.savez(path, **good_arrays() | changes)
    message = refused(path)
    assert any(word in message for word in place.split("|"))


class Bomb:
    """Leaves a trace when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self):
        return (os.mkdir, (str(self.target),))


@pytest.mark.parametrize("key", REQUIRED)
def test_object_arrays_are_refused_and_never_unpickled(path, tmp_path, key):
    trace = tmp_path / "unpickled"
    np.savez(path, **good_arrays() | {key: np.array([Bomb(trace)], dtype=object)})
    refused(path)
    assert not trace.exists()


def test_a_pickle_is_refused_and_never_unpickled(path, tmp_path):
    trace = tmp_path / "unpickled"
    path.write_bytes(pickle.dumps(Bomb(trace)))
    refused(path)
    assert not trace.exists()


@pytest.mark.parametrize("content", [b"", b"not an archive\n", b"PK\x03\x04", b"PK\x05\x06" + bytes(18), b"\x93NUMPY"])
def test_other_files_are_refused(path, content):
    path.write_bytes(content)
    refused(path)


def test_a_single_array_is_refused(path):
    with open(path, "wb") as stream:
        np.save(stream, np.arange(3))
    refused(path)


def test_an_archive_of_texts_is_refused(path):
    with zipfile.ZipFile(path, "w") as archive:
        for key in REQUIRED:
            archive.writestr(f"{key}.npy", "no array")
    refused(path)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_file_cut_short_anywhere_is_refused(path, save):
    buffer = io.BytesIO()
    save(buffer, **good_arrays())
    whole = buffer.getvalue()
    for length in range(0, len(whole), 97):
        path.write_bytes(whole[:length])
        refused(path)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_file_with_a_damaged_byte_is_refused_or_unharmed(path, save):
    buffer = io.BytesIO()
    save(buffer, **good_arrays())
    whole = buffer.getvalue()
    expected = mdp_from(good_arrays())
    rng = np.random.default_rng(0)
    harmed = 0
    for place in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[place] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        error = refusal(lambda: assert_same_bits(read(path), expected))
        if error is not None:
            harmed += 1
            assert str(path) in str(error)
    assert harmed > 10


def test_an_array_that_claims_more_than_there_is_takes_no_memory(path):
    np.savez(path, **good_arrays())
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40, 1 << 10)})
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()} | {"rewards.npy": header.getvalue()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    assert "rewards claims 9,007,199,254,740,992 bytes" in refused(path)


def test_an_archive_that_unpacks_to_more_than_the_limit_is_refused_unread(path, monkeypatch):
    monkeypatch.setattr("omdt.formats.from_npz.MAX_BYTES", 1 << 20)
    np.savez_compressed(path, **good_arrays() | {"data": np.zeros(1 << 18)})
    assert path.stat().st_size < 10_000
    assert "at most 1,048,576 can be read" in refused(path)


def test_the_discount_can_be_replaced(path):
    write(mdp_from(good_arrays()), path)
    assert read(path, discount=0.25).discount == 0.25
    assert "above 0 and at most 1" in str(refusal(lambda: read(path, discount=2)))
    assert "discount must be a number" in str(refusal(lambda: read(path, discount="high")))


def test_a_missing_file_and_a_directory_are_named(tmp_path):
    assert "No such file" in refused(tmp_path / "missing.npz")
    (tmp_path / "folder.npz").mkdir()
    refused(tmp_path / "folder.npz")


def test_other_endings_are_refused(tmp_path):
    mdp = mdp_from(good_arrays())
    with pytest.raises(InputError, match=r"cannot read .*model\.txt: its name must end in .*\.npz"):
        read(tmp_path / "model.txt")
    with pytest.raises(InputError, match=r"cannot write .*model\.txt: its name must end in .*\.npz"):
        write(mdp, tmp_path / "model.txt")
    assert list(tmp_path.iterdir()) == []


def test_a_write_that_fails_leaves_the_old_file(path, monkeypatch):
    write(mdp_from(good_arrays()), path)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="cannot write"):
        write(environment("xor"), path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
