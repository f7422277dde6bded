"""Objectives: what is maximised or minimised over the trees.

Every method maximises an expected return: the rewards of an MDP summed up, discounted or not. An objective translates
the user's MDP into the MDP whose return that is, and says how a return becomes the number that users see: plus a
constant, and with the other sign where something is minimised. It belongs to the task (`omdt.task`); methods read the
translated MDP there and know nothing of objectives.

With b the target, and P(s, a, b) the probability that an action leads into it:

    probability to reach b         b is absorbing, r(s, a) = P(s, a, b), discount 1; start mass in b is a constant
    … without leaving a            and so is everything outside of a and b
    probability to stay in a       1 − the probability to reach its complement, with the other sense
    expected total until b         b is absorbing without rewards, discount 1; a policy that misses b has an infinite
                                   total, as in Storm: −∞ where a cost is minimised, and ∞ where a reward is maximised
    expected total                 the rewards, discount 1
    expected discounted total      the rewards, discount γ
"""

from dataclasses import replace
from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from omdt.errors import InputError
from omdt.mdp import MDP, Bools, Floats
from omdt.properties import Condition, Kind, Label, Name, Not, Property, condition, parsed_property

MOST_NAMES = 12
"""Maximum number of rewards or labels that a message lists."""


@runtime_checkable
class Asked(Protocol):
    """What is asked of a tree. An objective of your own is any object with these four members."""

    @property
    def words(self) -> str:
        """What is maximised or minimised, as in `discounted return` or `expected discounted cost`."""

    @property
    def minimised(self) -> bool:
        """Whether users see a number that is to be small: the negative of what methods maximise."""

    def problem(self, mdp: MDP) -> MDP:
        """The MDP whose expected return is maximised.

        It has the states, features, actions and available actions of the given one, in the same order; rewards,
        transitions, discount and `endless` may differ.
        """

    def offset(self, mdp: MDP) -> float:
        """The constant that is added to a return of `problem(mdp)`, before the sign is changed where one minimises."""


