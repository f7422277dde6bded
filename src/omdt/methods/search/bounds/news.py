"""News: what processes tell one another, so that none of them computes what another one has computed.

These are the losses of single leaves and the actions that no policy within a budget takes. Both depend on the budget
and on the question alone, so it never shows in a result who has computed them.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from omdt.mdp import Bools

LeafKey = tuple[bytes, int]
"""The states of a leaf, as `regions.key_of` has them, and its action."""

Known = tuple[float, bool]
"""A lower bound on what a leaf loses, and whether it is exact; otherwise it was high enough."""

Subject = tuple[bool, float]
"""Whether the target is a raised one, and the budget."""

MAX_EXCHANGES = 4
"""Budgets about which news are kept: the present and the last one of both kinds of targets."""


@dataclass(frozen=True, eq=False)
class News:
    """What a process has computed for one budget.

    Attributes:
        subject: the budget.
        leaves: what leaves lose.
        excluded: [S, A] as bits, which actions no policy within the budget takes; None if that is no news.
    """

    subject: Subject
    leaves: dict[LeafKey, Known] = field(default_factory=dict)
    excluded: NDArray[np.uint8] | None = None


class Exchange:
    """What this process and others know for one budget."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._leaves: dict[LeafKey, Known] = {}
        self._excluded: NDArray[np.uint8] | None = None
        self._news = News(subject)

    def leaf(self, key: LeafKey, enough: float) -> Known | None:
        """What a leaf loses, if that is known as exactly as `enough` needs."""
        known = self._leaves.get(key)
        return known if known is not None and (known[1] or known[0] >= enough) else None

    def excluded(self, shape: tuple[int, ...]) -> Bools | None:
        """[S, A] the actions that no policy within the budget takes, if they are known."""
        if self._excluded is None:
            return None
        return np.unpackbits(self._excluded, count=int(np.prod(shape))).reshape(shape).astype(np.bool_)

    def add_leaf(self, key: LeafKey, known: Known) -> None:
        """Take what this process has computed."""
        self._leaves[key] = self._news.leaves[key] = known

    def add_excluded(self, excluded: Bools) -> None:
        """Take what this process has computed."""
        self._excluded = np.packbits(excluded)
        self._news = News(self._subject, self._news.leaves, self._excluded)

    def hear(self, news: News) -> None:
        """Take what another process has computed."""
        self._leaves.update(news.leaves)
        if news.excluded is not None:
            self._excluded = news.excluded

    def news(self) -> News | None:
        """What this process has computed since it was last asked; None if there is nothing."""
        news, self._news = self._news, News(self._subject)
        return news if news.leaves or news.excluded is not None else None


class Exchanges:
    """What this process and others know, budget by budget."""

    def __init__(self) -> None:
        self._exchanges: dict[Subject, Exchange] = {}

    def about(self, subject: Subject) -> Exchange:
        """What is known for a budget."""
        exchange = self._exchanges.pop(subject, None) or Exchange(subject)
        self._exchanges[subject] = exchange
        if len(self._exchanges) > MAX_EXCHANGES:
            del self._exchanges[next(iter(self._exchanges))]
        return exchange

    def hear(self, news: list[News]) -> None:
        """Take what other processes have computed."""
        for it in news:
            self.about(it.subject).hear(it)

    def news(self) -> list[News]:
        """What this process has computed since it was last asked."""
        return [it for exchange in self._exchanges.values() if (it := exchange.news()) is not None]
