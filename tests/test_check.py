"""Certificates: the checker accepts every proof of the search, and nothing that is false, however it was changed."""

import gzip
import json
import signal
from collections import Counter
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omdt
from brute_force import best_return, returns, threshold_questions, tree_policies
from certificates import Certified, Records, packed, read, write
from omdt import check, planning
from omdt.certificate import model_of
from omdt.errors import InputError, InputWarning
from omdt.mdp import MDP
from omdt.methods.search.bounds.bases import Basis
from omdt.methods.search.evidence.grounds import Ground
from omdt.methods.search.evidence.measures import Measures, Statement
from omdt.methods.search.evidence.recorder import Key, Recorder, prove
from omdt.methods.search.nodes import Node
from omdt.methods.search.settings import SearchSettings
from omdt.solution import Solution, Stop
from random_mdps import game, random_mdp, symmetric_game, symmetric_mdp
from search_parts import model_of as search_model
from search_parts import rounds_of
from tasks import MEMORY, rare_paths
from thorough import sampled


def rare_settings(rng: np.random.Generator) -> SearchSettings:
    """Settings that make the rare paths of the search common, and so those of writing evidence."""
    return SearchSettings(**{name: value for name, value in rare_paths(rng).items() if name != MEMORY})


@dataclass(frozen=True)
class Proven(Certified):
    """A solved problem with its certificate, and the best return of any tree within the limits."""

    splits: omdt.Splits | None = None

    @classmethod
    def random(cls, seed: int, path: Path, *, restricted: bool = False, pinned: bool = False) -> "Proven":
        rng = np.random.default_rng(seed)
        alike, other = (symmetric_game, game) if pinned else (symmetric_mdp, random_mdp)
        mdp = alike(rng) if rng.random() < 0.25 else other(rng)
        depth, leaves = int(rng.integers(0, 4)), int(rng.integers(1, 6))
        depth, leaves = (min(depth, 2), min(leaves, 4)) if pinned else (depth, leaves)
        limits = [(depth, None), (None, leaves), (depth, leaves)][int(rng.integers(3))]
        gap = float(rng.choice([1e-6, 1e-4, 0.1]))
        settings = rare_settings(rng)
        splits = random_splits(mdp, np.random.default_rng([seed, 1])) if restricted else None
        size = {"max_depth": limits[0], "max_leaf_nodes": limits[1]}
        solution = omdt.solve(mdp, **size, gap=gap, splits=splits, certificate=path, settings=settings)
        return cls(mdp, solution, path, splits)

    @property
    def best(self) -> float:
        P = self.mdp.transitions.toarray().reshape(*self.mdp.rewards.shape, self.mdp.n_states)
        limits = {"max_depth": self.solution.max_depth, "max_leaves": self.solution.max_leaf_nodes}
        dynamics = (P, self.mdp.rewards, self.mdp.initial)
        if self.splits is None:
            return best_return(*dynamics, self.mdp.features, self.mdp.discount, **limits)
        leaves = limits["max_leaves"] or 2 ** limits["max_depth"]
        depth = leaves - 1 if limits["max_depth"] is None else limits["max_depth"]
        questions = {frozenset(np.flatnonzero(~side).tolist()) for side in self.splits.sides().T}
        policies = tree_policies(questions, *self.mdp.rewards.shape, depth, leaves)
        return float(returns(*dynamics, self.mdp.discount, policies).max())


def random_splits(mdp: MDP, rng: np.random.Generator) -> omdt.Splits:
    """Some features, some of them as categories, predicates, and at times only a choice of all these questions."""
    names = [name for name in mdp.feature_names if rng.random() < 0.7]
    categorical = [name for name in names if rng.random() < 0.4]
    holds = rng.random((mdp.n_states, int(rng.integers(3)))) < 0.5
    labels = [f"predicate {i}" for i in range(holds.shape[1])]
    splits = omdt.Splits.of(mdp, features=names, categorical=categorical, predicates=holds, labels=labels)
    return chosen(splits, np.flatnonzero(rng.random(len(splits)) < 0.7)) if rng.random() < 0.4 else splits


def chosen(splits: omdt.Splits, kept: Any) -> omdt.Splits:
    """Only these of the questions, in this order."""
    return replace(
        splits, feature=splits.feature[kept], threshold=splits.threshold[kept], equality=splits.equality[kept]
    )


