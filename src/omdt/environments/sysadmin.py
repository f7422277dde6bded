"""system_administrator: keep a network of computers running by rebooting one at a time."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
from scipy import sparse

from omdt.environments._shared import check
from omdt.errors import InputError
from omdt.mdp import MDP, Floats

# Incoming neighbours of each computer, in the notation that users may write as well.
TOPOLOGIES = {
    "1": "0:2,6;1:0;2:0,4;3:2,6;4:5;5:1,6,7;6:4;7:0",
    "2": "0:3,6,7;1:0,1,2,4;2:1,2,6,7;3:1,2;4:1,2,3,4;5:1,4;6:4,5,7;7:3,4,5",
}
GENERATED: dict[str, Callable[[int, int], list[int]]] = {
    "tree": lambda i, n: [(i - 1) // 2] if i else [],
    "ring": lambda i, n: [(i - 1) % n],
    "line": lambda i, n: [i - 1] if i else [],
    "star": lambda i, n: [0] if i else [],
}
MAX_COMPUTERS = 11
"""Maximum number of computers; twelve would have 13 · 4^12, about 200 million, transitions."""


def system_administrator(
    *,
    topology: str | Mapping[int, Sequence[int]] = "tree",
    computers: int | None = None,
    survival_probability: float = 0.95,
    recovery_probability: float = 0.05,
    reboot_cost: float = 0.45,
    discount: float = 0.99,
) -> MDP:
    """An administrator watches over a network in which crashes spread.

    What it models:
        A network of computers that crash at random, more often when the computers they depend on are down; the
        administrator can reboot one computer per step.

    States:
        One bit per computer, 1 if it runs, in lexicographic order; the features are computer_0_running,
        computer_1_running and so on.

    Actions:
        reboot_computer_0, reboot_computer_1 and so on, and wait.

    Transitions:
        A rebooted computer runs in the next step. Any other computer runs with the survival probability if it runs now,
        or else the recovery probability, times the share of its incoming neighbours that run now (1 if it has none),
        independently of the others.

    Rewards:
        +1 for every computer that runs now, less the reboot cost if the action is a reboot.

    Start:
        All computers running.

    Parameters:
        topology: a network of the paper (tree, 1 or 2), a generated one (tree, ring, line or star), or the incoming
            neighbours of every computer, as a mapping {0: [], 1: [0], 2: [0, 1]} or as text '0:-;1:0;2:0,1'. In a
            binary tree every computer depends on its parent, in a ring and a line on the one before it, in a star on
            computer 0.
        computers: number of computers of a generated topology, at least 2; 7 if not given.
        survival_probability: that a running computer keeps running if all its neighbours run.
        recovery_probability: that a crashed computer comes back by itself if all its neighbours run.
        reboot_cost: of one reboot.
        discount: γ.

    Source:
        Vos and Verwer, "Optimal Decision Tree Policies for Markov Decision Processes" (IJCAI 2023), after the SysAdmin
        domain of the IPPC 2011 planning competition.
    """
    check("survival_probability", survival_probability, 0, 1)
    check("recovery_probability", recovery_probability, 0, 1)
    check("reboot_cost", reboot_cost)
    incoming = incoming_neighbours(topology, computers)
    n = len(incoming)
    running = np.array(list(product((0, 1), repeat=n)), dtype=np.float64)
    reboot = np.arange(n + 1) < n
    base = np.where(running == 1, survival_probability, recovery_probability)
    runs_next = np.repeat((base * _share_running(running, incoming))[:, None, :], n + 1, axis=1)
    runs_next[:, np.arange(n), np.arange(n)] = 1.0
    return MDP(
        transitions=_joint(runs_next.reshape(-1, n)),
        rewards=running.sum(axis=1, keepdims=True) - reboot_cost * reboot,
        initial=running.prod(axis=1),
        features=running,
        discount=discount,
        feature_names=tuple(f"computer_{i}_running" for i in range(n)),
        action_names=(*(f"reboot_computer_{i}" for i in range(n)), "wait"),
        name="system_administrator",
    ).reachable()


def _share_running(running: Floats, incoming: list[list[int]]) -> Floats:
    """[S, computers] share of each computer's incoming neighbours that run."""
    share = np.ones_like(running)
    for computer, neighbours in enumerate(incoming):
        if neighbours:
            share[:, computer] = running[:, neighbours].mean(axis=1)
    return share


def _joint(runs: Floats) -> sparse.csr_array:
    """[rows, 2^computers] distribution of all bits together, from the probability of each bit in [rows, computers]."""
    joint = np.ones((len(runs), 1))
    for p in runs.T:
        joint = (joint[:, :, None] * np.stack([1 - p, p], axis=1)[:, None, :]).reshape(len(runs), -1)
    return sparse.csr_array(joint)


def incoming_neighbours(topology: str | Mapping[int, Sequence[int]], computers: int | None = None) -> list[list[int]]:
    """The incoming neighbours of computers 0, 1, 2 and so on."""
    if isinstance(topology, str) and topology in GENERATED:
        n = 7 if computers is None else computers
        check("computers", n, low=2)
        _check_number(n)
        return [GENERATED[topology](i, n) for i in range(n)]
    network = _read(TOPOLOGIES.get(topology, topology)) if isinstance(topology, str) else topology
    if computers is not None:
        raise InputError(
            f"computers is {computers} but this topology has {len(network)} of its own; the number can be chosen for "
            f"{', '.join(GENERATED)}"
        )
    return _checked(network)


def _check_number(computers: int) -> None:
    if computers > MAX_COMPUTERS:
        raise InputError(
            f"{computers} computers have 2^{computers} states with up to {computers + 1} · 4^{computers} transitions; "
            f"at most {MAX_COMPUTERS} computers are built"
        )


def _read(text: str) -> dict[int, list[int]]:
    """The mapping written as '0:-;1:0;2:0,1'."""
    network: dict[int, list[int]] = {}
    for entry in text.split(";"):
        computer, _, neighbours = entry.partition(":")
        try:
            number = int(computer)
            listed = [] if neighbours.strip() == "-" else [int(neighbour) for neighbour in neighbours.split(",")]
        except ValueError:
            names = ", ".join([*TOPOLOGIES, *GENERATED])
            raise InputError(
                f"topology {text!r} cannot be read at {entry!r}; it is one of {names}, or lists the incoming "
                "neighbours of every computer as in '0:-;1:0;2:0,1'"
            ) from None
        if number in network:
            raise InputError(f"topology {text!r} lists computer {number} twice")
        network[number] = listed
    return network


def _checked(network: Mapping[int, Sequence[int]]) -> list[list[int]]:
    n = len(network)
    if n == 0 or set(network) != set(range(n)):
        raise InputError(f"the topology's computers must be numbered 0, 1, 2, … without gaps, not {list(network)}")
    _check_number(n)
    for computer, neighbours in network.items():
        if not isinstance(neighbours, Sequence):
            raise InputError(f"the neighbours of computer {computer} must be a list, not {neighbours!r}")
        for neighbour in neighbours:
            if neighbour not in network:
                raise InputError(f"computer {computer} has neighbour {neighbour!r}, but the computers are 0 to {n - 1}")
        if len(set(neighbours)) < len(neighbours):
            raise InputError(f"computer {computer} has a neighbour twice: {list(neighbours)}")
    return [[int(neighbour) for neighbour in network[i]] for i in range(n)]