class Objective(Property):
    """What is maximised or minimised: by default the discounted return of the MDP as it is.

    Conditions such as `target` are texts in PRISM's expression syntax over labels and features, as in `"goal"` (in
    quotes; a bare name is one too), `x=5 & y<3`; or arrays of truth values [S].
    """

    @classmethod
    def parse(cls, text: str) -> Self:
        """The objective that a property in PRISM's syntax asks for, such as `Pmax=? [F "goal"]`."""
        found = parsed_property(text)
        return cls(**{name: getattr(found, name) for name in Property.__dataclass_fields__})

    @classmethod
    def reach(
        cls,
        target: "str | ArrayLike | Condition",
        *,
        maximise: bool = True,
        staying: "str | ArrayLike | Condition | None" = None,
    ) -> Self:
        """The probability to reach a target, without leaving `staying` before if that is given."""
        within = None if staying is None else condition(staying, "staying")
        return cls(Kind.REACH, maximise, target=condition(target, "target"), staying=within)

    @classmethod
    def stay(cls, states: "str | ArrayLike | Condition", *, maximise: bool = True) -> Self:
        """The probability to stay in some states for ever."""
        return cls(Kind.STAY, maximise, target=condition(states, "states"))

    @classmethod
    def total(
        cls,
        reward: str | None = None,
        *,
        until: "str | ArrayLike | Condition | None" = None,
        maximise: bool = True,
    ) -> Self:
        """The expected total of a reward of the MDP over all time, or until some states are reached.

        Args:
            reward: its name among the `reward_models` of the MDP; by default its only reward.
            until: the states; a policy that may never reach them has an infinite total.
            maximise: whether the total is to be large; otherwise it is to be small.
        """
        return cls(Kind.TOTAL, maximise, reward, None if until is None else condition(until, "until"))

    @classmethod
    def discounted(cls, reward: str | None = None, *, discount: float | None = None, maximise: bool = True) -> Self:
        """The expected discounted total of a reward; by default of the only one, with the discount of the MDP."""
        return cls(Kind.DISCOUNTED, maximise, reward, discount=discount)

    @property
    def by_discount(self) -> bool:
        """Whether a discount alone says it all: the return of the MDP as it is, with a discount below 1 or of 1."""
        return self in (DISCOUNTED_RETURN, Objective.total())

    @property
    def by_default(self) -> bool:
        """Whether it is the discounted return, which is asked for unless something else is."""
        return self == DISCOUNTED_RETURN

    @property
    def is_probability(self) -> bool:
        """Whether a probability is asked for, which needs no rewards."""
        return self.kind in (Kind.REACH, Kind.STAY)

    @property
    def is_discounted(self) -> bool:
        """Whether rewards are discounted."""
        return self.kind is Kind.DISCOUNTED

    @property
    def minimised(self) -> bool:
        """Whether the figure is to be small."""
        return not self.maximise

    @property
    def words(self) -> str:
        """What is maximised or minimised, as in `expected time until done`."""
        if self.kind is Kind.REACH:
            staying = "" if self.staying is None else f" without leaving {_called(self.staying)}"
            return f"probability to reach {_called(self.target)}{staying}"
        if self.kind is Kind.STAY:
            if isinstance(self.target, Not):
                return f"probability to never reach {_called(self.target.inner)}"
            return f"probability to stay in {_called(self.target)} for ever"
        if self.kind is Kind.TOTAL:
            if self.target is None:
                return f"expected total {self._reward}"
            return f"expected {self.reward or f'total {self._reward}'} until {_called(self.target)}"
        if self.reward is None:
            return "discounted return" if self.maximise else "expected discounted cost"
        return f"expected discounted {self.reward}"

    @property
    def _reward(self) -> str:
        return self.reward or ("reward" if self.maximise else "cost")

    def on(self, mdp: MDP) -> "Objective":
        """The same objective with what it leaves to the MDP: its discount, which may be 1."""
        if self.kind is not Kind.DISCOUNTED or self.discount is not None:
            return self
        if mdp.discount == 1:
            return replace(self, kind=Kind.TOTAL)
        return self if self == DISCOUNTED_RETURN else replace(self, discount=mdp.discount)

    def problem(self, mdp: MDP) -> MDP:
        """The MDP whose expected return is maximised.

        Raises:
            InputError: if the MDP lacks a label, a feature or a reward that the objective speaks of.
        """
        sign = 1.0 if self.maximise else -1.0
        if self.is_probability:
            target, ended = self._ends(mdp)
            rewards = (sign if self.kind is Kind.REACH else -sign) * _entering(mdp, target)
            rewards = np.where(ended[:, None], 0.0, rewards) + 0.0
            return replace(mdp, transitions=_absorbing(mdp, ended), rewards=rewards, discount=1.0, endless=None)
        rewards = _rewards(mdp, self.reward)
        rewards = rewards if self.maximise else 0.0 - rewards
        if self.target is not None:
            return _until(mdp, self.target.states(mdp), rewards, sign)
        own = mdp.discount if self.discount is None else self.discount
        discount = own if self.kind is Kind.DISCOUNTED else 1.0
        if rewards is mdp.rewards and discount == mdp.discount:
            return mdp
        endless = None if mdp.endless is None or discount < 1 else sign * mdp.endless
        return replace(mdp, rewards=rewards, discount=discount, endless=endless)

    def offset(self, mdp: MDP) -> float:
        """The probability to start in the target, 0 for totals; what is added to a return."""
        if not self.is_probability:
            return 0.0
        target, _ = self._ends(mdp)
        inside = 1.0 if target[mdp.initial > 0].all() else float(mdp.initial[target].sum())
        shown = inside if self.kind is Kind.REACH else 1.0 - inside
        return shown if self.maximise else 0.0 - shown

    def _ends(self, mdp: MDP) -> tuple[Bools, Bools]:
        """[S] the states whose probability to be reached counts, and [S] all states from which nothing counts."""
        assert self.target is not None
        if self.kind is Kind.STAY:
            left = ~self.target.states(mdp)
            return left, left
        target = self.target.states(mdp)
        return target, target if self.staying is None else target | ~self.staying.states(mdp)


