"""The colours of a drawn tree: one per action, light enough for dark text."""

INK = "#1c2024"
PAPER = "#ffffff"
LINE = "#767b83"
"""A grey that is visible on white and on black."""

COLOURS = (
    "#a6cee3",
    "#fdbf6f",
    "#b2df8a",
    "#fb9a99",
    "#cab2d6",
    "#ffff99",
    "#8dd3c7",
    "#e5c494",
    "#fccde5",
    "#d9d9d9",
    "#7fc4ff",
    "#d4e157",
)


def colour(action: int) -> str:
    """The colour of an action; if there are more actions than colours, the colours repeat."""
    return COLOURS[action % len(COLOURS)]
