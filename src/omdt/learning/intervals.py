"""The interval MDP of a log: all worlds that the log does not rule out, at a stated confidence.

The states are those of the grouping, the END and the UNKNOWN, as in the estimated model (`omdt.learning.estimating`).
The world is assumed to be an MDP over these states and over others that the log never saw. Whoever chose the actions
may have had any reason known at the time; where episodes overlap in time, any reason known from the episode itself. The
limits of `omdt.learning.confidence` hold at all numbers of samples at once, hence at those that the log happens to
have. With δ = 1 − confidence, a third of δ is for each of three subjects:

**Transitions.** The pairs of state and action are numbered in the order in which the log tries them, and each gets its
part. The successors of a pair are numbered in the same way. Given all that was before, every sample after the first
appearance of successor j is j with probability P(s, a, j), so these samples limit it from both sides; the first
appearance itself, by which j was chosen to be looked at, does not count. Half of a pair's part is for these limits. The
other half is for what no sample of the pair was: after the j-th new successor the probability of another new one is
constant until one appears, and never grows, so the least of its limits over all j holds at last. Whatever it is, a
state or nothing that the log ever saw, nothing is worse than the UNKNOWN, which stands for it.

**Rewards.** No reward is below the least one of the log: this alone is assumed about them. What exceeds it has a mean
with a lower limit, per pair.

**Starts.** The first states of the episodes are drawn from one distribution; they are limited like the successors of a
pair. A log of one episode has one start, which is taken as given.

A pair that was never tried leads to the UNKNOWN, where every step earns the least reward, or nothing if that is worse.
If limits contradict each other, as they may where the world is no MDP over these states, they are scaled until they do
not.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from omdt.errors import InputError
from omdt.learning.confidence import mean_lower_limits, novelty_limits, parts, probability_limits
from omdt.learning.estimating import Grouping, least_reward
from omdt.learning.steps import Steps
from omdt.mdp import Bools, Floats, Ints
from omdt.robust.interval_mdp import IntervalMDP

SUBJECTS = 3
"""Transitions, rewards and starts have equal parts of δ."""


def interval_mdp(steps: Steps, grouping: Grouping, discount: float, name: str, confidence: float) -> IntervalMDP:
    """The worlds that a log does not rule out.

    Args:
        steps: the log, at least one step.
        grouping: of its steps.
        discount: γ, below 1.
        name: of the interval MDP.
        confidence: how probable it is, at least, that the true world is among them.

    Raises:
        InputError: if the confidence is not between 0 and 1.
    """
    if not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence!r}; it must be above 0 and below 1, as 0.95")
    S, A = grouping.n_states, steps.n_actions
    end, unknown = S, S + 1
    delta = (1 - confidence) / SUBJECTS
    pairs, groups, ranks = _in_order_of_appearance(grouping.states * A + steps.actions)
    targets = np.where(steps.terminated, end, grouping.next_states)
    found = successors(groups, targets, delta * parts(ranks))
    lost = least_reward(steps.rewards)
    rewards = np.full((S + 2) * A, lost)
    rewards[S * A : (S + 1) * A] = 0.0
    rewards[pairs] = _least_means(groups, steps.rewards, delta * parts(ranks))
    tried: Bools = np.zeros((S + 2) * A, dtype=np.bool_)
    tried[pairs] = True
    sure = np.flatnonzero(~tried)
    rows = np.concatenate([pairs[found.group], pairs, sure])
    columns = np.concatenate([found.target, np.full(len(pairs), unknown), np.where(sure // A == end, end, unknown)])
    ends = (
        np.concatenate([found.lower, np.zeros(len(pairs)), np.ones(len(sure))]),
        np.concatenate([found.upper, found.new, np.ones(len(sure))]),
    )
    lower, upper = (sparse.csr_array((data, (rows, columns)), shape=((S + 2) * A, S + 2)) for data in ends)
    return IntervalMDP(
        lower,
        upper,
        rewards.reshape(S + 2, A),
        *_starts(grouping.states[steps.first], S, delta),
        # The added states have the features of a seen one, so that they add no question.
        grouping.features[np.append(np.arange(S), [0, 0])],
        discount,
        steps.feature_names,
        steps.action_names,
        name,
    )


def _in_order_of_appearance(keys: Ints) -> tuple[Ints, Ints, Ints]:
    """The distinct keys in ascending order, [n] which of them each key is, and the rank 1, 2, … of their appearance."""
    distinct, first, groups = np.unique(keys, return_index=True, return_inverse=True)
    ranks = np.empty(len(distinct), dtype=np.int64)
    ranks[np.argsort(first)] = np.arange(1, len(distinct) + 1)
    return distinct, groups, ranks


@dataclass(frozen=True, eq=False)
class Successors:
    """What samples say about the distributions that they were drawn from, one per group.

    Attributes:
        group: [m] the group of each successor that was seen.
        target: [m] the successor.
        lower: [m] lower limit of its probability.
        upper: [m] upper limit of its probability.
        new: [groups] upper limit of the probability of all that was not seen.
    """

    group: Ints
    target: Ints
    lower: Floats
    upper: Floats
    new: Floats


def successors(groups: Ints, targets: Ints, delta: Floats) -> Successors:
    """Limits of the probabilities of successors.

    Args:
        groups: [n] the group of each sample, in the order of time; every group has one.
        targets: [n] what each sample was.
        delta: [groups] how probable it may be that any limit of a group is wrong.
    """
    n = len(targets)
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups, minlength=len(delta))
    begins = np.cumsum(sizes) - sizes
    grouped = groups[order]
    when = np.arange(n) - begins[grouped]
    keys = grouped * (int(targets.max()) + 1) + targets[order]
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    # In the order of the samples, the successors of a group stand in the order of their appearance.
    by_time = np.argsort(first)
    first, counts = first[by_time], counts[by_time]
    group, appeared = grouped[first], when[first]
    distinct = np.bincount(group, minlength=len(delta))
    opens = np.cumsum(distinct) - distinct
    each = delta[group] / 2 * parts(np.arange(len(group)) - opens[group] + 1)
    after = sizes[group] - appeared - 1
    lower, upper = probability_limits(counts - 1, after, each)
    last = np.append(group[1:] != group[:-1], True)
    following = np.where(last, sizes[group], np.append(appeared[1:], 0))
    new = np.minimum.reduceat(novelty_limits(following - appeared - 1, each), opens)
    return _consistent(Successors(group, targets[order][first], lower, upper, new))


def _consistent(found: Successors) -> Successors:
    """The limits, scaled where no distribution lies between them."""
    m = len(found.new)
    least, most = (np.bincount(found.group, end, minlength=m) for end in (found.lower, found.upper))
    lower = found.lower / np.maximum(least, 1.0)[found.group]
    return Successors(found.group, found.target, lower, found.upper, np.maximum(found.new, 1.0 - most))


def _least_means(groups: Ints, rewards: Floats, delta: Floats) -> Floats:
    """[groups] lower limits of the mean rewards of pairs."""
    least = float(rewards.min())
    return np.asarray(least + mean_lower_limits(groups, rewards - least, delta))


def _starts(first: Ints, S: int, delta: float) -> tuple[Floats, Floats]:
    """[S + 2] the least and the greatest probability that each state is the first one.

    Args:
        first: [episodes] the first state of each episode.
        S: number of states that the log saw.
        delta: how probable it may be that any limit is wrong.
    """
    lower, upper = np.zeros(S + 2), np.zeros(S + 2)
    if len(first) == 1:
        lower[first] = upper[first] = 1.0
        return lower, upper
    found = successors(np.zeros(len(first), dtype=np.int64), first, np.array([delta]))
    lower[found.target], upper[found.target], upper[S + 1] = found.lower, found.upper, found.new[0]
    return lower, upper
