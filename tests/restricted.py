"""Random problems whose states do not offer every action, and the value of what is really played in them.

Nothing here knows of a fallback: rows of unavailable actions are not numbers, so whoever plays one returns no number.
"""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from omdt import MDP
from strategies import models


@dataclass(frozen=True)
class Restricted:
    """An MDP and the dense arrays it was made of: P [S, A, S] and r [S, A], not a number where unavailable."""

    mdp: MDP
    P: np.ndarray
    r: np.ndarray

    def visited(self, actions: np.ndarray) -> np.ndarray:
        """[S] the states to which these actions [S] lead, by walking."""
        seen = self.mdp.initial > 0
        todo = np.flatnonzero(seen).tolist()
        while todo:
            s = todo.pop()
            for t in np.flatnonzero(self.P[s, actions[s]] > 0).tolist():
                if not seen[t]:
                    seen[t] = True
                    todo.append(t)
        return seen

    def value(self, actions: np.ndarray) -> float:
        """The return of playing these actions [S]; not a number if one of them is not available where it is played."""
        states = np.flatnonzero(self.visited(actions))
        P = self.P[states, actions[states]]
        if np.isnan(P).any():
            return float("nan")
        V = np.linalg.solve(np.eye(len(states)) - self.mdp.discount * P[:, states], self.r[states, actions[states]])
        return float(self.mdp.initial[states] @ V)


@st.composite
def restricted(
    draw: st.DrawFn,
    *,
    max_states: int = 7,
    max_actions: int = 4,
    observations: tuple[str, ...] = ("distinct",),
    rewards: tuple[str, ...] = ("few values", "normal", "negative"),
) -> Restricted:
    """A random problem in which states lack actions."""
    shape = {"max_states": max_states, "max_actions": max_actions, "observations": observations, "rewards": rewards}
    model = draw(models(**shape, discounts=st.sampled_from([0.5, 0.9, 0.99]), unavailable=0.5))
    P, r = model.P.copy(), model.r
    P[~model.available], r[~model.available] = np.nan, np.nan
    names = tuple(f"a{a}" for a in range(r.shape[1]))
    mdp = MDP.from_dense(
        np.nan_to_num(P),
        r,
        model.p0,
        model.X,
        discount=model.discount,
        action_names=names,
        available=model.available,
        fallback=draw(st.sampled_from([None, *names])),
    )
    return Restricted(mdp, P, r)
