"""Methods that claim what a test wants them to."""

from collections.abc import Callable
from dataclasses import dataclass

from omdt.limits import Limits
from omdt.methods.options import Options
from omdt.methods.registry import METHODS, Method, Sizes
from omdt.solution import Claim
from omdt.task import Task
from omdt.watch import Watch


@dataclass(frozen=True)
class Fake(Method):
    """A method whose claim is made by a function of a test."""

    claim: Callable[[Task], Claim] | None = None

    def run(self, task: Task, limits: Limits, watch: Watch, options: Options) -> Claim:
        assert self.claim is not None
        return self.claim(task)


def fake(claim: Callable[[Task], Claim], *, keeps_rules: bool = False) -> Fake:
    """A method that takes trees of any size and claims what a function says."""
    return Fake("fake", "", "", Options, size=Sizes.OPTIONAL, keeps_rules=keeps_rules, claim=claim)


def register(claim: Callable[[Task], Claim]) -> None:
    """Add the method `fake` to this process."""
    METHODS["fake"] = fake(claim)
