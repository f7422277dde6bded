"""Effort: how long evaluations take, estimated from the sizes of a problem and never measured.

So the same problem is always solved in the same way, however fast the machine is.
"""

from omdt.methods.search.model import Model


def seconds_per_evaluation(model: Model) -> float:
    """Estimated seconds for evaluating one policy."""
    settings, mdp = model.settings, model.mdp
    return settings.seconds_per_tree + settings.seconds_per_transition * int(mdp.transitions.nnz) / mdp.n_actions


def evaluations_within(model: Model, seconds: float) -> int:
    """How many policies can be evaluated in some seconds, at least `min_evaluations`."""
    return max(model.settings.min_evaluations, int(seconds / seconds_per_evaluation(model)))


def seconds_per_neighbour(model: Model) -> float:
    """Estimated seconds for finding and evaluating one neighbour in a climb with few states.

    It takes a constant, time per state, and, unless no state is visited twice, a low-rank update for a third of them.
    """
    settings, S = model.settings, model.mdp.n_states
    update = 0.0 if model.acyclic else settings.seconds_per_cube * (S / 3) ** 3
    return settings.seconds_per_neighbour + settings.seconds_per_neighbour_state * S + update