@pytest.mark.parametrize("block", sampled(range(10), 5))
def test_every_proof_is_accepted(block: int, tmp_path: Path) -> None:
    kinds: set[str] = set()
    for seed in range(40 * block, 40 * block + 40):
        proven = Proven.random(seed, tmp_path / "c", pinned=seed % 4 == 3)
        best = proven.best
        # A return that is nothing but rounding beside the rewards has no relative gap.
        scale = np.abs(proven.mdp.rewards).max() / (1 - proven.mdp.discount)
        assert proven.solution.proven or abs(best) < 1e-6 * scale, seed
        assert proven.solution.bound >= best - 1e-9 * abs(best), seed
        assert proven.check().bound == proven.solution.bound, seed
        assert proven.check(exact=True).bound == proven.solution.bound, seed
        kinds |= {str(record[0]) for record, _ in read(proven.path)}
    assert {"context", "branch", "close", "without"} <= kinds


@pytest.mark.parametrize("block", sampled(range(4), 4))
def test_every_proof_over_other_questions_is_accepted(block: int, tmp_path: Path) -> None:
    stated: Counter[str] = Counter()
    for seed in range(5000 + 40 * block, 5040 + 40 * block):
        proven = Proven.random(seed, tmp_path / "c", restricted=True)
        best = proven.best
        scale = np.abs(proven.mdp.rewards).max() / (1 - proven.mdp.discount)
        assert proven.solution.proven or abs(best) < 1e-6 * scale, seed
        assert proven.solution.bound >= best - 1e-9 * abs(best), seed
        assert proven.solution.value <= best + 1e-9 * abs(best), seed
        assert proven.check().bound == proven.solution.bound, seed
        assert proven.check(exact=True).bound == proven.solution.bound, seed
        # What the file holds says as much as the object.
        proven.solution.save(tmp_path / "s.json")
        data = json.loads((tmp_path / "s.json").read_text())
        assert check.check(model_of(proven.mdp), data, proven.path).questions == proven.check().questions
        questions = proven.solution.questions
        groups = [] if questions is None or questions.groups is None else list(questions.groups)
        stated["default"] += questions is None
        stated["subset"] += len(groups) > 0
        stated["nothing"] += questions is not None and questions.groups == ()
        stated["categories"] += any(equality for _, equality, _ in groups)
        stated["numbers"] += any(numbers is not None for _, _, numbers in groups)
        stated["predicates"] += questions is not None and len(questions.predicates) > 0
    assert min(stated.values()) > 0, stated


def test_a_certificate_for_some_questions_proves_nothing_about_others(tmp_path: Path) -> None:
    mdp, path = omdt.make("frozenlake_4x4"), tmp_path / "c"
    x, y = mdp.features.T
    splits = omdt.Splits.of(mdp, features=["X"], predicates=(x + y > 3)[:, None], labels=["diagonal"])
    proven = Proven(mdp, omdt.solve(mdp, max_depth=2, splits=splits, certificate=path), path, splits)
    assert proven.check().questions == "thresholds on 'X', the predicate 'diagonal'"
    assert "no tree within the limits that asks only for thresholds on 'X', the" in check.words(proven.check())
    assert omdt.solve(mdp, max_depth=2).value > proven.solution.bound
    said = proven.solution.to_dict()["questions"]
    records = read(path)
    whole = dict(said, asked=[{"feature": name, "threshold": "all"} for name in ("X", "Y", "diagonal")])
    other = dict(said, predicates={"states": 16, "holds": {"diagonal": "AAE="}})
    for questions in (whole, other, {"predicates": said["predicates"]}, {"asked": said["asked"]}, None):
        write(path, records)
        with pytest.raises((check.RejectedError, check.UnreadableError)):
            proven.check(questions=questions)
        # Not even if the certificate says so, too.
        head = records[0][0][1] | {"asks": questions}
        if questions in (whole, other):
            sides = check.Questions.read(questions)
            head["questions"] = sides.sides(*sides.columns(mdp.features, mdp.feature_names)).shape[1]
        assert not proven.accepts([([records[0][0][0], head], b""), *records[1:]], questions=questions)
    write(path, records)
    leaf = omdt.solve(mdp, max_depth=0).to_dict()
    with pytest.raises(check.RejectedError, match="may ask other questions"):
        proven.check(**{key: leaf[key] for key in ("tree", "value", "feature_names")}, questions=None)


USELESS = [("p", "threshold", 7.0), ("p", "threshold", 1.0), ("p", "threshold", -0.5), ("p", "equals", 0.5)]


