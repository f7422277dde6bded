"""News: what one process computes, another one takes over without any change of a result."""

import numpy as np

from omdt.methods.search.bounds.news import MAX_EXCHANGES, Exchange, Exchanges, News
from omdt.methods.search.exploration import explore
from omdt.methods.search.knowledge import Knowledge
from omdt.methods.search.model import Model
from omdt.methods.search.settings import SearchSettings
from omdt.methods.search.symmetry import Symmetries
from omdt.watch import Watch
from search_parts import goal_of, model_of, root_of
from strategies import environment
from tasks import RandomTask


def test_a_leaf_is_known_as_exactly_as_it_was_computed() -> None:
    exchange = Exchange((False, 1.0))
    assert exchange.leaf((b"a", 0), 0.5) is None
    exchange.add_leaf((b"a", 0), (0.5, False))
    exchange.add_leaf((b"b", 1), (0.2, True))
    assert exchange.leaf((b"a", 0), 0.4) == (0.5, False)
    assert exchange.leaf((b"a", 0), 0.6) is None
    assert exchange.leaf((b"b", 1), 0.6) == (0.2, True)


def test_news_are_told_once_and_what_was_heard_is_not_told_again() -> None:
    exchange, other = Exchange((True, 1.0)), Exchange((True, 1.0))
    assert exchange.news() is None
    excluded = np.array([[True, False, False], [False, False, True]])
    exchange.add_leaf((b"a", 0), (0.5, True))
    exchange.add_excluded(excluded)
    exchange.add_leaf((b"b", 0), (0.7, True))
    news = exchange.news()
    assert news is not None
    assert set(news.leaves) == {(b"a", 0), (b"b", 0)}
    assert exchange.news() is None
    assert other.excluded((2, 3)) is None
    other.hear(news)
    other.hear(News((True, 1.0), {(b"c", 0): (0.1, True)}))
    assert np.array_equal(other.excluded((2, 3)), excluded)
    assert other.leaf((b"c", 0), 1.0) == (0.1, True)
    assert other.news() is None


def test_only_the_last_budgets_are_kept() -> None:
    exchanges = Exchanges()
    subjects = [(False, float(i)) for i in range(MAX_EXCHANGES + 1)]
    exchanges.hear([News(subject, {(b"a", 0): (0.5, True)}) for subject in subjects])
    assert exchanges.about(subjects[-1]).leaf((b"a", 0), 1.0) == (0.5, True)
    assert exchanges.about(subjects[0]).leaf((b"a", 0), 1.0) is None
    assert exchanges.news() == []


def knowledge_of(model: Model, exchanges: Exchanges | None) -> Knowledge:
    return Knowledge(model, Symmetries.none(model), 1 << 26, exchanges)


def test_who_computed_a_loss_shows_in_no_result() -> None:
    told = 0
    for seed in range(40):
        model = Model.of(RandomTask.random(np.random.default_rng(70_000 + seed)).asked, SearchSettings(), Watch())
        alone, teller, listener = (knowledge_of(model, it) for it in (None, Exchanges(), Exchanges()))
        target = model.optimal_return.value - 0.1 * model.scale
        goal = goal_of(alone, target)
        expected = explore(alone, root_of(alone), goal, 50, Watch())
        assert teller.exchanges is not None
        assert listener.exchanges is not None
        explore(teller, root_of(teller), goal, 10, Watch())
        news = teller.exchanges.news()
        listener.exchanges.hear(news)
        told += sum(len(it.leaves) for it in news)
        found = explore(listener, root_of(listener), goal, 50, Watch())
        assert [(it.bound, it.partial.tree) for it in found.open] == [
            (it.bound, it.partial.tree) for it in expected.open
        ]
        assert (found.closed, found.value, found.tree, found.nodes) == (
            *(expected.closed, expected.value, expected.tree, expected.nodes),
        )
    assert told > 100


def test_what_was_heard_is_not_computed_again() -> None:
    model = model_of(environment("frozenlake_8x8"), 2)
    teller, listener = (knowledge_of(model, Exchanges()) for _ in range(2))
    goal = goal_of(teller, 0.9 * model.optimal_return.value)
    explore(teller, root_of(teller), goal, 200, Watch())
    assert teller.exchanges is not None
    assert listener.exchanges is not None
    listener.exchanges.hear(teller.exchanges.news())
    explore(listener, root_of(listener), goal, 200, Watch())
    assert listener.exchanges.news() == []
