"""MDP: the validated, immutable problem that everything else trusts.

Notation, used throughout the package: states s = 0 … S−1, actions a = 0 … A−1, transition probabilities P(s, a, s'),
expected rewards r(s, a) = Σ_s' P(s, a, s') R(s, a, s'), start distribution p0(s), discount γ, and the observation
X(s) ∈ ℝ^F on which a tree decides. The discounted return of a policy is E[Σ_t γ^t r(s_t, a_t)]; with γ = 1 it is the
expected total reward.

All probabilities lie in one sparse matrix of shape [S·A, S] whose row s·A + a is P(s, a, ·).

Not every action need be available in every state. Where one is not, another is played if a tree names it: the fallback
if the MDP has one that is available there, otherwise the first available action. The MDP stores for the missing action
the row and the reward of the action that is played, so planning, search and proofs need no rule of their own.

`omdt.mdp_checks` says what a valid MDP is, `omdt.mdp_constructors` makes one of what people have.
"""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy import sparse

from omdt import mdp_checks as checks
from omdt.arrays import EPSILON, Bools, Floats, Ints, csr_matrix
from omdt.available import played_actions
from omdt.graph import reached_from
from omdt.mdp_constructors import Constructors
from omdt.mdp_sizes import Sized
from omdt.source import Source

if TYPE_CHECKING:
    import pandas

# Array types come along with the MDP: whoever needs both imports them from here.
__all__ = ["EPSILON", "MDP", "Bools", "Floats", "Ints"]


