"""The guide: a discounted MDP that stands in for one without a discount while good trees are looked for.

Without a discount, almost all trees may be worth 0 or −∞, which tells a search nothing about which of them are nearly
good. With a discount they differ: who comes closer to the end is better. The closer the discount is to 1, the more the
return says about the true total, and the less about the way there. Trees that are found with a guide are evaluated on
the problem itself.

Where a policy that never ends is worth −∞ or ∞, going on without a reward costs or earns a little in the guide, since
it would be free otherwise.
"""

from dataclasses import replace

import numpy as np

from omdt.mdp import MDP

DISCOUNT = 0.9999
"""The discount of a guide unless another one is asked for: a sum over ten thousand steps."""

STEP = 1e-3
"""What a step without reward is worth, as a part of the smallest reward."""


def guide(problem: MDP, discount: float = DISCOUNT) -> MDP:
    """The discounted MDP that stands in for a problem; the problem itself if it has a discount."""
    if problem.discount < 1:
        return problem
    rewards = problem.rewards
    if problem.endless is not None:
        smallest = float(np.abs(rewards).min(where=rewards != 0, initial=np.inf))
        step = np.sign(problem.endless) * STEP * (smallest if np.isfinite(smallest) else 1.0)
        rewards = np.where((rewards == 0) & ~problem.terminal[:, None], step, rewards)
    return replace(problem, rewards=rewards, discount=discount, endless=None)
