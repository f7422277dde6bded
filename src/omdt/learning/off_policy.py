"""Off-policy evaluation: what a tree would have returned in the world, from steps that another policy took.

**Weighted importance sampling, per decision.** Step t of episode i has the weight

    w(i, t) = Π_{k ≤ t} [tree plays a(i, k)] / b(i, k),

where b is the probability with which the logged action was chosen, as the log has it or else as the states' own
relative frequencies estimate it. The return is Σ_t γ^t Σ_i w(i, t) r(i, t) / Σ_i w(i, t). An episode that terminated
stays in the average with its last weight and earns nothing more; one that was cut off leaves it. Where no episode does
what the tree does for so long, later steps are taken to earn as much as those before on average; the interval allows
for any reward that the log has, and none.

**The model's own estimate** is the return on the estimated model, which is exact there and no more.

**Intervals** are those of a bootstrap over episodes: in every sample an episode counts as often as a Poisson variable
of mean 1 says, and the interval holds the middle part of the estimates. The model is estimated anew each time; pairs
that a sample lost keep their estimate. Neither interval is a guarantee: the first is unreliable where few episodes do
what the tree does, the second knows nothing of what was never tried.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spsolve

from omdt.counting import counted
from omdt.errors import warn_input
from omdt.learning.estimating import Estimate, Grouping
from omdt.learning.logs import Log
from omdt.learning.steps import Steps
from omdt.mdp import Bools, Floats, Ints
from omdt.norms import norms_of
from omdt.planning import tree_return
from omdt.solution import Interval, Judged
from omdt.tree import TreePolicy
from omdt.watch import Watch, late

SAMPLES = 400
"""Number of bootstrap samples."""

AT_ONCE = 4_000_000
"""Maximum number of counts of episodes in memory at any time."""

DENSE = 150
"""Number of states up to which dense linear systems are solved soonest."""

FEW_EPISODES = 10.0
"""The effective number of episodes below which a warning says that importance sampling rests on few."""

WEIGHTED, MODEL = "weighted importance sampling", "estimated model"
"""The names of the estimators."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """A log with its estimated model.

    Attributes:
        log: the log.
        grouping: of its steps.
        estimate: of these.
    """

    log: Log
    grouping: Grouping
    estimate: Estimate


def judged(
    tree: TreePolicy, evidence: Evidence, confidence: float, seed: int, watch: Watch | None = None
) -> tuple[Judged, ...]:
    """What several estimators say that a tree returns in the world, discounted.

    Args:
        tree: over the features of the log.
        evidence: the log and its model.
        confidence: how often such intervals would hold the true return, if they were exact.
        seed: of the bootstrap.
        watch: ends the computation early, with fewer bootstrap samples.
    """
    rng = np.random.default_rng(seed)
    return (
        _weighted(tree, evidence, confidence, rng, watch),
        _on_model(tree, evidence, confidence, rng, watch),
    )


def warn_about_few(name: str, found: tuple[Judged, ...]) -> None:
    """Warn where importance sampling rests on few episodes.

    Args:
        name: of the log.
        found: the estimates.
    """
    for one in found:
        if one.estimator == WEIGHTED and one.effective < FEW_EPISODES:
            number = f"{one.effective:.1f}" if one.effective > 0 else "no"
            warn_input(
                f"{name}: {WEIGHTED} rests on {number} episodes that do what the tree does, out of "
                f"{counted(one.interval.n, 'episode')}; its interval is unreliable"
            )


def behaviour(log: Log, grouping: Grouping, estimate: Estimate) -> Floats:
    """[n] how probable the action of each step was where it was chosen: logged, or the relative frequency."""
    if log.probabilities is not None:
        return log.probabilities
    visits = estimate.visits
    frequency = visits / np.maximum(visits.sum(axis=1, keepdims=True), 1.0)
    return np.asarray(frequency[grouping.states, log.steps.actions])


def _weighted(
    tree: TreePolicy, evidence: Evidence, confidence: float, rng: np.random.Generator, watch: Watch | None
) -> Judged:
    """Weighted importance sampling with its interval."""
    steps = evidence.log.steps
    alike: Bools = tree.actions(steps.observations) == steps.actions
    chosen = behaviour(evidence.log, evidence.grouping, evidence.estimate)
    runs = _Runs.of(steps, alike, -np.log(chosen))
    discount = evidence.estimate.mdp.discount
    found, rows = [runs.returns(np.ones((1, runs.n)), discount)], max(1, AT_ONCE // max(runs.n, 1))
    for done in range(0, SAMPLES, rows):
        if late(watch):
            break
        counts = rng.poisson(1.0, (min(rows, SAMPLES - done), runs.n)).astype(np.float64)
        found.append(runs.returns(counts, discount))
    totals, blind = (np.concatenate(parts) for parts in zip(*found, strict=True))
    # Of the discounted time 1 / (1 − γ) the steps that were seen are all but the blind part.
    seen = norms_of(discount).horizon - float(blind[0])
    mean = float(totals[0]) * (1 + (float(blind[0]) / seen if seen > 0 else 0.0))
    low = _middle(totals + blind * min(0.0, float(steps.rewards.min())), confidence)[0]
    high = _middle(totals + blind * max(0.0, float(steps.rewards.max())), confidence)[1]
    interval = Interval(mean, min(low, mean), max(high, mean), confidence, steps.n_episodes)
    return Judged(WEIGHTED, interval, runs.effective())


def _middle(estimates: Floats, confidence: float) -> tuple[float, float]:
    """The ends of the middle part of bootstrap estimates."""
    low, high = np.quantile(estimates, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


@dataclass(frozen=True, eq=False)
class _Runs:
    """How far each episode does what the tree does.

    Only episodes whose first action is the tree's have any weight, and only their steps up to the last that agrees.

    Attributes:
        starts: [n] where the steps of each such episode begin.
        lengths: [n] how many of its steps agree with the tree before one does not.
        finished: [n] whether it terminated with the last of these.
        cut: [n] whether it was cut off after the last of these: all its steps agree, but it did not terminate.
        logs: [steps] logarithm of the weight of each step of the log, as far as it has one.
        rewards: [steps] of the log.
    """

    starts: Ints
    lengths: Ints
    finished: Bools
    cut: Bools
    logs: Floats
    rewards: Floats

    @classmethod
    def of(cls, steps: Steps, alike: Bools, logs: Floats) -> "_Runs":
        """The runs of a log.

        Args:
            steps: the log.
            alike: [steps] whether the tree does what was done.
            logs: [steps] the logarithm by which each step's weight exceeds that of the step before.
        """
        begins = np.flatnonzero(steps.first)
        ends = np.append(begins[1:], len(steps))
        sums = np.append(0.0, np.cumsum(logs))
        within = sums[1:] - np.repeat(sums[begins], ends - begins)
        wrong = np.append(np.flatnonzero(~alike), len(steps))
        lengths = np.minimum(wrong[np.searchsorted(wrong, begins)], ends) - begins
        kept = lengths > 0
        begins, ends, lengths = begins[kept], ends[kept], lengths[kept]
        whole = begins + lengths == ends
        finished: Bools = whole & steps.terminated[ends - 1]
        return cls(begins, lengths, finished, whole & ~finished, within, steps.rewards)

    @property
    def n(self) -> int:
        """How many episodes begin as the tree would."""
        return len(self.starts)

    def effective(self) -> float:
        """How many episodes of the tree itself would say as much: (Σ w)² / Σ w² over those that it agrees with."""
        agreeing = self.finished | self.cut
        if not agreeing.any():
            return 0.0
        logs = self.logs[self.starts[agreeing] + self.lengths[agreeing] - 1]
        weights = np.exp(logs - logs.max())
        return float(weights.sum() ** 2 / (weights**2).sum())

    def returns(self, counts: Floats, discount: float) -> tuple[Floats, Floats]:
        """The weighted return where every episode counts as often as each row of `counts` [m, n] says.

        Returns:
            [m] the returns from steps that have weights, and [m] the discounted time of those that have none.
        """
        total, resting, blind = (np.zeros(len(counts)) for _ in range(3))
        alive, largest, last = np.arange(self.n), -np.inf, int(self.lengths.max()) if self.n else 0
        for t in range(last):
            alive = alive[self.lengths[alive] > t]
            at = self.starts[alive] + t
            # Weights are relative to the largest one so far, because products of many ratios overflow.
            before, largest = largest, max(largest, float(self.logs[at].max()))
            resting *= np.exp(before - largest)
            weights = np.exp(self.logs[at] - largest)
            earned, weighed = counts[:, alive] @ (weights * self.rewards[at]), counts[:, alive] @ weights + resting
            total += discount**t * np.divide(earned, weighed, out=np.zeros(len(total)), where=weighed > 0)
            blind += discount**t * (weighed == 0)
            ended = self.finished[alive] & (self.lengths[alive] == t + 1)
            resting += counts[:, alive[ended]] @ weights[ended]
        return total, blind + norms_of(discount).total(discount**last) * (resting == 0)


def _on_model(
    tree: TreePolicy, evidence: Evidence, confidence: float, rng: np.random.Generator, watch: Watch | None
) -> Judged:
    """The return on the estimated model, with the interval of models that are estimated from bootstrap samples."""
    mdp = evidence.estimate.mdp
    mean = tree_return(mdp, tree, watch=watch).value
    chain, n = _Chain(tree, evidence), evidence.log.steps.n_episodes
    estimates = [mean]
    for _ in range(SAMPLES):
        if late(watch):
            break
        estimates.append(chain.value(rng.poisson(1.0, n).astype(np.float64)))
    low, high = _middle(np.array(estimates), confidence)
    return Judged(MODEL, Interval(mean, min(low, mean), max(high, mean), confidence, n), float(chain.episodes))


class _Chain:
    """The estimated model under a tree, for any number of times that each episode counts.

    Args:
        tree: the tree.
        evidence: the log and its model.
    """

    def __init__(self, tree: TreePolicy, evidence: Evidence) -> None:
        steps, mdp = evidence.log.steps, evidence.estimate.mdp
        S = evidence.estimate.n_states
        actions = tree.actions(mdp.features)
        alike = np.flatnonzero(actions[evidence.grouping.states] == steps.actions)
        targets = np.where(steps.terminated, S, evidence.grouping.next_states)[alike]
        self._states, self._episodes = evidence.grouping.states[alike], steps.episodes[alike]
        self._rewards = steps.rewards[alike]
        keys, self._entries = np.unique(self._states * (S + 2) + targets, return_inverse=True)
        self._rows, self._columns = keys // (S + 2), keys % (S + 2)
        rows = np.arange(S + 2) * mdp.n_actions + actions
        self._P, self._r = mdp.transitions[rows], mdp.rewards[np.arange(S + 2), actions]
        self._first, self._discount = evidence.grouping.states[steps.first], mdp.discount
        self.episodes = len(np.unique(self._episodes))

    def value(self, counts: Floats) -> float:
        """The return where each episode counts as often as `counts` [episodes] says."""
        n = len(self._r)
        weights = counts[self._episodes]
        visits = np.bincount(self._states, weights, minlength=n)
        sums = np.bincount(self._states, weights * self._rewards, minlength=n)
        data = np.bincount(self._entries, weights, minlength=len(self._rows)) / np.maximum(visits[self._rows], 1)
        lost, r = visits == 0, np.where(visits > 0, sums / np.maximum(visits, 1), self._r)
        first = np.bincount(self._first, counts, minlength=n)
        if not first.any():
            first = np.bincount(self._first, minlength=n)
        return float(first @ self._values(data, lost, r) / first.sum())

    def _values(self, data: Floats, lost: Bools, r: Floats) -> Floats:
        """[n] the values of the chain.

        Args:
            data: the probabilities of the transitions that were seen.
            lost: [n] the states that keep their estimate.
            r: [n] the rewards.
        """
        n = len(r)
        if n <= DENSE:
            matrix = np.zeros((n, n))
            matrix[self._rows, self._columns] = data
            matrix[lost] = self._P[lost].toarray()
            return np.asarray(np.linalg.solve(np.eye(n) - self._discount * matrix, r), dtype=np.float64)
        seen = sparse.csr_array((data, (self._rows, self._columns)), shape=(n, n))
        P = seen + sparse.diags_array(lost.astype(np.float64)) @ self._P
        return np.asarray(spsolve((sparse.eye_array(n) - self._discount * P).tocsc(), r))
