"""Tables: no small tree loses less than an entry says, whatever was asked before and however little is remembered."""

import numpy as np
import pytest

from omdt import MDP, planning
from omdt.methods.search.bounds.floors import Divided, Floors
from omdt.methods.search.bounds.losses import Losses
from omdt.methods.search.bounds.tables import Tables
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf, Split, Tree, count_leaves
from omdt.methods.search.regions import Region, Regions
from omdt.methods.search.settings import SearchSettings
from omdt.watch import OutOfTimeError, Watch
from random_mdps import game, random_mdp
from search_parts import model_of
from strategies import environment
from tasks import policies_of_trees


def tables_of(model: Model, losses: Losses, budget: float, **rest: object) -> Tables:
    whole = {"settings": model.settings, "max_entries": 1000, "watch": Watch(), **rest}
    return Tables(losses, Regions(model.sides), budget, **whole)  # type: ignore[arg-type]


def losses_of(mdp: MDP, **fields: object) -> tuple[Model, Losses]:
    model = model_of(mdp, **fields)
    return model, Losses(model, model.optimal.value, model.allowed)


def test_tables_do_not_depend_on_what_was_asked_before() -> None:
    model, losses = losses_of(environment("frozenlake_4x4"))
    regions = Regions(model.sides)
    questions = [
        (side, depth, leaves, enough)
        for k in range(6)
        for side in regions.split(regions.everything, k)
        for depth, leaves, enough in ((0, 1, 0.1), (1, 2, 0.02), (2, 4, 0.2), (2, 3, 0.05), (3, 5, 0.2))
    ]
    rng = np.random.default_rng(0)
    answers = []
    for order in (np.arange(len(questions)), rng.permutation(len(questions)), rng.permutation(len(questions))):
        entries = int(rng.integers(5, 1000))
        table = Tables(losses, regions, 0.2, settings=SearchSettings(), max_entries=entries, watch=Watch())
        found = {int(i): table.loss(*questions[i]) for i in order}
        answers.append([found[i] for i in range(len(questions))])
    assert answers[0] == answers[1] == answers[2]
    assert 0 < np.count_nonzero(answers[0]) < len(questions)


def test_tables_claim_no_more_than_the_cheapest_leaf_loses() -> None:
    """However little is asked for."""
    checked = 0
    for seed in range(60):
        rng = np.random.default_rng(60_000 + seed)
        model, losses = losses_of(random_mdp(rng))
        A, S = model.mdp.n_actions, model.mdp.n_states
        budget = float(np.max(losses.expected)) * float(rng.choice([0.5, 1.0, 5.0])) + 1e-300
        table = tables_of(model, losses, budget, max_entries=100)
        regions = table.regions
        for k in regions.questions(regions.everything):
            for region in regions.split(regions.everything, int(k)):
                table = tables_of(model, losses, budget, max_entries=100)
                forced = np.full((A, S), -1)
                forced[:, region.states] = np.arange(A)[:, None]
                least = min(losses.inside(row, budget, np.inf).value for row in forced)
                for part in (1e-4, 1e-3, 1e-2, 1.0):
                    assert table.loss(region, 0, 1, part * budget) <= least, seed
                    checked += least < budget
    assert checked > 100


@pytest.mark.parametrize("fields", [{}, {"max_growing_subtrees": 2}, {"negligible_loss": 1e-9}])
def test_no_tree_within_the_budget_loses_less_in_a_region(fields: dict[str, float]) -> None:
    positive = 0
    for seed in range(10):
        rng = np.random.default_rng(7000 + seed)
        model, losses = losses_of(random_mdp(rng), **fields)
        mdp = model.mdp
        policies = policies_of_trees(mdp, model.sides, 3, 4)
        if len(policies) > 500:
            policies = policies[rng.permutation(len(policies))[:500]]
        visits = np.array([planning.occupancies(mdp, policy).value for policy in policies])
        lost = visits * losses.delta[np.arange(mdp.n_states), policies]
        total = lost.sum(axis=1)
        budget = float(np.quantile(total, rng.choice([0.2, 0.9]))) + 1e-9 * model.scale
        if budget <= 0:
            continue
        table = tables_of(model, losses, budget, max_entries=int(rng.choice([1, 1000])))
        inside = total <= budget
        for k in [int(k) for k in table.regions.questions(table.regions.everything)][:3]:
            for region in table.regions.split(table.regions.everything, k):
                for leaves in (1, 2, 3):
                    alike = inside & fits(model, policies, region, leaves)
                    least = lost[alike][:, region.states].sum(axis=1).min(initial=np.inf)
                    found = table.loss(region, 2, leaves, budget)
                    assert found <= least + 1e-9 * model.scale, (seed, k, leaves)
                    positive += 0 < found < budget
    assert positive > 3


def fits(model: Model, policies: np.ndarray, region: Region, leaves: int) -> np.ndarray:
    """[n] whether a tree of depth 2 with this many leaves has the actions of each policy in a region."""
    small = policies_of_trees(model.mdp, model.sides, 2, leaves)
    known = {tuple(row) for row in small[:, region.states].tolist()}
    return np.array([tuple(row) in known for row in policies[:, region.states].tolist()])


