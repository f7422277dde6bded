"""Random problems under random rules: every rule alone, pairs of rules, limits that bind, rules that nobody can keep.

    problem = random_problem(np.random.default_rng(7), kinds=("root", "at_most"))

Problems are small enough to try all trees (`brute.py`).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from omdt.mdp import MDP
from omdt.rules import Rules
from random_mdps import random_model
from rules.brute import Ask, Problem, Tree, nested, path_of

MOST_TREES = 2500
"""Maximum number of trees per problem: trying them takes a fifth of a second."""

SAMPLED_TREES = 60
"""Number of trees whose totals, shares and returns limits and prices are chosen from."""

REWARDS = ("energy", "wear")
"""Names of the further rewards that limits are about."""

SIZES = ((2, None), (2, 4), (2, 3), (None, 3), (1, None), (None, 2), (0, None), (None, 1))
"""Limits on depth and leaves, large ones first."""


def random_problem(rng: np.random.Generator, kinds: Sequence[str] | None = None) -> Problem:
    """A random problem under rules of the given kinds (see `KINDS`), by default of one to three random kinds."""
    if kinds is None:
        kinds = [str(kind) for kind in rng.choice(list(KINDS), rng.choice([1, 2, 3], p=[0.4, 0.5, 0.1]), replace=False)]
    mdp = small_mdp(rng)
    problem = Problem(mdp, Rules(), *SIZES[int(rng.choice(len(SIZES), p=[0.4, 0.1, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05]))])
    # Rules about questions come first, since the sizes of problems depend on them; limits see all other rules.
    for kind in sorted(kinds, key=list(KINDS).index):
        stated = KINDS[kind](_small_enough(problem), rng)
        unavailable = stated.pop("unavailable", problem.unavailable)
        problem = replace(problem, rules=replace(problem.rules, **stated), unavailable=unavailable)
    return _without_size(_small_enough(problem), rng)


def small_mdp(rng: np.random.Generator) -> MDP:
    """An MDP of up to seven states, with further rewards; some have no discount, and then every policy ends."""
    S = int(rng.choice([1, 2, 3, 4, 5, 6, 7], p=[0.03, 0.07, 0.1, 0.2, 0.2, 0.2, 0.2]))
    A, F = int(rng.choice([1, 2, 3], p=[0.05, 0.55, 0.4])), int(rng.choice([1, 2, 3], p=[0.2, 0.6, 0.2]))
    endless = rng.random() < 0.8
    model = random_model(
        rng,
        states=S,
        actions=A,
        features=F,
        dynamics=str(rng.choice(["deterministic", "thinned", "stochastic", "absorbing"])) if endless else "acyclic",
        rewards=str(rng.choice(["few values", "normal", "normal", "normal", "negative", "zero or one"])),
        reward_axes="SA",
        observations="levels",
        levels=int(rng.choice([2, 3, 5])),
        starts=str(rng.choice(["one", "some", "uniform", "ties"])),
        absorbing=0.1,
        twin_actions=0.1,
        unavailable=0.3 if rng.random() < 0.35 else 0.0,
        discount=float(rng.choice([0.5, 0.9, 0.9, 0.99])) if endless else 1.0,
    )
    rewards = model.R.copy()
    if not endless:
        # The last state is where everything ends: nothing is earned there.
        rewards[-1] = 0.0
    whole = rng.random() < 0.5
    costs = {name: rng.integers(-1, 4, (S, A)) * 1.0 if whole else rng.normal(0.5, 1.0, (S, A)) for name in REWARDS}
    mdp = replace(model, R=rewards).mdp(reward_models=costs)
    # Without rewards of its own, a problem with several others would have to say which ones it is about.
    return mdp if mdp.rewards.any() else replace(mdp, reward_models={REWARDS[0]: costs[REWARDS[0]]})


def _small_enough(problem: Problem) -> Problem:
    """The same with a smaller size, if there are too many trees."""
    sizes = [size for size in SIZES if _within(size, (problem.max_depth, problem.max_leaves))]
    for depth, leaves in [(problem.max_depth, problem.max_leaves), *sizes]:
        smaller = replace(problem, max_depth=depth, max_leaves=leaves)
        if sum(1 for _ in islice(smaller.trees(), MOST_TREES + 1)) <= MOST_TREES:
            return smaller
    return problem


def _within(size: tuple[int | None, int | None], other: tuple[int | None, int | None]) -> bool:
    return all(theirs is None or (own is not None and own <= theirs) for own, theirs in zip(size, other, strict=True))


def _without_size(problem: Problem, rng: np.random.Generator) -> Problem:
    """Sometimes the same without a size of the whole tree, if all open places of a given tree have limits."""
    keep = problem.rules.keep
    if keep is None or rng.random() < 0.5 or not _all_limited(keep):
        return problem
    free = replace(problem, max_depth=None, max_leaves=None)
    return free if sum(1 for _ in islice(free.trees(), MOST_TREES + 1)) <= MOST_TREES else problem


def _all_limited(kept: Any) -> bool:
    if kept.get("open"):
        return "depth" in kept or "leaves" in kept
    return "action" in kept or (_all_limited(kept["left"]) and _all_limited(kept["right"]))


def _sample(problem: Problem, rng: np.random.Generator) -> list[Tree]:
    """Some of the trees of a problem."""
    trees = list(problem.trees())
    return [trees[i] for i in rng.permutation(len(trees))[:SAMPLED_TREES]]


def _some(rng: np.random.Generator, names: Sequence[str]) -> list[str]:
    """At least one of some names."""
    return [str(name) for name in rng.choice(list(names), rng.integers(1, len(names) + 1), replace=False)]


def _only(problem: Problem, rng: np.random.Generator) -> dict[str, Any]:
    return {"features": _some(rng, problem.mdp.feature_names)}


def _without(problem: Problem, rng: np.random.Generator) -> dict[str, Any]:
    return {"without": _some(rng, problem.mdp.feature_names)[:-1]}


def _categorical(problem: Problem, rng: np.random.Generator) -> dict[str, Any]:
    rules = problem.rules
    asked = problem.mdp.feature_names if rules.features is None else rules.features
    left = [name for name in asked if name not in rules.without]
    return {"categorical": _some(rng, left)} if left else {}


def _max_features(problem: Problem, rng: np.random.Generator) -> dict[str, Any]:
    return {"max_features": int(rng.choice([0, 1, 1, 2]))}


def _root(problem: Problem, rng: np.random.Generator) -> dict[str, Any]:
    return {"root": str(rng.choice(problem.mdp.feature_names))}


def _max_leaves(problem: Problem, rng: np.random.Generator) -> dict[str, Any]:
    names = _some(rng, problem.mdp.action_names)
    limits = {name: int(rng.choice([0, 1, 1, 2])) for name in names}
    if rng.random() < 0.3:
        limits["every"] = 1
    return {"max_leaves": limits}


def _monotone(problem: Problem, rng: np.random.Generator) -> dict[str, Any]:
    features = _some(rng, problem.mdp.feature_names)
    order = [str(name) for name in rng.permutation(problem.mdp.action_names)] if rng.random() < 0.5 else []
    return {"monotone": [name + str(rng.choice(["", ":up", ":down"])) for name in features], "order": order}


def _condition(mdp: MDP, rng: np.random.Generator) -> str:
    """A random condition over features that holds in some states."""
    s, j = int(rng.integers(mdp.n_states)), int(rng.integers(mdp.n_features))
    text = f"{mdp.feature_names[j]} {rng.choice(['<=', '>=', '=', '>', '<', '!='])} {mdp.features[s, j]:g}"
    if rng.random() < 0.2:
        text = f"!({text})"
    if rng.random() < 0.3:
        text = f"{text} {rng.choice(['&', '|', 'and', 'or'])} {_condition(mdp, rng)}"
    return text


def _forbid(problem: Problem, rng: np.random.Generator) -> dict[str, Any]:
    mdp = problem.mdp
    count = int(rng.integers(1, 3))
    return {"forbid": [f"{rng.choice(mdp.action_names)}: {_condition(mdp, rng)}" for _ in range(count)]}


def _require(problem: Problem, rng: np.random.Generator) -> dict[str, Any]:
    mdp = problem.mdp
    return {"require": [f"{rng.choice(mdp.action_names)}: {_condition(mdp, rng)}"]}


def _unavailable(problem: Problem, rng: np.random.Generator) -> dict[str, Any]:
    return {"unavailable": "forbid"}


def _keep(problem: Problem, rng: np.random.Generator) -> dict[str, Any]:
    trees = list(problem.trees())
    large = [tree for tree in trees if isinstance(tree, Ask)] or trees
    return {"keep": _opened(nested(large[int(rng.integers(len(large)))], problem.mdp), problem.mdp, rng, 0)}


def _opened(kept: dict[str, Any], mdp: MDP, rng: np.random.Generator, level: int) -> dict[str, Any]:
    """A tree with open places, and with other numbers in its questions, of which some divide nothing."""
    if rng.random() < (0.15, 0.4, 0.6)[min(level, 2)]:
        limits = {"depth": int(rng.integers(0, 3)), "leaves": int(rng.integers(1, 4))}
        return {"open": True, **{name: limit for name, limit in limits.items() if rng.random() < 0.4}}
    if "action" in kept:
        return kept
    number = "equals" if "equals" in kept else "threshold"
    moved = {} if rng.random() < 0.7 else {number: float(rng.choice([-1.0, 0.25, 1.0, 9.0]))}
    sides = {side: _opened(kept[side], mdp, rng, level + 1) for side in ("left", "right")}
    return {**kept, **moved, **sides}


def _prices(problem: Problem, rng: np.random.Generator) -> dict[str, Any]:
    """Prices that make a difference: parts of what trees differ by, per step."""
    horizon = 1 / (1 - problem.mdp.discount) if problem.mdp.discount < 1 else problem.mdp.n_states
    return {"prices": _priced(problem, rng, _spread(problem, rng) / horizon)}


def _prices_once(problem: Problem, rng: np.random.Generator) -> dict[str, Any]:
    return {"prices_once": _priced(problem, rng, _spread(problem, rng))}


def _spread(problem: Problem, rng: np.random.Generator) -> float:
    values = [problem.judged(tree).value for tree in _sample(problem, rng)]
    return max(values) - min(values) if values else 0.0


def _priced(problem: Problem, rng: np.random.Generator, spread: float) -> dict[str, float]:
    names = _some(rng, problem.mdp.feature_names)
    prices = {name: float(rng.choice([0.0, 0.05, 0.2, 0.5, 1.0])) * spread for name in names}
    return {**prices, "every": 0.3 * spread} if rng.random() < 0.3 else prices


def _at_most(problem: Problem, rng: np.random.Generator) -> dict[str, Any]:
    """Limits between the totals of trees, exactly at one, or beyond all."""
    mdp, texts = problem.mdp, []
    trees = [tree for tree in _sample(problem, rng) if not problem.judged(tree).broken] or _sample(problem, rng)
    for name in _some(rng, list(mdp.reward_models)):
        costs, totals = mdp.reward_models[name], set()
        for tree in trees:
            policy = problem.policy(tree)
            totals.add(float(problem.visits(policy) @ costs[np.arange(mdp.n_states), list(policy)]))
        sign = str(rng.choice(["<=", "<=", ">="]))
        texts.append(f"{name} {sign} {_limit(sorted(totals) or [0.0], rng)!r}")
    return {"at_most": texts}


def _limit(totals: list[float], rng: np.random.Generator) -> float:
    i = int(rng.integers(len(totals)))
    if rng.random() < 0.4:
        return totals[i]
    beyond = [totals[0] - 1.0, *totals, totals[-1] + 1.0]
    i = int(rng.integers(len(beyond) - 1))
    return (beyond[i] + beyond[i + 1]) / 2


def _min_share(problem: Problem, rng: np.random.Generator) -> dict[str, Any]:
    """A share that some leaf of some tree has exactly, or a round one."""
    mdp, shares = problem.mdp, {0.05, 0.25, 0.5}
    for tree in _sample(problem, rng):
        visits = np.where(problem.terminal, 0.0, problem.visits(problem.policy(tree)))
        if visits.sum() > 0:
            paths = np.array([path_of(tree, x) for x in mdp.features.tolist()])
            shares |= {float(visits[paths == path].sum() / visits.sum()) for path in set(paths.tolist())}
    possible = sorted(share for share in shares if 0 < share < 1)
    return {"min_share": possible[int(rng.integers(len(possible)))]}


KINDS: dict[str, Callable[[Problem, np.random.Generator], dict[str, Any]]] = {
    "features": _only,
    "without": _without,
    "categorical": _categorical,
    "root": _root,
    "max_features": _max_features,
    "max_leaves": _max_leaves,
    "monotone": _monotone,
    "forbid": _forbid,
    "require": _require,
    "unavailable": _unavailable,
    "keep": _keep,
    "prices": _prices,
    "prices_once": _prices_once,
    "at_most": _at_most,
    "min_share": _min_share,
}
"""By kind of rule, what draws the arguments of `Rules` for it; later ones look at the problem under earlier ones."""
