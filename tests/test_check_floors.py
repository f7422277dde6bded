"""What the checker finds by following policies is true of all of them, and vectors are verified where it matters."""

import math

import numpy as np
import pytest

from omdt import check, planning
from omdt.certificate import model_of
from omdt.check import losses
from random_mdps import any_mdp, game
from search_parts import all_policies, returns_of


@pytest.mark.parametrize("exact", [False, True])
def test_floors_hold_for_every_policy_that_returns_more_than_the_bound(exact: bool) -> None:
    """Floors of leaves and places, and states that are not visited, against all policies with the same pins."""
    compared = unseen = endless = 0
    for seed in range(30 if exact else 60):
        rng = np.random.default_rng(50_000 + seed)
        mdp = game(rng)
        policies = all_policies(mdp)
        if len(policies) > 3000:
            continue
        problem, S = check.Problem(model_of(mdp), exact=exact), mdp.n_states
        following, nowhere = check.Following(problem), np.zeros(mdp.rewards.shape, dtype=np.bool_)
        returns = returns_of(mdp, policies)
        target = float(np.quantile(returns, rng.choice([0.5, 0.9, 0.99])))
        target += 1e-9 * (1 + abs(target))
        values = problem.numbers(planning.optimal_values(mdp).value)
        base = check.make_context(problem, values, np.full(S, -1), nowhere, problem.number(target))
        # Pins where everything begins tell most.
        first = np.argsort(rng.random(S) - 2 * (mdp.initial > 0) * (rng.random() < 0.7))
        pins = tuple((int(s), int(rng.integers(mdp.n_actions))) for s in first[: rng.integers(1, 4)])
        context = following.context(check.Open((((), 0, -1),), pins), base, nowhere, problem.number(target))
        alike = np.all([policies[:, s] == a for s, a in pins], axis=0) & (returns > target + 1e-9 * (1 + abs(target)))
        delta = context.delta.astype(np.float64)
        for policy in policies[alike][rng.permutation(alike.sum())[:20]]:
            visits = planning.occupancies(mdp, policy).value
            assert not visits[~context.visited].any(), seed
            assert visits @ delta[np.arange(S), policy] <= float(context.budget) + 1e-9 * problem.S
            unseen += (~context.visited).any()
        for _ in range(6):
            states = np.flatnonzero((rng.random(S) < rng.choice([0.2, 0.5, 1.0])) & context.visited & problem.decisive)
            region = context.regions.number(states)
            least = math.inf
            for action in range(mdp.n_actions):
                floor = context.floors.leaf(region, action)
                least = min(least, floor)
                endless += floor == math.inf and len(states) > 0
                playing = alike & np.all(policies[:, states] == action, axis=1)
                for policy in policies[playing][:20]:
                    visits = planning.occupancies(mdp, policy).value
                    lost = float(visits[states] @ delta[states, action])
                    assert float(floor) <= lost * (1 + 1e-9) + 1e-12, seed
                    compared += floor > 0
            assert context.floors.place(region, check.Size(0, 1)) == least
            assert context.floors.place(region, check.Size(1, 2)) == 0
    assert compared > (20 if exact else 100)
    assert endless > 5
    assert unseen > 5


def test_nothing_is_lost_for_sure_where_nothing_is_pinned() -> None:
    mdp = any_mdp(np.random.default_rng(3))
    problem = check.Problem(model_of(mdp))
    nowhere = np.zeros(mdp.rewards.shape, dtype=np.bool_)
    values = planning.optimal_values(mdp).value
    context = check.make_context(problem, values, np.full(mdp.n_states, -1), nowhere, -1e9)
    assert [context.floors.leaf(0, action) for action in range(mdp.n_actions)] == [0] * mdp.n_actions
    assert context.floors.place(0, check.Size(0, 1)) == 0


@pytest.mark.parametrize("exact", [False, True])
def test_vectors_show_the_same_wherever_their_inequalities_are_verified(
    exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a vector is 0 its inequalities hold, so to leave them out changes nothing."""
    compared = 0
    for seed in range(20):
        rng = np.random.default_rng(51_000 + seed)
        mdp = any_mdp(rng)
        problem, (S, A) = check.Problem(model_of(mdp), exact=exact), mdp.rewards.shape
        values = problem.numbers(planning.optimal_values(mdp).value)
        excluded = rng.random((S, A)) < 0.1
        context = check.make_context(problem, values, np.full(S, -1), excluded, problem.number(0.0))
        columns = []
        for part in (0.0, 0.2, 0.5, 1.0):
            W = problem.numbers(rng.random(S) * (rng.random(S) < part))
            forced = np.where(rng.random(S) < 0.3, rng.integers(A, size=S), -1)
            multiplier = None if rng.random() < 0.5 else problem.number(float(rng.random()))
            columns.append(check.Pending(forced, multiplier, W, problem.number(0.0), "a vector"))
        found = []
        for few in (0, 10**9):
            monkeypatch.setattr(losses, "FEW", few)
            found.append([float(it) for it in check.losses_of(problem, context, excluded, columns)])
            found.append([float(check.losses_of(problem, context, excluded, [it])[0]) for it in columns])
        for other in found[1:]:
            assert other == pytest.approx(found[0], rel=1e-9, abs=1e-9 * float(problem.largest_return + 1))
        compared += any(it < 0 for it in found[0])
    assert compared > 3
