"""What is gained by keeping an action in a box is the same for one box and many, and with rational numbers."""

from itertools import combinations

import numpy as np
import pytest

from omdt import check
from omdt.certificate import model_of
from omdt.check import boxes
from omdt.check.arithmetic import System
from omdt.check.boxes import Keeping, boxes_of
from random_mdps import any_mdp


def exact_gain(problem: check.Problem, states: np.ndarray, action: int, gain: np.ndarray) -> float:
    """The largest entry of D = b + γ P D within a box, by a dense solve."""
    moves = problem.moves(states, action)
    return float(np.linalg.solve(np.eye(len(states)) - moves, gain[states, action]).max())


@pytest.mark.parametrize("kept", [0, 200, 1 << 25])
def test_many_boxes_at_once_gain_what_each_of_them_does(kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if matrices are thrown away all the time; and never less than is really gained."""
    monkeypatch.setattr(boxes, "INVERSES", kept)
    gained = several = 0
    for seed in range(40):
        rng = np.random.default_rng(80_000 + seed)
        mdp = any_mdp(rng)
        problem, (S, A) = check.Problem(model_of(mdp)), mdp.rewards.shape
        some = [np.flatnonzero(rng.random(S) < rng.choice([0.1, 0.5, 1.0])) for _ in range(8)]
        some = [states for states in some if len(states)]
        keeping = Keeping(problem)
        groups = keeping.groups(some)
        assert sorted(len(box) for group in groups for box in group.boxes) == sorted(map(len, some))
        several += len(groups) > 1
        for _ in range(3):
            gain = rng.normal(size=(S, A)) - 0.5
            single = [
                max(0.0, float(X.max() + error))
                for states in some
                for a in range(A)
                for X, error in [System(problem, states, a).solve(gain[states, a])]
            ]
            truth = max([0.0, *(exact_gain(problem, states, a, gain) for states in some for a in range(A))])
            found = 0.0
            for group in groups:
                found = keeping.most(group, gain, found)
            assert found >= truth * (1 - 1e-12), seed
            # Close to a discount of 1, rounding counts for more.
            rounding = 1e-12 / float(problem.contraction) ** 2
            assert found == pytest.approx(max(single, default=0.0), rel=1e-9, abs=rounding), seed
            assert all(keeping.most(group, gain, 2 * found + 1) == 2 * found + 1 for group in groups)
            gained += found > 0
    assert gained > 50
    assert several > 10


def test_bounds_are_the_same_with_rational_numbers() -> None:
    compared = 0
    for seed in range(12):
        rng = np.random.default_rng(81_000 + seed)
        mdp = any_mdp(rng)
        problems = [check.Problem(model_of(mdp), exact=exact) for exact in (False, True)]
        V = rng.normal(size=mdp.n_states) * (1 + np.abs(mdp.rewards).max())
        for k in (0, 1, 2):
            case: check.Case = (((), 0, -1),)
            floats, exact = (
                float(check.Options(problem).bound(case, check.Size(k, 2**k), problem.numbers(V)))
                for problem in problems
            )
            assert floats == pytest.approx(exact, rel=1e-6)
            assert floats >= exact - 1e-12 * abs(exact)
            compared += 1
    assert compared == 36


def test_every_leaf_contains_a_box_around_each_of_its_states() -> None:
    contained = 0
    for seed in range(20):
        mdp = any_mdp(np.random.default_rng(82_000 + seed))
        problem = check.Problem(model_of(mdp))
        everything = problem.regions.states[0]
        sides = problem.sides[everything]
        for k in (1, 2):
            found = [set(box.tolist()) for box in boxes_of(problem.regions, 0, k)]
            for questions in combinations(range(sides.shape[1]), k):
                for s in range(len(everything)):
                    alike = (sides[:, questions] == sides[s, questions]).all(axis=1)
                    leaf = set(everything[alike].tolist())
                    assert any(int(everything[s]) in box and box <= leaf for box in found), seed
                    contained += 1
    assert contained > 200
