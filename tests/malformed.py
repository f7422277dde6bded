"""A corpus of malformed input for every reader and every option: files and words that must be refused by name."""

import io
import json
import re
import struct
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import omdt
from strategies import good_arrays

MODELS = Path(__file__).parent / "data" / "models"
NO_NUMBERS = ("", "nan", "inf", "-inf", "1e999", "abc", "1_0", "0x10", "½", "1,5", "--1", "9" * 400 + "/0")
NO_PROBABILITIES = (*NO_NUMBERS, "-0.1", "1.5", "1/0", "2/1")
NO_COUNTS = (*NO_NUMBERS, "-1", "1.5", "9" * 30, "1e3", "١")
JSON_VALUES: tuple[Any, ...] = (None, True, [], {}, "text", -1.5, 10**400, "\x1b[31m")


@dataclass(frozen=True)
class Bad:
    """Files that make up one malformed input, the first of which is given to the command line.

    Attributes:
        files: the content of every file by its name.
        says: what the message must contain besides the name of a file.
    """

    files: dict[str, bytes]
    says: tuple[str, ...] = field(default=())

    @property
    def name(self) -> str:
        """The file that the command line is given."""
        return next(iter(self.files))


def npy(array: np.ndarray) -> bytes:
    """An array as it stands in an archive, whatever its type."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, allow_pickle=True)
    return stream.getvalue()


def npy_claiming(shape: str, dtype: str = "<f8", *, content: bytes = b"") -> bytes:
    """An array whose description claims any shape and type."""
    header = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


def archive(members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An archive with any members."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return stream.getvalue()


def good_members() -> dict[str, bytes]:
    """The members of a valid archive."""
    return {f"{name}.npy": npy(array) for name, array in good_arrays().items()}


def bad_archives() -> dict[str, Bad]:
    """Archives that are cut, corrupt, incomplete, wrongly typed, or claim more than there is."""
    good = archive(good_members())
    found = {f"cut to {share}/12": good[: len(good) * share // 12] for share in range(12)}
    packed = good.index(b"rewards.npy") + len(b"rewards.npy")
    for i in range(0, 40, 5):
        changed = bytearray(good)
        changed[packed + i] ^= 0xFF
        found[f"byte {i} changed"] = bytes(changed)
    arrays = good_arrays()
    types: dict[str, np.ndarray] = {
        "objects": np.array([None, {}], dtype=object),
        "complex": np.array([1j, 2.0]),
        "text": np.array(["a", "b"]),
        "dates": np.array(["2020-01-01"], dtype="datetime64[D]"),
        "records": np.zeros(2, dtype=[("x", "f8")]),
        "bytes": np.array([b"a", b"b"]),
        "nothing": np.zeros(0),
        "five axes": np.zeros((1, 1, 1, 1, 1)),
    }
    for key in arrays:
        found[f"without {key}"] = archive({name: it for name, it in good_members().items() if name != f"{key}.npy"})
    for key in (*arrays, "available", "fallback"):
        for kind, array in types.items():
            if not (key.endswith("names") and kind == "text"):
                found[f"{key} of {kind}"] = archive(good_members() | {f"{key}.npy": npy(array)})
        for claim in ("(10**12,)", "(2**62, 2**62)", "(-1,)", "'many'", "(1.5,)", "(" + "1," * 70 + ")"):
            found[f"{key} claims {claim:.20}"] = archive(good_members() | {f"{key}.npy": npy_claiming(claim)})
    bomb = npy_claiming(f"({1 << 26}, 8)", "<f8", content=bytes(1 << 20))
    found["a bomb that ends early"] = archive(good_members() | {"rewards.npy": bomb})
    found["a long header"] = archive(good_members() | {"data.npy": npy_claiming("(3,)" + " " * 60_000)})
    found["a header of code"] = archive(good_members() | {"data.npy": npy_claiming("__import__('os').getcwd()")})
    found["names of control characters"] = archive(
        good_members() | {"action_names.npy": npy(np.array(["\x1b[31m", "\x1b[31m"]))}
    )
    found["an unknown compression"] = good.replace(b"PK\x01\x02", b"PK\x09\x09", 1)
    found["a single array"] = npy(np.zeros(3))
    return {f"npz {kind}": Bad({"model.npz": content}) for kind, content in found.items()}


def _text(name: str) -> str:
    return (MODELS / name).read_text(encoding="utf-8")


def bad_drn() -> dict[str, Bad]:
    """DRN files with one thing changed."""
    good = _text("robot.drn")
    changes: dict[str, tuple[str, str]] = {}
    for text in NO_PROBABILITIES:
        changes[f"probability {text:.9}"] = ("0 : 1/10", f"0 : {text}")
    for text in NO_NUMBERS:
        changes[f"reward {text:.9}"] = ("action east [0, 2]", f"action east [{text}, 2]")
        changes[f"variable {text:.9}"] = ("//[x=0\t& y=0]", f"//[x={text}\t& y=0]")
    for text in NO_COUNTS:
        changes[f"next state {text:.9}"] = ("1 : 9/10", f"{text} : 9/10")
        changes[f"number of states {text:.9}"] = ("@nr_states\n6", f"@nr_states\n{text}")
        changes[f"state {text:.9}"] = ("state 1 ", f"state {text} ")
    changes |= {
        "more states": ("@nr_states\n6", "@nr_states\n2000000000"),
        "more choices": ("@nr_choices\n11", "@nr_choices\n999999999999"),
        "unknown type": ("@type: MDP", "@type: \x1b[31mCTMC"),
        "no type": ("@type: MDP\n", ""),
        "no model": ("@model", "@muddle"),
        "parameters": ("@parameters\n", "@parameters\np q"),
        "intervals": ("@type: MDP", "@type: MDP\n@value_type: double-interval"),
        "open bracket": ("action east [0, 2]", "action east [0, 2"),
        "many rewards": ("action east [0, 2]", "action east [0, 2, 3]"),
        "discount": ("@type: MDP", "// discount 1.5\n@type: MDP"),
        "no initial state": (" init", ""),
        "deep JSON for a name": ("@type: MDP", f'// action east is called "a"{"[" * 100_000}"\n@type: MDP'),
        "a name that is no text": ("@type: MDP", '// action east is called "a" + "b"\n@type: MDP'),
        "a long line": ("@model", "@model " + "x" * 2_000_000),
    }
    found = {f"drn {kind}": Bad({"model.drn": _changed(good, *change).encode()}) for kind, change in changes.items()}
    lines = good.splitlines(keepends=True)
    for share in range(10):
        found[f"drn cut to {share}/10"] = Bad({"model.drn": "".join(lines[: len(lines) * share // 10]).encode()})
    found["drn of bytes"] = Bad({"model.drn": bytes(range(256))})
    return found


def bad_valuations() -> dict[str, Bad]:
    """Variables beside a DRN file that has none of its own, with one thing wrong."""
    model = re.sub(r"//\[.*\n", "", _text("robot.drn")).replace("steps energy", "energy").replace(", 0]", "]")
    model = re.sub(r"\[0, (\d)\]", r"[\1]", model)
    good: list[Any] = [[["x", s], ["up", s > 2]] for s in range(6)]
    wrong: dict[str, tuple[Any, str]] = {
        "no list": ({}, "holds no list"),
        "one state less": (good[:5], "holds a list of 5, but there are 6 states"),
        "a number for a state": ([*good[:5], 7], "state 5: expected pairs"),
        "three for a pair": ([*good[:5], [["x", 1, 2]]], "state 5: expected pairs"),
        "no name": ([*good[:5], [[1, 2]]], "state 5: expected pairs"),
        "a variable twice": ([*good[:5], [["x", 1], ["x", 2]]], "state 5: the same variable is listed twice"),
        "a variable less": ([*good[:5], [["x", 1]]], "state 5 lacks the variable 'up'"),
        "another variable": ([*good[:5], {"x": 1, "up": 1, "\x1b[31m": 1}], "state 5 has the variable"),
        **{
            f"value {value!s:.9}": ([*good[:5], {"x": value, "up": 1}], "state 5: variable 'x' is")
            for value in (None, "1", [], {}, 10**400, float("nan"), float("inf"))
        },
    }
    texts = {kind: (json.dumps(states), says) for kind, (states, says) in wrong.items()}
    texts |= {
        kind: (text, "is no JSON file") for kind, text in (("empty", ""), ("deep", "[" * 100_000), ("cut", "[[["))
    }
    return {
        f"valuations {kind}": Bad({"model.drn": model.encode(), "state-valuations.json": text.encode()}, (says,))
        for kind, (text, says) in texts.items()
    } | {"valuations of bytes": Bad({"model.drn": model.encode(), "state-valuations.json": b"\xff\xfe\x00"})}


def bad_explicit() -> dict[str, Bad]:
    """PRISM's explicit files with one thing changed."""
    endings = {
        "robot.tra": "model.tra",
        "robot.sta": "model.sta",
        "robot.lab": "model.lab",
        "robot1.srew": "model.srew",
    }
    good = {there: _text(here) for here, there in endings.items()}
    changes: dict[str, tuple[str, str, str]] = {}
    for text in NO_PROBABILITIES:
        changes[f"probability {text:.9}"] = ("model.tra", "1 0 2 0.5 east", f"1 0 2 {text} east")
    for text in NO_COUNTS:
        changes[f"next state {text:.9}"] = ("model.tra", "1 0 2 0.5", f"1 0 {text} 0.5")
        changes[f"states {text:.9}"] = ("model.tra", "6 11 16", f"{text} 11 16")
        changes[f"transitions {text:.9}"] = ("model.tra", "6 11 16", f"6 11 {text}")
        changes[f"state of variables {text:.9}"] = ("model.sta", "1:(1,0)", f"{text}:(1,0)")
        changes[f"state of label {text:.9}"] = ("model.lab", "1: 2", f"{text}: 2")
        changes[f"state of reward {text:.9}"] = ("model.srew", "0 -1", f"{text} -1")
    for text in NO_NUMBERS:
        changes[f"variable {text:.9}"] = ("model.sta", "1:(1,0)", f"1:({text},0)")
        changes[f"reward {text:.9}"] = ("model.srew", "0 -1", f"0 {text}")
    changes |= {
        "billions of states": ("model.tra", "6 11 16", "4000000000 11 16"),
        "billions of rewards": ("model.srew", "6 5", "6 5000000000"),
        "a missing column": ("model.tra", "1 0 2 0.5 east", "1 0 2"),
        "no init": ("model.lab", "0: 0", "0: 1"),
        "disorder": ("model.tra", "5 0 5 1", "0 0 5 1"),
    }
    found = {}
    for kind, (name, old, new) in changes.items():
        files = {it: text.encode() for it, text in (good | {name: _changed(good[name], old, new)}).items()}
        found[f"tra {kind}"] = Bad(files)
    for name in good:
        if name != "model.sta":  # without variables the number of the state is the feature
            found[f"tra empty {name}"] = Bad({it: (b"" if it == name else text.encode()) for it, text in good.items()})
        found[f"tra bytes in {name}"] = Bad(
            {it: (b"\xff\xfe\x00" if it == name else text.encode()) for it, text in good.items()}
        )
    return found


