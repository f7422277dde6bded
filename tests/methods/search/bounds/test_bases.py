"""Bases: losses are counted from the best policy with some actions fixed, and those in use are kept."""

from dataclasses import replace

import numpy as np
import pytest

from omdt import MDP
from omdt.methods.search.bounds.bases import Bases, budget_of
from omdt.methods.search.exploration import explore
from omdt.methods.search.nodes import Goal, Node, OpenRegion, Partial
from omdt.methods.search.partial_tree import HOLE
from omdt.rules import AvailableOnly
from omdt.watch import OutOfTimeError, Watch
from random_mdps import game, random_mdp
from search_parts import all_policies, goal_of, knowledge_of, model_of, returns_of, root_of, rounds_of, visits_of
from strategies import environment


def test_raised_targets_leave_the_tables_of_the_proof_where_they_are() -> None:
    rounds = rounds_of(model_of(environment("frozenlake_4x4")))
    knowledge, goal = rounds.explorers.knowledge, rounds.goal()
    root = root_of(knowledge)
    explore(knowledge, root, goal, 1, Watch())
    proof = knowledge.bases._general[False]
    for part in (0.9, 0.5):
        raised = replace(goal, budget=part * goal.budget, raised=True)
        explore(knowledge, root, raised, 1, Watch())
    explore(knowledge, root, goal, 1, Watch())
    assert knowledge.bases._general[False] is proof
    assert len(knowledge.bases._general) == 2


def bases_of(mdp: MDP, **fields: object) -> Bases:
    return Bases(model_of(mdp, **fields), 1 << 26)  # type: ignore[arg-type]


def test_losses_around_leaves_are_counted_from_the_best_policy_with_these() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        mdp = game(rng) if seed % 3 == 0 else random_mdp(rng)
        policies = all_policies(mdp)
        if len(policies) > 300 or mdp.discount > 0.995:
            continue
        bases = bases_of(mdp)
        scale = bases.model.scale
        target = bases.losses.optimum - 5 * scale - 1.0
        general = bases.general(Goal(-np.inf, target, budget_of(bases.losses.optimum, target)), Watch())
        leaf = rng.random(mdp.n_states) < 0.5
        matters = bases.undecided < 0
        actions = np.where(leaf & matters, rng.integers(mdp.n_actions, size=mdp.n_states), bases.undecided)
        around = bases.around(actions, general, target, Watch())
        alike = policies[np.all((policies == actions) | (actions < 0), axis=1)]
        best = float(returns_of(mdp, alike).max())
        assert around.has_leaves
        assert around.losses.optimum == pytest.approx(best, abs=1e-6 * max(abs(best), scale)), seed
        assert around.losses.optimum >= best - 1e-9 * max(abs(best), scale), seed
        assert around.budget == pytest.approx(around.losses.optimum - target)
        fixed = np.flatnonzero(actions >= 0)
        assert (np.isfinite(around.losses.delta[fixed]).sum(axis=1) == 1).all()


def test_without_a_positive_budget_no_tree_with_these_leaves_reaches_the_target() -> None:
    bases = bases_of(environment("frozenlake_4x4"))
    target = 0.5
    general = bases.general(goal(bases, -1.0), Watch())
    around = bases.around(np.full(16, 3), general, target, Watch())
    assert around.budget < 0
    assert around.losses.optimum < target


def goal(bases: Bases, target: float, **rest: bool) -> Goal:
    return Goal(-np.inf, target, budget_of(bases.losses.optimum, target), **rest)


def test_the_general_basis_is_kept_for_its_budget_and_its_watch_is_new() -> None:
    bases = bases_of(environment("frozenlake_4x4"))
    late = Watch()
    first = bases.general(goal(bases, 0.3), Watch())
    late.interrupt()
    again = bases.general(goal(bases, 0.3), late)
    assert again.losses is first.losses
    assert again.tables._memory is first.tables._memory
    with pytest.raises(OutOfTimeError):
        again.tables.together(((bases.regions.everything, 0),), 0.1)
    other = bases.general(goal(bases, 0.31), Watch())
    assert other.losses is not first.losses
    assert other.budget < first.budget


def start_of(bases: Bases) -> int:
    return int(np.argmax(bases.model.mdp.initial))


def test_pinned_bases_are_kept_up_to_a_number() -> None:
    bases = bases_of(game(np.random.default_rng(80_000)), max_pinned_bases=1)
    target = bases.losses.optimum - bases.model.scale - 1.0
    general, s = bases.general(goal(bases, target, raised=True), Watch()), start_of(bases)
    first = bases.pinned(((s, 0),), general, Watch())
    assert first is not None
    assert first.actions[s] == 0
    assert first.seen is not None
    assert first.entered is not None
    again = bases.pinned(((s, 0),), general, Watch())
    assert again is not None
    assert again.losses is first.losses
    assert bases.pinned(((s, 1),), general, Watch()) is not None
    assert set(bases._pinned) == {((s, 1),)}
    anew = bases.pinned(((s, 0),), general, Watch())
    assert anew is not None
    assert anew.losses is not first.losses
    # With another budget the basis is made anew.
    smaller = bases.general(goal(bases, target + 0.5, raised=True), Watch())
    changed = bases.pinned(((s, 0),), smaller, Watch())
    assert changed is not None
    assert changed.budget < anew.budget


