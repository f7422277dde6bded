"""From a simulator to a small tree: explore, learn a model, search on it, let trees compete in the simulator, go round.

A round goes as follows. Explore: beside the best tree so far, and where the model is unsure. Divide all observations
into cells (`grid`), and count how steps lead from cell to cell (`estimating`). Search the best tree on that model. Let
it compete with the best tree so far in the simulator itself (`contest`), which knows what no model of cells does. The
steps of contests inform the next model.

The first round has no tree yet: random actions and random small trees explore, and the best of these becomes the first
champion. After the last round thresholds are tuned in the simulator (`tuning`), because the best ones are rarely cuts.
Where every feature keeps all its values the cells are exact: there is nothing to tune, those steps tell the best tree
from its rivals (`telling`), and the champion is the tree that the model recommends.

The last model has the thresholds of the returned tree among its cuts, so the tree's value there is exact, and the bound
holds for all trees over its cuts. What the tree returns in the simulator is measured by fresh episodes.

Nothing depends on the clock unless a time limit strikes: searches are limited by nodes and evaluations, everything else
by steps.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from omdt.errors import InputError
from omdt.learning.contest import BEYOND_DOUBT, CLEARLY, Standing, contest
from omdt.learning.episodes import Player
from omdt.learning.exploring import curious, random_tree
from omdt.learning.fresh import fresh
from omdt.learning.gathering import Gathering
from omdt.learning.learned import Learned
from omdt.learning.modelling import Model, Searched
from omdt.learning.simulators import Simulator
from omdt.learning.telling import telling
from omdt.learning.tuning import tuned
from omdt.learning.wandering import Wandering
from omdt.solution import SIMULATOR, Experience, Round, Solution
from omdt.task import Size
from omdt.tree import TreePolicy
from omdt.watch import OutOfTimeError, Watch, one_thread

ROUNDS = 3
"""Rounds after the first exploration."""

RANDOM_SHARE, TREES_SHARE, FIRST_SHARE = 0.05, 0.15, 0.06
"""Parts of all steps for random actions, for random trees, and for the contest of the best of these."""

EXPLORE_SHARE, CONTEST_SHARE = 0.03, 0.03
"""Parts of all steps for exploring and for the contest, per round."""

EXACT_CONTEST_SHARE = 0.02
"""The same for the contest where cells are exact, since the model tells more there than some episodes do."""

LAST_SHARE = 0.05
"""Part of all steps for the last contest."""

TURNS = 4
"""Times that exploration asks anew where the model is unsure, per round."""

EXACT_TURNS, RIVALS, PORTIONS = 5, 4, 8
"""Where cells are exact: times that rivals of the best tree are drawn, how many they are, and times that it is asked
anew between two draws which steps tell the trees apart."""

EVEN_SHARE, UNSURE_SHARE = 0.1, 0.05
"""Parts of these steps that are random actions, and that go where the model is unsure."""

TUNINGS, APART = 3, 1_000_003
"""Times that tuning begins anew with the steps that it left before, and how far its seeds are apart."""

RANDOMLY = Wandering(1.0, 4.0)
"""Random actions, each of which is repeated for some steps."""

EVENLY = Wandering(1.0)
"""Random actions, each by itself: where cells are exact, every action is tried in all states that are met."""

NEARBY = Wandering(0.05, 3.0)
"""How exploration leaves the best tree so far."""

MAX_TREES = 1000
"""Most random trees, where episodes are short."""

FINALISTS, FIRST, DUEL = 12, 3, 6
"""Random trees that compete to become the first champion, and the episodes of each tree on the first rung of that
contest and of a later one between two trees."""

ROUND_NODES, LAST_NODES = 50, 2000
"""Nodes of the searches on the models of the rounds, and on the last one."""

EVALUATIONS = 300_000
"""Trees that local search evaluates on the last model where cells are exact, unless its best tree is proven."""

FIRST_LOOKS = 20_000
"""Beginnings of episodes that are looked at for the last model where cells are exact."""

LEARNING_TIME = 0.7
"""Part of a time limit for learning; the rest is for the last search and the fresh episodes."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked of learning from a simulator.

    Attributes:
        size: how large the tree may be.
        steps: number of steps that may be taken; fresh episodes are counted apart.
        bins: most bins per feature that takes many values.
        discount: γ of the model.
        confidence: of the interval of the mean return.
        episodes: number of fresh episodes.
        seed: the same seed gives the same tree.
        processes: number of processes that play.
    """

    size: Size
    steps: int = 200_000
    bins: int = 12
    discount: float = 0.99
    confidence: float = 0.95
    episodes: int = 200
    seed: int = 0
    processes: int = 1


def learn_from_simulator(
    simulator: Simulator, request: Request, watch: Watch, progress: Callable[[Round], None] | None = None
) -> Learned:
    """The tree that is learned from a simulator, with the model and what fresh episodes say of the tree.

    Args:
        simulator: what is played.
        request: what is asked.
        watch: its time limit and Ctrl-C end learning with the best tree so far.
        progress: called after every round.

    Raises:
        InputError: if time runs out before the first tree has played an episode.
    """
    if not request.size.limited:
        raise InputError("learning needs a size limit; give a depth, a number of leaves, or both")
    with watch.catching_interrupts(), one_thread():
        learning = watch.part(LEARNING_TIME * watch.time_limit)
        with Player(simulator, processes=request.processes, watch=learning) as player:
            run = _Run(Gathering(player, request.steps, request.seed), request, learning, progress)
            with suppress(OutOfTimeError):
                run.learn()
        return run.learned(watch)


class _Run:
    """One run of the loop; whatever happens, it knows the best tree so far."""

    def __init__(
        self, gathering: Gathering, request: Request, watch: Watch, progress: Callable[[Round], None] | None
    ) -> None:
        self.gathering, self.request, self.watch, self.progress = gathering, request, watch, progress
        self.simulator = gathering.player.simulator
        self.rng = np.random.default_rng([request.seed, 1])
        self.best: Standing | None = None
        self.proposed: list[TreePolicy] = []
        self.rounds: list[Round] = []

    def allowance(self, share: float) -> int:
        """A part of all steps."""
        return int(share * self.request.steps)

    def learn(self) -> None:
        """Explore, go round, and tune."""
        self._begin()
        model: Model | None = None
        for _ in range(ROUNDS):
            if self.best is not None and self.gathering.affords(1):
                if model is not None:
                    self._explore(model, self.allowance(EXPLORE_SHARE))
                model = self._round(ROUND_NODES)
        if model is not None and model.grid.exact:
            horizon = self.gathering.horizon
            kept = min(2 * DUEL * horizon, max(self.allowance(EXACT_CONTEST_SHARE), horizon))
            self._tell_apart(model, self.gathering.left - kept)
            self.gathering.look(FIRST_LOOKS)
            self._round(LAST_NODES, EVALUATIONS)
        elif self.best is not None:
            self._tune(self.best.tree)

    def _begin(self) -> None:
        """Explore at random, and by random trees, of which the best becomes the champion."""
        gathering, names = self.gathering, (self.simulator.feature_names, self.simulator.action_names)
        gathering.explore(TreePolicy.leaf(0, *names), self.allowance(RANDOM_SHARE), RANDOMLY)
        observations = gathering.steps.observations
        end = gathering.player.steps + self.allowance(TREES_SHARE)
        standings: list[Standing] = []
        while gathering.player.steps < end and len(standings) < MAX_TREES and gathering.affords(1):
            tree = random_tree(self.rng, observations, self.request.size, *names)
            standings.append(Standing(tree, gathering.play(tree, gathering.seeds(1), keep=True).returns))
            if self.best is None or standings[-1].mean > self.best.mean:
                self.best = standings[-1]
        standings.sort(key=lambda standing: -standing.mean)
        finalists = [standing.tree for standing in standings[: gathering.left // (FIRST * gathering.horizon)]]
        if finalists:
            share = self.allowance(FIRST_SHARE)
            self.best = contest(gathering, None, finalists[:FINALISTS], first=FIRST, allowance=share)

    def _round(self, nodes: int, evaluations: int = 0) -> Model:
        """Learn a model of all steps so far, search on it as `Model.searched` does, and let its tree compete."""
        assert self.best is not None
        model = self._model([self.best.tree, *self.proposed])
        found = model.searched(nodes, self.watch, evaluations=evaluations)
        self.proposed = [found.tree]
        if self.gathering.affords(2 * DUEL):
            self.best = self._duel(found.tree, self.best.tree, exact=model.grid.exact)
        elif model.grid.exact and self.gathering.affords(1):
            share = self.allowance(EXACT_CONTEST_SHARE)
            self.best = Standing(found.tree, self.gathering.returns(found.tree, share))
        self._record(model, found)
        return model

    def _duel(self, found: TreePolicy, before: TreePolicy, *, exact: bool) -> Standing:
        """The winner of a contest between the best tree on the model and the champion so far.

        Args:
            found: the best tree on the model; the champion if cells are exact.
            before: the champion so far.
            exact: whether cells are exact.
        """
        champion, challenger = (found, before) if exact else (before, found)
        margin, share = (BEYOND_DOUBT, EXACT_CONTEST_SHARE) if exact else (CLEARLY, CONTEST_SHARE)
        allowance = self.allowance(share)
        return contest(self.gathering, champion, [challenger], first=DUEL, allowance=allowance, margin=margin)

    def _explore(self, model: Model, allowance: int) -> None:
        """Explore in turns beside the best tree and where the model is unsure by then, half of the steps each."""
        assert self.best is not None
        share = allowance // (2 * TURNS)
        for _ in range(TURNS):
            self.gathering.explore(self.best.tree, share, NEARBY)
            self._look_around(model, share)

    def _look_around(self, model: Model, share: int) -> None:
        """Explore where the model is unsure."""
        assert self.best is not None
        known = model.counted(self.gathering.steps, self.gathering.starts).estimate
        self.gathering.explore(curious(model.grid, known, self.best.tree), share, NEARBY)

    def _tell_apart(self, model: Model, allowance: int) -> None:
        """Explore where cells are exact: mostly what tells the best tree from its rivals, drawn anew every turn."""
        assert self.best is not None
        end = self.gathering.player.steps + allowance
        for turn in range(EXACT_TURNS):
            share = max(0, end - self.gathering.player.steps) // (EXACT_TURNS - turn)
            self.gathering.explore(self.best.tree, int(EVEN_SHARE * share), EVENLY)
            self._look_around(model, int(UNSURE_SHARE * share))
            best, rivals = self._rivals(model)
            for _ in range(PORTIONS):
                self._tell(model, best, rivals, int((1 - EVEN_SHARE - UNSURE_SHARE) * share) // PORTIONS)

    def _rivals(self, model: Model) -> tuple[TreePolicy, list[TreePolicy]]:
        """The best tree on the model of all steps so far, and the best ones on other models that these suggest."""
        steps, starts = self.gathering.steps, self.gathering.starts
        models = [model.counted(steps, starts), *(model.drawn(steps, starts, self.rng) for _ in range(RIVALS))]
        best, *rivals = (each.searched(ROUND_NODES, self.watch).tree for each in models)
        return best, rivals

    def _tell(self, model: Model, best: TreePolicy, rivals: list[TreePolicy], share: int) -> None:
        """Explore what tells the best tree from its rivals; if they play alike, explore as ever, half at random."""
        known = model.counted(self.gathering.steps, self.gathering.starts).estimate
        told = telling(model.grid, known, best, rivals)
        if told is None:
            self.gathering.explore(best, share // 2, EVENLY)
            self.gathering.explore(best, share // 4, NEARBY)
            self._look_around(model, share // 4)
        else:
            self.gathering.explore(told.policy, share, worth=told.worth)

    def _tune(self, before: TreePolicy) -> None:
        """Tune the best tree in the simulator, by all steps but those of a last contest with what it was before."""
        player, asked, share = self.gathering.player, self.request, self.allowance(LAST_SHARE)
        after = before
        for turn in range(TUNINGS):
            budget = self.gathering.left - share
            if budget > 0:
                after = tuned(after, player, budget, size=asked.size, seed=asked.seed + turn * APART)
        if after is not before and self.gathering.affords(2 * DUEL):
            self.best = contest(self.gathering, after, [before], first=DUEL, allowance=share)

    def _record(self, model: Model, found: Searched | Solution) -> None:
        """Add a point to the learning curve."""
        assert self.best is not None
        steps, states = self.gathering.player.steps, model.estimate.n_states
        self.rounds.append(Round(steps, states, found.value, found.bound, self.best.mean))
        if self.progress is not None:
            self.progress(self.rounds[-1])

    def _model(self, trees: Sequence[TreePolicy]) -> Model:
        """The model of all steps so far."""
        asked = self.request
        return Model.of(
            self.gathering.steps,
            self.gathering.starts,
            trees,
            asked.size,
            bins=asked.bins,
            discount=asked.discount,
            seed=asked.seed,
            name=self.simulator.name,
        )

    def learned(self, watch: Watch) -> Learned:
        """The best tree so far on the last model and in fresh episodes.

        Args:
            watch: of the whole run; where its time is over, there is no search, and a little time for the episodes.
        """
        if self.best is None:
            raise InputError("time ran out before the first tree had played an episode; allow more time")
        model = self._model([self.best.tree])
        tree = self.best.tree.reduced(model.estimate.mdp.features)
        left = watch.remaining
        searched = model.searched(LAST_NODES, watch.part(left / 2)) if left > 0 else None
        solution = model.solution(tree, searched, watch)
        self._record(model, solution)
        asked = self.request
        with Player(self.simulator, processes=asked.processes, watch=watch.closing()) as player:
            seen = fresh(tree, player, seed=asked.seed, episodes=asked.episodes, confidence=asked.confidence)
        experience = Experience(
            origin=SIMULATOR,
            source=self.simulator.name,
            steps=self.gathering.player.steps,
            episodes=self.gathering.player.episodes,
            interval=None if seen is None else seen.interval,
            seeds=None if seen is None else seen.seeds,
            rounds=tuple(self.rounds),
        )
        return Learned(replace(solution, experience=experience), model.estimate.mdp, model.estimate.visits)
