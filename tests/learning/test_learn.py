"""The verb `omdt.learn`: what it takes for a simulator or a log, what it records, and the comparison with a teacher."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from known_worlds import Matching

import omdt
from omdt.learning.episodes import Player
from omdt.learning.learn import is_log, known
from omdt.learning.simulators import simulator
from omdt.solution import Round, Stop


class Expert:
    """Knows the threshold of `Matching`."""

    def predict(self, observation: Any, deterministic: bool = False) -> tuple[Any, None]:
        assert deterministic
        return np.int64(observation[0] > 0.3), None


class Contrary(Expert):
    """Is always wrong."""

    def predict(self, observation: Any, deterministic: bool = False) -> tuple[Any, None]:
        return 1 - super().predict(observation, deterministic)[0], None


@pytest.fixture(scope="module")
def learned() -> omdt.Learned:
    return omdt.learn(Matching, max_depth=1, steps=2_000, episodes=40, confidence=0.9, teacher=Expert())


def test_it_records_what_was_asked(learned):
    assert dict(learned.experience.settings) == {"steps": 2_000, "bins": 12, "confidence": 0.9, "episodes": 40}
    assert learned.interval.confidence == 0.9
    assert learned.interval.n == 40
    assert learned.solution.max_depth == 1
    assert learned.solution.discount == 0.99


def test_its_value_is_the_one_on_its_model_and_its_mean_that_of_the_episodes_it_names(learned):
    assert omdt.evaluate(learned.model, learned.tree) == pytest.approx(learned.solution.value)
    first, last = learned.experience.seeds
    with Player(simulator(Matching)) as player:
        again = player.play(learned.tree, range(first, last + 1)).returns
    assert again.mean() == pytest.approx(learned.interval.mean)
    assert learned.interval.low < again.mean() < learned.interval.high


def test_teacher_and_imitator_play_the_same_episodes(learned):
    teacher, imitator = learned.experience.rivals
    assert (teacher.name, imitator.name) == ("teacher", "VIPER")
    assert teacher.interval.mean == teacher.interval.high == 10
    assert teacher.interval.n == imitator.interval.n == 40
    assert 9 < imitator.interval.mean <= 10


def test_a_bad_teacher_is_shown_as_one():
    found = omdt.learn(Matching(), max_depth=1, steps=1_500, episodes=5, teacher=Contrary())
    teacher, imitator = found.experience.rivals
    assert teacher.interval.mean == 0
    assert imitator.interval.mean < 1
    assert found.interval.mean > 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_depth": None}, "learning needs a size limit; give a depth, a number of leaves, or both"),
        ({"steps": 0}, "steps is 0"),
        ({"bins": 1}, "bins is 1"),
        ({"episodes": 1}, "episodes is 1"),
        ({"confidence": 1}, "confidence is 1; it must be a number above 0 and below 1"),
        ({"discount": 1.0}, r"discount is 1\.0"),
        ({"teacher": object()}, "has no method predict"),
        ({"depth": 3}, "has no parameter 'depth'; did you mean max_depth"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_played(changes, message):
    def never() -> None:
        raise AssertionError

    source = Matching if "teacher" in changes else never
    with pytest.raises(omdt.InputError, match=message):
        omdt.learn(source, **{"max_depth": 1, "steps": 100} | changes)


def test_an_interrupt_before_the_first_episode_ends_the_program():
    class Interrupting(Matching):
        def step(self, action: Any) -> Any:
            import signal

            signal.raise_signal(signal.SIGINT)
            return super().step(action)

    with pytest.raises(KeyboardInterrupt):
        omdt.learn(Interrupting, max_depth=1, steps=2_000)


def test_an_interrupted_run_is_not_compared_with_a_teacher():
    import signal

    rounds: list[Round] = []

    def interrupt(point: Round) -> None:
        rounds.append(point)
        if len(rounds) == 1:
            signal.raise_signal(signal.SIGINT)

    found = omdt.learn(Matching, max_depth=1, steps=2_000, episodes=5, teacher=Expert(), progress=interrupt)
    assert found.experience.steps < 2_000
    assert found.solution.stop is Stop.INTERRUPTED
    assert found.experience.rivals == ()


def test_progress_is_told_in_words():
    told = known(Round(1_500, 20, 8.25, 9.5, 9.875))
    assert told.text == "1,500 steps   9.875 per episode   on the model 8.25, bound 9.5"
    assert told.best == 9.875


@pytest.mark.parametrize("source", ["log.csv", "folder/log", Path("log"), {"x": [1]}, "LOG.TSV"])
def test_files_and_columns_are_logs(source):
    assert is_log(source)


@pytest.mark.parametrize("source", ["gym:CartPole-v1", "gym:my.module:Env-v0", "shop:make", Matching, Matching()])
def test_everything_else_is_a_simulator(source):
    assert not is_log(source)


@pytest.fixture
def log() -> dict[str, list[object]]:
    """A machine that wears: running earns 4 less the wear, and repairing costs 3."""
    rng = np.random.default_rng(0)
    columns: dict[str, list[object]] = {name: [] for name in ("wear", "action", "reward", "next wear", "episode")}
    for episode in range(60):
        wear = 0
        for _ in range(40):
            run = rng.random() < 0.6
            following = min(3, wear + int(rng.random() < 0.7)) if run else 0
            row = (wear, "run" if run else "repair", 4 - 2 * wear if run else -3, following, episode)
            for column, cell in zip(columns.values(), row, strict=True):
                column.append(cell)
            wear = following
    return columns


def test_a_log_guarantees_at_most_what_the_tree_returns_on_its_model(log):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", omdt.InputWarning)
        found = omdt.learn(log, max_depth=1, discount=0.8, confidence=0.9)
    assert found.interval is None
    assert found.guarantee.confidence == 0.9
    assert found.guarantee.exact
    assert found.guarantee.value <= found.solution.value <= found.solution.bound + 1e-9
    assert found.guarantee.value <= found.guarantee.bound
    assert omdt.evaluate(found.model, found.tree) == pytest.approx(found.solution.value)
    assert (found.experience.steps, found.experience.episodes) == (2_400, 60)
    assert dict(found.experience.settings) == {"bins": 12, "confidence": 0.9}


@pytest.mark.parametrize("changes", [{"steps": 10}, {"episodes": 3}, {"threads": 1}, {"teacher": Expert()}])
def test_what_only_a_simulator_has_is_refused_for_a_log(log, changes):
    (name,) = changes
    with pytest.raises(omdt.InputError, match=f"{name} is .*, but a log cannot be played"):
        omdt.learn(log, max_depth=1, **changes)


def test_solving_an_environment_without_a_table_leads_to_learning():
    with pytest.raises(omdt.InputError, match=r"omdt\.learn\(env, max_depth=3\) learns a tree by playing"):
        omdt.solve(Matching(), max_depth=1)
