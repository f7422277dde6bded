"""Confidence: what samples prove about a probability or a mean, however many there turned out to be.

How often a log visits a state depends on what happened there, so the number of samples is itself random. Every
statement here therefore holds for all numbers of samples at once. Each rests on a process that begins with 1, is never
negative and does not grow on average; such a process ever reaches 1/δ with probability at most δ (Ville's inequality).

**A probability.** If p is the probability of a success, and k of the first n samples were successes, then for every θ

    L_n(θ) = (θ/p)^k ((1 − θ)/(1 − p))^(n−k)

is such a process, and so is its average over θ from a Beta(½, ½) distribution,

    K_n(p) = B(k + ½, n − k + ½) / B(½, ½) / (p^k (1 − p)^(n−k)).

The interval consists of all p with K_n(p) < 1/δ.

**A mean.** If samples x ≥ 0 have the mean m, then for every c from 0 to 1 the product of 1 − c + c x/m is such a
process, because every factor is at least 0 and has the mean 1; and so is the average over several c. It falls with m,
so that the mean is at least the m where it is 1/δ. No upper limit of the samples is needed, and samples that vary
little prove much: a wager with c = 1 wins at every m below the smallest of them.

**What is new.** Let m be the probability that the next sample differs from all before. As long as nothing new appears m
is constant, and g samples in a row that are not new have the probability (1 − m)^g. So m ≤ 1 − δ^(1/g).

**Many statements at once.** Statement i of a list that may go on for ever gets this part of δ:

    i^(−3/2) / ζ(3/2).

These parts sum to 1, so all statements hold together with probability at least 1 − δ.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import betaln, xlog1py, xlogy, zeta

from omdt.mdp import Bools, Floats, Ints

HALVINGS = 60
"""How often an interval is halved in which an end is sought; the end on the safe side is returned."""

WAGERS = np.append(0.5 ** np.arange(10, 0, -1), [0.75, 0.875, 0.9375, 1.0])
"""The c of the processes for a mean: small ones for samples that vary much, large ones for samples that hardly do."""

SMALLEST_PART = 1e-9
"""The smallest part of the mean of the samples at which a lower limit is sought; below this it is 0."""

ROUNDING = 1e-12
"""By how much limits are moved outwards, relative to their size, for what rounding may have cost."""


FALLING = 1.5
"""How fast the parts of δ fall with the ranks of statements."""

ZETA = float(zeta(FALLING)) * (1 + ROUNDING)
"""What the parts are divided by, so that they sum to no more than 1."""


def parts(ranks: Ints) -> Floats:
    """The part of δ that each statement gets whose rank in its list, 1, 2, …, is given."""
    return np.asarray(ranks**-FALLING / ZETA)


def probability_limits(successes: Ints, trials: Ints, delta: Floats) -> tuple[Floats, Floats]:
    """Lower and upper limits of probabilities.

    Args:
        successes: [m] k, how many samples were successes.
        trials: [m] n, how many samples there were.
        delta: [m] how probable it may be that the probability ever leaves the interval.
    """
    k, n = successes.astype(np.float64), trials.astype(np.float64)
    scale = betaln(k + 0.5, n - k + 0.5) - betaln(0.5, 0.5) + np.log(delta)

    def refuted(p: Floats) -> Bools:
        """[m] whether the samples rule out each probability."""
        return np.asarray(scale - xlogy(k, p) - xlog1py(n - k, -p) >= 0)

    middle = np.divide(k, n, out=np.full(len(k), 0.5), where=n > 0)
    lower = _outermost(np.zeros(len(k)), middle, refuted)
    upper = _outermost(np.ones(len(k)), middle, refuted)
    return lower * (1 - ROUNDING), np.minimum(upper * (1 + ROUNDING), 1.0)


def _outermost(end: Floats, middle: Floats, refuted: Callable[[Floats], Bools]) -> Floats:
    """[m] the number nearest to the middle that is known to be ruled out, or the end itself if it is not."""
    inside, outside = middle.copy(), end.copy()
    for _ in range(HALVINGS):
        half = (inside + outside) / 2
        out = refuted(half)
        outside, inside = np.where(out, half, outside), np.where(out, inside, half)
    return outside


def mean_lower_limits(groups: Ints, samples: Floats, delta: Floats) -> Floats:
    """[m] lower limits of the means of groups of samples.

    Args:
        groups: [n] the group of each sample, 0 to m − 1; every group has one.
        samples: [n] at least 0.
        delta: [m] how probable it may be that the mean is ever below its limit.
    """
    m = len(delta)
    # Equal samples of a group are counted together.
    order = np.lexsort((samples, groups))
    groups, samples = groups[order], samples[order]
    begins = np.append(True, (np.diff(groups) != 0) | (np.diff(samples) != 0))
    counts = np.diff(np.append(np.flatnonzero(begins), len(groups)))
    groups, samples = groups[begins], samples[begins]
    means = np.bincount(groups, counts * samples, minlength=m) / np.bincount(groups, counts, minlength=m)
    wanted = np.log(len(WAGERS) / delta)

    def won(limit: Floats) -> Bools:
        """[m] whether the wagers against each mean have reached 1/δ."""
        ratios = samples / np.where(limit > 0, limit, 1.0)[groups]
        total = np.full(m, -np.inf)
        with np.errstate(divide="ignore"):
            for c in WAGERS:
                logs = counts * np.log(1 - c + c * ratios)
                total = np.logaddexp(total, np.bincount(groups, logs, minlength=m))
        return np.asarray(total >= wanted)

    low, high = SMALLEST_PART * means, means.copy()
    found = won(low) & (means > 0)
    for _ in range(HALVINGS // 2):
        half = np.sqrt(low * high)
        enough = won(half)
        low, high = np.where(enough, half, low), np.where(enough, high, half)
    return np.where(found, low * (1 - ROUNDING), 0.0)


def novelty_limits(gaps: Ints, delta: Floats) -> Floats:
    """[m] upper limits of the probability that the next sample is new.

    Args:
        gaps: [m] g, how many samples in a row were not new.
        delta: [m] how probable it may be that the probability is above its limit.
    """
    limits = -np.expm1(np.log(delta) / np.maximum(gaps, 1)) * (1 + ROUNDING)
    return np.where(gaps > 0, np.minimum(limits, 1.0), 1.0)
