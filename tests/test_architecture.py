"""Imports point one way: from what uses to what is used, never back."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import omdt

ROOT = Path(omdt.__file__).parent
MODULES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))

BASIC = {"arrays", "available", "counting", "errors", "files", "frames", "graph", "lapack", "meant", "names"}
FIRST_THREE = {"mdp", "divisions", "splits", "tree", "exceptions"}
ASKED = {"limits", "objective", "properties", "rules", "task"}
CALLED = {"progress", "terminal", "verbs"}
CERTIFYING = {"check", "certificate", "questions"}
MAY_IMPORT: dict[str, set[str]] = {
    "counting": set(),
    "errors": set(),
    "meant": set(),
    "names": set(),
    "terminal": set(),
    "compiling": set(),
    "watch": {"compiling"},
    "progress": {"compiling", "counting", "progress", "watch"},
    "processes": {"errors"},
    "cluster": {"__version__", "errors"},
    "printing": {"comparing", "counting", "mdp", "printing", "solution", "splits", "task", "tradeoffs", "tree"},
    "__version__": set(),
    "check": {"check"},
    "files": {"errors"},
    "frames": {"errors"},
    "source": {"errors"},
    "arrays": {"errors"},
    "available": {"arrays"},
    "graph": {"arrays"},
    "choice_graph": {"arrays", "graph"},
    "lapack": {"arrays"},
    "mdp_checks": {"arrays", "counting", "errors"},
    "mdp_building": {"arrays", "counting", "errors", "mdp_checks", "source"},
    "mdp_constructors": {"arrays", "mdp_building"},
    "mdp_sizes": {"arrays", "counting"},
    "mdp": BASIC | {"mdp_constructors", "mdp_checks", "mdp_sizes", "source"},
    "fingerprint": {"mdp"},
    "divisions": {"mdp"},
    "splits": BASIC | {"divisions", "mdp"},
    "exceptions": BASIC | {"mdp"},
    "tree": BASIC | {"mdp", "splits", "exceptions", "tree"},
    "systems": {"arrays", "graph", "systems", "watch"},
    "norms": {"mdp"},
    "planning": BASIC | FIRST_THREE | {"choice_graph", "norms", "planning", "systems", "watch"},
    "guide": {"mdp"},
    "unavailable": BASIC | FIRST_THREE | {"planning"},
    "limits": {"errors"},
    "properties": BASIC | {"mdp", "properties"},
    "objective": {"errors", "mdp", "properties"},
    "rules": BASIC | FIRST_THREE | {"limits", "properties", "rules"},
    "task": BASIC | FIRST_THREE | {"check", "guide", "limits", "norms", "objective", "planning", "questions", "rules"},
    "judging": BASIC | FIRST_THREE | ASKED | {"planning", "watch"},
    "verbs": BASIC | {"formats", "mdp", "objective", "progress", "source"},
    "solution": BASIC
    | FIRST_THREE
    | ASKED
    | {"solution", "planning", "check", "questions", "source", "unavailable", "watch"},
    "simulation": BASIC | FIRST_THREE | {"planning", "watch"},
    "certificate": {"check", "mdp"},
    "questions": BASIC | FIRST_THREE | {"check"},
    "methods": BASIC
    | FIRST_THREE
    | ASKED
    | {"choice_graph", "cluster", "norms", "planning", "processes", "solution", "systems"}
    | {"judging", "simulation", "methods", "unavailable", "watch"}
    | CERTIFYING,
    "robust": BASIC
    | FIRST_THREE
    | ASKED
    | {"formats", "norms", "mdp_checks", "mdp_sizes", "methods", "planning", "robust", "solution", "systems", "watch"},
    "concluding": BASIC
    | FIRST_THREE
    | ASKED
    | {"judging", "planning", "solution", "methods", "fingerprint", "unavailable", "watch"},
    "solving": BASIC | FIRST_THREE | ASKED | CALLED | {"concluding", "methods", "robust", "solution", "watch"},
    "installation": {"mdp", "methods", "solution", "solving"},
    "imitating": BASIC | FIRST_THREE | ASKED | {"methods", "watch"},
    "checking": BASIC | {"mdp", "check", "certificate", "source"},
    "comparing": BASIC
    | FIRST_THREE
    | ASKED
    | CALLED
    | {"comparing", "judging", "methods", "planning", "processes", "solution", "solving", "watch"},
    "tradeoffs": BASIC
    | FIRST_THREE
    | ASKED
    | CALLED
    | {
        "check",
        "concluding",
        "judging",
        "methods",
        "planning",
        "questions",
        "solution",
        "solving",
        "source",
        "tradeoffs",
        "unavailable",
        "watch",
    },
    "learning": BASIC
    | FIRST_THREE
    | ASKED
    | CALLED
    | {"concluding", "fingerprint", "formats", "imitating", "learning", "mdp_checks", "methods", "norms", "planning"}
    | {"processes", "robust", "solution", "solving", "source", "watch"},
    "environments": BASIC | FIRST_THREE | {"environments", "source"},
    "formats": BASIC | FIRST_THREE | {"formats", "mdp_checks", "objective", "properties", "source"},
    "export": BASIC | FIRST_THREE | {"export"},
}
BEFORE_THE_COMMAND_LINE = {*MAY_IMPORT, "reproduce", "report"}
MAY_IMPORT["report"] = BEFORE_THE_COMMAND_LINE - {"reproduce"}
MAY_IMPORT["reproduce"] = BEFORE_THE_COMMAND_LINE
FREE = {"cli", "__init__"}
DOORS = ("_repr_svg_", "_repr_html_", "__str__", "from_dataframe", "plot", "to_frame")
"""Methods by which users reach a later room from an object of an earlier one: what prints or draws it, or what reads an
MDP from a table. The later room is imported inside that method alone, when it is called."""
BEHIND_DOORS = {
    Path("comparing/results.py"): {"printing", "report"},
    Path("mdp.py"): {"formats", "printing"},
    Path("mdp_constructors.py"): {"formats"},
    Path("solution/solution.py"): {"printing", "report"},
    Path("splits.py"): {"printing"},
    Path("tradeoffs/alternatives_result.py"): {"printing"},
    Path("tradeoffs/front_points.py"): {"printing", "report"},
    Path("tree/policy.py"): {"export"},
}


def room(module: Path) -> str:
    return module.parts[0].removesuffix(".py")


def package_of(module: Path) -> list[str]:
    return ["omdt", *module.parent.parts]


def imported_names(source: str, package: list[str]) -> list[list[str]]:
    """The parts of every name of omdt that any import statement of a source names, wherever it stands."""
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            names += [f"{origin}.{alias.name}" for alias in node.names]
    parts = [name.split(".") for name in names]
    return [part for part in parts if part[0] == "omdt" and len(part) > 1]


def imported_rooms(source: str, package: list[str]) -> set[str]:
    """The rooms of omdt that a source imports from."""
    return {omdt._HOME.get(part[1], part[1]).split(".")[0] for part in imported_names(source, package)}


def imported_modules(source: str, package: list[str]) -> set[Path]:
    """The files of omdt that a source imports, the longest path that each imported name begins with."""
    found = set()
    for part in imported_names(source, package):
        home = [*omdt._HOME.get(part[1], part[1]).split("."), *part[2:]]
        paths = [path for n in range(len(home), 0, -1) for path in (Path(*home[:n]), Path(*home[:n], "__init__"))]
        found.update([path.with_suffix(".py") for path in paths if path.with_suffix(".py") in MODULES][:1])
    return found


def without_doors(source: str) -> tuple[str, str]:
    """A source without the methods of `DOORS`, and those methods."""
    module = ast.parse(source)
    doors: list[ast.stmt] = []
    for holder in ast.walk(module):
        if isinstance(holder, ast.ClassDef):
            doors += [node for node in holder.body if getattr(node, "name", "") in DOORS]
            holder.body = [node for node in holder.body if node not in doors]
    return ast.unparse(module), ast.unparse(ast.Module(doors, []))


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_module_imports_only_what_stands_before_it(module):
    if room(module) in FREE:
        return
    assert room(module) in MAY_IMPORT, "a new room needs its place in the order"
    source, doors = without_doors((ROOT / module).read_text(encoding="utf-8"))
    assert imported_rooms(source, package_of(module)) <= MAY_IMPORT[room(module)]
    assert imported_rooms(doors, package_of(module)) == BEHIND_DOORS.get(module, set())


def test_the_order_has_no_way_back():
    for one, allowed in MAY_IMPORT.items():
        for other in allowed - {one}:
            assert one not in MAY_IMPORT[other] - {other}


def test_no_modules_import_one_another():
    graph = {
        module: imported_modules(without_doors((ROOT / module).read_text(encoding="utf-8"))[0], package_of(module))
        for module in MODULES
        if room(module) not in FREE
    }
    assert graph[Path("mdp.py")] >= {Path("arrays.py"), Path("mdp_checks.py"), Path("mdp_constructors.py")}
    TopologicalSorter(graph).prepare()


def test_every_module_is_read():
    assert {Path("mdp.py"), Path("planning/optimal.py"), Path("methods/copy.py"), Path("formats/from_npz.py")} <= set(
        MODULES
    )


@pytest.mark.parametrize(
    ("source", "rooms"),
    [
        ("import omdt.planning", {"planning"}),
        ("from omdt import planning, MDP", {"planning", "mdp"}),
        ("from omdt.methods.copy import grow", {"methods"}),
        ("def f():\n    from omdt.cli import main", {"cli"}),
        ("if TYPE_CHECKING:\n    from omdt.solving import solve", {"solving"}),
        ("from . import from_npz", {"formats"}),
        ("from .from_npz import read", {"formats"}),
        ("from ..planning import evaluate", {"planning"}),
        ("from .. import planning", {"planning"}),
        ("import numpy, omdtlike\nfrom json import loads", set()),
    ],
)
def test_every_form_of_import_is_seen(source, rooms):
    assert imported_rooms(source, ["omdt", "formats"]) == rooms


def module_name(path: Path) -> str:
    return ".".join(["omdt", *path.with_suffix("").parts]).removesuffix(".__init__")


def imported_files(source: str, names: set[str]) -> set[str]:
    """The modules of omdt that any absolute import of a source names; a module is named before what is in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules = {f"{node.module}.{alias.name}" for alias in node.names} & names
            found |= modules or {node.module}
    return found & names


def test_no_file_imports_itself_through_others():
    names = {module_name(path): path for path in MODULES}
    imports = {}
    for name, path in names.items():
        source, _ = without_doors((ROOT / path).read_text(encoding="utf-8"))
        imports[name] = imported_files(source, set(names)) - {name}
    order = list(TopologicalSorter(imports).static_order())
    assert order.index("omdt.tree.nodes") < order.index("omdt.tree.policy") < order.index("omdt.cli")
