"""What the methods that search for no proof have in common."""

from omdt.solution import Stop
from omdt.watch import Watch


def why_stopped(watch: Watch) -> Stop:
    """The reason for which a method without a proof came to its end."""
    if watch.interrupted:
        return Stop.INTERRUPTED
    return Stop.TIME if watch.remaining == 0 else Stop.HEURISTIC
