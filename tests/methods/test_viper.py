"""VIPER samples, fits and selects as its settings say, and reaches what was published for it."""

import itertools
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omdt
from omdt import MDP, InputError, Splits, TreePolicy, errors, planning
from omdt.errors import MissingExtraError
from omdt.methods import viper as module
from omdt.methods.viper import FITTED_SHARE, SAMPLE, KnownMDP, Schedule, learn, stream
from omdt.solution import Stop
from omdt.task import Size
from omdt.watch import Watch
from strategies import environment, mdps

pytestmark = pytest.mark.needs("sklearn")


def classroom(mdp: MDP, seed: int = 0) -> KnownMDP:
    q = planning.q_values(mdp, planning.optimal_values(mdp))
    return KnownMDP(mdp, Splits.of(mdp), q, seed)


def imitated(mdp: MDP, iterations: int = 4, seed: int = 0, **limits: int) -> omdt.Solution:
    return omdt.solve(mdp, method="viper", iterations=iterations, seed=seed, **limits)


@dataclass
class Contest:
    """A classroom in which every student is a leaf and the return is a fixed number for each action."""

    returns: list[float]
    observations: np.ndarray = field(default_factory=lambda: np.zeros((1, 1)))
    actions: np.ndarray = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    importance: np.ndarray = field(default_factory=lambda: np.ones(1))
    feature_names: tuple[str, ...] = ("x",)
    tested: list[tuple[int, int]] = field(default_factory=list)

    @property
    def action_names(self) -> tuple[str, ...]:
        return tuple(f"a{i}" for i in range(len(self.returns)))

    def watch_teacher(self, episodes: int) -> np.ndarray:
        return np.zeros(episodes, dtype=np.int64)

    def watch_student(self, student: TreePolicy, episodes: int) -> tuple[np.ndarray, float]:
        action = int(student.action[0])
        self.tested.append((action, episodes))
        return np.zeros(episodes, dtype=np.int64), self.returns[action]

    def score(self, student: TreePolicy, episodes: int) -> float:
        return self.watch_student(student, episodes)[1]

    def entries(self, scores: list[float]) -> list[tuple[TreePolicy, float]]:
        leaves = (TreePolicy.leaf(i, self.feature_names, self.action_names) for i in range(len(scores)))
        return list(zip(leaves, scores, strict=True))


# Means over three seeds that the paper reports; some hang on every single draw.
PUBLISHED = [
    ("frozenlake_4x4", 1, 0.04),
    ("frozenlake_8x8", 2, 0.90),
    ("frozenlake_12x12", 3, 0.19),
    ("frozenlake_12x12", 4, 0.19),
    ("frozenlake_4x4", 2, 0.46),
    ("frozenlake_4x4", 3, 0.67),
    ("frozenlake_4x4", 4, 1.00),
]


@pytest.mark.parametrize(("name", "depth", "published"), PUBLISHED)
def test_it_reaches_what_was_published(name, depth, published):
    solutions = [omdt.solve(environment(name), method="viper", max_depth=depth, seed=seed) for seed in range(3)]
    assert np.mean([solution.normalized_return for solution in solutions]) == pytest.approx(published, abs=0.006)
    for solution in solutions:
        assert solution.stop is Stop.HEURISTIC
        assert solution.bound >= solution.optimal_return
        assert solution.tree.depth <= depth


@given(mdps(), st.integers(0, 3), st.integers(1, 6), st.integers(0, 100))
@settings(max_examples=25)
def test_trees_keep_the_limits_and_the_bound(mdp, depth, leaves, seed):
    solution = imitated(mdp, 3, seed, max_depth=depth, max_leaf_nodes=leaves)
    assert solution.tree.depth <= depth
    assert solution.tree.n_leaves <= leaves
    assert solution.value <= solution.bound
    assert solution.bound >= solution.optimal_return - 1e-9 * abs(solution.optimal_return)


def test_the_same_seed_gives_the_same_tree():
    one, two = (imitated(environment("frozenlake_8x8"), 10, seed=3, max_depth=3) for _ in range(2))
    trees = {str(imitated(environment("frozenlake_8x8"), 10, seed=seed, max_depth=3).tree) for seed in range(6)}
    assert str(one.tree) == str(two.tree)
    assert len(trees) > 1


def test_without_a_size_limit_the_visited_states_are_copied():
    mdp = environment("frozenlake_4x4")
    tree = omdt.solve(mdp, method="viper", iterations=20).tree
    visited = np.unique(classroom(mdp).watch_student(tree, 200)[0])
    np.testing.assert_array_equal(tree.actions(mdp.features[visited]), classroom(mdp).actions[visited])


@given(mdps(max_states=5), st.integers(0, 100))
@settings(max_examples=30)
def test_what_is_watched_are_the_states_in_which_it_acts(mdp, seed):
    room = classroom(mdp, seed)
    visits = room.watch_teacher(7)
    assert not mdp.terminal[visits].any()
    tree = TreePolicy.leaf(0, mdp.feature_names, mdp.action_names)
    visits, score = room.watch_student(tree, 1)
    assert score == pytest.approx(mdp.rewards[visits, 0].sum(), rel=1e-9, abs=1e-9 * np.abs(mdp.rewards).max())


