"""Robust: the tree with the best guaranteed return where probabilities are known as intervals only.

**The problem.** For every state s and action a, nature chooses a distribution p of the next state from

    𝒫(s, a) = {p : l(s, a, ·) ≤ p ≤ u(s, a, ·), Σ p = 1},

and a first distribution from a set of the same form. Rewards are the least possible ones. What a policy π surely
returns, its worst case, is the least discounted return over everything that nature may choose.

**One policy.** Nature chooses for every pair (s, a) by itself (the sets are "s,a-rectangular"), so what it chooses at
one pair costs it nothing at another. The values of π in its worst case are the fixpoint of

    (T_π V)(s) = r(s, π(s)) + γ min over p in 𝒫(s, π(s)) of p·V,

a monotone γ-contraction like the operator of an MDP. One choice of nature, fixed for all times, attains the least value
in all states at once, hence also the least return, for the worst first distribution as for any other.

**The best policy.** T replaces r(s, π(s)) + γ min p·V by its maximum over actions; its fixpoint V* is what the best
policy of any form is sure of.

**Trees.** A tree ties the actions of the states in a leaf together, but not nature's choices: those are made pair by
pair whatever the tree is. A partial tree allows some actions A(s) per state, one where a leaf is decided and all where
it is open. With T_A V = max over a in A(s), every tree that completes it satisfies T_π V ≤ T_A V for all V, so its
values are at most the fixpoint of T_A, and its worst-case return is at most nature's worst p0·V. That is the bound of
the branch and bound search (`omdt.robust.search`): the optimistic choice of actions, with the worst case inside.

**Fixed natures.** For any one nature, an ordinary MDP, no tree is sure of more than the best tree returns there. So
every bound of the ordinary search on such an MDP holds here too (`omdt.robust.scenarios`), and its trees are good ones
to begin with.

**Certificate.** T_A is a monotone γ-contraction: for every V̂ its fixpoint is at most V̂ + max(T_A V̂ − V̂)⁺ / (1 − γ),
and at least V̂ − max(V̂ − T_A V̂)⁺ / (1 − γ), whatever V̂ comes from. Rounding is added to the residual.
"""
