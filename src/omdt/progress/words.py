"""What the verbs tell while they run, in words."""

from omdt.counting import counted
from omdt.progress.state import Known


def solving(point: tuple[float, float, float]) -> Known:
    """What is known of one search.

    Args:
        point: seconds, value of the best tree, and bound.
    """
    _, value, bound = point
    return Known(f"value {_figure(value)}   bound {_figure(bound)}", value)


def front(size: object, point: tuple[float, float, float]) -> Known:
    """What is known of one size of a front.

    Args:
        size: the size, which has words.
        point: seconds, value of its best tree, and bound.
    """
    return Known(f"{getattr(size, 'words', '')}: {solving(point).text}")


def alternatives(trees: int) -> Known:
    """How many alternatives there are."""
    return Known(f"{counted(trees, 'tree')} so far")


def comparing(done: int, total: int, last: str) -> Known:
    """How many runs of a comparison are done, and of which method the last one was."""
    return Known(f"{done} of {total} runs done, the last of {last}")


def _figure(value: float) -> str:
    return f"{value:.6g}".replace("inf", "∞")
