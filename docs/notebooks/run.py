"""Runs notebooks from top to bottom in this process and stores what they print, without Jupyter.

    python docs/notebooks/run.py docs/notebooks/*.ipynb             runs them and stores their outputs
    python docs/notebooks/run.py --check docs/notebooks/*.ipynb     fails if a text differs from the stored one

Notebooks run in a temporary folder. A line that begins with `!` is a command for the shell, as in Jupyter. Pictures are
stored but not compared, and neither are numbers, which another version of a package may change in the last digit.
"""

import ast
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback
from base64 import b64encode
from pathlib import Path
from typing import Any

Cell = dict[str, Any]
Output = dict[str, Any]

RICH = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_"}
"""The formats that an object may have for notebooks, with the methods that make them."""


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of a run, in the current folder."""
    namespace: dict[str, Any] = {"__name__": "__main__", "_shell": _shell}
    cells = []
    for number, cell in enumerate(notebook["cells"], start=1):
        if cell["cell_type"] == "code":
            cell = {**cell, "execution_count": number, "outputs": _outputs("".join(cell["source"]), namespace, number)}
        cells.append(cell)
    return {**notebook, "cells": cells}


def _outputs(source: str, namespace: dict[str, Any], number: int) -> list[Output]:
    """What a cell prints, what its last expression is, and the figures that it leaves open."""
    lines = [f"_shell({line[1:].strip()!r})" if line.startswith("!") else line for line in source.splitlines()]
    module = ast.parse("\n".join(lines))
    last = None
    if module.body and isinstance(module.body[-1], ast.Expr):
        last = ast.Expression(module.body.pop().value)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(module, f"cell {number}", "exec"), namespace)
        value = None if last is None else eval(compile(last, f"cell {number}", "eval"), namespace)
    outputs: list[Output] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    pictures = _figures()
    if value is not None and not pictures:
        outputs.append(
            {"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": _shown(value)}
        )
    return outputs + pictures


def _shown(value: object) -> dict[str, Any]:
    """The richest format in which a notebook shows a value; the plain one may have times in it."""
    for kind, method in RICH.items():
        if hasattr(value, method):
            return {kind: _lines(getattr(value, method)()), "text/plain": [f"<{type(value).__name__}>"]}
    return {"text/plain": _lines(repr(value))}


def _figures() -> list[Output]:
    """The open figures of matplotlib, which are closed."""
    if "matplotlib.pyplot" not in sys.modules:
        return []
    from matplotlib import pyplot

    found = []
    for number in pyplot.get_fignums():
        stream = io.BytesIO()
        pyplot.figure(number).savefig(stream, format="png", dpi=70)
        data = {"image/png": b64encode(stream.getvalue()).decode(), "text/plain": ["<Figure>"]}
        found.append({"output_type": "display_data", "metadata": {}, "data": data})
    pyplot.close("all")
    return found


def _shell(command: str) -> None:
    """Run a command as Jupyter does: its output is shown, and its exit status is not looked at."""
    done = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(done.stdout, end="")


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def texts(notebook: dict[str, Any]) -> list[str]:
    """What two runs must have in common: what is printed, and how values are shown, apart from pictures and numbers."""
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    formats = [output.get("data", {"text/plain": output.get("text", "")}) for output in outputs]
    shown = ["".join(data.get("text/html", data["text/plain"])) for data in formats]
    return [" ".join(re.sub(r"[\d.]+", "#", text).split()) for text in shown]


def main(arguments: list[str]) -> int:
    """Run the notebooks that the command line names; the exit status is 1 if one fails."""
    checking = "--check" in arguments
    # Commands of notebooks come from the environment of this interpreter.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    os.environ.setdefault("MPLBACKEND", "agg")
    status = 0
    for path in (Path(name).resolve() for name in arguments if name != "--check"):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            try:
                done = run(notebook)
            except Exception:
                traceback.print_exc()
                status = 1
                continue
        if not checking:
            path.write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        elif texts(done) != texts(notebook):
            print(f"{path.name} prints something else than is stored; run docs/notebooks/run.py", file=sys.stderr)
            differing = [pair for pair in zip(texts(notebook), texts(done), strict=False) if pair[0] != pair[1]]
            for stored, printed in differing:
                print(f"stored:\n{stored}\nprinted:\n{printed}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
