"""The gallery shows every environment with a picture, its trees and its front, and one command makes a section anew."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from omdt import environments

DOCS = Path(__file__).parents[2] / "docs"
SECTIONS = dict(
    part.partition("\n")[::2] for part in (DOCS / "gallery.md").read_text(encoding="utf-8").split("\n## ")[1:]
)


def table(section: str) -> list[list[str]]:
    """The figures of a section by depth: leaves, return, bound, kept, proven."""
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in re.findall(r"^\| \d.*$", section, re.M)]


def test_the_gallery_has_all_environments() -> None:
    assert list(SECTIONS) == list(environments.listed())


@pytest.mark.parametrize("name", environments.listed())
def test_a_section_has_pictures_figures_and_trees(name: str) -> None:
    section = SECTIONS[name]
    pictures = re.findall(r"^\[?!\[[^]]+\]\((images/gallery/[^)]+)\)", section, re.M)
    assert pictures == [f"images/gallery/{name}.png", f"images/gallery/{name}.svg"]
    for picture in pictures:
        assert 1000 < (DOCS / picture).stat().st_size < 60_000
    rows = table(section)
    assert [row[0] for row in rows] == ["1", "2", "3", "4"]
    values, bounds = ([float(re.sub("−", "-", row[column].replace(",", ""))) for row in rows] for column in (2, 3))
    assert values == sorted(values)
    for value, bound, row in zip(values, bounds, rows, strict=True):
        assert value <= bound * (1 + 1e-5) + 1e-9 if bound > 0 else value <= bound * (1 - 1e-5) + 1e-9
        assert row[5] in ("yes", "no")
    assert 1 <= section.count("<pre>") <= 4


@pytest.mark.needs("matplotlib")
def test_one_command_makes_a_section(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", DOCS / "gallery.py", "--only", "frozenlake_4x4"]
    done = subprocess.run([*command, "--images", tmp_path], capture_output=True, text=True, check=True)
    made, stored = done.stdout.strip().removeprefix("## frozenlake_4x4\n"), SECTIONS["frozenlake_4x4"].strip()
    assert table(made) == table(stored)
    # Which of two trees with the same return comes first may depend on how the processor rounds.
    assert len(re.findall("<pre>.*?</pre>", made, re.S)) == len(re.findall("<pre>.*?</pre>", stored, re.S))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["frozenlake_4x4.png", "frozenlake_4x4.svg"]
