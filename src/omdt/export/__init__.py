"""Trees out: one small module per language, and the registry of them all."""

from collections.abc import Callable

from omdt.errors import InputError
from omdt.export.c import to_c
from omdt.export.documents import to_json, to_text
from omdt.export.dot import to_dot
from omdt.export.dtcontrol import to_dtcontrol
from omdt.export.javascript import to_javascript
from omdt.export.onnx import to_onnx
from omdt.export.pictures import to_pdf, to_png
from omdt.export.prism import labels_needed, to_prism
from omdt.export.python import to_python
from omdt.export.sklearn import to_sklearn, to_sklearn_script
from omdt.export.svg import to_svg
from omdt.tree import TreePolicy

__all__ = [
    "EXPORTS",
    "export_tree",
    "to_c",
    "to_dot",
    "to_dtcontrol",
    "to_javascript",
    "to_json",
    "to_onnx",
    "to_pdf",
    "to_png",
    "to_prism",
    "to_python",
    "to_sklearn",
    "to_sklearn_script",
    "to_svg",
    "to_text",
]

EXPORTS: dict[str, Callable[[TreePolicy], str | bytes]] = {
    "text": to_text,
    "json": to_json,
    "dot": to_dot,
    "svg": to_svg,
    "png": to_png,
    "pdf": to_pdf,
    "python": to_python,
    "c": to_c,
    "javascript": to_javascript,
    "onnx": to_onnx,
    "sklearn": to_sklearn_script,
    "prism": to_prism,
    "dtcontrol": to_dtcontrol,
}
"""What each format makes of a tree; those that give bytes are not for a terminal."""

LEAVES_ONLY = frozenset({"dot", "svg", "png", "pdf", "onnx", "sklearn", "dtcontrol"})
"""Formats that act, or show, as the leaves say, also where their action is not available and another is played."""


def to_be_told(tree: TreePolicy, to: str) -> str | None:
    """What whoever uses the exported tree must know, beside what it says itself."""
    if to == "prism":
        return labels_needed(tree)
    if to in LEAVES_ONLY and tree.exceptions.matter:
        return f"{to} has what the leaves say; where that is not available another action is played, see --to json"
    return None


def export_tree(tree: TreePolicy, to: str) -> str | bytes:
    """The tree in one of the formats of `EXPORTS`."""
    if to not in EXPORTS:
        raise InputError(f"there is no export to {to!r}; there are {', '.join(EXPORTS)}")
    return EXPORTS[to](tree)
