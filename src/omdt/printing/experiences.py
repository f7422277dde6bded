"""What is known of a learned tree in the world that it was learned from, in words; never about the learned model."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from omdt.counting import counted
from omdt.printing.plain import number

if TYPE_CHECKING:
    from omdt.solution import Coverage, Experience, Guarantee, Interval, Judged, Rival, Solution

ON_MODEL = "on the learned model"
"""What every figure of a learned tree is followed by that is not about the world."""


CHOSEN = {
    "simulator": "The tree was chosen by its episodes in the simulator, so another one may be better on the model.",
    "log": "The guaranteed return comes first, so another tree may be better on the model.",
}
"""Why a learned tree need not be the best one on the learned model, by where it was learned."""


EARLY = {
    "nodes": "; the search ended early, at its limit on partial trees",
    "time": "; the search ended early, because time was up",
    "memory": "; the search ended early, because memory was full",
    "interrupted": "; the search was interrupted",
}
"""Why the search for the best guaranteed return ended before its bound met the best tree."""


class Figure(NamedTuple):
    """One figure about the world.

    Attributes:
        name: what it is called, as `guaranteed`.
        amount: the figure.
        meaning: what it says, to be read without knowing the name.
    """

    name: str
    amount: str
    meaning: str


def world(experience: "Experience") -> str:
    """Where the figures were found, as the end of a sentence."""
    return "in the simulator" if experience.origin == "simulator" else "in the world that the log records"


def learned_from(experience: "Experience") -> str:
    """What the tree was learned from, as a clause."""
    steps, episodes = counted(experience.steps, "step"), counted(experience.episodes, "episode")
    return f"learned from {steps} in {episodes} of {experience.source}"


def world_figures(solution: "Solution") -> Iterator[Figure]:
    """What is known of a learned tree in the world, the strongest statement first."""
    experience = solution.experience
    assert experience is not None
    if experience.interval is not None:
        yield Figure("mean return", number(experience.interval.mean, 6), interval_words(experience))
    for rival in experience.rivals:
        yield Figure(rival.name, number(rival.interval.mean, 6), rival_words(rival))
    if experience.guarantee is not None:
        yield Figure("guaranteed", number(experience.guarantee.value, 6), guarantee_words(experience.guarantee))
        trees = f"no tree of {solution.size.words or 'any size'} has a higher guaranteed return from this log"
        early = EARLY.get(experience.guarantee.stop, "")
        yield Figure("its bound", number(experience.guarantee.bound, 6), f"{trees}{early}")
    for judged in experience.judged:
        yield Figure("estimated", number(judged.interval.mean, 6), judged_words(judged))
    if experience.coverage is not None:
        yield Figure("covered", share(experience.coverage.share), coverage_words(experience.coverage))


def interval_words(experience: "Experience") -> str:
    """What the mean of the fresh episodes means."""
    interval = experience.interval
    assert interval is not None
    seeds = "" if experience.seeds is None else f" (seeds {experience.seeds[0]} to {experience.seeds[1]})"
    return (
        f"per episode, not discounted; {span(interval)}, from {counted(interval.n, 'fresh episode')}{seeds} "
        "that had no part in choosing the tree"
    )


def rival_words(rival: "Rival") -> str:
    """What the mean of a teacher, or of what imitates it, means."""
    who = "the teacher" if rival.name == "teacher" else "a tree of the same size that imitates the teacher"
    return f"{who}, in {counted(rival.interval.n, 'episode')} with the same seeds; {span(rival.interval)}"


def guarantee_words(guarantee: "Guarantee") -> str:
    """What a guaranteed return means."""
    alike = "" if guarantee.exact else ", as far as steps that start in the same cell of observations are alike"
    return f"with {share(guarantee.confidence)} confidence, this tree's discounted return is at least this{alike}"


def judged_words(judged: "Judged") -> str:
    """What the estimate of one estimator means."""
    text = f"discounted return by {judged.estimator}; {span(judged.interval)}"
    if judged.effective >= judged.interval.n:
        return text
    effective = f"{judged.effective:,.0f}" if judged.effective >= 100 else number(judged.effective, 3)
    return f"{text}, worth {effective} episodes played by the tree itself"


def coverage_words(coverage: "Coverage") -> str:
    """What the coverage of a log means."""
    return (
        "of the tree's discounted time is spent in states where the log has tried its action, "
        f"{counted(coverage.least, 'time')} at least"
    )


def span(interval: "Interval") -> str:
    """The ends of an interval, as in `1 to 3 with 95 % confidence`."""
    return f"{number(interval.low, 6)} to {number(interval.high, 6)} with {share(interval.confidence)} confidence"


def share(part: float) -> str:
    """A share in percent; less than the whole is never rounded up to it."""
    text = f"{100 * part:.4g}"
    return f"{'99.99' if text == '100' and part < 1 else text} %"