DISCOUNTED_RETURN = Objective()
"""The objective unless another one is asked for."""


def objective_of(asked: Asked | str) -> Asked:
    """An objective as it is, or from PRISM's syntax."""
    return Objective.parse(asked) if isinstance(asked, str) else asked


def recorded(asked: str | None) -> Objective:
    """The objective that a solution records, as `Task.asked` has it.

    Raises:
        InputError: if it is the user's own, of which a file has only the words.
    """
    if asked is None:
        return DISCOUNTED_RETURN
    try:
        return Objective.parse(asked)
    except InputError:
        raise InputError(
            f"the solution is about the {asked:.200}; a file has an objective of your own in words only, so this is "
            "possible in Python only"
        ) from None


def _called(states: Condition | None) -> str:
    """A condition in a sentence: the name of a label, or the condition itself."""
    return states.name if isinstance(states, Label | Name) else str(states)


def _rewards(mdp: MDP, name: str | None) -> Floats:
    """[S, A] the rewards of a name, or the only ones."""
    if name is not None and name in mdp.reward_models:
        return mdp.reward_models[name]
    names = ", ".join(repr(it) for it in list(mdp.reward_models)[:MOST_NAMES])
    if name is not None:
        has = f"the rewards {names}" if names else "one reward without a name; leave the name out"
        raise InputError(f"{mdp.name} has no reward {name!r}; it has {has}")
    if not mdp.rewards.any() and len(mdp.reward_models) > 1:
        raise InputError(
            f"{mdp.name} has the rewards {names}; say which one and how, as in the objective "
            f"{Objective.total(next(iter(mdp.reward_models)), maximise=False).property}"
        )
    return mdp.rewards


def _entering(mdp: MDP, target: Bools) -> Floats:
    """[S, A] the probability that an action leads into the target at once."""
    P = mdp.transitions
    inside = np.asarray(P @ target.astype(np.float64))
    # Where every next state lies in the target, the sum of a row that is 1 up to rounding is to be 1.
    certain = np.add.reduceat(target[P.indices], P.indptr[:-1], dtype=np.int64) == np.diff(P.indptr)
    return np.where(certain, 1.0, np.minimum(inside, 1.0)).reshape(mdp.rewards.shape)


def _absorbing(mdp: MDP, states: Bools) -> sparse.csr_array:
    """[S·A, S] the transitions with some states [S] made absorbing."""
    P, A = mdp.transitions, mdp.n_actions
    if not states.any():
        return P
    stopped = np.repeat(states, A)
    lengths = np.diff(P.indptr)
    indptr = np.concatenate([[0], np.cumsum(np.where(stopped, 1, lengths))]).astype(P.indptr.dtype)
    moving = ~np.repeat(stopped, np.diff(indptr))
    kept = ~np.repeat(stopped, lengths)
    data, indices = np.ones(indptr[-1]), np.empty(indptr[-1], dtype=P.indices.dtype)
    data[moving], indices[moving] = P.data[kept], P.indices[kept]
    indices[~moving] = np.repeat(np.flatnonzero(states), A)
    return sparse.csr_array((data, indices, indptr), shape=P.shape)


def _until(mdp: MDP, target: Bools, rewards: Floats, sign: float) -> MDP:
    """The MDP of a total until a target; a policy that misses it is worth `sign` · ∞."""
    rewards = np.where(target[:, None], 0.0, rewards)
    transitions = _absorbing(mdp, target)
    until = replace(mdp, transitions=transitions, rewards=rewards, discount=1.0, endless=sign * np.inf)
    traps = until.terminal & ~target
    if not traps.any():
        return until
    # A state other than the target that is never left must not count as an end; any reward there tells them apart. The
    # largest one also keeps heuristics with a discount away from it.
    rewards[traps] = sign * (float(np.abs(rewards).max()) or 1.0)
    return replace(until, rewards=rewards)
