"""Ways to play an exported tree without the package: compile it, run it, or read it with a reader of ten lines."""

import ast
import ctypes
import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from omdt.export import export_tree, to_sklearn
from omdt.tree import TreePolicy

Play = Callable[[TreePolicy, np.ndarray, Path], list[int]]


def play_python(tree: TreePolicy, X: np.ndarray, folder: Path) -> list[int]:
    module = python_module(tree, "python")
    return [module["policy"](x) for x in X]


def python_module(tree: TreePolicy, to: str) -> dict[str, Any]:
    """The names that an exported Python file defines."""
    source = export_tree(tree, to)
    namespace: dict[str, Any] = {}
    exec(compile(source.encode(), "policy.py", "exec"), namespace)
    return namespace


def play_c(tree: TreePolicy, X: np.ndarray, folder: Path) -> list[int]:
    library = c_library(tree, folder)
    numbers = np.ascontiguousarray(X, dtype=np.float64)
    return [library.policy(row.ctypes.data_as(ctypes.POINTER(ctypes.c_double))) for row in numbers]


def c_library(tree: TreePolicy, folder: Path) -> ctypes.CDLL:
    """The exported C file compiled with every usual warning as an error."""
    count = len(list(folder.glob("*.so")))
    source, target = folder / f"policy{count}.c", folder / f"policy{count}.so"
    source.write_bytes(export_tree(tree, "c").encode())
    command = ["gcc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", target, source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(target))


def play_javascript(tree: TreePolicy, X: np.ndarray, folder: Path) -> list[int]:
    return node(tree, X, folder)["played"]


def node(tree: TreePolicy, X: np.ndarray, folder: Path) -> dict[str, Any]:
    """What Node.js makes of the exported module: its names and the actions that it takes."""
    (folder / "policy.mjs").write_bytes(export_tree(tree, "javascript").encode())
    (folder / "observations.json").write_text(json.dumps(X.tolist()))
    program = """
        import { readFileSync } from "node:fs";
        import { ACTIONS, FEATURES, policy } from "./policy.mjs";
        const X = JSON.parse(readFileSync("observations.json"));
        console.log(JSON.stringify({ ACTIONS, FEATURES, played: X.map((x) => policy(x)) }));
    """
    (folder / "play.mjs").write_text(program)
    done = subprocess.run(["node", "play.mjs"], cwd=folder, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def play_onnx(tree: TreePolicy, X: np.ndarray, folder: Path) -> list[int]:
    actions, scores = onnx_session(tree).run(["actions", "scores"], {"observations": X})
    np.testing.assert_array_equal(scores, np.eye(len(tree.action_names))[actions])
    return actions.tolist()


def onnx_session(tree: TreePolicy) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(export_tree(tree, "onnx"), options, providers=["CPUExecutionProvider"])


def play_sklearn(tree: TreePolicy, X: np.ndarray, folder: Path) -> list[int]:
    return to_sklearn(tree).predict(X).tolist()


def play_sklearn_script(tree: TreePolicy, X: np.ndarray, folder: Path) -> list[int]:
    return python_module(tree, "sklearn")["policy"].predict(X).tolist()


def play_prism(tree: TreePolicy, X: np.ndarray, folder: Path) -> list[int]:
    """Evaluate the guards of the module; exactly one must hold."""
    guards = prism_guards(tree)
    played = []
    for x in X.tolist():
        holding = [a for a, guard in enumerate(guards) if eval(guard, {"x": x})]
        assert len(holding) == 1
        played += holding
    return played


def prism_guards(tree: TreePolicy) -> list[CodeType]:
    """The guard of each action's command, as an expression in the observation x."""
    source = re.sub("//.*", "", export_tree(tree, "prism"))
    commands = re.findall(r"\[\w+\] (.*?) -> true;", source, re.S)
    assert len(commands) == len(tree.action_names)
    columns = {name: f"x[{j}]" for j, name in enumerate(prism_features(tree))}
    return [compile(_python_guard(guard, columns), "guard", "eval") for guard in commands]


def _python_guard(guard: str, columns: dict[str, str]) -> str:
    if guard in ("true", "false"):
        return guard.capitalize()
    guard = re.sub(r"[A-Za-z_]\w*(?=<=|>|=|!=)", lambda word: columns[word[0]], guard.replace("\n", " "))
    return re.sub(r"(?<![<>!])=", "==", guard).replace("&", " and ").replace("|", " or ")


def prism_features(tree: TreePolicy) -> list[str]:
    """What the module calls the features, from its comments."""
    comments = re.findall("^// feature (.*) is called (.*)$", export_tree(tree, "prism"), re.M)
    renamed = {ast.literal_eval(name): called for name, called in comments}
    return [renamed.get(name, name) for name in tree.feature_names]


def play_dtcontrol(tree: TreePolicy, X: np.ndarray, folder: Path) -> list[int]:
    root = json.loads(export_tree(tree, "dtcontrol"))
    return [tree.action_names.index(_dtcontrol_label(root, dict(zip(tree.feature_names, x, strict=True)))) for x in X]


def _dtcontrol_label(node: dict[str, Any], x: dict[str, float]) -> str:
    while node["split"] is not None:
        assert node["actual_label"] is None
        assert [child["edge_label"] for child in node["children"]] == ["true", "false"]
        assert node["split"]["lhs"]["coeff"] == 1
        value, number = x[node["split"]["lhs"]["var"]], node["split"]["rhs"]
        holds = {"<=": value <= number, "==": value == number}[node["split"]["op"]]
        node = node["children"][0 if holds else 1]
    assert node["children"] == []
    (label,) = node["actual_label"]
    return label


def play_json(tree: TreePolicy, X: np.ndarray, folder: Path) -> list[int]:
    data = json.loads(export_tree(tree, "json"))
    assert data["format"] == "omdt-tree-1"
    names = data["feature_names"], data["action_names"]
    return TreePolicy.from_dict(data["tree"], *names, data["integer_features"]).actions(X).tolist()


PLAYERS: dict[str, Play] = {
    "python": play_python,
    "c": play_c,
    "javascript": play_javascript,
    "onnx": play_onnx,
    "sklearn": play_sklearn,
    "sklearn script": play_sklearn_script,
    "prism": play_prism,
    "dtcontrol": play_dtcontrol,
    "json": play_json,
}


def assert_plays_like(language: str, tree: TreePolicy, X: np.ndarray, folder: Path) -> None:
    assert PLAYERS[language](tree, X, folder) == tree.actions(X).tolist()


def assert_plays_like_within_its_numbers(language: str, tree: TreePolicy, X: np.ndarray, folder: Path) -> None:
    """The same for any observations: scikit-learn knows 32-bit numbers only, and PRISM's integers are whole."""
    if language.startswith("sklearn"):
        X = X.clip(-1e30, 1e30).astype(np.float32).astype(np.float64)
        with np.errstate(over="ignore"):
            values = tree.threshold.astype(np.float32).clip(-3e38, 3e38)
        tree = replace(tree, threshold=np.where(tree.equality, values, tree.threshold))
    if language == "prism":
        X = np.where(tree.integer, np.floor(X), X)
    assert_plays_like(language, tree, X, folder)