def test_a_subtree_fits_the_size_and_loses_what_the_entry_says() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        model, losses = losses_of(random_mdp(rng))
        budget = float(np.max(losses.expected)) * 3 + 1e-300
        table = tables_of(model, losses, budget)
        region = table.regions.everything
        for depth, leaves in ((0, 1), (1, 2), (2, 3), (3, 4)):
            tree = table.subtree(region, depth, leaves)
            assert depth_of(tree) <= depth
            assert count_leaves(tree) <= leaves
            forced = np.full(model.mdp.n_states, -1)
            fill(table.regions, region, tree, forced)
            assert (forced >= 0).all()
            # The entry is a lower bound on what its own subtree loses.
            bound = table.loss(region, depth, leaves, np.inf)
            assert bound <= losses.inside(forced, budget, np.inf).value * (1 + 1e-9) + 1e-3 * budget, seed


def depth_of(tree: Tree) -> int:
    return 1 + max(depth_of(tree.left), depth_of(tree.right)) if isinstance(tree, Split) else 0


def fill(regions: Regions, region: Region, tree: Tree, forced: np.ndarray) -> None:
    if isinstance(tree, Split):
        left, right = regions.split(region, tree.question)
        fill(regions, left, tree.left, forced)
        fill(regions, right, tree.right, forced)
    else:
        assert isinstance(tree, Leaf)
        forced[region.states] = tree.action


def test_during_another_watch_memory_is_shared() -> None:
    model, losses = losses_of(environment("frozenlake_4x4"))
    table = tables_of(model, losses, 0.2)
    late = Watch()
    late.interrupt()
    ended = table.during(late)
    region = table.regions.everything
    with pytest.raises(OutOfTimeError):
        ended.loss(region, 1, 2, 0.2)
    # What is half done when time runs out leaves nothing behind that would change an answer.
    fresh = tables_of(model, losses, 0.2).loss(region, 1, 2, 0.2)
    assert table.loss(region, 1, 2, 0.2) == fresh
    # What was found meanwhile is known to both.
    assert ended.loss(region, 1, 2, 0.2) == fresh


def test_a_leaf_loses_at_least_what_is_certain() -> None:
    model, losses = losses_of(game(np.random.default_rng(3)))
    S, A = model.mdp.rewards.shape
    certain = np.arange(S * A, dtype=float).reshape(S, A)
    plain = tables_of(model, losses, 1e3)
    table = tables_of(model, losses, 1e3, certain=certain)
    for k in table.regions.questions(table.regions.everything):
        for region in table.regions.split(table.regions.everything, int(k)):
            for a in range(A):
                least = certain[region.states, a].sum()
                assert table.leaf(region, a, np.inf) == max(least, plain.leaf(region, a, np.inf))
                assert table.leaf(region, a, least / 2) == least / 2


def test_questions_come_in_the_order_of_what_they_promise() -> None:
    model, losses = losses_of(environment("frozenlake_8x8"))
    table = tables_of(model, losses, 0.2)
    region = table.regions.everything
    order = table.ordered_questions(region, 2, 0.0)
    assert sorted(order) == sorted(table.regions.questions(region).tolist())
    promise = [
        sum(losses.expected[part.states].sum(axis=0).min() for part in table.regions.split(region, k)) for k in order
    ]
    assert np.all(np.diff(promise) >= -1e-12)


def test_last_questions_that_lose_enough_for_sure_are_left_out() -> None:
    rng = np.random.default_rng(4)
    model, losses = losses_of(game(rng))
    certain = rng.random(losses.delta.shape)
    table = tables_of(model, losses, 1e3, certain=certain)
    region = table.regions.everything
    questions = table.ordered_questions(region, 2, 0.0)
    sure = {
        k: sum(certain[part.states].sum(axis=0).min() for part in table.regions.split(region, k)) for k in questions
    }
    for enough in (0.0, float(np.median(list(sure.values()))) + 1e-9, np.inf):
        assert table.ordered_questions(region, 1, enough) == [k for k in questions if sure[k] < enough]
        assert table.ordered_questions(region, 2, enough) == questions


class Unsure(Floors):
    """Floors that tell of no question what is lost for sure."""

    def divided(self, region: Region) -> Divided:
        return super().divided(region)._replace(floors=np.full(len(self._regions.questions(region)), -np.inf))


def test_what_is_left_out_would_not_have_changed_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    left_out = compared = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        model, losses = losses_of(game(rng), negligible_loss=1e-12)
        budget = float(rng.choice([0.5, 1.0, 3.0])) * float(np.max(losses.expected)) + 1e-9
        certain = rng.uniform(0.0, 3.0, model.mdp.n_states)[:, None] * losses.delta
        table = tables_of(model, losses, budget, certain=certain)
        with monkeypatch.context() as patched:
            patched.setattr("omdt.methods.search.bounds.tables.Floors", Unsure)
            plain = tables_of(model, losses, budget, certain=certain)
        regions = table.regions
        everything = regions.everything
        for k in regions.questions(everything).tolist():
            for number, region in enumerate(regions.split(everything, k)):
                again = plain.regions.split(plain.regions.everything, k)[number]
                for depth, leaves, part in ((1, 2, 0.3), (1, 2, 1.0), (2, 3, 1.0), (2, 4, 0.5)):
                    found = table.loss(region, depth, leaves, part * budget)
                    expected = plain.loss(again, depth, leaves, part * budget)
                    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12 * budget), (seed, k, depth)
                    compared += 0 < found < part * budget
                    all_questions = table.ordered_questions(region, 2, part * budget)
                    left_out += len(all_questions) - len(table.ordered_questions(region, 1, part * budget))
    assert min(left_out, compared) > 50
