"""Imports point one way: from what uses to what is used, never back."""

import ast
from pathlib import Path

import pytest

import omdt

ROOT = Path(omdt.__file__).parent
MODULES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))

BASIC = {"counting", "errors", "files", "names"}
FIRST_THREE = {"mdp", "splits", "tree", "exceptions"}
CERTIFYING = {"check", "certificate", "questions"}
MAY_IMPORT: dict[str, set[str]] = {
    "counting": set(),
    "errors": set(),
    "names": set(),
    "terminal": set(),
    "watch": set(),
    "processes": {"errors"},
    "printing": {"comparing", "counting", "solution", "tree"},
    "__version__": set(),
    "check": set(),
    "files": {"errors"},
    "source": {"errors"},
    "mdp": BASIC | {"source"},
    "fingerprint": {"mdp"},
    "splits": BASIC | {"mdp"},
    "exceptions": BASIC | {"mdp"},
    "tree": BASIC | {"mdp", "splits", "exceptions"},
    "systems": {"mdp", "watch"},
    "planning": BASIC | FIRST_THREE | {"systems", "watch"},
    "unavailable": BASIC | FIRST_THREE | {"planning"},
    "solution": BASIC | FIRST_THREE | {"planning", "check", "questions", "source", "unavailable", "watch"},
    "simulation": BASIC | FIRST_THREE | {"planning", "watch"},
    "certificate": {"check", "mdp"},
    "questions": BASIC | FIRST_THREE | {"check"},
    "methods": BASIC
    | FIRST_THREE
    | {"planning", "processes", "solution", "simulation", "methods", "unavailable", "watch"}
    | CERTIFYING,
    "solving": BASIC
    | FIRST_THREE
    | {"planning", "solution", "methods", "questions", "fingerprint", "unavailable", "watch"},
    "imitating": BASIC | FIRST_THREE | {"solution", "methods", "watch"},
    "checking": BASIC | {"mdp", "check", "certificate", "source"},
    "comparing": BASIC | FIRST_THREE | {"planning", "processes", "solution", "solving", "watch"},
    "environments": BASIC | FIRST_THREE | {"environments", "source"},
    "formats": BASIC | FIRST_THREE | {"formats", "source"},
    "export": BASIC | FIRST_THREE | {"export"},
}
BEFORE_THE_COMMAND_LINE = {*MAY_IMPORT, "reproduce", "report"}
MAY_IMPORT["report"] = BEFORE_THE_COMMAND_LINE - {"reproduce"}
MAY_IMPORT["reproduce"] = BEFORE_THE_COMMAND_LINE
FREE = {"cli", "__init__"}
# A notebook asks the object itself for its picture; what draws it is imported inside that method alone, when asked.
NOTEBOOK = {Path("tree.py"): {"export"}, Path("solution.py"): {"report"}}


def room(module: Path) -> str:
    return module.parts[0].removesuffix(".py")


def package_of(module: Path) -> list[str]:
    return ["omdt", *module.parent.parts]


def imported_rooms(source: str, package: list[str]) -> set[str]:
    """The rooms of omdt that any import statement of a source names, wherever it stands."""
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            names += [f"{origin}.{alias.name}" for alias in node.names] if origin == "omdt" else [origin]
    parts = [name.split(".") for name in names]
    return {omdt._HOME.get(part[1], part[1]) for part in parts if part[0] == "omdt" and len(part) > 1}


def without_pictures(source: str) -> tuple[str, str]:
    """A source without the methods that a notebook calls, and those methods."""
    module = ast.parse(source)
    pictures: list[ast.stmt] = []
    for holder in ast.walk(module):
        if isinstance(holder, ast.ClassDef):
            pictures += [node for node in holder.body if getattr(node, "name", "") in ("_repr_svg_", "_repr_html_")]
            holder.body = [node for node in holder.body if node not in pictures]
    return ast.unparse(module), ast.unparse(ast.Module(pictures, []))


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_module_imports_only_what_stands_before_it(module):
    if room(module) in FREE:
        assert len(module.parts) == 1
        return
    assert room(module) in MAY_IMPORT, "a new room needs its place in the order"
    source, pictures = without_pictures((ROOT / module).read_text(encoding="utf-8"))
    assert imported_rooms(source, package_of(module)) <= MAY_IMPORT[room(module)]
    assert imported_rooms(pictures, package_of(module)) == NOTEBOOK.get(module, set())


def test_the_order_has_no_way_back():
    for one, allowed in MAY_IMPORT.items():
        for other in allowed - {one}:
            assert one not in MAY_IMPORT[other] - {other}


def test_every_module_is_read():
    assert {Path("mdp.py"), Path("planning.py"), Path("methods/copy.py"), Path("formats/npz.py")} <= set(MODULES)


@pytest.mark.parametrize(
    ("source", "rooms"),
    [
        ("import omdt.planning", {"planning"}),
        ("from omdt import planning, MDP", {"planning", "mdp"}),
        ("from omdt.methods.copy import grow", {"methods"}),
        ("def f():\n    from omdt.cli import main", {"cli"}),
        ("if TYPE_CHECKING:\n    from omdt.solving import solve", {"solving"}),
        ("from . import npz", {"formats"}),
        ("from .npz import read_npz", {"formats"}),
        ("from ..planning import evaluate", {"planning"}),
        ("from .. import planning", {"planning"}),
        ("import numpy, omdtlike\nfrom json import loads", set()),
    ],
)
def test_every_form_of_import_is_seen(source, rooms):
    assert imported_rooms(source, ["omdt", "formats"]) == rooms
