"""Chances of the option bound below nodes about which it told nothing.

Options are skipped there, but where states have few successors they tell much again as soon as losses tell no more:
policies then avoid what is decided at no loss, and all ways to decide about states that hardly matter would be explored
one by one. So options are asked a few times per case, and go on being asked if that is worth it. With many successors
no state can be avoided, so losses always tell something, and options would take most of the time.
"""

from omdt.methods.search.model import Model


class Chances:
    """How often options may still be asked where losses tell no more than those of the parent."""

    def __init__(self, model: Model) -> None:
        settings = model.settings
        self._left = settings.first_chances if model.has_few_successors else 0
        self._gained = settings.gained_chances

    @property
    def left(self) -> bool:
        """Whether options may be asked again."""
        return self._left > 0

    def take(self, *, helped: bool) -> None:
        """Options were asked again; if they helped, that pays for more of it."""
        self._left += self._gained if helped else -1
