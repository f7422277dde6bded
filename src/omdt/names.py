"""Identifiers: any name turned into one that every language accepts, different names into different ones."""

import re
import unicodedata
from collections.abc import Collection, Iterable

PRISM_WORDS = frozenset(
    """
    A C E F G I P Pmax Pmin R Rmax Rmin S U W X bool ceil clock const ctmc double dtmc endinit endinvariant
    endmodule endobservables endrewards endsystem false filter floor formula func global init int invariant label ma max
    mdp min module nondeterministic observable observables of pomdp popta prob probabilistic pta rate rewards smg
    stochastic system true
    """.split()  # noqa: SIM905 – as a list it would fill a page
)
"""The words that PRISM or Storm does not accept as the name of a variable. No other name of a model may be changed."""


def prism_identifiers(features: Iterable[str], actions: Iterable[str]) -> tuple[list[str], list[str]]:
    """The identifiers of features and actions in PRISM's language and in the files of PRISM and Storm.

    An action may have the name of a variable there.
    """
    return (
        identifiers(features, "feature", reserved=PRISM_WORDS),
        identifiers(actions, "action", reserved=PRISM_WORDS),
    )


def identifiers(names: Iterable[str], fallback: str, *, reserved: Collection[str] = ()) -> list[str]:
    """An identifier of ASCII letters, digits and underscores for each name, all distinct and none of them reserved.

    A name that already is such an identifier is kept, unless it starts with two underscores. Other names lose their
    accents, and an underscore replaces every other character; if no letter or digit is left, the identifier is the
    fallback with the position of the name.
    """
    names = list(names)
    wanted = [_plain(name) or f"{fallback}_{i}" for i, name in enumerate(names)]
    kept = {name for name, plain in zip(names, wanted, strict=True) if name == plain and name not in reserved}
    taken = {*reserved, *kept}
    found: list[str] = []
    for name, plain in zip(names, wanted, strict=True):
        if name in kept:
            kept.remove(name)
            found.append(name)
            continue
        identifier, count = (f"{plain}_" if plain in reserved else plain), 2
        while identifier in taken:
            identifier, count = f"{plain}_{count}", count + 1
        taken.add(identifier)
        found.append(identifier)
    return found


def _plain(name: str) -> str:
    """The name in ASCII letters, digits and underscores; empty if no letter or digit is left.

    It starts with a letter or one underscore: two underscores are reserved in several languages, and a digit would
    start a number.
    """
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode())
    if plain != name:
        plain = plain.strip("_")
    if not re.search(r"[A-Za-z0-9]", plain):
        return ""
    return re.sub(r"^(?=\d)|^__+", "_", plain)
