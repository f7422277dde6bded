"""What a tree does on its MDP: where it passes, what each leaf is worth, and where it loses to the optimal policy.

π is the policy of the tree, x(s) its discounted visits to state s, J its return; V*, Q* and J* belong to the optimal
policy. Visits are shared out among the states in which there is something to decide: in a terminal state every action
is the same, and an episode that has ended would otherwise count as the tree's busiest place.

**What the tree falls short.** δ(s, a) = V*(s) − Q*(s, a) ≥ 0 is what taking a once in s loses when all that follows is
optimal. Since x = p0 + γ P_πᵀ x,

    Σ_s x(s) δ(s, π(s)) = Σ_s x(s) (V*(s) − γ Σ_s' P(s, π(s), s') V*(s')) − Σ_s x(s) r(s, π(s)) = p0·V* − J = J* − J,

so every state has its share of the loss and the shares add up to all of it.

**The runner-up of a leaf** is the other action with which the tree, otherwise unchanged, returns most, among those that
the states of the leaf offer: all that the tree visits, or all that can be reached where no tree may name an unavailable
action. Each is put into the leaf and the tree evaluated anew, so what it loses is exact, not the first step of a
derivative: at a proven optimum it is never negative.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from omdt import planning
from omdt.counting import counted
from omdt.errors import InputError
from omdt.mdp import MDP, Bools, Floats, Ints
from omdt.rules import FORBID
from omdt.solution import Solution
from omdt.tree import LEAF, TreePolicy

MOST_EVALUATIONS = 1000
"""Trees evaluated to find runners-up; on the paper's environments each takes at most some hundredths of a second."""

TOLERANCE = 1e-9
"""Relative difference of two returns of the same policy that is put down to different machines."""


@dataclass(frozen=True)
class RunnerUp:
    """The best other action of a leaf and how much less the whole tree would return with it."""

    action: int
    loss: float


@dataclass(frozen=True, eq=False)
class Analysis:
    """What a tree does on its MDP.

    Attributes:
        observations: [S, F] what the tree reads in each state.
        deciding: [S] whether there is something to decide; everywhere, where every state is terminal.
        leaf: [S] the node at which each state ends.
        action: [S] the tree's action in each state.
        best: [S] an optimal action in each state; the tree's own where that is optimal.
        visits: [S] discounted visits x(s).
        share: [S] the same as shares of all visits to states that are not terminal.
        advantage_lost: [S] δ(s, π(s)); 0 where the tree's action is optimal.
        cost: [S] x(s) δ(s, π(s)).
        shortfall: J* − J.
        node_states: [N] how many states pass through each node.
        node_share: [N] share of the visits that pass through each node.
        node_cost: [N] part of the loss in the states that pass through each node.
        runners_up: those leaves, by node, that have a runner-up and whose runner-up is known.
    """

    observations: Floats
    deciding: Bools
    leaf: Ints
    action: Ints
    best: Ints
    visits: Floats
    share: Floats
    advantage_lost: Floats
    cost: Floats
    shortfall: float
    node_states: Ints
    node_share: Floats
    node_cost: Floats
    runners_up: dict[int, RunnerUp]

    @property
    def seen(self) -> Floats:
        """[n, F] the observations on which there is something to decide."""
        return self.observations[self.deciding]


def analyse(solution: Solution, mdp: MDP, observations: ArrayLike | None = None) -> Analysis:
    """Analyse the tree of a solution on the MDP that was solved.

    Args:
        solution: what `solve` returned for this MDP.
        mdp: the problem.
        observations: [S, F'] what the tree reads in each state; by default what the solution records: the features of
            the MDP and the predicates.

    Raises:
        InputError: if the solution is not one of this MDP.
    """
    X = solution.observations(mdp) if observations is None else np.asarray(observations, dtype=np.float64)
    tree = solution.tree
    _check_names(tree, mdp, X)
    leaf = tree.leaves(X)
    action: Ints = tree.action[leaf]
    returned = planning.policy_return(mdp, action)
    values = planning.optimal_values(mdp)
    optimal = planning.expected_return(mdp, values)
    _check_figures(solution, mdp, returned, optimal)

    q = planning.q_values(mdp, values)
    states = np.arange(mdp.n_states)
    lost = q.value.max(axis=1) - q.value[states, action]
    lost[lost <= planning.tie(q)] = 0.0
    visits = discounted_visits(mdp, action)
    share = visit_shares(mdp, visits)
    shortfall = optimal.value - returned.value
    return Analysis(
        observations=X,
        deciding=deciding(mdp),
        leaf=leaf,
        action=action,
        best=np.where(lost > 0, mdp.played[states, planning.greedy(q)], action),
        visits=visits,
        share=share,
        advantage_lost=lost,
        cost=visits * lost,
        shortfall=shortfall if shortfall > optimal.error + returned.error else 0.0,
        node_states=through_nodes(tree, leaf, np.ones(mdp.n_states)).astype(np.int64),
        node_share=through_nodes(tree, leaf, share),
        node_cost=through_nodes(tree, leaf, visits * lost),
        runners_up=_runners_up(tree, mdp, leaf, share, returned, solution.unavailable),
    )


def deciding(mdp: MDP) -> Bools:
    """[S] the states that are not terminal; all, where all are."""
    return mdp.terminal if mdp.terminal.all() else ~mdp.terminal


