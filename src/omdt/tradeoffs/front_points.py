"""Front: the best tree of every size as points, with their JSON, CSV and table forms."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omdt.counting import listed
from omdt.errors import InputError
from omdt.files import read_json, write_whole
from omdt.frames import frame_of
from omdt.solution import Solution, Stop
from omdt.solution.entries import entry, one_of
from omdt.solution.solution import FORMAT as SOLUTION_FORMAT
from omdt.tree import TreePolicy

if TYPE_CHECKING:
    import pandas

FORMAT = "omdt-front-1"

LEAVES, DEPTH = "leaves", "depth"
"""What a front may count."""

OF_A_POINT = (
    *("max_depth", "max_leaf_nodes", "value", "bound", "gap", "proven", "stop", "normalized_return"),
    *("rounding", "value_error", "replaced", "exceptions", "fallback", "trace", "tree"),
)
"""The entries of a solution that differ from point to point; all others stand once in the file of a front."""

COLUMNS = ("n_leaves", "depth", "value", "bound", "gap", "proven", "normalized_return")
"""What tables have of a point."""


@dataclass(frozen=True)
class Point:
    """The best tree of one size.

    Attributes:
        n_leaves: the maximum number of leaves; in a front by depth, the number of leaves of the tree.
        depth: the depth of the tree; in a front by depth, the maximum depth.
        solution: the tree with everything that `omdt.solve` tells of it.
    """

    n_leaves: int
    depth: int
    solution: Solution

    @property
    def value(self) -> float:
        """What the objective says of the tree, such as its discounted return."""
        return self.solution.value

    @property
    def bound(self) -> float:
        """No tree of this size returns more, or less where the objective is to be small."""
        return self.solution.bound

    @property
    def gap(self) -> float:
        """How far the value may be from the best of any tree of this size, relative to the value."""
        return self.solution.gap

    @property
    def proven(self) -> bool:
        """Whether the gap is at most the requested one."""
        return self.solution.proven

    @property
    def normalized_return(self) -> float | None:
        """The value on a scale where the random policy has 0 and the optimal policy has 1."""
        return self.solution.normalized_return

    @property
    def tree(self) -> TreePolicy:
        """The tree."""
        return self.solution.tree


@dataclass(frozen=True, repr=False)
class Front:
    """The best tree of every size.

    Attributes:
        by: what is counted, "leaves" or "depth".
        points: one per size, the smallest first. Sizes of which the rules allow no tree are missing.
    """

    by: str
    points: tuple[Point, ...]

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    def __getitem__(self, size: int) -> Point:
        """The point of a number of leaves, or of a depth in a front by depth."""
        for point in self.points:
            if self.size_of(point) == size:
                return point
        raise KeyError(size)

    def size_of(self, point: Point) -> int:
        """The size that a point stands for, in leaves or in depth."""
        return point.depth if self.by == DEPTH else point.n_leaves

    @property
    def largest(self) -> Solution:
        """The solution of the largest size."""
        return self.points[-1].solution

    @property
    def proven(self) -> bool:
        """Whether all points are proven."""
        return all(point.proven for point in self.points)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the run before all points were proven."""
        return any(point.solution.stop is Stop.INTERRUPTED for point in self.points)

    def to_dict(self, folder: str | Path = ".") -> dict[str, Any]:
        """The front as JSON in a folder holds it; files are named relative to the folder."""
        solutions = [point.solution.to_dict(folder) for point in self.points]
        shared = {key: value for key, value in solutions[-1].items() if key not in ("format", *OF_A_POINT)}
        points = [
            {"n_leaves": point.n_leaves, "depth": point.depth}
            | {key: solution[key] for key in OF_A_POINT if key in solution}
            for point, solution in zip(self.points, solutions, strict=True)
        ]
        return {"format": FORMAT, "by": self.by, **shared, "points": points}

    def to_json(self, folder: str | Path = ".") -> str:
        """One JSON object for a file in a folder."""
        return json.dumps(self.to_dict(folder), ensure_ascii=False, allow_nan=False) + "\n"

    def to_csv(self) -> str:
        """A header and one line per point."""
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows([getattr(point, column) for column in COLUMNS] for point in self.points)
        return text.getvalue()

    def to_frame(self) -> "pandas.DataFrame":
        """A table with one row per point (needs pandas)."""
        columns = (*COLUMNS, "tree")
        return frame_of({column: [getattr(point, column) for point in self.points] for column in columns})

    def save(self, path: str | Path) -> None:
        """Write a file, whole or not at all: CSV if its name ends in .csv, else JSON."""
        file = Path(path)
        text = self.to_csv() if file.suffix.lower() == ".csv" else self.to_json(file.parent)
        write_whole(file, lambda stream: stream.write(text.encode()))

    @classmethod
    def from_dict(cls, data: Any, folder: str | Path = ".") -> "Front":
        """The front of a dictionary as `to_dict` makes it for a folder; derived entries are derived anew."""
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise InputError(f"this is not a front: its format is not {FORMAT!r}")
        shared = {key: value for key, value in data.items() if key not in ("points", "by")}
        points = entry(data, "points", list)
        if not points:
            raise InputError("'points' is empty")
        return cls(one_of(data, "by", (LEAVES, DEPTH)), tuple(_point(point, shared, folder) for point in points))

    def __repr__(self) -> str:
        sizes = listed([str(self.size_of(point)) for point in self.points], "and")
        return f"<Front of {self.largest.problem!r}: the best trees of {sizes} {self.by}>"

    def __str__(self) -> str:
        """The table and the chart as the command line prints them."""
        from omdt.printing import show_front, text_of

        return text_of(show_front, self)

    def _repr_html_(self) -> str:
        """Chart and table, for notebooks."""
        from omdt.report.front import front_html

        return front_html(self)


def _point(data: Any, shared: dict[str, Any], folder: str | Path) -> Point:
    if not isinstance(data, dict):
        raise InputError(f"'points' holds {data!r:.40}; it must hold points")
    solution = Solution.from_dict({**shared, **data, "format": SOLUTION_FORMAT}, folder)
    return Point(entry(data, "n_leaves", int), entry(data, "depth", int), solution)


def load_front(path: str | Path) -> Front:
    """Read a front that `Front.save` or `omdt front --output` wrote."""
    data = read_json(path)
    try:
        return Front.from_dict(data, Path(path).parent)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