def bad_tables() -> dict[str, Bad]:
    """CSV tables with one thing changed."""
    good = _text("machine.csv")
    changes: dict[str, tuple[str, str]] = {}
    for text in NO_PROBABILITIES:
        if text != "1,5":
            changes[f"probability {text:.9}"] = ("0,run,1,0.5,4", f"0,run,1,{text},4")
    for text in NO_NUMBERS:
        if text != "1,5":
            changes[f"reward {text:.9}"] = ("0,run,1,0.5,4", f"0,run,1,0.5,{text}")
            changes[f"state {text:.9}"] = ("0,run,1,0.5,4", f"{text},run,1,0.5,4")
            changes[f"next state {text:.9}"] = ("0,run,1,0.5,4", f"0,run,{text},0.5,4")
    changes |= {
        "another column": ("0,run,1,0.5,4", "0,run,1,0.5,4,5"),
        "a missing column": ("0,run,1,0.5,4", "0,run,1,0.5"),
        "a nameless action": ("0,run,1,0.5,4", "0,,1,0.5,4"),
        "an open quote": ("0,run,1,0.5,4", '0,"run,1,0.5,4'),
        "no action column": ("wear,action", "wear,deed"),
        "no next column": ("next wear", "later wear"),
        "two columns of one name": ("probability,reward", "reward,reward"),
        "a column of control characters": ("next wear", "\x1b[31m"),
        "a long cell": ("0,run", "0," + "r" * 200_000),
        "a long line": ("0,run", "0," + "r" * 3_000_000),
        "half of the probability": ("0,run,0,0.5,4\n", ""),
    }
    found = {f"csv {kind}": Bad({"model.csv": _changed(good, *change).encode()}) for kind, change in changes.items()}
    found["csv empty"] = Bad({"model.csv": b""})
    found["csv without rows"] = Bad({"model.csv": good.splitlines()[0].encode()})
    found["csv of bytes"] = Bad({"model.csv": b"\xff\xfe\x00"})
    found["csv with a NUL"] = Bad({"model.csv": good.encode().replace(b"run", b"r\x00n", 1) + b"0\x00,,"})
    return found


