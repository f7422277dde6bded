"""Experience: what a tree was learned from where there was no model, and what is known of it outside the learned model.

The figures of a `Solution` are about the learned model: value is exact there, and so is the bound. What is recorded
here is about the world that the model was learned from: a mean return with an interval, or a return that is guaranteed
with some confidence. The two kinds of figures are never compared with each other.
"""

from dataclasses import asdict, dataclass
from typing import Any

from omdt.errors import InputError
from omdt.solution.claim import Stop
from omdt.solution.entries import entry, figure, number, one_of, spelled

SIMULATOR, LOG = "simulator", "log"
"""Where steps come from: taken on demand, or recorded before."""


@dataclass(frozen=True)
class Interval:
    """A mean with a confidence interval.

    Attributes:
        mean: the estimate.
        low: lower end of the interval.
        high: upper end of the interval.
        confidence: how often such intervals hold the true mean, as 0.95.
        n: number of episodes that it rests on.
    """

    mean: float
    low: float
    high: float
    confidence: float
    n: int

    @classmethod
    def from_dict(cls, data: Any) -> "Interval":
        """The interval of a dictionary as `asdict` makes it."""
        return cls(
            figure(data, "mean"),
            figure(data, "low"),
            figure(data, "high"),
            number(data, "confidence"),
            entry(data, "n", int),
        )


@dataclass(frozen=True)
class Round:
    """One round of learning from a simulator: a point of the learning curve.

    Attributes:
        steps: number of steps taken in the simulator so far.
        states: number of states of the learned model.
        value: discounted return of the round's tree on the learned model.
        bound: no tree of the size returns more on the learned model.
        mean: mean return per episode of the best tree so far in the simulator, undiscounted.
    """

    steps: int
    states: int
    value: float
    bound: float
    mean: float

    @classmethod
    def from_dict(cls, data: Any) -> "Round":
        """The round of a dictionary as `asdict` makes it."""
        return cls(
            entry(data, "steps", int),
            entry(data, "states", int),
            figure(data, "value"),
            figure(data, "bound"),
            figure(data, "mean"),
        )


@dataclass(frozen=True)
class Guarantee:
    """What a log proves about a tree, unless the log is one of the unlucky few that the confidence leaves.

    Attributes:
        value: the discounted return of the tree in the world is at least this.
        bound: no tree of the size has a higher guaranteed return.
        confidence: how often the value is below the tree's true return, at least; as 0.95.
        exact: whether every observation is a state of its own; otherwise the guarantee holds as far as steps that
            start in the same cell of observations are alike.
        stop: why the search for the best guaranteed return ended.
    """

    value: float
    bound: float
    confidence: float
    exact: bool = True
    stop: Stop = Stop.COMPLETE

    @classmethod
    def from_dict(cls, data: Any) -> "Guarantee":
        """The guarantee of a dictionary as `asdict` makes it."""
        exact = data.get("exact") is True
        stop = Stop(one_of(data, "stop", tuple(Stop), Stop.COMPLETE))
        return cls(figure(data, "value"), figure(data, "bound"), number(data, "confidence"), exact, stop)


@dataclass(frozen=True)
class Judged:
    """What one estimator says that the tree returns in the world, from steps that other policies took.

    Attributes:
        estimator: its name, as `weighted importance sampling`.
        interval: of the discounted return.
        effective: how many episodes played by the tree itself would say as much.
    """

    estimator: str
    interval: Interval
    effective: float

    @classmethod
    def from_dict(cls, data: Any) -> "Judged":
        """The estimate of a dictionary as `asdict` makes it."""
        interval = Interval.from_dict(entry(data, "interval", dict))
        return cls(entry(data, "estimator", str), interval, number(data, "effective"))


@dataclass(frozen=True)
class LeafCoverage:
    """How well a log knows what one leaf of the tree does.

    Attributes:
        leaf: the leaf in words, as `load > 3 and age <= 7: repair`.
        share: the part of the tree's discounted time that is spent there, on the learned model.
        steps: number of steps in the log that start there with the leaf's action.
    """

    leaf: str
    share: float
    steps: int

    @classmethod
    def from_dict(cls, data: Any) -> "LeafCoverage":
        """The coverage of a dictionary as `asdict` makes it."""
        return cls(entry(data, "leaf", str), number(data, "share"), entry(data, "steps", int))


@dataclass(frozen=True)
class Coverage:
    """How much of what the tree does the log has seen.

    Attributes:
        share: the part of the tree's discounted time, on the learned model, in which its action was tried in the log.
        least: the fewest steps in the log among the states and actions where the tree spends that time.
        leaves: each leaf of the tree, from left to right.
    """

    share: float
    least: int
    leaves: tuple[LeafCoverage, ...]

    @classmethod
    def from_dict(cls, data: Any) -> "Coverage":
        """The coverage of a dictionary as `asdict` makes it."""
        leaves = tuple(LeafCoverage.from_dict(leaf) for leaf in _objects(data, "leaves"))
        return cls(number(data, "share"), entry(data, "least", int), leaves)


