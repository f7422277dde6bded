"""What a tree does on its MDP: where it goes, what each leaf is worth, and where it loses against the optimal policy.

π is the policy of the tree, x(s) the discounted number of its visits to state s, and J its return; V*, Q* and J* belong
to the optimal policy. All of it is about `Task.problem`, where what is minimised is maximised with the other sign.

**What the tree loses.** δ(s, a) = V*(s) − Q*(s, a) ≥ 0 is what is lost by taking a once in s and acting optimally from
then on. Since x = p0 + γ P_πᵀ x,

    Σ_s x(s) δ(s, π(s)) = Σ_s x(s) (V*(s) − γ Σ_s' P(s, π(s), s') V*(s')) − Σ_s x(s) r(s, π(s)) = p0·V* − J = J* − J,

so every state has its part of the loss, and the parts add up to the whole loss. Without a discount that holds if the
tree comes to an end; what it loses by never doing so belongs to no single state.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from omdt import planning
from omdt.judging import net_return, priced, tolls
from omdt.mdp import MDP, Bools, Floats, Ints
from omdt.objective import Asked, recorded
from omdt.report.matching import check_names, check_returns
from omdt.report.runners_up import RunnerUp, runners_up
from omdt.report.visits import deciding, discounted_visits, through_nodes, visit_shares
from omdt.rules import outline_of
from omdt.solution import Solution
from omdt.task import Task


@dataclass(frozen=True, eq=False)
class Analysis:
    """What a tree does on its MDP.

    Attributes:
        observations: [S, F] what the tree reads in each state.
        deciding: [S] whether there is something to decide; true everywhere if every state is terminal.
        leaf: [S] the leaf that each state reaches.
        action: [S] the tree's action in each state.
        best: [S] an optimal action in each state; the tree's own action if that is optimal.
        visits: [S] discounted visits x(s).
        share: [S] share of each state in all visits to states that are not terminal.
        advantage_lost: [S] δ(s, π(s)), 0 where the tree's action is optimal, and what its questions cost per visit.
        cost: [S] x(s) δ(s, π(s)).
        shortfall: J* − J, where J is what is left after questions are paid.
        paid_once: the part of it that is paid once for questions, and belongs to no state.
        node_states: [N] number of states that pass each node.
        node_share: [N] share of the visits that pass each node.
        node_cost: [N] part of the loss in the states that pass each node.
        runners_up: the runner-up of each leaf, by node, if there is one and it was computed.
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
    paid_once: float
    node_states: Ints
    node_share: Floats
    node_cost: Floats
    runners_up: dict[int, RunnerUp]

    @property
    def seen(self) -> Floats:
        """[n, F] the observations on which there is something to decide."""
        return self.observations[self.deciding]


def analyse(
    solution: Solution, mdp: MDP, observations: ArrayLike | None = None, objective: Asked | None = None
) -> Analysis:
    """Analyse the tree of a solution on the MDP that was solved.

    Args:
        solution: what `solve` returned for this MDP.
        mdp: the problem.
        observations: [S, F'] what the tree reads in each state; by default what the solution records: the features of
            the MDP and the predicates.
        objective: what was asked; by default what the solution records.

    Raises:
        InputError: if the solution is not one of this MDP, or has an objective or rules of the user's own.
    """
    objective = recorded(solution.objective) if objective is None else objective
    task = Task.of(mdp, solution, objective)
    mdp = task.problem
    X = task.observations if observations is None else np.asarray(observations, dtype=np.float64)
    tree = solution.tree
    check_names(tree, mdp, X)
    leaf = tree.leaves(X)
    action: Ints = tree.action[leaf]
    returned = net_return(task, tree)
    values = planning.optimal_values(mdp)
    optimal = planning.expected_return(mdp, values)
    check_returns(solution, task, returned, optimal)
    lost, best = _lost(mdp, values, action)
    if task.prices is not None:
        lost += tolls(task, tree)
    visits, paying = discounted_visits(mdp, action), priced(task, tree)
    cost = np.multiply(visits, lost, where=visits > 0, out=np.zeros(mdp.n_states))
    share = visit_shares(mdp, visits)
    return Analysis(
        observations=X,
        deciding=deciding(mdp),
        leaf=leaf,
        action=action,
        best=best,
        visits=visits,
        share=share,
        advantage_lost=lost,
        cost=cost,
        shortfall=_shortfall(optimal, returned),
        paid_once=0.0 if task.prices is None else task.prices.paid_once(outline_of(tree, X)),
        node_states=through_nodes(tree, leaf, np.ones(mdp.n_states)).astype(np.int64),
        node_share=through_nodes(tree, leaf, share),
        node_cost=through_nodes(tree, leaf, cost),
        runners_up=runners_up(tree, paying, leaf, share, planning.policy_return(paying, action), task.allowed),
    )


def _shortfall(optimal: planning.Certified[float], returned: planning.Certified[float]) -> float:
    """J* − J, or 0 if the two cannot be told apart."""
    if optimal.value == returned.value:
        return 0.0
    shortfall = optimal.value - returned.value
    return shortfall if shortfall > optimal.error + returned.error else 0.0


def _lost(mdp: MDP, values: planning.Certified[Floats], action: Ints) -> tuple[Floats, Ints]:
    """[S] δ(s, π(s)), and [S] an optimal action, which is the tree's own where nothing is lost."""
    q = planning.q_values(mdp, values)
    states = np.arange(mdp.n_states)
    most, own = q.value.max(axis=1), q.value[states, action]
    lost = np.subtract(most, own, where=most != own, out=np.zeros(mdp.n_states))
    lost[lost <= planning.tie(q)] = 0.0
    return lost, np.where(lost > 0, mdp.played[states, planning.greedy(q)], action)
