"""Numbers of things in words: one leaf, but two leaves."""


def counted(number: int, one: str, many: str = "") -> str:
    """A number with the noun that fits it, such as "1 leaf" or "2,000 states".

    Args:
        number: how many there are.
        one: the noun for a single thing.
        many: the noun for any other number of things; by default `one` with an s.
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
