"""Choices: an MDP in the making whose states offer different actions, as readers find it in files.

A choice belongs to a state, may have a name, and has a reward and a distribution over next states. The actions of the
MDP are the names of all choices. Where a state does not offer an action, the MDP gives that action the meaning "any of
the state's own choices, each with the same probability": if C(s) are the choices of s and a is none of their names,

    P(s, a, ·) = 1/|C(s)| Σ_{c ∈ C(s)} P(c, ·)     and     r(s, a) = 1/|C(s)| Σ_{c ∈ C(s)} r(c).

So an unavailable action is never taken, a state with a single choice takes it whatever the tree says, and nothing
depends on the order in which a file lists its choices.
"""

from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from omdt.counting import counted
from omdt.errors import InputError, warn_input
from omdt.mdp import EPSILON, MDP, Bools, Floats, Ints

DECIMAL_TOLERANCE = 5e-6
"""By how much probabilities may miss 1: rounding numbers to six significant digits changes their sum by no more."""

WORTH_TELLING = 1e-12
"""By how much probabilities miss 1 where that is said: more than doubles are rounded by, less than decimals."""

MAX_TRANSITIONS = 50_000_000
"""Transitions of the MDP, those of unavailable actions included; two to three gigabytes while it is built."""

ONLY_ACTION = "step"

Where = Callable[[int, int], str]


