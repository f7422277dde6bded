"""Further bounds: one that is added is asked, counts where it is lower, and leaves the result as it is."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

import omdt
from omdt.methods.search.bounds import further
from omdt.methods.search.bounds.further import further_bounds
from omdt.methods.search.bounds.protocol import Bound, Bounded
from omdt.methods.search.exploration import explore
from omdt.methods.search.model import Model
from omdt.methods.search.nodes import Node
from omdt.watch import Watch
from search_parts import completions, goal_of, knowledge_of, model_of, returns_of, root_of, same_in_any_run
from strategies import environment
from tasks import RandomTask


@dataclass
class Oracle:
    """The best completion of a node, by trying all of them; it is as good a bound as there can be."""

    model: Model
    asked: list[Node] = field(default_factory=list)

    def bound(self, node: Node, target: float, watch: Watch) -> Bounded:
        assert node.open
        self.asked.append(node)
        best = float(returns_of(self.model.mdp, completions(self.model, node.tree)).max())
        return Bounded(best + 1e-9 * max(abs(best), self.model.scale))


@dataclass
class Useless:
    """Says nothing about any node."""

    model: Model

    def bound(self, node: Node, target: float, watch: Watch) -> Bounded:
        return Bounded(np.inf)


@pytest.fixture
def with_bound(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Bound]]:
    """Adds bounds to all models that are searched from now on; the list fills with what was made."""

    def add(*makers: Callable[[Model], Bound]) -> list[Bound]:
        made: list[Bound] = []

        def making(make: Callable[[Model], Bound]) -> Callable[[Model], Bound]:
            def made_and_kept(model: Model) -> Bound:
                made.append(make(model))
                return made[-1]

            return made_and_kept

        monkeypatch.setattr(further, "FURTHER", tuple(making(make) for make in makers))
        return made

    return add


def test_there_are_none_by_default() -> None:
    assert further.FURTHER == ()
    assert further_bounds(model_of(environment("frozenlake_4x4"))) == ()


def test_a_valid_bound_is_asked_and_leaves_the_result(with_bound: Callable[..., list[Bound]]) -> None:
    asked = 0
    for seed in range(40):
        # With weak bounds of its own the search asks for further ones more often.
        weak = {"first_climbs": 0, "max_box_operations": 0.0, "max_growing_subtrees": 1, "cheap_states": 0}
        weak["coarse_first_nodes"] = 0
        task = replace(RandomTask.random(np.random.default_rng(4000 + seed)), settings=weak)
        plain = task.solve(seed=seed)
        made = with_bound(Oracle)
        solution = task.solve(seed=seed)
        with_bound()
        assert solution.proven == plain.proven, seed
        assert solution.bound >= task.best - 1e-8 * max(abs(task.best), plain.scale), seed
        assert solution.value == pytest.approx(plain.value, abs=2 * task.gap * abs(plain.value) + 1e-8 * plain.scale)
        asked += sum(len(oracle.asked) for oracle in made if isinstance(oracle, Oracle))
    assert asked > 3


def test_a_lower_bound_closes_more_nodes(with_bound: Callable[..., list[Bound]]) -> None:
    mdp = environment("frozenlake_4x4")
    best = omdt.solve(mdp, max_depth=2).value
    nodes = []
    for makers in ((), (Oracle,)):
        with_bound(*makers)
        knowledge = knowledge_of(model_of(mdp, 2, max_box_operations=0.0))
        goal = goal_of(knowledge, best + 1e-6)
        findings = explore(knowledge, root_of(knowledge), goal, 10**9, Watch())
        assert findings.open == []
        assert findings.closed <= best + 1e-6
        nodes.append(findings.nodes)
    assert nodes[1] < nodes[0]


def test_bounds_are_asked_in_turn_until_one_closes_the_node(with_bound: Callable[..., list[Bound]]) -> None:
    made = with_bound(Oracle, Useless)
    knowledge = knowledge_of(model_of(environment("frozenlake_4x4"), 1))
    assert [type(bound) for bound in knowledge.further] == [Oracle, Useless]
    assert knowledge.further == tuple(made)
    best = float(returns_of(knowledge.model.mdp, completions(knowledge.model, root_of(knowledge).partial.tree)).max())
    findings = explore(knowledge, root_of(knowledge), goal_of(knowledge, best + 1e-6), 10**9, Watch())
    assert findings.nodes == 1
    assert findings.closed == pytest.approx(best)


def test_a_useless_bound_changes_nothing(with_bound: Callable[..., list[Bound]]) -> None:
    for seed in range(10):
        task = RandomTask.random(np.random.default_rng(4100 + seed))
        plain = same_in_any_run(task.solve(seed=seed))
        with_bound(Useless)
        assert same_in_any_run(task.solve(seed=seed)) == plain
        with_bound()