def test_pins_beyond_the_budget_have_no_basis() -> None:
    without = 0
    for seed in range(60):
        bases = bases_of(game(np.random.default_rng(seed)))
        s, policies = start_of(bases), all_policies(bases.model.mdp)
        if not bases.model.decisive[s] or len(policies) > 3000:
            continue
        target = bases.losses.optimum - 1e-6 * bases.model.scale
        general = bases.general(goal(bases, target, raised=True), Watch())
        for a in range(bases.model.mdp.n_actions):
            if bases.pinned(((s, a),), general, Watch()) is None:
                best = float(returns_of(bases.model.mdp, policies[policies[:, s] == a]).max())
                assert best <= target + 1e-9 * bases.model.scale, seed
                without += 1
    assert without > 10


def test_with_pins_a_node_deserves_a_basis_once_enough_of_the_certain_visits_are_decided() -> None:
    bases = bases_of(game(np.random.default_rng(80_000)), decided_visits=0.25)
    general = bases.general(goal(bases, bases.losses.optimum - 10 * bases.model.scale - 1.0), Watch())
    pinned = bases.pinned(((start_of(bases), 0),), general, Watch())
    assert pinned is not None
    assert pinned.entered is not None
    states = bases.regions.everything.states
    by_visits = states[np.argsort(-pinned.entered[states])]
    shares = np.cumsum(pinned.entered[by_visits]) / pinned.entered.sum()
    assert shares[0] > 0.25
    hole, rest = Partial(HOLE), (OpenRegion((), bases.regions.region(by_visits[1:]), 1),)
    for decided, pays in ((by_visits[-1:], False), (by_visits[:1], True)):
        actions = pinned.actions.copy()
        actions[decided] = 0
        assert bases.pays(Node(hole, actions, rest, 1), pinned) == pays
        # Nothing more may grow.
        assert not bases.pays(Node(hole, actions, rest, 0), pinned)
    assert pinned.entered[by_visits[-1]] == 0.0


def test_a_basis_of_leaves_with_pins_knows_what_is_visited() -> None:
    sharper = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        mdp = game(rng)
        bases, policies = bases_of(mdp), all_policies(mdp)
        s = start_of(bases)
        if not bases.model.decisive[s] or len(policies) > 3000:
            continue
        returns = returns_of(mdp, policies)
        target = float(np.quantile(returns, rng.choice([0.5, 0.9]))) - 1e-6 * bases.model.scale
        general = bases.general(goal(bases, target), Watch())
        pinned = bases.pinned(((s, int(rng.integers(mdp.n_actions))),), general, Watch())
        if pinned is None:
            continue
        actions, open_states = pinned.actions.copy(), bases.regions.everything.states
        decided = open_states[(rng.random(len(open_states)) < 0.4) & (actions[open_states] < 0)]
        actions[decided] = rng.integers(mdp.n_actions, size=len(decided))
        if np.isinf(pinned.losses.delta[decided, actions[decided]]).any():
            continue
        around = bases.around(actions, pinned, target, Watch())
        within = np.all((policies == actions) | (actions < 0), axis=1) & (returns > target)
        if around.budget <= 0:
            assert not within.any(), seed
            continue
        assert around.seen is not None
        assert around.has_leaves
        assert (visits_of(mdp, policies[within])[:, ~around.seen] <= 1e-12).all(), seed
        assert around.losses.optimum >= returns[within].max(initial=-np.inf) - 1e-9 * bases.model.scale, seed
        sharper += int(around.seen.sum() < pinned.seen.sum()) if pinned.seen is not None else 0
    assert sharper > 5


def test_regions_are_those_of_states_that_matter() -> None:
    P = np.full((3, 2, 3), 1 / 3)
    mdp = MDP.from_dense(P, [[1, 0], [2, 2], [0, 1]], [1, 0, 0], [[0], [1], [2]])
    bases = bases_of(mdp)
    assert bases.undecided.tolist() == [-1, 0, -1]
    assert bases.regions.everything.states.tolist() == [0, 2]
    same = MDP.from_dense(P, np.ones((3, 2)), [1, 0, 0], [[0], [1], [2]])
    assert bases_of(same).undecided.tolist() == [-1, -1, -1]
    missing = MDP.from_dense(P, np.ones((3, 2)), [1, 0, 0], [[0], [1], [2]], available=[[1, 1], [1, 0], [1, 1]])
    assert bases_of(missing, rules=[AvailableOnly()]).undecided.tolist() == [0, -1, 0]


def test_tables_share_memory() -> None:
    bases = bases_of(environment("frozenlake_4x4"))
    one = bases.tables(bases.losses, 0.1, Watch())
    part = bases.tables(bases.losses, 0.1, Watch(), shares=4)
    assert one._memory.max_entries // 4 == part._memory.max_entries
    little = Bases(bases.model, 1).tables(bases.losses, 0.1, Watch())
    assert little._memory.max_entries == bases.model.settings.min_entries


@pytest.mark.parametrize(("optimum", "target"), [(1.0, 0.5), (1e9, 1e9 - 1e-6), (-3.0, -3.0), (0.0, 0.0)])
def test_a_budget_is_rounded_up(optimum: float, target: float) -> None:
    assert budget_of(optimum, target) >= optimum - target
    assert budget_of(optimum, target) == pytest.approx(optimum - target, abs=1e-14 * max(abs(optimum), 1e-300))


def test_a_goal_of_the_search_is_made_from_the_same_budget() -> None:
    knowledge = knowledge_of(model_of(environment("frozenlake_4x4")))
    assert goal_of(knowledge, 0.3).budget == budget_of(knowledge.bases.losses.optimum, 0.3)
