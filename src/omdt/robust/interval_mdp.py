"""IntervalMDP: an MDP of which every probability is known to lie in an interval, and every reward to be at least one.

The notation is that of `omdt.mdp`, with l ≤ P ≤ u instead of P. Both ends are stored on the same sparse pattern: what
is not stored in `upper` is impossible.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
from scipy import sparse

from omdt import mdp_checks as checks
from omdt.arrays import csr_matrix
from omdt.errors import InputError
from omdt.graph import reached_from
from omdt.mdp import MDP, Bools, Floats
from omdt.mdp_sizes import Sized
from omdt.robust.interval_checks import checked_first, checked_intervals
from omdt.robust.interval_files import SHARED, fields_in, write_fields


@dataclass(frozen=True, eq=False, repr=False)
class IntervalMDP(Sized):
    """A finite Markov decision process whose probabilities are known as intervals.

    Attributes:
        lower: [S·A, S] sparse; row s·A + a has the least probability of each next state.
        upper: [S·A, S] sparse; the greatest probabilities. Some distribution must lie between the two rows.
        rewards: [S, A] the least expected reward of each action in each state.
        initial_lower: [S] the least probability that each state is the first.
        initial_upper: [S] the greatest one; the same as `initial_lower` if the first distribution is known.
        features: [S, F] what a tree may look at in each state.
        discount: γ, above 0 and below 1.
        feature_names: F distinct names.
        action_names: A distinct names.
        name: what the problem is called in outputs.
    """

    lower: sparse.csr_array
    upper: sparse.csr_array
    rewards: Floats
    initial_lower: Floats
    initial_upper: Floats
    features: Floats
    discount: float = 0.99
    feature_names: tuple[str, ...] = ()
    action_names: tuple[str, ...] = ()
    name: str = "interval MDP"

    def __post_init__(self) -> None:
        rewards = checks.checked_rewards(self.rewards)
        S, A = rewards.shape
        features = checks.checked_features(self.features, S)
        feature_names = checks.checked_names(self.feature_names, features.shape[1], "feature")
        action_names = checks.checked_names(self.action_names, A, "action")
        checks.check_finite_features(features, feature_names)
        checks.check_finite_rewards(rewards, np.broadcast_to(np.arange(A), (S, A)), action_names)
        lower, upper = checked_intervals(
            csr_matrix(self.lower, (S * A, S), "lower"), csr_matrix(self.upper, (S * A, S), "upper"), action_names
        )
        discount = checks.checked_discount(self.discount, upper)
        if discount == 1:
            raise InputError("the discount is 1; an interval MDP needs a discount below 1")
        checks.check_returns(rewards, discount)
        initial = checked_first(self.initial_lower, self.initial_upper, S)
        self._store(
            lower=lower,
            upper=upper,
            rewards=rewards,
            initial_lower=initial[0],
            initial_upper=initial[1],
            features=features,
            discount=discount,
            feature_names=feature_names,
            action_names=action_names,
            name=checks.checked_name(self.name),
        )

    @classmethod
    def around(cls, mdp: MDP, radius: float) -> Self:
        """The interval MDP of an MDP whose positive probabilities may each be wrong by a radius.

        Transitions of probability 0 stay impossible; rewards and the first distribution are those of the MDP.

        Args:
            mdp: the problem, with a discount below 1.
            radius: by how much each probability may differ; intervals end at 0 and 1.
        """
        if not 0 <= radius <= 1:
            raise InputError(f"the radius is {radius!r}; it must be between 0 and 1")
        P = mdp.transitions
        ends = (np.maximum(P.data - radius, 0.0), np.minimum(P.data + radius, 1.0))
        lower, upper = (sparse.csr_array((end, P.indices, P.indptr), shape=P.shape) for end in ends)
        return cls(
            lower,
            upper,
            mdp.rewards,
            mdp.initial,
            mdp.initial,
            mdp.features,
            mdp.discount,
            mdp.feature_names,
            mdp.action_names,
            mdp.name,
        )

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read an interval MDP from a file that `save` wrote."""
        fields = fields_in(path)
        try:
            return cls(**fields)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    def save(self, path: str | Path) -> None:
        """Write the interval MDP to a file ending in .npz, which `load` and `omdt check` read."""
        write_fields(path, self.arrays | {name: np.array(getattr(self, name)) for name in SHARED})

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """Intervals and rewards as plain arrays, by their names in a file; without features, names and discount."""
        ends = {"lower": self.lower.data, "upper": self.upper.data}
        pattern = {"indices": self.upper.indices, "indptr": self.upper.indptr}
        first = {"initial_lower": self.initial_lower, "initial_upper": self.initial_upper}
        return {**ends, **pattern, "rewards": self.rewards, **first}

    def __repr__(self) -> str:
        return f"<IntervalMDP {self.name!r}: {self._sizes(self.upper)}, discount {self.discount}>"

    @cached_property
    def reached(self) -> Bools:
        """[S] whether some policy reaches each state under some nature."""
        return reached_from(self.initial_upper > 0, self.upper.indices, self.upper.indptr[:: self.n_actions])

    def mdp_of(self, probabilities: Floats, initial: Floats) -> MDP:
        """The MDP of one nature.

        Args:
            probabilities: [nnz] between the data of `lower` and that of `upper`, row by row a distribution.
            initial: [S] the first distribution.
        """
        transitions = sparse.csr_array((probabilities, self.upper.indices, self.upper.indptr), shape=self.upper.shape)
        return MDP(
            transitions,
            self.rewards,
            initial,
            self.features,
            self.discount,
            self.feature_names,
            self.action_names,
            self.name,
        )
