"""Choices: what states offer to choose from, as readers find it in files, until all of it becomes an MDP.

A choice belongs to a state, may have a name, and has a reward and a distribution over next states. The actions of the
MDP are the names of all choices, and an action is available in the states that have a choice of its name. The MDP says
what is played where a tree names an action that is not available (see `omdt.mdp`).

A nameless choice without alternative, such as the loop of a state in which everything has ended, is what every action
means there: all actions are available, and all do the same. A named choice without alternative is the only available
action of its state.
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
"""Maximum distance of a sum of probabilities from 1; rounding to six significant digits changes a sum by no more."""

WORTH_TELLING = 1e-12
"""Minimum distance of such a sum from 1 for a warning: more than doubles are rounded by, less than printed decimals."""

MAX_TRANSITIONS = 50_000_000
"""Maximum number of transitions of the MDP, those of unavailable actions included; building it takes two to three
gigabytes then."""

ONLY_ACTION = "step"
"""The name of the action of a Markov chain."""

MOST_NAMES = 8
"""Maximum number of actions that a warning lists by name."""

Where = Callable[[int, int], str]
"""Spells the place of a line and a state, such as "model.drn:12: state 3"."""


class Choices:
    """Collects the choices of states 0, 1, 2, … in this order, in a few bytes per transition.

    After `begin`, the reader appends the choice's next states to `targets` and their probabilities to `probabilities`.
    At the end, `models` has the rewards of all choices for every named reward of the file, if it names any.

    Args:
        actions: names of actions that the MDP has in any case and that come first.
    """

    def __init__(self, actions: Sequence[str] = ()) -> None:
        self.targets = array("i")
        self.probabilities = array("d")
        self.rewards = array("d")
        self.models: dict[str, array[float]] = {}
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
        """Warn in how many states choices without a name are called by their place among several."""
        states = np.asarray(self._states)
        among_several = (np.bincount(states)[states] > 1) & np.asarray(self._unnamed, dtype=np.bool_)
        unnamed = len(np.unique(states[among_several]))
        if unnamed:
            warn_input(
                f"{name}: {counted(unnamed, 'state offers', 'states offer')} choices without a name, which are called "
                "by their place (0, 1, …); the same place can stand for different commands in different states"
            )

    def differ(self, states: Ints, alike: Ints) -> bool:
        """Whether a tree gains from telling states apart from others that look alike.

        It does where the choices of one of the states differ in what they earn or where they lead, and where the
        others offer other actions, since no leaf could then name an action that is available in all of them.
        """
        return self._matter(states) or (len(alike) > 0 and len(self._offers(np.append(states, alike))) > 1)

    def _offers(self, states: Ints) -> set[tuple[int, ...]]:
        """The distinct sets of actions that states offer; a choice without a name offers everything and is skipped."""
        offers = set()
        for first, end in zip(*np.searchsorted(self.states, (states, states + 1)), strict=True):
            if end - first > 1 or not self._unnamed[first]:
                offers.add(tuple(sorted(self._labels[first:end])))
        return offers

    def _matter(self, states: Ints) -> bool:
        """Whether the choices of one of these states differ in what they earn or where they lead."""
        bounds = self._bounds()
        for first, end in zip(*np.searchsorted(self.states, (states, states + 1)), strict=True):
            choices = {
                (
                    self.rewards[c],
                    *(amounts[c] for amounts in self.models.values()),
                    self.targets[bounds[c] : bounds[c + 1]].tobytes(),
                    self.probabilities[bounds[c] : bounds[c + 1]].tobytes(),
                )
                for c in range(first, end)
            }
            if len(choices) > 1:
                return True
        return False

    def mdp(self, where: Where, initial: Floats, features: Floats, **rest: Any) -> MDP:
        """The MDP of all choices, whose memory is freed for it.

        Args:
            where: spells the place of a line and a state.
            initial: [S] distribution of the first state.
            features: [S, F].
            rest: discount, names and fallback, as in `MDP`.
        """
        mdp = MDP(**self._tabulated(where), initial=initial, features=features, **rest)
        warn_about_unavailable(mdp)
        return mdp

    def _tabulated(self, where: Where) -> dict[str, Any]:
        """The transitions [S·A, S], rewards [S, A], available actions [S, A], names of actions and further rewards.

        Rows of unavailable actions are empty. The arrays of the choices are freed.
        """
        S, states = self.n_states, np.asarray(self._states)
        of_state = np.bincount(states)
        alone = (of_state[states] == 1) & np.asarray(self._unnamed, dtype=np.bool_)
        actions, action_names = self._actions(~alone)
        A = len(action_names)
        self._check_size(of_state, A)
        choice = np.full((S, A), -1, dtype=np.int32)
        choice[states[~alone], actions[~alone]] = np.flatnonzero(~alone)
        choice[states[alone]] = np.flatnonzero(alone)[:, None]
        available = choice >= 0
        given = choice[available]

        def table(amounts: "array[float]") -> Floats:
            rewards = np.zeros((S, A))
            rewards[available] = np.asarray(amounts)[given]
            return rewards

        rewards, models = table(self.rewards), {name: table(amounts) for name, amounts in self.models.items()}
        rows = self.matrix()[given]
        rows.data /= np.repeat(self._totals(where)[given], np.diff(rows.indptr))
        indptr = np.zeros(S * A + 1, dtype=rows.indptr.dtype)
        indptr[1:][available.ravel()] = np.diff(rows.indptr)
        transitions = sparse.csr_array((rows.data, rows.indices, np.cumsum(indptr)), shape=(S * A, S))
        self.targets, self.probabilities, self.rewards, self.models = array("i"), array("d"), array("d"), {}
        return {
            "transitions": transitions,
            "rewards": rewards,
            "available": available,
            "action_names": action_names,
            "reward_models": models,
        }

    def _actions(self, named: Bools) -> tuple[Ints, tuple[str, ...]]:
        """[C] the action of each choice, and the names of those actions that some choice needs."""
        labels = np.asarray(self._labels)
        used = np.zeros(len(self._names), dtype=np.bool_)
        used[labels[named]] = used[: self._given] = True
        names = tuple(name for name, label in self._names.items() if used[label])
        return (np.cumsum(used) - 1)[labels], names or (ONLY_ACTION,)

    def _check_size(self, of_state: Ints, A: int) -> None:
        """Raise if the MDP would be too large, in which every action of a state without its own choice copies one."""
        S = len(of_state)
        lengths = np.diff(self._bounds())
        transitions = np.bincount(np.asarray(self._states), weights=lengths)
        longest = np.zeros(S)
        np.maximum.at(longest, np.asarray(self._states), lengths)
        most = int((transitions + longest * (A - of_state)).sum())
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
        """Warn which choices are divided by the sum of their probabilities because that is not 1."""
        rounded = int((missing > WORTH_TELLING).sum())
        if rounded:
            worst = int(np.argmax(missing))
            others = "" if rounded == 1 else f", the most among {rounded:,} such choices"
            warn_input(
                f"{self._spell(worst, where)} has probabilities whose sum misses 1 by {missing[worst]:.1e}{others}; "
                "all such probabilities are divided by their sum"
            )

    def _spell(self, c: int, where: Where) -> str:
        return f"{where(self._lines[c], self._states[c])}, action {list(self._names)[self._labels[c]]!r}"


def warn_about_unavailable(mdp: MDP) -> None:
    """Warn how many states lack an action, and what is played where a tree names it."""
    lacking = int((~mdp.available).any(axis=1).sum())
    if lacking:
        A = mdp.n_actions
        names = ", ".join(mdp.action_names[:MOST_NAMES]) + (", …" if A > MOST_NAMES else "")
        first = f"the first available one of {names} is played"
        if mdp.fallback is not None:
            first = f"{mdp.fallback} is played, and where that is missing, too, {first}"
        offer = "offers" if lacking == 1 else "offer"
        warn_input(
            f"{mdp.name}: {lacking:,} of {counted(mdp.n_states, 'state')} {offer} some but not all of the {A:,} "
            f"actions; where a tree names an action that a state does not offer, {first}, unless unavailable='forbid' "
            "(on the command line --unavailable forbid) allows no such tree"
        )
