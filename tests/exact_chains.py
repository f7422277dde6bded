"""What a policy is worth without a discount, in rational arithmetic: nothing here is shared with the package.

A policy makes a Markov chain of an MDP. Whether a state is reached, reached almost surely or never is a question of the
graph; what is left is a linear system, which is solved with fractions. The rows of a stored matrix may miss 1 by
rounding, so each is divided by its sum.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

Number = Fraction | float
"""An exact number; the only floats are −∞ and ∞."""

Chain = list[dict[int, Fraction]]
"""For every state, the probability of every successor."""


def rows_of(P: np.ndarray) -> list[Chain]:
    """For every state and action, the probability of every successor, given dense P [S, A, S]."""
    return [[_distribution(row) for row in rows] for rows in P]


def _distribution(row: np.ndarray) -> dict[int, Fraction]:
    entries = {int(t): Fraction(float(row[t])) for t in np.flatnonzero(row)}
    total = sum(entries.values(), Fraction(0))
    return {t: p / total for t, p in entries.items()}


def reaching(chain: Chain, goal: set[int], within: set[int]) -> set[int]:
    """The states that reach a goal with positive probability over states of a set."""
    found = set(goal)
    while True:
        more = {s for s in within - found if chain[s].keys() & found}
        if not more:
            return found
        found |= more


def probabilities(chain: Chain, goal: set[int], staying: set[int]) -> list[Number]:
    """The probability of every state to reach a goal, with no other states before it than those of `staying`."""
    able = reaching(chain, goal, staying) - goal
    solved = _solved(chain, able, {s: sum((chain[s].get(t, Fraction(0)) for t in goal), Fraction(0)) for s in able})
    return [Fraction(int(s in goal)) if s not in able else solved[s] for s in range(len(chain))]


def totals_until(chain: Chain, rewards: Sequence[Fraction], goal: set[int]) -> list[Number]:
    """The expected rewards before the goal; ∞ for states that miss it with positive probability."""
    everything = set(range(len(chain)))
    lost = everything - reaching(chain, goal, everything)
    missing = reaching(chain, lost, everything - goal) if lost else set()
    open_states = everything - goal - missing
    solved = _solved(chain, open_states, {s: rewards[s] for s in open_states})
    return [float("inf") if s in missing else solved.get(s, Fraction(0)) for s in range(len(chain))]


def totals(chain: Chain, rewards: Sequence[Fraction]) -> list[Number]:
    """The expected sum of all rewards; infinite where rewards go on for ever, which must all have one sign."""
    everything = set(range(len(chain)))
    recurrent = {s for s in everything if all(s in _reached(chain, t) for t in _reached(chain, s))}
    earning = {s for s in recurrent if any(rewards[t] for t in _reached(chain, s))}
    signs = {rewards[t] > 0 for s in earning for t in _reached(chain, s) if rewards[t]}
    assert len(signs) <= 1, "rewards of both signs go on for ever"
    endless = reaching(chain, earning, everything) if earning else set()
    infinity = float("inf") if signs == {True} else -float("inf")
    open_states = everything - recurrent - endless
    solved = _solved(chain, open_states, {s: rewards[s] for s in open_states})
    return [infinity if s in endless else solved.get(s, Fraction(0)) for s in range(len(chain))]


def expected(initial: np.ndarray, values: list[Number]) -> Number:
    """The value of the first state on average."""
    starts = {int(s): Fraction(float(initial[s])) for s in np.flatnonzero(initial)}
    if any(isinstance(values[s], float) for s in starts):
        return next(values[s] for s in starts if isinstance(values[s], float))
    return sum((p * values[s] for s, p in starts.items()), Fraction(0))  # type: ignore[operator,misc]


def _reached(chain: Chain, s: int) -> set[int]:
    found, waiting = {s}, [s]
    while waiting:
        for t in chain[waiting.pop()]:
            if t not in found:
                found.add(t)
                waiting.append(t)
    return found


def _solved(chain: Chain, states: set[int], right: dict[int, Fraction]) -> dict[int, Fraction]:
    """The solution of x = right + P x on some states, from which the chain goes away almost surely."""
    order = sorted(states)
    rows = {s: {t: -p for t, p in chain[s].items() if t in states} for s in order}
    for s in order:
        rows[s][s] = rows[s].get(s, Fraction(0)) + 1
    right = dict(right)
    for s in order:
        pivot = rows[s]
        for t in order:
            if t != s and s in rows[t]:
                factor = rows[t].pop(s) / pivot[s]
                right[t] -= factor * right[s]
                for u, value in pivot.items():
                    if u != s:
                        rows[t][u] = rows[t].get(u, Fraction(0)) - factor * value
    return {s: right[s] / rows[s][s] for s in order}
