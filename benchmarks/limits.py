"""Are limits kept? The time that runs with a limit really take, and the time from Ctrl-C to the end, by size.

Lakes of a thousand to a million states are solved at depth 3, with a discount at which values travel far. The table has
the seconds taken for every limit, and the seconds between an interrupt, sent a while after the start, and the answer.
A limit is kept when it is exceeded by no more than 5 % and a second, an interrupt when it is answered within two.

    python benchmarks/limits.py [--states 1000 10000 100000 1000000] [--seconds 1 5 20]
"""

import argparse
import os
import signal
import threading
import time
import warnings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import omdt
from omdt.mdp import MDP

DEPTH = 3
INTERRUPTED_AFTER = (0.5, 3.0)
"""Seconds after which Ctrl-C is pressed: during planning where there are many states, and in the search."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--states", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--seconds", type=float, nargs="+", default=[1.0, 5.0, 20.0])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    # What is compiled for the first time is not measured.
    taken(lake(100), 2.0)
    taken(lake(2_000), 2.0)
    limits = [f"limit {seconds:g} s" for seconds in arguments.seconds]
    interrupts = [f"Ctrl-C at {seconds:g} s" for seconds in INTERRUPTED_AFTER]
    print(" ".join(f"{heading:>16}" for heading in ("states", *limits, *interrupts, "kept")))
    for states in arguments.states:
        mdp = lake(states)
        times = [taken(fresh(mdp), seconds) for seconds in arguments.seconds]
        answers = [answered(fresh(mdp), seconds) for seconds in INTERRUPTED_AFTER]
        kept = all(time <= 1.05 * limit + 1 for time, limit in zip(times, arguments.seconds, strict=True))
        kept &= all(answer <= 2 for answer in answers)
        cells = [f"{mdp.n_states:,}", *(f"{time:.2f}" for time in times), *(f"{answer:.2f}" for answer in answers)]
        print(" ".join(f"{cell:>16}" for cell in (*cells, "yes" if kept else "NO")), flush=True)


def lake(states: int) -> MDP:
    """A square lake of about so many states."""
    return omdt.make("frozenlake", size=round(states**0.5), seed=0, discount=0.9999)


def fresh(mdp: MDP) -> MDP:
    """The same MDP without what was planned for it."""
    return omdt.MDP(
        mdp.transitions, mdp.rewards, mdp.initial, mdp.features, mdp.discount, mdp.feature_names, mdp.action_names
    )


def taken(mdp: MDP, seconds: float) -> float:
    """Seconds that a run with a time limit takes."""
    begin = time.perf_counter()
    omdt.solve(mdp, max_depth=DEPTH, time_limit=seconds, threads=1)
    return time.perf_counter() - begin


def answered(mdp: MDP, seconds: float) -> float:
    """Seconds from Ctrl-C to the end of a run without a limit; 0 if it has ended before."""
    pressed: list[float] = []

    def press() -> None:
        pressed.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(seconds, press)
    timer.start()
    try:
        omdt.solve(mdp, max_depth=DEPTH, threads=1)
        ended = time.perf_counter()
    finally:
        timer.cancel()
    return ended - pressed[0] if pressed else 0.0


if __name__ == "__main__":
    main()