def discounted_visits(mdp: MDP, action: Ints) -> Floats:
    """[S] the occupancies of a policy; exactly 0 where it never comes, and never less."""
    return np.maximum(planning.occupancies(mdp, action).value, 0.0)


def visit_shares(mdp: MDP, visits: Floats) -> Floats:
    """[S] share of each state in the visits to those in which there is something to decide; 0 in the others."""
    counted = np.where(deciding(mdp), visits, 0.0)
    total = counted.sum()
    return counted / total if total > 0 else counted


def through_nodes(tree: TreePolicy, leaf: Ints, weight: Floats) -> Floats:
    """[N] weight of whatever passes through each node, given the leaves at which it ends and what each of it weighs."""
    through = np.zeros(tree.n_nodes)
    np.add.at(through, leaf, weight)
    # Children stand behind their parents, so both are complete when they are added.
    for i in reversed(np.flatnonzero(tree.feature != LEAF)):
        through[i] = through[tree.left[i]] + through[tree.right[i]]
    return through


def _runners_up(
    tree: TreePolicy, mdp: MDP, leaf: Ints, share: Floats, returned: planning.Certified[float], rule: str
) -> dict[int, RunnerUp]:
    """The runner-up of as many visited leaves as `MOST_EVALUATIONS` allows, the most visited first."""
    others = mdp.n_actions - 1
    if others == 0:
        return {}
    visited = np.bincount(leaf, weights=share, minlength=tree.n_nodes)
    leaves = [int(i) for i in np.argsort(-visited, kind="stable") if visited[i] > 0]
    possible = _possible(tree, mdp, leaf, rule)
    found = {
        i: _runner_up(tree, mdp, leaf, i, possible[i], returned) for i in leaves[: max(1, MOST_EVALUATIONS // others)]
    }
    return {i: runner_up for i, runner_up in found.items() if runner_up is not None}


def _possible(tree: TreePolicy, mdp: MDP, leaf: Ints, rule: str) -> Bools:
    """[N, A] whether each leaf could name each action under the rule about unavailable ones."""
    possible = np.ones((tree.n_nodes, mdp.n_actions), dtype=np.bool_)
    if mdp.all_available:
        return possible
    counts = mdp.reached if rule == FORBID else planning.visited(mdp, tree.action[leaf]) & deciding(mdp)
    np.logical_and.at(possible, leaf[counts], mdp.available[counts])
    return possible


def _runner_up(
    tree: TreePolicy, mdp: MDP, leaf: Ints, node: int, possible: Bools, returned: planning.Certified[float]
) -> RunnerUp | None:
    """The best other action [A] that is possible in a leaf; None if there is no other."""
    best: RunnerUp | None = None
    action: Ints = tree.action[leaf]
    inside: Bools = leaf == node
    for other in np.flatnonzero(possible).tolist():
        if other == tree.action[node]:
            continue
        changed = planning.policy_return(mdp, np.where(inside, other, action))
        loss = returned.value - changed.value
        if abs(loss) <= returned.error + changed.error:
            loss = 0.0
        if best is None or loss < best.loss:
            best = RunnerUp(other, loss)
    return best


def _check_names(tree: TreePolicy, mdp: MDP, X: Floats) -> None:
    if tree.action_names != mdp.action_names:
        raise InputError(
            f"this is not the problem that was solved: the solution's actions are {_some(tree.action_names)}, "
            f"those of {mdp.name} are {_some(mdp.action_names)}"
        )
    if tree.feature_names[: mdp.n_features] != mdp.feature_names:
        raise InputError(
            f"this is not the problem that was solved: the solution's features are {_some(tree.feature_names)}, "
            f"those of {mdp.name} are {_some(mdp.feature_names)}"
        )
    if X.shape != (mdp.n_states, len(tree.feature_names)):
        asked = _some(tree.feature_names[mdp.n_features :])
        raise InputError(
            f"the tree reads {counted(len(tree.feature_names), 'column')}, but there are observations of "
            f"shape {list(X.shape)} for {counted(mdp.n_states, 'state')}; where the tree was given predicates "
            f"({asked}), pass splits.observations"
        )


def _some(names: tuple[str, ...], most: int = 5) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def _check_figures(
    solution: Solution, mdp: MDP, returned: planning.Certified[float], optimal: planning.Certified[float]
) -> None:
    """Raise unless the solution's figures are those of this MDP."""
    if solution.discount != mdp.discount:
        raise InputError(
            f"the solution's discount is {solution.discount!r}, that of {mdp.name} is {mdp.discount!r}; "
            "solve and report with the same one"
        )
    random = planning.expected_return(mdp, planning.policy_values(mdp, planning.random_policy(mdp)))
    for what, stored, error, computed in (
        ("tree", solution.value, solution.value_error, returned),
        ("optimal policy", solution.optimal_return, solution.optimal_error, optimal),
        ("random policy", solution.random_return, solution.random_error, random),
    ):
        tolerance = error + 2 * computed.error + TOLERANCE * max(abs(stored), abs(computed.value))
        if not abs(stored - computed.value) <= tolerance:
            raise InputError(
                f"this is not the problem that was solved: by the solution the {what} returns {stored!r}, "
                f"on {mdp.name} as given it returns {computed.value!r}; "
                "give the same PROBLEM and the same --set as to `omdt solve`"
            )
