"""The notebooks of the documentation run from top to bottom in a fresh process and print what is stored in them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
NEEDS = {
    "frozenlake": [pytest.mark.needs("gymnasium"), pytest.mark.needs_program("cc")],
    "proof": [],
    "shop": [pytest.mark.needs(module) for module in ("jinja2", "matplotlib", "pandas")],
}
SEEN = {
    "frozenlake": ["C and Python decide alike in all 17 states", "reached the goal in"],
    "proof": [
        "\nVERIFIED: the tree returns 0.365166515",
        "\nNOT VERIFIED: loss 0",
        "\nNOT VERIFIED: 1 case is left open",
    ],
    "shop": ["leaves 3:  98.0% of the best possible policy, proven"],
}
"""What a reader sees in each notebook."""


def read(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))


def test_every_notebook_is_run() -> None:
    assert [path.stem for path in NOTEBOOKS] == sorted(NEEDS) == sorted(SEEN)


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks) for name, marks in NEEDS.items()])
def test_a_notebook_prints_what_is_stored(name: str, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", FOLDER / "run.py", "--check", FOLDER / f"{name}.ipynb"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", NEEDS)
def test_readers_see_the_results_without_running_anything(name: str) -> None:
    outputs = [output for cell in read(name)["cells"] for output in cell.get("outputs", [])]
    printed = "\n" + "\n".join("".join(output.get("text", "")) for output in outputs)
    for text in SEEN[name]:
        assert text in printed


@pytest.mark.parametrize("name", NEEDS)
def test_a_notebook_has_the_form_that_jupyter_reads(name: str) -> None:
    notebook = read(name)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    cells = notebook["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    for cell in cells:
        common = {"cell_type", "id", "metadata", "source"}
        assert set(cell) == (common | {"outputs", "execution_count"} if cell["cell_type"] == "code" else common)
    assert cells[0]["source"][0].startswith("# ")


def test_a_notebook_that_prints_something_else_is_noticed(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": ["print('new')"], "execution_count": 1}
    stored = {"output_type": "stream", "name": "stdout", "text": ["old\n"]}
    path = tmp_path / "changed.ipynb"
    path.write_text(json.dumps({"cells": [{**cell, "outputs": [stored]}]}))
    command = [sys.executable, FOLDER / "run.py", "--check", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "stored:\nold" in done.stderr, "printed:\nnew" in done.stderr) == (1, True, True)