@pytest.mark.parametrize(("feature", "kind", "number"), [*USELESS, ("X", "threshold", 3.0), ("X", "equals", 0.5)])
def test_what_divides_nothing_is_no_question(tmp_path: Path, feature: str, kind: str, number: float) -> None:
    """Otherwise a proof about trees without questions would seem to speak of trees that ask for p."""
    mdp, path = omdt.make("frozenlake_4x4"), tmp_path / "c"
    holds = (mdp.features.sum(axis=1) > 3)[:, None]
    nothing = chosen(omdt.Splits.of(mdp, features=[], predicates=holds, labels=["p"]), np.array([], dtype=int))
    proven = Proven(mdp, omdt.solve(mdp, max_depth=1, splits=nothing, certificate=path), path, nothing)
    assert proven.check().questions == "nothing"
    forged = proven.solution.to_dict()["questions"] | {"asked": [{"feature": feature, kind: [number]}]}
    (head, _), *rest = read(path)
    write(path, [([head[0], head[1] | {"asks": forged}], b""), *rest])
    with pytest.raises(check.UnreadableError, match=f"to compare '{feature}' with {number} divides no states"):
        proven.check(questions=forged)
    if feature == "p":
        assert "the predicate" not in check.Questions.read(forged).words()


def test_a_predicate_is_named_where_it_is_asked() -> None:
    bits = (("p", b"\x80"),)
    for equality, numbers, words in (
        (False, (0.5,), "the predicate 'p'"),
        (True, (1.0,), "the predicate 'p'"),
        (False, None, "the predicate 'p'"),
        (False, (), "0 thresholds on 'p'"),
    ):
        assert check.Questions((("p", equality, numbers),), bits, 2).words() == words


def test_useless_questions_of_other_splits_are_not_stated() -> None:
    mdp = omdt.make("frozenlake_4x4")
    splits = omdt.Splits.of(mdp)
    useless = replace(splits, threshold=np.where(np.arange(len(splits)) == 1, 99.0, splits.threshold))
    solution = omdt.solve(mdp, max_depth=1, splits=useless)
    assert 99.0 not in [x for entry in solution.to_dict()["questions"]["asked"] for x in entry["threshold"]]


def test_a_tree_that_asks_something_else_is_rejected(tmp_path: Path) -> None:
    mdp, path = omdt.make("frozenlake_4x4"), tmp_path / "c"
    proven = Proven(
        mdp, omdt.solve(mdp, max_depth=1, splits=omdt.Splits.of(mdp, features=["X"]), certificate=path), path
    )
    tree = proven.solution.tree.to_dict()
    assert tree["feature"] == "X"
    # Another number that divides the states alike is the same question.
    proven.check(tree=tree | {"threshold": tree["threshold"] + 0.25})
    for feature, key, number in (("Y", "threshold", 0.5), ("Y", "equals", 1.0), ("X", "equals", 1.0)):
        other = {"feature": feature, key: number, "left": {"action": "Down"}, "right": {"action": "Right"}}
        policy = omdt.TreePolicy.from_dict(other, mdp.feature_names, mdp.action_names)
        value = omdt.evaluate(mdp, policy)
        assert check.check(model_of(mdp), proven.solution.to_dict() | {"tree": other, "value": value}, None).value
        with pytest.raises(check.RejectedError, match="a question that the solution does not name"):
            proven.check(tree=other, value=value)


def test_questions_that_divide_alike_have_no_certificate(tmp_path: Path) -> None:
    mdp = omdt.make("frozenlake_4x4")
    doubled = chosen(omdt.Splits.of(mdp), np.array([0, 1, 1, 2]))
    with pytest.raises(InputError, match="1 of the 4 questions divide the states as others do"):
        omdt.solve(mdp, max_depth=1, splits=doubled, certificate=tmp_path / "c")
    assert list(tmp_path.iterdir()) == []


def test_questions_in_any_order_have_a_certificate(tmp_path: Path) -> None:
    mdp = omdt.make("frozenlake_4x4")
    mixed = chosen(omdt.Splits.of(mdp, categorical=["Y"]), np.array([4, 0, 6, 1]))
    proven = Proven(mdp, omdt.solve(mdp, max_depth=2, splits=mixed, certificate=tmp_path / "c"), tmp_path / "c", mixed)
    said = "1 value of 'Y', 1 threshold on 'X', 1 value of 'Y', 1 threshold on 'X'"
    assert proven.check(exact=True).questions == said


