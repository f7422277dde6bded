"""The registry of methods: what each one is called, what it needs, what it can do, and its options.

Whoever needs to know such a fact reads it here. A method's code is imported when it is run for the first time.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from importlib import import_module
from typing import TYPE_CHECKING, cast

from omdt.errors import InputError
from omdt.methods.options import (
    CopyOptions,
    IddtOptions,
    MilpOptions,
    Options,
    SearchOptions,
    UnknownOptionError,
    ViperOptions,
)

if TYPE_CHECKING:
    from omdt.limits import Limits
    from omdt.solution import Claim
    from omdt.task import Task
    from omdt.watch import Watch


class Sizes(Enum):
    """What a method needs to know of the size of the tree."""

    REQUIRED = auto()
    """A limit must be given."""
    OPTIONAL = auto()
    """A limit may be given."""
    REFUSED = auto()
    """The method itself decides the size."""


class Asks(Enum):
    """Which questions the trees of a method may ask."""

    ANYTHING = auto()
    """Those of the task."""
    ALL_THRESHOLDS = auto()
    """Thresholds on every feature and every predicate, whatever the task says."""
    FEATURE_THRESHOLDS = auto()
    """Thresholds on every feature, and nothing about predicates."""


@dataclass(frozen=True)
class Method:
    """A way of finding a tree.

    Attributes:
        name: what users call it.
        summary: what it does, in a few words.
        code: where its function is, as `module:function`; it has the parameters of `run`.
        options: the dataclass of its options.
        early: module and name of the function that reports a first tree as soon as the optimal values are known.
        size: what it needs to know of the size of the tree.
        asks: which questions its trees may ask.
        counts_nodes: whether it can stop after a number of nodes.
        keeps_rules: whether it looks for trees under rules; otherwise its tree is checked afterwards.
        uses_cores: whether it is worth giving it all cores.
    """

    name: str
    summary: str
    code: str
    options: type[Options]
    early: str | None = None
    size: Sizes = Sizes.REQUIRED
    asks: Asks = Asks.ANYTHING
    counts_nodes: bool = False
    keeps_rules: bool = False
    uses_cores: bool = False

    @property
    def certifies(self) -> bool:
        """Whether it can write evidence for its bound."""
        return "certificate" in self.options.declared()

    def made_options(self, given: Mapping[str, object]) -> Options:
        """The options of this method from keyword arguments.

        Raises:
            UnknownOptionError: if it has no such option.
            InputError: if a value is not what it must be.
        """
        known = tuple(self.options.declared())
        for name in given:
            if name not in known:
                raise UnknownOptionError(self.name, name, owners().get(name, ()), known)
        return self.options(**given)

    def check(self, task: "Task", limits: "Limits") -> None:
        """Raise `InputError` if the method cannot do what is asked."""
        if limits.node_limit is not None and not self.counts_nodes:
            able = " and ".join(method.name for method in METHODS.values() if method.counts_nodes)
            raise InputError(f"node_limit is for the method {able}; limit the time of {self.name} instead")
        self._check_questions(task)
        if self.size is Sizes.REQUIRED and not task.size.limited:
            raise InputError(f"the method {self.name} needs a size limit; give a depth, a number of leaves, or both")
        if self.size is Sizes.REFUSED and task.size.limited:
            raise InputError(f"the method {self.name} itself decides the size of its tree; leave out the size limit")

    def _check_questions(self, task: "Task") -> None:
        if self.asks is Asks.ANYTHING:
            return
        if task.questions is not None and task.questions.groups is not None:
            able = " or ".join(method.name for method in METHODS.values() if method.asks is Asks.ANYTHING)
            raise InputError(f"the method {self.name} asks thresholds on every feature; for other questions use {able}")
        if self.asks is Asks.FEATURE_THRESHOLDS and len(task.splits.feature_names) > task.mdp.n_features:
            raise InputError(f"the method {self.name} asks thresholds on features only; leave out predicates")

    def begin(self, task: "Task", watch: "Watch") -> None:
        """Report a first tree if the method has one as soon as the optimal values are known."""
        if self.early is not None:
            cast("Callable[[Task, Watch], None]", _named(self.early))(task, watch)

    def run(self, task: "Task", limits: "Limits", watch: "Watch", options: Options) -> "Claim":
        """Find a tree.

        Args:
            task: what is asked; `check` has passed.
            limits: how much work may go into it.
            watch: the clock and the record of progress.
            options: an instance of `options`.
        """
        code = cast("Callable[[Task, Limits, Watch, Options], Claim]", _named(self.code))
        return code(task, limits, watch, options)


def _named(code: str) -> object:
    """What is written as module:name; its module is imported only now."""
    module, name = code.split(":")
    return getattr(import_module(module), name)


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "search",
            "looks for the best tree of this size",
            "omdt.methods.search.method:search",
            SearchOptions,
            early="omdt.methods.search.early:find_early_tree",
            counts_nodes=True,
            keeps_rules=True,
            uses_cores=True,
        ),
        Method(
            "milp",
            "the best tree of this size by mixed-integer programming",
            "omdt.methods.milp.method:solve_milp",
            MilpOptions,
            keeps_rules=True,
        ),
        Method(
            "viper",
            "imitates the optimal policy",
            "omdt.methods.viper:viper",
            ViperOptions,
            size=Sizes.OPTIONAL,
            asks=Asks.ALL_THRESHOLDS,
        ),
        Method(
            "iddt",
            "soft tree by gradient ascent, made hard",
            "omdt.methods.iddt:iddt",
            IddtOptions,
            asks=Asks.ALL_THRESHOLDS,
        ),
        Method(
            "copy",
            "copies the optimal policy, size unlimited",
            "omdt.methods.copy:copy_optimal_policy",
            CopyOptions,
            size=Sizes.REFUSED,
            asks=Asks.FEATURE_THRESHOLDS,
        ),
    )
}
"""All methods, the default first."""


def method_named(name: str) -> Method:
    """The method of a name.

    Raises:
        InputError: if there is none.
    """
    if name not in METHODS:
        raise InputError(f"there is no method {name!r}; there are {', '.join(METHODS)}")
    return METHODS[name]


def owners() -> dict[str, tuple[str, ...]]:
    """For every option of any method, the methods that have it."""
    known: dict[str, tuple[str, ...]] = {}
    for method in METHODS.values():
        for name in method.options.declared():
            known[name] = (*known.get(name, ()), method.name)
    return known
