"""From a simulator to a tree: the loop in worlds whose best trees are known, its limits, and what it claims."""

import numpy as np
import pytest
from known_worlds import Cards, Corridor, Matching

import omdt
from omdt import planning
from omdt.errors import InputError
from omdt.learning.from_simulator import Request, learn_from_simulator
from omdt.learning.learned import Learned
from omdt.learning.simulators import Simulator
from omdt.solution import Round, Stop
from omdt.task import Size
from omdt.watch import Watch

MATCHING, CARDS = Simulator("matching", Matching), Simulator("cards", Cards)
CORRIDOR = Simulator("corridor", Corridor)


def learned(simulator: Simulator, depth: int, steps: int, seed: int = 0, watch: Watch | None = None) -> Learned:
    request = Request(size=Size(depth), steps=steps, seed=seed, episodes=60, bins=6)
    return learn_from_simulator(simulator, request, watch or Watch())


@pytest.fixture(scope="module")
def matched() -> Learned:
    return learned(MATCHING, 1, 4000)


def test_the_tree_is_nearly_the_best_one(matched: Learned) -> None:
    assert matched.tree.feature_names[matched.tree.feature[0]] == "x0"
    assert matched.tree.threshold[0] == pytest.approx(0.3, abs=0.15)
    assert matched.interval is not None
    assert matched.interval.mean > 9
    assert matched.interval.n == 60


def test_the_value_is_exact_on_the_model_and_the_bound_holds_for_every_stump_over_its_cells(matched: Learned) -> None:
    solution, model = matched.solution, matched.model
    assert solution.value == pytest.approx(planning.tree_return(model, matched.tree).value)
    best = omdt.solve(model, max_depth=1, threads=1)
    assert best.proven
    assert solution.value <= best.value <= solution.bound + 1e-9
    assert solution.fingerprint is not None


def test_what_was_done_is_recorded(matched: Learned) -> None:
    experience = matched.experience
    assert (experience.origin, experience.source) == ("simulator", "matching")
    assert 3000 < experience.steps <= 4000
    assert experience.episodes == experience.steps / 10
    assert [found.steps for found in experience.rounds] == sorted(found.steps for found in experience.rounds)
    assert all(found.value <= found.bound + 1e-9 for found in experience.rounds)
    last = experience.rounds[-1]
    assert (last.steps, last.value, last.bound) == (experience.steps, matched.solution.value, matched.solution.bound)


def test_the_same_seed_gives_the_same_tree_and_another_one_other_episodes(matched: Learned) -> None:
    again, other = learned(MATCHING, 1, 4000), learned(MATCHING, 1, 4000, seed=1)
    assert again.tree.to_dict() == matched.tree.to_dict()
    assert again.experience == matched.experience
    assert other.experience.seeds != matched.experience.seeds
    assert other.experience.rounds != matched.experience.rounds


def test_where_cells_are_exact_the_tree_is_the_best_one_of_the_model() -> None:
    found = learned(CARDS, 1, 12_000)
    assert found.solution.proven
    assert found.tree.question(0) == "state ≤ 2"
    # Each step earns 1, and nine of ten are followed by another one.
    assert found.solution.value == pytest.approx(1 / (1 - 0.99 * 0.9), rel=0.1)
    assert found.interval is not None
    assert found.interval.low < 10 < found.interval.high


def test_what_random_actions_never_find_is_found() -> None:
    found = learned(CORRIDOR, 0, 3000)
    assert found.interval is not None
    assert found.interval.mean == 1
    assert found.tree.action.tolist() == [1]


def test_rounds_are_told_as_they_end() -> None:
    told: list[Round] = []
    request = Request(size=Size(1), steps=2000, episodes=10, bins=4)
    found = learn_from_simulator(MATCHING, request, Watch(), told.append)
    assert tuple(told) == found.experience.rounds
    assert told


def test_an_interrupt_keeps_the_best_tree_so_far() -> None:
    watch = Watch()
    request = Request(size=Size(1), steps=50_000, episodes=20, bins=4)
    found = learn_from_simulator(MATCHING, request, watch, lambda _: watch.interrupt())
    assert found.solution.stop is Stop.INTERRUPTED
    assert len(found.experience.rounds) == 2, "one round, and the tree that is returned"
    assert found.experience.steps < 30_000
    assert found.solution.value <= found.solution.bound
    assert np.isfinite(found.solution.bound)


def test_too_little_time_or_too_few_steps_are_refused() -> None:
    watch = Watch()
    watch.interrupt()
    with pytest.raises(InputError, match="time ran out before the first tree"):
        learned(MATCHING, 1, 4000, watch=watch)
    with pytest.raises(InputError, match="steps is 19, but one episode may take 10"):
        learned(MATCHING, 1, 19)


@pytest.mark.parametrize("seed", range(5))
def test_two_episodes_are_enough_for_a_tree(seed: int) -> None:
    found = learn_from_simulator(MATCHING, Request(size=Size(1), steps=20, episodes=10, bins=4, seed=seed), Watch())
    assert found.experience.steps <= 20
    assert found.experience.interval is not None