def test_the_default_is_not_stated(tmp_path: Path) -> None:
    """Solutions and certificates of trees with thresholds on every feature are what they were before."""
    mdp = omdt.make("frozenlake_4x4")
    omdt.solve(mdp, max_depth=1, certificate=tmp_path / "c")
    every = omdt.Splits.of(mdp, features=mdp.feature_names)
    solution = omdt.solve(mdp, max_depth=1, splits=every, certificate=tmp_path / "d")
    assert (tmp_path / "c").read_bytes() == (tmp_path / "d").read_bytes()
    assert solution.questions is None
    assert "questions" not in solution.to_dict()
    assert set(read(tmp_path / "c")[0][0][1]) == {
        *("states", "actions", "questions", "depth", "leaves", "discount", "policy")
    }


@pytest.mark.parametrize("block", sampled(range(3), 3))
@pytest.mark.parametrize("shape", [{}, {"restricted": True}, {"pinned": True}], ids=["", "restricted", "pinned"])
def test_a_bound_below_the_optimum_is_never_accepted(shape: dict[str, bool], block: int, tmp_path: Path) -> None:
    """Whatever is changed in a certificate, its checksum with it, no false bound is proven."""
    tried = 0
    for seed in range(20 * block, 20 * block + 20):
        proven = Proven.random(1000 + seed, tmp_path / "c", **shape)
        rng = np.random.default_rng(seed)
        false = {"bound": false_bound(proven, rng)}
        records = read(proven.path)
        for _ in range(30):
            changed = records
            for _ in range(int(rng.integers(1, 4))):
                changed = mutated(changed, rng)
            assert not proven.accepts(changed, **false), (seed, tried)
            tried += 1
    assert tried == 600


def false_bound(proven: Proven, rng: np.random.Generator) -> float:
    """A bound that a tree exceeds, by little or by much."""
    best = proven.best
    return best - max(abs(best), 1e-12) * float(rng.choice([1e-1, 1e-3, 1e-6]))


def mutated(records: Records, rng: np.random.Generator) -> Records:
    """Records with one change that an adversary might try."""
    changed = [(json.loads(json.dumps(record)), raw) for record, raw in records]
    if len(changed) < 2:
        return changed
    i = int(rng.integers(1, len(changed)))
    record, raw = changed[i]
    kind = int(rng.integers(10))
    if kind == 0:
        del changed[i]
    elif kind == 1:
        changed.insert(i, changed[int(rng.integers(1, len(changed)))])
    elif kind == 2 and len(raw) > 0 and len(raw) % 4 == 0:
        vector = np.frombuffer(raw, dtype="<f8" if len(raw) % 8 == 0 else "<f4").copy()
        with np.errstate(all="ignore"):
            vector *= float(rng.choice([0.0, 0.5, 1.01, 2.0, 100.0]))
        changed[i] = (record, vector.tobytes())
    elif kind == 3 and raw:
        content = bytearray(raw)
        content[int(rng.integers(len(raw)))] ^= int(rng.integers(1, 256))
        changed[i] = (record, bytes(content))
    elif kind == 4:
        change_a_number(record, rng)
    elif kind == 5:
        closing = [j for j, it in enumerate(changed) if it[0][0] == "close"]
        if closing:
            j, k = (closing[int(rng.integers(len(closing)))] for _ in range(2))
            changed[j] = ([*changed[j][0][:2], *changed[k][0][2:]], changed[k][1])
    elif kind == 6 and record[0] == "loss":
        record[3], record[4] = None, None
    elif kind == 7 and record[0] == "branch":
        record[3] = [*record[3], ["action", int(rng.integers(3)), 0], ["question", int(rng.integers(3)), 0]]
    elif kind == 9 and record[0] == "conflict":
        # Fewer states are said to be enough.
        record[2] = [pair for pair in record[2] if rng.random() < 0.5]
    elif kind == 8 and record[0] in ("pin", "narrow"):
        record[4] = [[int(rng.integers(3)), 0]] if record[0] == "pin" else [["question", int(rng.integers(3)), 0]]
    elif kind == 8 and record[0] == "follow":
        # Fewer states are said to be visited.
        changed[i] = (record, bytes(byte & int(rng.integers(256)) for byte in raw))
    return changed


