"""Conflicts in the checker: a case is closed by one only if all of its policies take the actions, or need not."""

import math

import numpy as np
import pytest

from omdt import check, planning
from omdt.certificate import model_of
from omdt.check.regions import bits_of
from omdt.check.steps import Conflict, Place, Steps
from omdt.mdp import MDP
from random_mdps import game
from search_parts import all_policies, returns_of
from strategies import environment


def free(problem: check.Problem, mdp: MDP, target: float) -> check.Context:
    """The context of all policies."""
    nowhere = np.zeros(mdp.rewards.shape, dtype=np.bool_)
    values = problem.numbers(planning.optimal_values(mdp).value)
    return check.make_context(problem, values, np.full(mdp.n_states, -1), nowhere, target)


def conflict_of(context: check.Context, pairs: list[tuple[int, int]]) -> Conflict:
    taken = {a: bits_of(np.array([s for s, its in pairs if its == a]), len(context.fixed)) for _, a in pairs}
    return Conflict(context, taken)


def test_a_case_that_is_closed_has_the_actions_of_the_conflict() -> None:
    closed = refused = unseen = inherited = 0
    for seed in range(120):
        rng = np.random.default_rng(70_000 + seed)
        mdp = game(rng)
        policies = all_policies(mdp)
        if len(policies) > 3000:
            continue
        problem, (S, A) = check.Problem(model_of(mdp)), mdp.rewards.shape
        returns = returns_of(mdp, policies)
        target = float(np.quantile(returns, rng.choice([0.5, 0.9]))) + 1e-9
        nowhere = np.zeros((S, A), dtype=np.bool_)
        base, steps = free(problem, mdp, target), Steps(problem, nowhere)
        pins = ((int(rng.integers(S)), int(rng.integers(A))),)
        root = problem.regions.number(np.flatnonzero(problem.decisive))
        context = check.Following(problem).context(check.Open((((), root, -1),), pins), base, nowhere, target)
        within = policies[(policies[:, pins[0][0]] == pins[0][1]) & (returns > target + 1e-9)]
        for _ in range(8):
            about = base if rng.random() < 0.5 else context
            region = context.regions.number(np.flatnonzero(context.visited & (rng.random(S) < 0.8)))
            action = int(rng.integers(A))
            states = np.flatnonzero(rng.random(S) < 0.4).tolist()
            pairs = [(s, action if rng.random() < 0.9 else int(rng.integers(A))) for s in states]
            place = Place((((), region, action),), check.Size(1, 2), pins)
            try:
                assert steps.lost(context, place, "c", [conflict_of(about, pairs)]) == math.inf
            except check.RejectedError:
                refused += 1
                inside = context.regions.states[region].tolist()
                assert any(
                    context.visited[s] and (s, a) not in pins and (s not in inside or a != action) for s, a in pairs
                )
                continue
            leaf = context.regions.states[region]
            playing = within[np.all(within[:, leaf] == action, axis=1)]
            for s, a in pairs:
                differs = (playing[:, s] != a) & problem.decisive[s]
                # What is done in a state that no policy visits makes no difference.
                assert not (differs.any() and context.visited[s]), seed
                unseen += bool(differs.any())
            closed += len(pairs) > 0
            inherited += len(pairs) > 0 and about is base
    assert min(closed, refused, inherited) > 20
    assert unseen > 3


def test_a_conflict_about_other_leaves_closes_nothing() -> None:
    mdp = environment("frozenlake_4x4")
    problem = check.Problem(model_of(mdp))
    context = free(problem, mdp, 0.3)
    fixed = np.where(np.arange(16) == 3, 2, -1)
    nowhere = np.zeros(mdp.rewards.shape, dtype=np.bool_)
    other = check.make_context(problem, planning.optimal_values(mdp).value, fixed, nowhere, 0.3)
    place, steps = Place((((), 0, 1),), check.Size(1, 2)), Steps(problem, nowhere)
    assert steps.lost(context, place, "c", [conflict_of(context, [(0, 1)])]) == math.inf
    assert steps.lost(other, place, "c", [conflict_of(context, [(0, 1), (3, 2)])]) == math.inf
    with pytest.raises(check.RejectedError, match="other leaves"):
        steps.lost(context, place, "c", [conflict_of(other, [(0, 1)])])
    with pytest.raises(check.RejectedError, match="is not taken"):
        steps.lost(context, place, "c", [conflict_of(context, [(0, 2)])])


def test_what_a_conflict_must_show() -> None:
    """Its vector must exceed the budget, and its states have one action each, which no leaf contradicts."""
    mdp = environment("frozenlake_4x4")
    problem, size = check.Problem(model_of(mdp)), check.Size(1, 2)
    best = planning.optimal_values(mdp).value
    context = np.asarray(best, dtype="<f8").tobytes()
    costs = np.asarray(best - planning.policy_values(mdp, np.full(16, 3)).value, dtype="<f8")
    # Whoever always goes up loses more than the budget; nobody is shown to do so by half of the costs.
    everywhere = [[int(s), 3] for s in np.flatnonzero(problem.decisive)]

    def said(*conflict: object, raw: bytes, bound: float = 0.1) -> None:
        checker = check.Checker(problem, size, bound)
        records = [(["context", None], context), (["conflict", 0, *conflict], raw), (["close", 0, 0, ["c", 0]], b"")]
        checker.follow(iter(records))  # type: ignore[arg-type]

    with pytest.raises(check.RejectedError, match=r"record 2 .*is not taken"):
        said(everywhere, raw=costs.tobytes())
    with pytest.raises(check.RejectedError, match="named twice"):
        said([[1, 3], [1, 3]], raw=costs.tobytes())
    with pytest.raises(check.RejectedError, match="conflict 0: its vector shows"):
        said([], raw=(0.5 * costs).tobytes())
    # If nothing reaches the bound, there is a conflict without any states, which closes everything.
    said([], raw=np.zeros(16).tobytes(), bound=float(mdp.initial @ best) + 1e-6)