OPTIONAL = (
    *("source", "fingerprint", "unavailable", "replaced", "fallback", "exceptions", "truth_features"),
    *("look_alike_states", "exceptions_left_out", "forced_actions", "objective", "sense"),
)
"""Entries that old solutions do not have."""

BAD_QUESTIONS: tuple[Any, ...] = (
    *(5, [], "all", {"more": 1}, {"asked": {}}, {"asked": 1}, {"asked": ["X"]}, {"asked": [{"feature": "X"}]}),
    {"asked": [{"feature": 1, "threshold": "all"}]},
    {"asked": [{"feature": "X", "threshold": "some"}]},
    {"asked": [{"feature": "X", "threshold": [True]}]},
    {"asked": [{"feature": "X", "threshold": [10**400]}]},
    {"asked": [{"feature": "X", "threshold": "all", "equals": "all"}]},
    *({"predicates": it} for it in (5, {}, {"states": 16}, {"states": "16", "holds": {}}, {"states": 16, "holds": []})),
    *({"predicates": {"states": 16, "holds": {"p": it}}} for it in (5, "", "AAA", "AAAA", "????", "\u00e9\u00e9==")),
    {"predicates": {"states": 10**9, "holds": {"p": "AAA="}}},
)
BAD_SOURCES: tuple[Any, ...] = (
    *(5, [], {}, {"problem": "xor"}, {"problem": 1, "settings": []}, {"problem": "", "settings": []}),
    *({"problem": "xor", "settings": it} for it in (None, "size=1", [1])),
    {"problem": "a\0b.npz", "settings": []},
)