def change_a_number(record: list[Any], rng: np.random.Generator) -> None:
    """Change one number anywhere in a record."""
    places: list[tuple[list[Any], int]] = []
    stack = [record]
    while stack:
        part = stack.pop()
        places += [(part, j) for j, it in enumerate(part) if isinstance(it, int | float)]
        stack += [it for it in part if isinstance(it, list)]
    if places:
        part, j = places[int(rng.integers(len(places)))]
        part[j] = (
            part[j] + int(rng.choice([-1, 1, 2])) if isinstance(part[j], int) else part[j] * rng.choice([0.0, 0.5, 2.0])
        )


@pytest.mark.parametrize("block", sampled(range(3), 3))
def test_a_search_that_lies_is_caught(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that closes every case at once, with the evidence it has, proves no bound that a tree exceeds."""

    def close(self: Recorder, key: Key, ground: Ground) -> bool:
        number, (case, pins) = self._cases.pop(key)
        _, step = ground.lost(ground.view(case), self._size, ground.budget, pins=pins)
        self._records.close(number, ground, step)
        return True

    def evaluated(self: Recorder, node: Node, basis: Basis) -> None:
        number, _ = self._cases.pop((node.partial.pins, node.tree))
        self._records.close_by_value(number, self._grounds[basis])

    for seed in range(3000 + 20 * block, 3020 + 20 * block):
        proven = Proven.random(seed, tmp_path / "c", pinned=seed % 2 == 1)
        best, value = proven.best, proven.solution.value
        false = best - 0.1 * max(abs(best), 1e-9)
        knowledge = rounds_of(search_model(proven.mdp, *asked(proven.solution))).explorers.knowledge
        policy = proven.solution.tree.actions(proven.mdp.features)
        lying = property(lambda self, bound=false: bound, lambda self, value: None)
        with monkeypatch.context() as patch:
            patch.setattr(Recorder, "_closes_by_losses", close)
            patch.setattr(Recorder, "evaluated", evaluated)
            patch.setattr(Measures, "bound", lying, raising=False)
            statement = Statement(policy, value, false, 1e-4 * abs(value), raised=seed % 4 < 2)
            bound = prove(proven.path, knowledge, statement)
        assert bound < best
        with pytest.raises(check.RejectedError):
            proven.check(bound=bound)


def asked(solution: Solution) -> tuple[int | None, int | None]:
    """The limits on depth and leaves."""
    return solution.max_depth, solution.max_leaf_nodes


def test_a_proof_without_one_of_its_cases_is_rejected(tmp_path: Path) -> None:
    removed = 0
    for seed in range(2000, 2030):
        proven = Proven.random(seed, tmp_path / "c")
        records = read(proven.path)
        for i, (record, _) in enumerate(records):
            if record[0] in ("branch", "close"):
                assert not proven.accepts(records[:i] + records[i + 1 :]), seed
                removed += 1
    assert removed > 100


def test_a_changed_byte_is_noticed(tmp_path: Path) -> None:
    mdp, path = omdt.make("frozenlake_4x4"), tmp_path / "c"
    proven = Proven(mdp, omdt.solve(mdp, max_depth=2, certificate=path), path)
    whole = path.read_bytes()
    content = gzip.decompress(whole)
    rng = np.random.default_rng(0)
    for place in rng.choice(len(whole), 500, replace=False):
        changed = bytearray(whole)
        changed[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(changed)
        try:
            assert gzip.decompress(changed) == content
        except Exception:
            with pytest.raises((check.RejectedError, check.UnreadableError)):
                proven.check()
    for place in rng.choice(len(content), 500, replace=False):
        changed = bytearray(content)
        changed[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(packed(bytes(changed)))
        with pytest.raises((check.RejectedError, check.UnreadableError)):
            proven.check()


def test_another_tree_value_or_bound_is_rejected(tmp_path: Path) -> None:
    mdp, path = omdt.make("frozenlake_4x4"), tmp_path / "c"
    proven = Proven(mdp, omdt.solve(mdp, max_depth=2, certificate=path), path)
    other = omdt.solve(mdp, max_depth=1).to_dict()
    assert proven.check().bound == proven.solution.bound
    with pytest.raises(check.RejectedError, match="the tree returns"):
        proven.check(tree=other["tree"])
    with pytest.raises(check.RejectedError, match="another tree"):
        proven.check(tree=other["tree"], value=other["value"])
    with pytest.raises(check.RejectedError, match="the tree returns"):
        proven.check(value=proven.solution.value * (1 + 1e-9))
    with pytest.raises(check.RejectedError, match=r"its vector shows|is not closed"):
        proven.check(bound=proven.solution.value * (1 - 1e-6))
    with pytest.raises(check.RejectedError, match="too large"):
        proven.check(max_depth=1)
    with pytest.raises(check.RejectedError, match="depth"):
        proven.check(max_depth=3)
    with pytest.raises(check.UnreadableError, match="discount"):
        proven.check(discount=0.9)


@pytest.mark.parametrize("exactly", [False, True])
def test_a_return_of_nothing_may_be_rounded(exactly: bool) -> None:
    """States that are never reached earn something, and leave a rounding error in the return of 0."""
    P = np.array([[[1.0, 0.0], [1.0, 0.0]], [[0.75, 0.25], [0.5, 0.5]]])
    mdp = MDP.from_dense(P, np.array([[0.0, -2.0], [1.0, 1.0]]), np.array([1.0, 0.0]), np.zeros((2, 1)), discount=0.9)
    solution = omdt.solve(mdp, max_depth=0).to_dict()
    assert check.check(model_of(mdp), solution | {"value": 7.7e-34}, None, exact=exactly).value == 0
    with pytest.raises(check.RejectedError, match="the tree returns"):
        check.check(model_of(mdp), solution | {"value": 1e-12}, None, exact=exactly)


@pytest.mark.parametrize("exactly", [False, True])
def test_whatever_the_vectors_are_what_they_show_is_true(exactly: bool) -> None:
    """Losses and values of every policy, and what every tree of a case returns, for vectors that nobody chose well."""
    shown_losses = 0
    for seed in range(25 if exactly else 150):
        rng = np.random.default_rng(seed)
        mdp = random_mdp(rng)
        if mdp.n_actions**mdp.n_states > 300:
            continue
        S, A = mdp.rewards.shape
        problem = check.Problem(model_of(mdp), exact=exactly)
        policies = np.array(list(product(range(A), repeat=S)))
        P = mdp.transitions.toarray().reshape(S, A, S)
        returned = returns(P, mdp.rewards, mdp.initial, mdp.discount, policies)
        rounding = 1e-9 * np.abs(mdp.rewards).max() / (1 - mdp.discount)
        i = int(rng.integers(len(policies)))
        low, high = problem.value(policies[i])
        assert low - rounding <= returned[i] <= high + rounding

        optimal = planning.optimal_values(mdp).value
        U = problem.numbers(optimal + rng.normal(size=S) * rng.choice([0.0, 1e-12, 0.01, 1.0]) * np.abs(optimal).max())
        target = float(rng.choice(returned)) - float(rng.random()) * rounding
        nowhere, nothing = np.full(S, -1), np.zeros((S, A), dtype=np.bool_)
        context = check.make_context(problem, U, nowhere, nothing, problem.numbers(target)[()])
        visits = np.array([planning.occupancies(mdp, policy).value for policy in policies])
        lost = visits * context.delta.astype(np.float64)[np.arange(S), policies]
        better = returned > target
        assert np.all(lost.sum(axis=1)[better] <= float(context.budget) + rounding)

        inside = rng.random(S) < 0.5
        forced = np.where(inside, policies[i], -1)
        multiplier = float(rng.choice([0.0, 0.5, 3.0]))
        cost = context.delta.astype(np.float64) * (multiplier + inside)[:, None]
        cheapest = np.zeros(S)
        for _ in range(300):
            ahead = cost + mdp.discount * (P @ cheapest)
            cheapest = np.where(inside, ahead[np.arange(S), policies[i]], ahead.min(axis=1))
        W = problem.numbers(cheapest * rng.choice([0.5, 1.0, 1.01, 1.5]))
        pending = check.Pending(forced, problem.numbers(multiplier)[()], W, None, "")
        shown = float(check.losses_of(problem, context, nothing, [pending])[0])
        alike = better & np.all((policies == policies[i]) | ~inside, axis=1)
        assert np.all(lost[alike][:, inside].sum(axis=1) >= shown - rounding)
        shown_losses += bool(alike.any() and shown > 0)

        V = problem.numbers(optimal + rng.normal(size=S) * rng.choice([0.0, 0.01, 1.0]) * np.abs(optimal).max())
        depth = int(rng.integers(0, 3))
        trees = tree_policies(threshold_questions(mdp.features), S, A, depth, 2**depth)
        best = returns(P, mdp.rewards, mdp.initial, mdp.discount, trees).max()
        root = (((), 0, -1),)
        options = check.Options(problem)
        assert float(options.bound(root, check.Size(depth, 2**depth), V)) >= best - rounding
        stumps = tree_policies(threshold_questions(mdp.features), S, A, 1, 2)
        for label, (left, right) in problem.regions.children(root, 0, check.Size(1, 2))[A:]:
            assert label[0] == "question"
            one, other = problem.regions.states[left[1]], problem.regions.states[right[1]]
            some = stumps[(stumps[:, one] == 0).all(axis=1) & (stumps[:, other] == stumps[:, other[:1]]).all(axis=1)]
            bound = float(options.bound((((0,), left[1], 0), right), check.Size(1, 2), V))
            assert bound >= returns(P, mdp.rewards, mdp.initial, mdp.discount, some).max() - rounding
    assert exactly or shown_losses > 5


def test_another_problem_is_rejected(tmp_path: Path) -> None:
    mdp, path = omdt.make("frozenlake_4x4"), tmp_path / "c"
    solution = omdt.solve(mdp, max_depth=2, certificate=path)
    rewards = mdp.rewards.copy()
    rewards[0, 0] += 0.5
    with pytest.raises(check.RejectedError):
        check.check(model_of(replace(mdp, rewards=rewards)), solution.to_dict(), path)


@pytest.mark.parametrize(
    ("name", "depth"),
    [("frozenlake_8x8", 3), ("3d_navigation", 1), ("traffic_intersection", 2), ("system_administrator_tree", 1)],
)
def test_environments(name: str, depth: int, tmp_path: Path) -> None:
    mdp = omdt.make(name)
    solution = omdt.solve(mdp, max_depth=depth, certificate=tmp_path / "c")
    assert solution.proven
    assert check.check(model_of(mdp), solution.to_dict(), tmp_path / "c").bound == solution.bound


def test_symmetries_are_used_and_checked(tmp_path: Path) -> None:
    used = 0
    for seed in range(40):
        mdp, path = symmetric_mdp(np.random.default_rng(seed)), tmp_path / "c"
        proven = Proven(mdp, omdt.solve(mdp, max_depth=1, certificate=path), path)
        records = read(path)
        left_out = [i for i, (record, _) in enumerate(records) if record[0] == "branch" and record[3]]
        assert proven.check().bound == proven.solution.bound
        if left_out:
            used += 1
            renaming = next(i for i, (record, _) in enumerate(records) if record[0] == "symmetry")
            names = np.frombuffer(records[renaming][1], dtype="<i4").copy()
            names[[0, 1]] = names[[1, 0]]
            assert not proven.accepts([*records[:renaming], (["symmetry"], names.tobytes()), *records[renaming + 1 :]])
    assert used > 5


def test_where_the_time_limit_ends_the_search_the_bound_is_still_proven(tmp_path: Path) -> None:
    mdp = omdt.make("frozenlake_12x12")
    solution = omdt.solve(mdp, max_depth=3, time_limit=1, certificate=tmp_path / "c")
    verdict = check.check(model_of(mdp), solution.to_dict(), tmp_path / "c")
    assert solution.stop is Stop.TIME
    assert verdict.bound == solution.bound


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupt_while_writing_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = Ground._inside

    def interrupted(self: Ground, *arguments: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return inside(self, *arguments)

    monkeypatch.setattr(Ground, "_inside", interrupted)
    with pytest.warns(InputWarning, match="was not written"):
        solution = omdt.solve(omdt.make("frozenlake_8x8"), max_depth=2, certificate=tmp_path / "c")
    assert solution.proven
    assert list(tmp_path.iterdir()) == []


def test_threads_write_the_same(tmp_path: Path) -> None:
    mdp, at_once = omdt.make("frozenlake_8x8"), SearchSettings(solo_seconds=0.0)
    for threads in (1, 2):
        omdt.solve(mdp, max_depth=2, threads=threads, certificate=tmp_path / str(threads), settings=at_once)
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_what_has_no_certificate(tmp_path: Path) -> None:
    mdp = omdt.make("frozenlake_4x4")
    with pytest.raises(InputError, match="directory"):
        omdt.solve(mdp, max_depth=1, certificate=tmp_path / "nowhere" / "c")
    with pytest.raises(InputError, match="certificate"):
        omdt.solve(mdp, method="copy", certificate=tmp_path / "c")
