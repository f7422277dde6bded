"""Simulation: thousands of episodes of a policy at once.

A fixed policy turns the MDP into a Markov chain; a compiled loop draws successors by inverting the cumulative
probabilities of a row. Rewards are the expected r(s, a), so returns have the right mean without the noise of random
rewards.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from omdt.errors import InputError
from omdt.mdp import MDP, Floats, Ints
from omdt.planning import Policy, markov_chain
from omdt.watch import one_thread


@dataclass(frozen=True, eq=False)
class Rollouts:
    """Simulated episodes, one after the other.

    Attributes:
        states: [total] episode by episode: the states in which an action was taken, then the last state.
        starts: [episodes + 1] where each episode begins in `states`; the last entry is the total.
        returns: [episodes] undiscounted sum of rewards.
        discounted_returns: [episodes] discounted sum of rewards.
    """

    states: NDArray[np.int32]
    starts: Ints
    returns: Floats
    discounted_returns: Floats

    @property
    def lengths(self) -> Ints:
        """[episodes] number of steps."""
        lengths: Ints = np.diff(self.starts) - 1
        return lengths

    def episode(self, i: int) -> NDArray[np.int32]:
        """[steps + 1] the states of one episode."""
        return self.states[self.starts[i] : self.starts[i + 1]]


def simulate(
    mdp: MDP, policy: Policy, *, episodes: int, max_steps: int = 1000, seed: int | np.random.Generator = 0
) -> Rollouts:
    """Roll out a policy; an episode ends in a terminal state or after `max_steps` steps.

    Args:
        mdp: the problem.
        policy: [S] actions or [S, A] probabilities.
        episodes: number of episodes.
        max_steps: maximum number of steps per episode.
        seed: the same seed gives the same episodes; a generator continues its own sequence.
    """
    if episodes < 1 or max_steps < 1:
        raise InputError(f"episodes is {episodes} and max_steps is {max_steps}; both must be at least 1")
    with one_thread():
        P, r = markov_chain(mdp, policy)
    first_states = np.flatnonzero(mdp.initial)
    start = np.cumsum(mdp.initial[first_states])
    chain = (P.indptr, P.indices, _cumulative(P.indptr, P.data), r, mdp.terminal, mdp.discount)
    return Rollouts(*_roll_out(*chain, first_states, start, episodes, max_steps, np.random.default_rng(seed)))


@njit(cache=True)
def _cumulative(indptr, data):  # type: ignore[no-untyped-def]
    """The cumulative sums within each row."""
    cumulative = np.empty(len(data))
    for row in range(len(indptr) - 1):
        total = 0.0
        for k in range(indptr[row], indptr[row + 1]):
            total += data[k]
            cumulative[k] = total
    return cumulative


@njit(cache=True)
def _draw(cumulative, first, last, rng):  # type: ignore[no-untyped-def]
    """The position of the first entry above a uniform random number, by bisection."""
    u = rng.random() * cumulative[last - 1]
    while first < last - 1:
        middle = (first + last) // 2
        if cumulative[middle - 1] > u:
            last = middle
        else:
            first = middle
    return first


@njit(cache=True)
def _roll_out(  # type: ignore[no-untyped-def]
    indptr, indices, cumulative, rewards, terminal, discount, first_states, start, episodes, max_steps, rng
):
    states = np.empty(episodes * 16, dtype=np.int32)
    starts = np.zeros(episodes + 1, dtype=np.int64)
    returns, discounted = np.zeros(episodes), np.zeros(episodes)
    count = 0
    for episode in range(episodes):
        if count + max_steps + 1 > len(states):
            larger = np.empty(2 * len(states) + max_steps + 1, dtype=np.int32)
            larger[:count] = states[:count]
            states = larger
        s = first_states[_draw(start, 0, len(start), rng)]
        weight = 1.0
        for _ in range(max_steps):
            if terminal[s]:
                break
            states[count] = s
            count += 1
            returns[episode] += rewards[s]
            discounted[episode] += weight * rewards[s]
            weight *= discount
            s = indices[_draw(cumulative, indptr[s], indptr[s + 1], rng)]
        states[count] = s
        count += 1
        starts[episode + 1] = count
    return states[:count].copy(), starts, returns, discounted
