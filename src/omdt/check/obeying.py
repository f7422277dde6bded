"""Obeying: whether a complete tree obeys every rule, and what it returns when its questions are paid."""

import numpy as np

from .evaluation import Evaluation, Total
from .model import EPSILON
from .ranges import CoarseTree, ends
from .reading import require
from .ruling import Ruling


def check_obeys(ruling: Ruling, tree: CoarseTree, evaluation: Evaluation) -> None:
    """Raise unless a complete tree obeys all rules."""
    if ruling.kept is not None:
        ruling.kept.check(tree)
    broken = ruling.broken(tree)
    require(broken is None, f"the tree breaks a rule: {broken}")
    _check_actions(ruling, tree)
    for ceiling in ruling.ceilings:
        cost = evaluation.cost(ceiling.costs)
        kept = cost.low <= ceiling.limit + cost.rounding
        require(kept, f"the tree breaks a rule: its total of {ceiling.name!r:.80} is beyond the limit")
    if ruling.least > 0:
        _check_shares(ruling, tree, evaluation)


def net_return(ruling: Ruling, tree: CoarseTree, evaluation: Evaluation) -> Total:
    """What a tree returns, after its questions are paid."""
    total = evaluation.returned(ruling.asked.rewards - ruling.tolls(tree))
    once = float(ruling.paid_once(tree))
    return Total(total.low - once, total.high - once, total.largest + once)


def _check_actions(ruling: Ruling, tree: CoarseTree) -> None:
    wrong = ~ruling.choices(tree).any(axis=1)
    s = int(wrong.argmax())
    seen = zip(ruling.ladders.names, ruling.ladders.columns[s], strict=True)
    state = ", ".join(f"{name!r:.40} = {x:.6g}" for name, x in seen)
    require(not wrong.any(), f"the tree breaks a rule in state {s} ({state:.200}): its action there is not allowed")


def _check_shares(ruling: Ruling, tree: CoarseTree, evaluation: Evaluation) -> None:
    everywhere = np.ones(len(ruling.over), dtype=np.bool_)
    for path, _, _ in ends(tree, ruling.ladders, everywhere):
        if not path:
            return
        missing = evaluation.visits(ruling.share_costs(tree, path), ~ruling.deciding)
        where = ".".join(("tree", *("right" if side else "left" for side in path)))
        enough = missing.low <= missing.rounding + EPSILON
        require(enough, f"the tree breaks a rule: the leaf {where} has too small a share of the visits")
