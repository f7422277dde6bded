"""The page "Extending omdt": its changes are made to a copy of the package, and its examples run there."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import omdt

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "extending.md"
MOST_FILES = 4
HEADINGS = ("A bound", "An objective", "A rule", "An environment", "A format", "An export")

BLOCK = re.compile(
    r"^(?:(New file|In|At the end of) `(src/[^`]+)`:|(Try it):)?\n*```(python|diff)\n(.*?)^```", re.M | re.S
)


@dataclass
class Section:
    """One extension: what changes in which file, and the example that shows it."""

    changes: list[tuple[str, str, str]] = field(default_factory=list)
    example: str = ""


def sections() -> dict[str, Section]:
    parts = re.split(r"^## (.*)\n", PAGE.read_text(encoding="utf-8"), flags=re.M)[1:]
    found: dict[str, Section] = {}
    for heading, text in zip(parts[::2], parts[1::2], strict=True):
        section = found[heading] = Section()
        how, path = "", ""
        for where, named, example, _, content in BLOCK.findall(text):
            if example:
                section.example = content
                continue
            # A second block without a heading of its own belongs to the same file.
            how, path = (where, named) if where else (how, path)
            section.changes.append((how, path, content))
    return found


def make(change: tuple[str, str, str], copy: Path) -> None:
    how, name, content = change
    path = copy / name
    if how == "New file":
        assert not path.exists(), name
        path.write_text(content, encoding="utf-8")
        return
    before = path.read_text(encoding="utf-8")
    if how == "At the end of":
        path.write_text(f"{before}\n\n{content}", encoding="utf-8")
        return
    lines = content.splitlines()
    old = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("+"))
    new = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("-"))
    assert before.count(old) == 1, f"{name} does not have these lines once:\n{old}"
    path.write_text(before.replace(old, new), encoding="utf-8")


def test_the_page_has_all_extensions() -> None:
    assert tuple(sections()) == HEADINGS


@pytest.mark.parametrize("heading", HEADINGS)
def test_an_extension_changes_few_files_and_works(heading: str, tmp_path: Path) -> None:
    section = sections()[heading]
    assert section.changes
    assert "assert" in section.example
    assert len({path for _, path, _ in section.changes}) <= MOST_FILES
    shutil.copytree(Path(omdt.__file__).parent, tmp_path / "src" / "omdt", ignore=shutil.ignore_patterns("__pycache__"))
    for change in section.changes:
        make(change, tmp_path)
    # Without compilation the loops are slow, but the copy of the package would have to be compiled first.
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src"), "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", section.example],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "src" / "omdt").exists()


def test_the_extensions_keep_the_style_of_the_package(tmp_path: Path) -> None:
    """All of them together pass the linter, as a contribution must."""
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent)) or shutil.which("ruff")
    assert ruff is not None
    shutil.copytree(Path(omdt.__file__).parent, tmp_path / "src" / "omdt", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for section in sections().values():
        for change in section.changes:
            make(change, tmp_path)
    changed = sorted({path for section in sections().values() for _, path, _ in section.changes})
    done = subprocess.run([ruff, "check", *changed], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
