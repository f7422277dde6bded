"""The best known trees of the deepest cells, normalised as in the paper, kept in `best_trees.csv` beside this file."""

import csv
from pathlib import Path

PATH = Path(__file__).with_suffix(".csv")

LEVEL = 0.005
"""How far below the best known return a run of 20 seconds may end."""

Cell = tuple[str, int]
"""An environment and a depth."""


def best_known() -> dict[Cell, float]:
    with open(PATH, encoding="utf-8", newline="") as stream:
        return {(row["environment"], int(row["depth"])): float(row["return"]) for row in csv.DictReader(stream)}


def keep(best: dict[Cell, float]) -> None:
    with open(PATH, "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["environment", "depth", "return"])
        writer.writerows([name, depth, f"{value:.5f}"] for (name, depth), value in best.items())
