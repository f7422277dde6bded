"""Prices: what questions cost, at every use or once per tree."""

from dataclasses import dataclass

import numpy as np

from omdt.mdp import Floats
from omdt.rules.outline import Outline, Path


@dataclass(frozen=True, eq=False)
class Prices:
    """What it costs to ask, in the units of the objective.

    Every visit of a state that is not terminal pays for the questions on the way to its leaf, discounted like rewards;
    a question that is asked twice on a way is paid twice. A price once per tree is paid for a column if any question is
    about it. Prices are not negative, so they only lower what a tree returns.

    Attributes:
        per_use: [F'] the price of a question about each column, per use.
        once: [F'] the price of asking about each column at all.
        names: F' names of the columns.
    """

    per_use: Floats
    once: Floats
    names: tuple[str, ...]

    @property
    def words(self) -> str:
        """What trees do under the prices."""
        each = [f"{price:.6g} per question about {self.names[j]}" for j, price in enumerate(self.per_use) if price]
        each += [f"{price:.6g} once for {self.names[j]}" for j, price in enumerate(self.once) if price]
        return f"pays {' and '.join(each)}"

    def paid_once(self, outline: Outline) -> float:
        """What a tree pays once; of a partial tree, what all completions pay at least."""
        return float(sum(self.once[j] for j in outline.columns))

    def toll(self, outline: Outline, path: Path) -> float:
        """What a visit of a state pays that goes this way, at least."""
        return float(sum(self.per_use[outline.asked[path[:i]]] for i in range(len(path)) if path[:i] in outline.asked))

    @property
    def any_per_use(self) -> bool:
        """Whether any price is paid at every use."""
        return bool(np.any(self.per_use > 0))