def bad_solutions() -> dict[str, Bad]:
    """Solution files without an entry, with an entry of another type, with no tree, or with no JSON at all."""
    good = omdt.solve(omdt.make("frozenlake_4x4"), method="copy").to_dict()
    texts: dict[str, str] = {}
    derived = {
        "gap",
        "proven",
        "normalized_return",
        "node_limit",
        "rounding",
        "scale",
        "value_error",
        "optimal_error",
        "random_error",
    }
    for key in (key for key in good if key not in derived):
        if key not in OPTIONAL:
            texts[f"without {key}"] = json.dumps({name: value for name, value in good.items() if name != key})
        for value in JSON_VALUES:
            if not _fits(good[key], value, key):
                texts[f"{key} is {value!s:.9}"] = json.dumps(good | {key: value})
    trees: dict[str, Any] = {
        "no action": {},
        "an unknown action": {"action": "Fly"},
        "an unknown feature": {"feature": "Z", "threshold": 1, "left": {"action": "Up"}, "right": {"action": "Up"}},
        "no right side": {"feature": "X", "threshold": 1, "left": {"action": "Up"}},
        "a text as threshold": {"feature": "X", "threshold": "1", "left": {"action": "Up"}, "right": {"action": "Up"}},
        "a huge threshold": {"feature": "X", "threshold": 1e999, "left": {"action": "Up"}, "right": {"action": "Up"}},
        "a list": {"feature": "X", "threshold": 1, "left": [], "right": {"action": "Up"}},
        "a list as action": {"action": ["Up"]},
    }
    texts |= {f"tree with {kind}": json.dumps(good | {"tree": tree}) for kind, tree in trees.items()}
    texts |= {f"questions {i}": json.dumps(good | {"questions": it}) for i, it in enumerate(BAD_QUESTIONS)}
    texts |= {f"source {i}": json.dumps(good | {"source": it}) for i, it in enumerate(BAD_SOURCES)}
    texts["tree of enormous depth"] = json.dumps(good).replace('"tree": {', '"tree": {"left": ' * 3000 + "{", 1)
    texts |= {
        "empty": "",
        "a number": "1",
        "a list": "[]",
        "null": "null",
        "deep": "[" * 100_000,
        "deep objects": '{"a":' * 100_000,
        "cut": json.dumps(good)[:400],
        "twice": json.dumps(good) * 2,
        "another format": json.dumps(good | {"format": "omdt-solution-999"}),
        "a long number": json.dumps(good)[:-1] + ', "seed": ' + "9" * 5000 + "}",
    }
    found = {f"solution {kind}": Bad({"policy.json": text.encode()}) for kind, text in texts.items()}
    found["solution of bytes"] = Bad({"policy.json": b"\xff\xfe\x00"})
    return found


