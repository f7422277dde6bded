"""The interval MDP of a log: against limits computed sample by sample, and against the worlds that logs come from."""

import math

import numpy as np
import pytest
from made_logs import grouped, logged

import omdt
from omdt.learning.confidence import probability_limits
from omdt.learning.intervals import interval_mdp, successors
from omdt.learning.logs import log_of
from omdt.mdp import MDP
from omdt.robust.interval_mdp import IntervalMDP


def world(seed: int) -> MDP:
    """Four states and an end, two actions, three random successors each, and starts in two states."""
    rng = np.random.default_rng(seed)
    P = np.zeros((5, 2, 5))
    for s in range(4):
        for a in range(2):
            P[s, a, rng.choice(5, 3, replace=False)] = rng.dirichlet([1.0, 1.0, 1.0])
    P[4, :, 4] = 1
    r = np.append(rng.normal(size=(4, 2)).round(2), [[0, 0]], axis=0)
    features = np.arange(5.0)[:, None]
    names = {"feature_names": ("x",), "action_names": ("a", "b")}
    return MDP.from_dense(P, r, [0.7, 0.3, 0, 0, 0], features, discount=0.8, **names)


def part(i: int) -> float:
    return i**-1.5 / 2.612375348685488


def test_limits_agree_with_those_found_sample_by_sample() -> None:
    rng = np.random.default_rng(0)
    groups, targets = rng.integers(0, 3, 200), rng.choice(6, 200, p=[0.5, 0.2, 0.15, 0.1, 0.04, 0.01])
    delta = np.array([0.1, 0.02, 0.05])
    found = successors(groups, targets, delta)
    entries = {(int(g), int(t)): i for i, (g, t) in enumerate(zip(found.group, found.target, strict=True))}
    for g in range(3):
        samples = targets[groups == g].tolist()
        seen: list[int] = []
        new, quiet = 1.0, 0
        for t in samples:
            if t in seen:
                quiet += 1
                new = min(new, 1 - (delta[g] / 2 * part(len(seen))) ** (1 / quiet))
            else:
                seen.append(t)
                quiet = 0
        assert found.new[g] == pytest.approx(new)
        for j, t in enumerate(seen, 1):
            rest = samples[samples.index(t) + 1 :]
            ends = probability_limits(
                np.array([rest.count(t)]), np.array([len(rest)]), np.array([delta[g] / 2 * part(j)])
            )
            i = entries.pop((g, t))
            assert (found.lower[i], found.upper[i]) == pytest.approx((ends[0][0], ends[1][0]))
    assert not entries


def test_limits_that_contradict_each_other_are_scaled() -> None:
    targets = np.repeat([0, 1, 2], [3000, 3000, 3000])
    found = successors(np.zeros(9000, dtype=int), targets, np.array([0.05]))
    assert found.lower.sum() == pytest.approx(1)
    assert found.upper.sum() + found.new[0] >= 1


def inside(found: IntervalMDP, mdp: MDP, seen: np.ndarray) -> bool:
    """Whether a world is one of those of an interval MDP whose first states are the seen ones of the world."""
    S, A = len(seen), mdp.n_actions
    P = mdp.transitions.toarray()
    lower, upper, rewards = found.lower.toarray(), found.upper.toarray(), np.asarray(found.rewards)
    hidden = [s for s in range(mdp.n_states) if s not in seen and not mdp.terminal[s]]
    for i, s in enumerate(seen):
        if mdp.terminal[s]:
            continue
        for a in range(A):
            row = i * A + a
            p = np.concatenate([P[s * A + a][seen], [0.0, P[s * A + a][hidden].sum()]])
            # What terminates leads to the END, whatever was observed then.
            p[S] = sum(p[j] for j, t in enumerate(seen) if mdp.terminal[t])
            p[[j for j, t in enumerate(seen) if mdp.terminal[t]]] = 0
            p[S + 1] = 1 - p[:S][upper[row, :S] > 0].sum() - p[S] * (upper[row, S] > 0)
            p[: S + 1] *= upper[row, : S + 1] > 0
            if (p < lower[row] - 1e-12).any() or (p > upper[row] + 1e-12).any() or rewards[i, a] > mdp.rewards[s, a]:
                return False
    first = np.append(mdp.initial[seen], [0, mdp.initial[hidden].sum()])
    return bool((first >= found.initial_lower - 1e-12).all() and (first <= found.initial_upper + 1e-12).all())


def test_the_true_world_is_inside_at_least_as_often_as_promised() -> None:
    held = []
    for seed in range(150):
        mdp = world(seed % 5)
        log = logged(mdp, np.full((5, 2), 0.5), 10 + 40 * (seed % 4), 20, seed)
        grouping = grouped(log.steps)
        found = interval_mdp(log.steps, grouping, 0.8, "log", 0.8)
        held.append(inside(found, mdp, grouping.features[:, 0].astype(int)))
    # 0.8 of 150 is 120.
    assert sum(held) >= 120


def test_intervals_shrink_with_the_log_and_with_less_confidence() -> None:
    mdp = world(0)

    def width(episodes: int, confidence: float) -> float:
        log = logged(mdp, np.full((5, 2), 0.5), episodes, 20, 0)
        found = interval_mdp(log.steps, grouped(log.steps), 0.8, "log", confidence)
        return float((found.upper.data - found.lower.data).mean())

    assert width(2000, 0.95) < width(200, 0.95) / 2
    assert width(200, 0.5) < width(200, 0.95) < width(200, 0.999)


def test_what_was_never_tried_leads_to_the_unknown_and_the_end_earns_nothing() -> None:
    log = log_of({"x": [0, 0], "next_x": [1, 1], "action": ["go", "go"], "reward": [-2, -3], "done": [0, 1]})
    found = interval_mdp(log.steps, grouped(log.steps), 0.9, "log", 0.9)
    lower, upper = found.lower.toarray(), found.upper.toarray()
    assert lower[1].tolist() == upper[1].tolist() == [0, 0, 0, 1]
    assert lower[2].tolist() == upper[2].tolist() == [0, 0, 1, 0]
    assert lower[3].tolist() == upper[3].tolist() == [0, 0, 0, 1]
    assert found.rewards[:, 0].tolist() == [pytest.approx(-3, abs=0.2), -3, 0, -3]
    assert upper[0].tolist() == [0, pytest.approx(1, abs=0.01), 1, 1]


def test_one_episode_has_its_own_start_and_several_have_an_unknown_one() -> None:
    columns = {"x": [0, 1], "next_x": [1, 0], "action": ["a", "a"], "reward": [1, 1]}
    one = log_of({**columns, "done": [0, 1]}).steps
    assert interval_mdp(one, grouped(one), 0.9, "log", 0.9).initial_lower.tolist() == [1, 0, 0, 0]
    two = log_of({**columns, "done": [1, 1]}).steps
    found = interval_mdp(two, grouped(two), 0.9, "log", 0.9)
    assert found.initial_lower.tolist() == [0, 0, 0, 0]
    assert found.initial_upper.tolist() == [pytest.approx(1, abs=0.01), 1, 0, 1]


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 95, math.nan])
def test_a_confidence_that_is_none_is_refused(confidence: float) -> None:
    steps = log_of({"x": [0, 1], "action": ["a", "a"], "reward": [1, 1], "done": [0, 1]}).steps
    with pytest.raises(omdt.InputError, match="it must be above 0 and below 1"):
        interval_mdp(steps, grouped(steps), 0.9, "log", confidence)
