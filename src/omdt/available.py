"""What is played where a state does not offer the action that is named: the fallback, or the first available action."""

import numpy as np

from omdt.arrays import Bools, Ints


def played_instead(available: Bools, fallback: int | None) -> Ints:
    """[n] what is played, of the available actions [n, A], where an unavailable one is named."""
    first: Ints = available.argmax(axis=1)
    return first if fallback is None else np.where(available[:, fallback], fallback, first)


def played_actions(available: Bools, fallback: int | None) -> Ints:
    """[S, A] the action that is played where each action is named: itself if it is available."""
    S, A = available.shape
    named: Ints = np.broadcast_to(np.arange(A), (S, A))
    if available.all():
        return named
    played: Ints = np.where(available, named, played_instead(available, fallback)[:, None])
    played.flags.writeable = False
    return played
