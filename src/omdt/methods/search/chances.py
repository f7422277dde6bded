"""Chances of the option bound below nodes about which it told nothing.

There options are skipped, because they would take most of the time on networks and tell nothing. On lakes they tell
much again as soon as losses tell no more: without them, all ways to decide about states that hardly matter would be
explored one by one. So they are asked a few times in every case, and again and again if that is worth it.
"""

from omdt.methods.search.settings import SearchSettings


class Chances:
    """How often options may still be asked where losses tell no more than those of the parent."""

    def __init__(self, settings: SearchSettings) -> None:
        self._left, self._gained = settings.first_chances, settings.gained_chances

    @property
    def left(self) -> bool:
        """Whether options may be asked again."""
        return self._left > 0

    def take(self, *, helped: bool) -> None:
        """Options were asked again; if they helped, that pays for more of it."""
        self._left += self._gained if helped else -1
