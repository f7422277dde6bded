"""The room is kept: short files, short functions, typed signatures, and nobody sets an attribute of somebody else."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from omdt.methods import search

ROOM = Path(search.__file__).parent
MODULES = sorted(ROOM.rglob("*.py"))
MOST_LINES, MOST_LINES_PER_FUNCTION = 300, 40

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(module: ast.Module) -> Iterator[Function]:
    return (node for node in ast.walk(module) if isinstance(node, Function))


def is_compiled(function: Function) -> bool:
    return any("njit" in ast.unparse(decorator) for decorator in function.decorator_list)


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def own_names(function: Function) -> set[str]:
    """`self`, and what the function itself has copied."""
    copies = {
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("copy(")
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return {"self"} | copies


def set_elsewhere(function: Function) -> list[str]:
    """The attributes that a function sets of anything but its own object or a copy that it has made."""
    found = []
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            owner = ast.unparse(node.value)
            found += [] if owner in own_names(function) else [ast.unparse(node)]
    return found


def test_there_are_modules() -> None:
    assert len(MODULES) > 30


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOM)))
def test_a_module_is_short_and_typed(path: Path) -> None:
    module = parsed(path)
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES
    for function in functions(module):
        assert set_elsewhere(function) == [], function.name
        if is_compiled(function):
            continue
        assert function.end_lineno is not None
        assert function.end_lineno - function.lineno < MOST_LINES_PER_FUNCTION, function.name
        annotations = [argument.annotation for argument in ast.walk(function.args) if isinstance(argument, ast.arg)]
        for annotation in [*annotations, function.returns]:
            assert annotation is None or "Any" not in ast.unparse(annotation).replace("Anything", ""), function.name


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def f(self):\n    self.a = 1", []),
        ("def f(self, other):\n    other.a = 1", ["other.a"]),
        ("def f(self):\n    self.other.a += 1", ["self.other.a"]),
        ("def f(self):\n    again = copy(self)\n    again.a, self.b = 1, 2", []),
        ("def f(self, x):\n    del x.a", ["x.a"]),
    ],
)
def test_attributes_of_others_are_seen(source: str, found: list[str]) -> None:
    function = next(functions(ast.parse(source)))
    assert set_elsewhere(function) == found