def _fits(good: Any, value: Any, key: str) -> bool:
    """Whether a value is of a type that an entry may have, if not of a sensible size."""
    if value is None:
        return good is None or key in ("max_depth", "max_leaf_nodes", "seconds", *OPTIONAL)
    if isinstance(value, bool | dict):
        return False
    if isinstance(value, str):
        return key in ("problem", "method", "fingerprint", "objective")
    if isinstance(value, list):
        return key in ("trace", "integer_features", "truth_features", "replaced", "exceptions", "forced_actions")
    if isinstance(value, int):
        return key in ("seed", "max_depth", "max_leaf_nodes", "look_alike_states", "exceptions_left_out")
    return isinstance(good, float)


def _changed(text: str, old: str, new: str) -> str:
    assert old in text, old
    return text.replace(old, new, 1)


FILES = bad_archives() | bad_drn() | bad_valuations() | bad_explicit() | bad_tables() | bad_solutions()

NUMBER_OPTIONS = {
    "--depth": ("-1", "1.5", "deep", "", "nan"),
    "--leaves": ("0", "-2", "few", ""),
    "--time-limit": ("0", "-1", "nan", "soon", ""),
    "--gap": ("-1", "nan", "small", ""),
    "--seed": ("-1", "1.5", "lucky", ""),
    "--threads": ("0", "-1", "all", ""),
    "--memory-limit": ("0", "-5", "1.5", "much", ""),
    "--node-limit": ("0", "-1", "1e3", "some", ""),
    "--discount": ("0", "1", "-0.1", "1.1", "nan", "inf", "high", ""),
}
WORDS: dict[str, tuple[str, ...]] = {
    **{
        f"solve {option} {value}": ("solve", "xor", *(() if option == "--depth" else ("--depth", "1")), option, value)
        for option, values in NUMBER_OPTIONS.items()
        for value in values
    },
    **{
        f"compare {option} {value}": ("compare", "xor", "--depth", "1", option, value)
        for option, values in {
            "--seeds": ("0", "-1", "x"),
            "--processes": ("0", "x"),
            "--time-limit": ("0", "nan"),
        }.items()
        for value in values
    },
    **{
        f"{command} {problem[:20]}": (command, problem)
        for command in ("info", "solve", "compare")
        for problem in (
            "",
            "zzz",
            "\x1b[31m",
            "model.xyz",
            "nowhere/model.npz",
            "missing.drn",
            "missing.tra",
            "missing.csv",
            "missing.prism",
            "missing.jani",
            "gym:",
            "gym:Nothing-v0",
            "gym:\x1b[31m",
            "a\x00b.npz",
            "n" * 5000 + ".npz",
            ".",
        )
    },
    **{
        f"set {assignment}": ("info", "frozenlake", "--set", assignment)
        for assignment in (
            "size",
            "=4",
            "size=",
            "size=x",
            "size=-1",
            "size=1e9",
            "size=99999999",
            "colour=red",
            "discount=2",
        )
    },
    "method": ("solve", "xor", "--depth", "1", "--method", "\x1b[31mmagic"),
    "backend": ("solve", "xor", "--depth", "1", "--method", "milp", "--backend", "cplex"),
    "backend of search": ("solve", "xor", "--depth", "1", "--backend", "highs"),
    "ties": ("solve", "xor", "--method", "copy", "--ties", "none"),
    "a constant that is no parameter": ("info", "model.prism", "--set", "slip=0.2"),
    "no limit": ("solve", "xor"),
    "nodes of milp": ("solve", "xor", "--depth", "1", "--method", "milp", "--node-limit", "5"),
    "json and csv": ("compare", "xor", "--depth", "1", "--json", "--csv"),
    "output is a directory": ("solve", "xor", "--depth", "1", "--output", "."),
    "output in no directory": ("solve", "xor", "--depth", "1", "--output", "nowhere/policy.json"),
    "output of a long name": ("solve", "xor", "--depth", "1", "--output", "n" * 300),
    "export without a format": ("export", "policy.json"),
    "export of nothing": ("export", "missing.json", "--to", "c"),
    "report of nothing": ("report", "missing.json"),
    "an unknown command": ("dissolve",),
    "an unknown option": ("solve", "xor", "--colour", "red"),
}
"""Arguments of the command line, none of which it can use."""