@given(st.integers(0, 10_000))
@settings(max_examples=40)
def test_weights_fit_the_tree_of_repeated_pairs(seed):
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(seed)
    X = np.array(list(itertools.product(range(5), range(4))), dtype=float)
    actions = rng.integers(0, 3, len(X))
    sample = rng.multinomial(200, rng.dirichlet(np.ones(len(X))))
    rows = np.flatnonzero(sample)
    # One feature order, since it alone decides between questions that are equally good.
    settings = {"max_depth": 3, "random_state": seed}
    weighted = DecisionTreeClassifier(**settings).fit(X[rows], actions[rows], sample_weight=sample[rows])
    repeated = DecisionTreeClassifier(**settings).fit(np.repeat(X, sample, axis=0), np.repeat(actions, sample))
    np.testing.assert_array_equal(weighted.tree_.feature, repeated.tree_.feature)
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


def sampled(counts: list[int], importance: list[float], seed: int = 0) -> np.ndarray:
    pairs = np.random.default_rng(1).permutation(np.repeat(np.arange(len(counts)), counts))
    return module._sample(pairs, np.array(importance), stream(seed), stream(seed + 1))


@pytest.mark.parametrize(
    ("counts", "importance", "pairs"),
    [([10, 0, 30, 60], [0.5, 1.0, 0.0, 1.5], 70), ([1000, 5, 300_000, 0], [0.5, 1.0, 2.0, 1.5], SAMPLE)],
)
def test_samples_have_their_size_and_their_weights(counts, importance, pairs):
    drawn = np.array([sampled(counts, importance, seed) for seed in range(40)])
    assert (drawn.sum(axis=1) == int(FITTED_SHARE * pairs)).all()
    weights = np.array(counts) * importance
    share = weights / weights.sum()
    assert (drawn[:, share == 0] == 0).all()
    n = drawn.sum()
    assert (np.abs(drawn.sum(axis=0) / n - share) <= 5 * np.sqrt(share * (1 - share) / n) + 1e-12).all()


def test_where_no_mistake_costs_anything_all_visits_count_alike():
    drawn = sampled([5, 0, 5], [0.0, 0.0, 0.0])
    assert drawn.sum() == 8
    assert drawn[1] == 0


def test_one_visit_is_a_sample():
    assert sampled([0, 1], [1.0, 1.0]).tolist() == [0, 1]


def test_the_streams_are_those_of_numpy():
    room, plain = classroom(environment("xor"), seed=5), np.random.RandomState(5)
    # One draw for the first state and one a step; every state of xor is equally likely.
    expected = (200 * plain.random_sample(1001)[:-1]).astype(int)
    np.testing.assert_array_equal(room.watch_teacher(1), expected)
    pairs, importance = np.arange(30), np.ones(30)
    drawn = module._sample(pairs, importance, stream(7), stream(8))
    choice, order = np.random.RandomState(7).choice(30, size=30, p=np.full(30, 1 / 30)), np.arange(30)
    np.random.RandomState(8).shuffle(order)
    np.testing.assert_array_equal(drawn, np.bincount(choice[order[:24]], minlength=30))


def test_the_tournament_halves_until_one_is_left():
    contest = Contest([float(i) for i in range(80)])
    # The first scores mislead: all that is known is that the better ones are in the better half.
    entries = contest.entries([1000.0 + (7 * i) % 40 if i >= 40 else 0.0 for i in range(80)])
    winner = module._winner(contest, entries, 50, Watch())
    assert winner.action.tolist() == [79]
    assert len(contest.tested) == 40 + 20 + 10 + 5 + 3 + 2 + 1
    assert {episodes for _, episodes in contest.tested} == {50}


def test_out_of_time_the_best_score_so_far_wins():
    contest = Contest([1.0, 2.0, 3.0])
    assert module._winner(contest, contest.entries([5.0, 9.0, 7.0]), 50, Watch(0.0)).action.tolist() == [1]
    assert contest.tested == []


def test_every_student_adds_its_episodes():
    contest = Contest([1.0, 2.0])
    learn(contest, Size(max_depth=0), 0, Schedule(5, 3, 2), Watch())
    assert [episodes for _, episodes in contest.tested] == [3] * 5 + [2] * (3 + 2 + 1)


def test_a_time_limit_ends_it_with_a_tree():
    solution = omdt.solve(environment("blackjack"), method="viper", max_depth=2, time_limit=1e-6)
    assert solution.stop is Stop.TIME
    assert solution.tree.depth <= 2


def test_episodes_that_end_before_they_begin():
    mdp = MDP(np.eye(2)[[0, 0, 1, 1]], np.zeros((2, 2)), [1.0, 0.0], [0.0, 1.0])
    assert imitated(mdp, max_depth=2).tree.n_nodes == 1


def test_predicates_can_be_asked_and_categories_cannot():
    mdp = environment("xor")
    hidden = (mdp.features[:, 0] >= 0.5) ^ (mdp.features[:, 1] >= 0.5)
    splits = Splits.of(mdp, predicates=hidden[:, None], labels=["xor"])
    solution = omdt.solve(mdp, method="viper", max_depth=1, iterations=2, splits=splits)
    assert solution.value == pytest.approx(solution.optimal_return)
    assert solution.tree.feature_names[solution.tree.feature[0]] == "xor"
    with pytest.raises(InputError, match="viper asks thresholds on every feature"):
        omdt.solve(mdp, method="viper", max_depth=1, splits=Splits.of(mdp, categorical=["X"]))


@pytest.mark.parametrize("iterations", [0, -1, 1.5, True])
def test_numbers_of_iterations_that_are_none_are_refused(iterations):
    with pytest.raises(InputError, match="iterations is"):
        omdt.solve(environment("xor"), method="viper", max_depth=1, iterations=iterations)


def test_a_missing_scikit_learn_is_named(monkeypatch):
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"needs sklearn.*omdt\[sklearn\]"):
        imitated(environment("xor"), max_depth=1)
