"""Trees out: one small module per language, and the list of them all.

A new format is a file with a function and one line in `EXPORTS`. The command line and the documentation take their
lists from there. The function itself is imported when it is first used, so that the list costs nothing to read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from omdt.counting import listed
from omdt.errors import InputError

if TYPE_CHECKING:
    from omdt.export.c import to_c as to_c
    from omdt.export.documents import to_json as to_json
    from omdt.export.documents import to_text as to_text
    from omdt.export.dot import to_dot as to_dot
    from omdt.export.dtcontrol import to_dtcontrol as to_dtcontrol
    from omdt.export.javascript import to_javascript as to_javascript
    from omdt.export.onnx import to_onnx as to_onnx
    from omdt.export.pictures import to_pdf as to_pdf
    from omdt.export.pictures import to_png as to_png
    from omdt.export.prism import to_prism as to_prism
    from omdt.export.python import to_python as to_python
    from omdt.export.sklearn import to_sklearn as to_sklearn
    from omdt.export.sklearn import to_sklearn_script as to_sklearn_script
    from omdt.export.svg import to_svg as to_svg
    from omdt.tree import TreePolicy


@dataclass(frozen=True)
class Export:
    """A format that trees can be exported to.

    Attributes:
        name: what `--to` calls it.
        suffix: how the name of such a file usually ends.
        help: what it is, in one line.
        function: module and name of the function that takes a tree and returns text or bytes.
        needs: what has to be installed; empty if nothing has to be.
        leaves_only: whether the result names the action of the leaf also where that action is not available.
        remark: module and name of a function that returns what users of an exported tree have to know, or None.
    """

    name: str
    suffix: str
    help: str
    function: str
    needs: str = ""
    leaves_only: bool = False
    remark: str = ""


EXPORTS: dict[str, Export] = {
    export.name: export
    for export in (
        Export("text", ".txt", "indented lines, as `omdt solve` prints them", "documents.to_text"),
        Export("json", ".json", "nested nodes, names and exceptions, for `TreePolicy.from_dict`", "documents.to_json"),
        Export("dot", ".dot", "a Graphviz graph", "dot.to_dot", leaves_only=True),
        Export("svg", ".svg", "a drawing without background, with tooltips", "svg.to_svg", leaves_only=True),
        Export("png", ".png", "the drawing on white", "pictures.to_png", "extra `plots`", leaves_only=True),
        Export("pdf", ".pdf", "the drawing on white", "pictures.to_pdf", "extra `plots`", leaves_only=True),
        Export("python", ".py", "a module with `policy(observation)` that imports nothing", "python.to_python"),
        Export("c", ".c", "a C99 source with `int policy(const double *observation)`, no includes, no state", "c.to_c"),
        Export(
            "javascript",
            ".mjs",
            "a module with `policy(observation)` for browsers and Node.js",
            "javascript.to_javascript",
        ),
        Export(
            "onnx",
            ".onnx",
            "a model from `observations` (double `[n, F]`) to `actions` (int64 `[n]`)",
            "onnx.to_onnx",
            "extra `onnx`",
            leaves_only=True,
        ),
        Export(
            "sklearn",
            ".py",
            "a Python script that builds a fitted `DecisionTreeClassifier`",
            "sklearn.to_sklearn_script",
            "scikit-learn, to run it",
            leaves_only=True,
        ),
        Export(
            "prism",
            ".prism",
            "a module that restricts a PRISM model to the tree's choices",
            "prism.to_prism",
            remark="prism.labels_needed",
        ),
        Export(
            "dtcontrol",
            ".json",
            "the JSON that dtControl writes for its own trees",
            "dtcontrol.to_dtcontrol",
            leaves_only=True,
        ),
    )
}
"""All formats by their names."""

_FUNCTIONS = {export.function for export in EXPORTS.values()} | {"sklearn.to_sklearn"}
_HOME = {function.partition(".")[2]: function for function in _FUNCTIONS}


def __getattr__(name: str) -> object:
    """Import `to_c` and the other functions when they are first used."""
    if name not in _HOME:
        raise AttributeError(f"module 'omdt.export' has no attribute {name!r}")
    return _function(_HOME[name])


def __dir__() -> list[str]:
    return [*globals(), *_HOME]


def _function(path: str) -> Callable[["TreePolicy"], Any]:
    """The function of a module of this package, such as `c.to_c`; what it returns depends on which one that is."""
    module, _, name = path.partition(".")
    found: Callable[[TreePolicy], Any] = getattr(import_module(f"omdt.export.{module}"), name)
    return found


def export_names() -> str:
    """The names of all formats as a phrase, for help texts and messages."""
    return listed(tuple(EXPORTS), "or")


def export_tree(tree: "TreePolicy", to: str) -> str | bytes:
    """The tree in one of the formats of `EXPORTS`; what is returned as bytes is not for a terminal."""
    if to not in EXPORTS:
        raise InputError(f"there is no export to {to!r}; there are {', '.join(EXPORTS)}")
    exported: str | bytes = _function(EXPORTS[to].function)(tree)
    return exported


def to_be_told(tree: "TreePolicy", to: str) -> str | None:
    """What users of an exported tree have to know and cannot see in it."""
    export = EXPORTS[to]
    if export.remark:
        remark: str | None = _function(export.remark)(tree)
        return remark
    if export.leaves_only and tree.exceptions.matter:
        return (
            f"{to} has only the actions of the leaves; where such an action is not available another one is played, "
            "see --to json"
        )
    return None