@dataclass(frozen=True)
class Rival:
    """What another policy returns in the simulator, in episodes with the seeds of the tree's fresh ones.

    Attributes:
        name: "teacher", or the name of the method that imitates it.
        interval: of the undiscounted return per episode.
    """

    name: str
    interval: Interval

    @classmethod
    def from_dict(cls, data: Any) -> "Rival":
        """The rival of a dictionary as `asdict` makes it."""
        return cls(entry(data, "name", str), Interval.from_dict(entry(data, "interval", dict)))


@dataclass(frozen=True, kw_only=True)
class Experience:
    """What a tree was learned from, and what is known of it outside the learned model.

    Attributes:
        origin: "simulator" or "log".
        source: the simulator or the log as the user named it.
        steps: number of steps that the tree was learned from; those of the fresh episodes are not among them.
        episodes: number of episodes that these steps belong to.
        interval: return per episode in the simulator, undiscounted, from fresh episodes that nothing was chosen by.
        seeds: the first and the last seed of these fresh episodes, which have all seeds between them.
        rounds: the learning curve.
        rivals: a teacher and what imitates it, in episodes with the same seeds, if one was given.
        guarantee: what the log proves about the tree.
        judged: what the tree returns in the world as several estimators see it in the log, discounted.
        coverage: how much of what the tree does the log has seen.
        settings: what was asked of learning, by the names of the parameters of `omdt.learn`.
    """

    origin: str
    source: str
    steps: int
    episodes: int
    interval: Interval | None = None
    seeds: tuple[int, int] | None = None
    rounds: tuple[Round, ...] = ()
    rivals: tuple[Rival, ...] = ()
    guarantee: Guarantee | None = None
    judged: tuple[Judged, ...] = ()
    coverage: Coverage | None = None
    settings: tuple[tuple[str, float], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The experience as JSON holds it; what is not known is left out."""
        found: dict[str, Any] = _spelled(asdict(self)) | {"settings": dict(self.settings)}
        return {key: value for key, value in found.items() if value not in (None, [], {})}

    @classmethod
    def from_dict(cls, data: Any) -> "Experience":
        """The experience of a dictionary as `to_dict` makes it."""
        if not isinstance(data, dict):
            raise InputError(f"'experience' is {data!r:.40}; it must be an object")
        try:
            return cls(
                origin=one_of(data, "origin", (SIMULATOR, LOG)),
                source=entry(data, "source", str),
                steps=entry(data, "steps", int),
                episodes=entry(data, "episodes", int),
                interval=Interval.from_dict(entry(data, "interval", dict)) if "interval" in data else None,
                seeds=_seeds(data) if "seeds" in data else None,
                rounds=tuple(Round.from_dict(found) for found in _objects(data, "rounds")),
                rivals=tuple(Rival.from_dict(found) for found in _objects(data, "rivals")),
                guarantee=Guarantee.from_dict(entry(data, "guarantee", dict)) if "guarantee" in data else None,
                judged=tuple(Judged.from_dict(found) for found in _objects(data, "judged")),
                coverage=Coverage.from_dict(entry(data, "coverage", dict)) if "coverage" in data else None,
                settings=_settings(data) if "settings" in data else (),
            )
        except InputError as error:
            raise InputError(f"in 'experience', {error}") from None


def _spelled(found: Any) -> Any:
    """What `asdict` makes, with infinite numbers as JSON spells them and lists for tuples."""
    if isinstance(found, dict):
        return {key: _spelled(value) for key, value in found.items()}
    if isinstance(found, list | tuple):
        return [_spelled(value) for value in found]
    return spelled(found) if isinstance(found, float) else found


def _objects(data: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """A list of objects, which may be missing if it is empty."""
    found = entry(data, key, list) if key in data else []
    if not all(isinstance(one, dict) for one in found):
        raise InputError(f"{key!r} must be a list of objects")
    return list(found)


def _seeds(data: dict[str, Any]) -> tuple[int, int]:
    """The first and the last seed."""
    found = entry(data, "seeds", list)
    if len(found) != 2 or not all(isinstance(seed, int) and not isinstance(seed, bool) for seed in found):
        raise InputError(f"'seeds' is {found!r:.40}; it must be the first and the last seed")
    return found[0], found[1]


def _settings(data: dict[str, Any]) -> tuple[tuple[str, float], ...]:
    """The numbers that learning was asked with, whole ones as such."""
    found = entry(data, "settings", dict)
    return tuple((name, entry(found, name, int, float)) for name in found)