@dataclass(frozen=True, eq=False, repr=False)
class MDP(Constructors, Sized):
    """A finite Markov decision process with observed features.

    Attributes:
        transitions: [S·A, S] sparse; row s·A + a is the distribution of the next state.
        rewards: [S, A] expected reward of each action in each state.
        initial: [S] distribution of the first state.
        features: [S, F] what a tree may look at in each state.
        discount: γ, above 0 and below 1; or 1, for total rewards.
        feature_names: F distinct names.
        action_names: A distinct names.
        name: what the problem is called in outputs.
        origin: [S] index of each state in the MDP this one was cut out of (see `reachable`).
        source: the name or file and the settings from which `make` or `read` made it, or None; solutions record it.
        available: [S, A] whether each action can be played in each state; by default all can. Transitions and rewards
            of the others may hold anything; they are replaced by those of the action that is played instead.
        fallback: name of the action that is played where an unavailable one is named; where the fallback is not
            available itself, and by default, the first available action is played.
        truths: names of the features that are truth values in the problem's source; they are 0 or 1 here.
        labels: names of sets of states, each as a mask [S]; objectives speak of them.
        reward_models: further rewards [S, A] by name, of which an objective may be about another one than `rewards`.
        endless: what a policy is worth from states from which it never comes to a terminal state, only with discount 1:
            −∞ or ∞, or None for the rewards that it earns.
    """

    transitions: sparse.csr_array
    rewards: Floats
    initial: Floats
    features: Floats
    discount: float = 0.99
    feature_names: tuple[str, ...] = ()
    action_names: tuple[str, ...] = ()
    name: str = "mdp"
    origin: Ints = ()  # type: ignore[assignment]
    source: Source | None = None
    available: Bools = ()  # type: ignore[assignment]
    fallback: str | None = None
    truths: tuple[str, ...] = ()
    labels: Mapping[str, Bools] = field(default_factory=dict)
    reward_models: Mapping[str, Floats] = field(default_factory=dict)
    endless: float | None = None

    def __post_init__(self) -> None:
        rewards = checks.checked_rewards(self.rewards)
        S, A = rewards.shape
        features = checks.checked_features(self.features, S)
        feature_names = checks.checked_names(self.feature_names, features.shape[1], "feature")
        action_names = checks.checked_names(self.action_names, A, "action")
        checks.check_finite_features(features, feature_names)
        transitions = csr_matrix(self.transitions, (S * A, S))
        available = checks.checked_availability(self.available, S, A)
        fallback = checks.checked_fallback(self.fallback, action_names)
        played = played_actions(available, None if fallback is None else action_names.index(fallback))
        if not available.all():
            transitions = transitions[(np.arange(S)[:, None] * A + played).ravel()]
            rewards = np.take_along_axis(rewards, played, axis=1)
        transitions = checks.checked_transitions(transitions, played, action_names)
        checks.check_finite_rewards(rewards, played, action_names)
        initial = checks.checked_initial(self.initial, S)
        discount = checks.checked_discount(self.discount, transitions)
        checks.check_returns(rewards, discount)
        checks.check_endless(self.endless, discount)
        self._store(
            transitions=transitions,
            rewards=rewards,
            initial=initial,
            features=features,
            discount=discount,
            feature_names=feature_names,
            action_names=action_names,
            origin=checks.checked_origin(self.origin, S),
            available=available,
            fallback=fallback,
            truths=checks.checked_truths(self.truths, features, feature_names),
            name=checks.checked_name(self.name),
            labels=checks.checked_labels(self.labels, S),
            reward_models=checks.checked_reward_models(self.reward_models, played, action_names),
        )

    def __repr__(self) -> str:
        return f"<MDP {self.name!r}: {self._sizes(self.transitions)}, discount {self.discount}>"

    def _repr_html_(self) -> str:
        """Sizes and names, for notebooks."""
        from omdt.printing.notebook import mdp_html

        return mdp_html(self)

    @property
    def nbytes(self) -> int:
        """Memory of all arrays in bytes."""
        matrix = self.transitions
        arrays = (matrix.data, matrix.indices, matrix.indptr, self.rewards, self.initial, self.features, self.origin)
        further = (*self.labels.values(), *self.reward_models.values())
        masks = () if self.all_available else (self.available,)
        return sum(int(array.nbytes) for array in (*arrays, *further, *masks))

    @cached_property
    def all_available(self) -> bool:
        """Whether every action is available in every state."""
        return bool(self.available.all())

    @cached_property
    def played(self) -> Ints:
        """[S, A] the action that is played where each action is named: itself where it is available."""
        return played_actions(self.available, None if self.fallback is None else self.action_names.index(self.fallback))

    @cached_property
    def terminal(self) -> Bools:
        """[S] whether every action returns to the same state with reward 0."""
        S, A = self.rewards.shape
        lengths = np.diff(self.transitions.indptr)
        first = self.transitions.indices[self.transitions.indptr[:-1]]
        stays = (lengths == 1) & (first == np.repeat(np.arange(S), A))
        terminal: Bools = stays.reshape(S, A).all(axis=1) & (self.rewards == 0).all(axis=1)
        terminal.flags.writeable = False
        return terminal

    def found_at(self, source: Source | None) -> Self:
        """The same MDP with another source; it shares all arrays with this one."""
        found = copy(self)
        object.__setattr__(found, "source", source)
        return found

    @cached_property
    def reached(self) -> Bools:
        """[S] whether some policy can reach each state."""
        reached = reached_from(self.initial > 0, self.transitions.indices, self.transitions.indptr[:: self.n_actions])
        reached.flags.writeable = False
        return reached

    def reachable(self) -> Self:
        """The same MDP without the states that no policy can reach; `origin` maps the rest back."""
        if self.reached.all():
            return self
        A, kept = self.n_actions, np.flatnonzero(self.reached)
        transitions = self.transitions[(kept[:, None] * A + np.arange(A)).ravel()]
        # All next states are reached as well, so their columns need only new numbers.
        numbers = np.cumsum(self.reached, dtype=transitions.indices.dtype) - 1
        parts = (transitions.data, numbers[transitions.indices], transitions.indptr)
        return replace(
            self,
            transitions=sparse.csr_array(parts, shape=(len(kept) * A, len(kept))),
            rewards=self.rewards[kept],
            initial=self.initial[kept],
            features=self.features[kept],
            origin=self.origin[kept],
            available=self.available[kept],
            labels={name: states[kept] for name, states in self.labels.items()},
            reward_models={name: rewards[kept] for name, rewards in self.reward_models.items()},
        )

    def to_frame(self) -> "pandas.DataFrame":
        """The transitions of all available actions as a table that `from_dataframe` reads (needs pandas).

        It has one row per transition of positive probability. If features alone do not tell all states apart, a column
        `state` numbers them.
        """
        from omdt.formats.to_dataframe import to_dataframe

        return to_dataframe(self)
