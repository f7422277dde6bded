"""Starts: the trees from which climbs begin.

Trees are fitted to the advantages of the optimal policy, with weights that say how much every state counts: the visits
of the optimal policy, of the random policy or of earlier trees, or all states alike. A tree that copies the optimal
policy where that goes soon comes to states where it was never told what to do; so, as in DAgger and VIPER, the visits
of the trees so far are added to the weights of the next one.

With many states, trees are also found on coarse models (see `aggregation`).
"""

from collections.abc import Callable, Iterator

import numpy as np

from omdt import planning
from omdt.mdp import Floats
from omdt.methods.search.aggregation import Coarse, coarse
from omdt.methods.search.evaluation import Engine
from omdt.methods.search.fitting import Fitting, gains_around, mixed_visits, weighted_gains
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Tree
from omdt.methods.search.ranks import Ranks
from omdt.watch import Watch


class Starts:
    """Makes trees from which climbs begin.

    Args:
        model: the model of the task.
        questions: the questions of the task.
        fitting: fits trees.
        engine: evaluates policies.
        watch: the clock.
    """

    def __init__(self, model: Model, questions: Ranks, fitting: Fitting, engine: Engine, watch: Watch) -> None:
        self.model, self.questions, self.fitting = model, questions, fitting
        self.engine, self.watch = engine, watch
        self._advantages: Floats | None = None
        self._visits: Floats | None = None

    def fitted(self) -> Iterator[Tree]:
        """Trees that are fitted before any tree is evaluated; the first one before any policy is."""
        yield self._fitted(self._alike())
        yield self._fitted(self._optimal_visits())
        yield self._fitted(self._mixed_visits())

    def coarsest_model(self, tree: Tree) -> Coarse | None:
        """The smallest coarse model, with the questions of a tree.

        States that the optimal policy visits count half.
        """
        return coarse(self.model, self.questions, self._mixed_visits(), tree, self.model.settings.coarse_states)

    def coarse_model_around(self, tree: Tree) -> Coarse | None:
        """The next coarse model, with the questions of a tree; states that the tree visits count half."""
        self._rebase(tree)
        visits, settings = self.engine.occupancies, self.model.settings
        fewer = self.model.mdp.n_states // settings.coarsening
        most = fewer if fewer >= settings.impatient_states else settings.coarse_states
        return coarse(self.model, self.questions, visits / max(visits.sum(), 1e-300) + self._alike(), tree, most)

    def imitation_gains(self) -> Floats:
        """[S, A] the advantages of the optimal policy, weighted by the visits of the base policy of the engine."""
        return weighted_gains(self.model, self.optimal_advantages(), mixed_visits(self.engine, self.model))

    def of_few_states(self, best: Callable[[], Tree]) -> Iterator[Tree]:
        """Trees fitted with all kinds of weights, then to the gains around the incumbent and so on.

        Args:
            best: the incumbent.
        """
        optimal = self._optimal_visits()
        yield self._fitted(optimal)
        random = self._random_visits()
        for weights in (random, optimal + random, self._alike()):
            yield self._fitted(weights)
        yield from self._refitted(best)

    def by_root(self) -> Iterator[Tree]:
        """Trees fitted below every promising question at the root, first where the optimal policy goes."""
        yield self._fitted(self._optimal_visits())
        yield from self._below_roots(self._optimal_visits())
        yield from self._below_roots(self._random_visits())

    def _below_roots(self, weights: Floats) -> Iterator[Tree]:
        """Trees fitted to the advantages of the optimal policy, with weights [S], one per question at the root."""
        size, settings = self.model.size, self.model.settings
        gains = weighted_gains(self.model, self.optimal_advantages(), weights)
        everything = np.arange(self.model.mdp.n_states)
        scores = self.fitting.stumps(gains, everything).scores
        for k in self.questions.spread(everything, scores, settings.root_starts, settings.resolution):
            yield self.fitting.below(k, gains, everything, size.depth, size.leaves)

    def of_many_states(self, best: Callable[[], Tree], take_over: Callable[[Coarse], None]) -> Iterator[Tree]:
        """The incumbent after a search on a coarse model around it, then trees that are fitted where incumbents go.

        Args:
            best: the incumbent.
            take_over: improves the incumbent by trees that are found on a coarse model.
        """
        model = self.coarse_model_around(best())
        if model is not None:
            take_over(model)
        yield best()
        visits = self._optimal_visits()
        for _ in range(self.model.settings.refitted_trees):
            self._rebase(best())
            visits = visits + self.engine.occupancies
            yield self._fitted(visits)
        yield from self._refitted(best)

    def _refitted(self, best: Callable[[], Tree]) -> Iterator[Tree]:
        """Trees fitted one after another, the first one to the gains around the incumbent."""
        self._rebase(best())
        for _ in range(self.model.settings.refitted_trees):
            tree = self.fitting.whole_tree(gains_around(self.engine, self.model))
            self._rebase(tree)
            yield tree

    def _rebase(self, tree: Tree) -> None:
        self.engine.rebase(self.questions.actions(tree, np.arange(self.model.mdp.n_states)))

    def _fitted(self, weights: Floats) -> Tree:
        """The tree that is fitted to the advantages of the optimal policy with the given weights [S]."""
        return self.fitting.whole_tree(weighted_gains(self.model, self.optimal_advantages(), weights))

    def optimal_advantages(self) -> Floats:
        """[S, A] how much worse every action is than the best one, if the optimal policy goes on from there."""
        if self._advantages is None:
            q = planning.q_values(self.model.mdp, self.model.optimal)
            self._advantages = q.value - q.value.max(axis=1, keepdims=True)
        return self._advantages

    def _optimal_visits(self) -> Floats:
        """[S] the occupancies of the optimal policy."""
        if self._visits is None:
            mdp = self.model.mdp
            policy = planning.greedy(planning.q_values(mdp, self.model.optimal))
            self._visits = planning.occupancies(mdp, policy, self.watch).value
        return self._visits

    def _random_visits(self) -> Floats:
        """[S] the occupancies of the policy that takes all actions alike."""
        mdp = self.model.mdp
        return planning.occupancies(mdp, planning.random_policy(mdp), self.watch).value

    def _mixed_visits(self) -> Floats:
        """[S] the states that the optimal policy visits and all states alike, each of the two as one half."""
        visits = self._optimal_visits()
        mixed: Floats = visits / max(visits.sum(), 1e-300) + self._alike()
        return mixed

    def _alike(self) -> Floats:
        """[S] equal weights that sum to 1."""
        S = self.model.mdp.n_states
        return np.ones(S) / S
