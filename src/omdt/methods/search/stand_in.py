"""Stand-in: the objective of climbs and bounds that work on another MDP than that of the task."""

from dataclasses import dataclass

from omdt.mdp import MDP


@dataclass(frozen=True, eq=False)
class StandIn:
    """The objective of climbs: the discounted return of a guide.

    Attributes:
        guide: an MDP with the states, features and actions of the task.
    """

    guide: MDP
    words: str = "discounted return of a guide"
    minimised: bool = False

    def problem(self, mdp: MDP) -> MDP:
        """The guide."""
        return self.guide

    def offset(self, mdp: MDP) -> float:
        """Nothing."""
        return 0.0