class Choices:
    """Collects the choices of states 0, 1, 2, … in this order, in a few bytes a transition.

    After `begin`, the reader appends the choice's next states to `targets` and their probabilities to `probabilities`.

    Args:
        actions: names of actions that the MDP has in any case and that come first.
    """

    def __init__(self, actions: Sequence[str] = ()) -> None:
        self.targets = array("i")
        self.probabilities = array("d")
        self.rewards = array("d")
        self._lines = array("q")
        self._states = array("i")
        self._starts = array("q")
        self._names = {name: i for i, name in enumerate(actions)}
        self._given = len(actions)
        self._labels = array("i")
        self._unnamed = array("b")
        self._here: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._states)

    @property
    def n_states(self) -> int:
        """The number of states that have choices so far."""
        return self._states[-1] + 1 if self._states else 0

    @property
    def states(self) -> NDArray[np.int32]:
        """[C] the state of each choice."""
        return np.array(self._states)

    def matrix(self) -> sparse.csr_array:
        """[C, S] the probabilities of each choice."""
        parts = np.asarray(self.probabilities), np.asarray(self.targets), self._bounds()
        return sparse.csr_array(parts, shape=(len(self), self.n_states))

    def begin(self, state: int, name: str | None, *, line: int, reward: float = 0.0) -> None:
        """Begin the next choice of the last state or the first of the next; one without a name is called by its place.

        A name that the state has already given to a choice is told apart by a number.
        """
        if state == self.n_states:
            self._here.clear()
        label = wanted = str(len(self._here)) if name is None else name
        while label in self._here:
            self._here[wanted] += 1
            label = f"{wanted} ({self._here[wanted]})"
        self._here[label] = 1
        self._lines.append(line)
        self._states.append(state)
        self._starts.append(len(self.targets))
        self._labels.append(self._names.setdefault(label, len(self._names)))
        self._unnamed.append(name is None)
        self.rewards.append(reward)

    def stay(self, state: int, *, line: int, reward: float = 0.0) -> None:
        """Let a state without choices return to itself for ever."""
        self.begin(state, None, line=line, reward=reward)
        self.targets.append(state)
        self.probabilities.append(1.0)

    def stay_until(self, end: int, *, line: int) -> None:
        """Let every state from the first without choices to the one before `end` return to itself for ever."""
        for state in range(self.n_states, end):
            self.stay(state, line=line)

    def tell_of_places(self, name: str) -> None:
        """Say in how many states choices without a name are called by their place among several."""
        states = np.asarray(self._states)
        among_several = (np.bincount(states)[states] > 1) & np.asarray(self._unnamed, dtype=np.bool_)
        unnamed = len(np.unique(states[among_several]))
        if unnamed:
            warn_input(
                f"{name}: {counted(unnamed, 'state offers', 'states offer')} choices without a name, which are called "
                "by their place (0, 1, …); the same place can stand for different commands in different states"
            )

    def differ(self, states: Ints) -> bool:
        """Whether the choices of one of these states differ in what they earn or where they lead."""
        bounds = self._bounds()
        for first, end in zip(*np.searchsorted(self.states, (states, states + 1)), strict=True):
            choices = {
                (
                    self.rewards[c],
                    self.targets[bounds[c] : bounds[c + 1]].tobytes(),
                    self.probabilities[bounds[c] : bounds[c + 1]].tobytes(),
                )
                for c in range(first, end)
            }
            if len(choices) > 1:
                return True
        return False

    def mdp(self, where: Where, initial: Floats, features: Floats, **rest: Any) -> MDP:
        """The MDP of all choices, which are given up for it.

        Args:
            where: spells the place of a line and a state, such as "model.drn:12: state 3".
            initial: [S] distribution of the first state.
            features: [S, F].
            rest: discount and names, as in `MDP`.
        """
        transitions, rewards, action_names = self._mixed(where, rest.get("name", "the model"))
        return MDP(transitions, rewards, initial, features, action_names=action_names, **rest)

    def _mixed(self, where: Where, name: str) -> tuple[sparse.csr_array, Floats, tuple[str, ...]]:
        """[S·A, S] transitions, [S, A] rewards and the actions' names; the choices make room for them in memory."""
        S, states = self.n_states, np.asarray(self._states)
        of_state = np.bincount(states)
        named = ~((of_state[states] == 1) & np.asarray(self._unnamed, dtype=np.bool_))
        actions, action_names = self._actions(named)
        A = len(action_names)
        _warn_about_mixtures(of_state, A, name)
        self._check_size(np.bincount(states[named], minlength=S), A)
        rows = states[named].astype(np.int64) * A + actions[named]
        mixture = _mixture(rows, np.flatnonzero(named), of_state, A)
        rewards = (mixture @ np.asarray(self.rewards)).reshape(S, A)
        mixture.data /= self._totals(where)[mixture.indices]
        transitions = mixture @ self.matrix()
        self.targets, self.probabilities, self.rewards = array("i"), array("d"), array("d")
        return transitions, rewards, action_names

    def _actions(self, named: Bools) -> tuple[Ints, tuple[str, ...]]:
        """[C] the action of each choice, and the names of those actions that some choice needs."""
        labels = np.asarray(self._labels)
        used = np.zeros(len(self._names), dtype=np.bool_)
        used[labels[named]] = used[: self._given] = True
        names = tuple(name for name, label in self._names.items() if used[label])
        return (np.cumsum(used) - 1)[labels], names or (ONLY_ACTION,)

    def _check_size(self, named_of_state: Ints, A: int) -> None:
        S = len(named_of_state)
        transitions = np.bincount(np.asarray(self._states), weights=np.diff(self._bounds()))
        most = int((transitions * (1 + A - named_of_state)).sum())
        if max(most, S * A) > MAX_TRANSITIONS:
            raise InputError(
                f"{S:,} states with {A:,} different actions make up to {most:,} transitions when every action has a "
                f"meaning in every state; at most {MAX_TRANSITIONS:,} are possible"
            )

    def _bounds(self) -> NDArray[np.int32]:
        """[C + 1] where the transitions of each choice begin, and where the last ones end."""
        return np.append(np.asarray(self._starts), len(self.targets)).astype(np.int32)

    def _totals(self, where: Where) -> Floats:
        """[C] the sum of each choice's probabilities, which is 1 up to their printed precision."""
        bounds = self._bounds()
        empty = np.flatnonzero(np.diff(bounds) == 0)
        if len(empty):
            raise InputError(f"{self._spell(empty[0], where)} has no transitions")
        totals: Floats = np.add.reduceat(np.asarray(self.probabilities), bounds[:-1])
        bad = np.flatnonzero(np.abs(totals - 1) > DECIMAL_TOLERANCE)
        if len(bad):
            c = int(bad[0])
            raise InputError(f"{self._spell(c, where)} has probabilities that sum to {totals[c]:.12g}, not to 1")
        # Probabilities that add up to 1 but for the rounding of the sum stay as they are written.
        totals[np.abs(totals - 1) <= np.diff(bounds) * EPSILON] = 1.0
        self._tell_of_rounding(np.abs(totals - 1), where)
        return totals

    def _tell_of_rounding(self, missing: Floats, where: Where) -> None:
        """Say which choices are divided by the sum of their probabilities because that misses 1."""
        rounded = int((missing > WORTH_TELLING).sum())
        if rounded:
            worst = int(np.argmax(missing))
            others = "" if rounded == 1 else f", the most of {rounded:,} choices for which this is so"
            warn_input(
                f"{self._spell(worst, where)} has probabilities that miss 1 by {missing[worst]:.1e}{others}; all such "
                "probabilities are divided by their sum"
            )

    def _spell(self, c: int, where: Where) -> str:
        return f"{where(self._lines[c], self._states[c])}, action {list(self._names)[self._labels[c]]!r}"


def _mixture(rows: Ints, choices: Ints, of_state: Ints, A: int) -> sparse.csr_array:
    """[S·A, C] the probability of each choice in each state under each action.

    Args:
        rows: s·A + a for every choice that an action stands for.
        choices: the numbers of these choices.
        of_state: [S] how many choices each state has; they are numbered state by state.
        A: the number of actions.
    """
    first = np.repeat(np.cumsum(of_state) - of_state, A)
    lengths = np.repeat(of_state, A)
    first[rows], lengths[rows] = choices, 1
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.arange(indptr[-1]) + np.repeat(first - indptr[:-1], lengths)
    weights = np.repeat(1.0 / lengths, lengths)
    # Column indices of 32 bits make the product of this matrix with another one smaller by a quarter.
    narrow = indices.astype(np.int32), indptr.astype(np.int32)
    return sparse.csr_array((weights, *narrow), shape=(len(of_state) * A, int(of_state.sum())))


def _warn_about_mixtures(of_state: Ints, A: int, name: str) -> None:
    mixed = int(((of_state > 1) & (of_state < A)).sum())
    if mixed:
        warn_input(
            f"{name}: {mixed:,} states offer some but not all of the {A:,} actions; where a tree names an action that "
            "a state does not offer, each action of that state is taken with the same probability"
        )
