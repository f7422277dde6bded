"""The colours of a drawn tree: one for every action, light enough for dark text."""

INK = "#1c2024"
PAPER = "#ffffff"
LINE = "#767b83"
"""Grey that shows on white and on black."""

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
    """The colour of an action; with more actions than colours they start again."""
    return COLOURS[action % len(COLOURS)]
