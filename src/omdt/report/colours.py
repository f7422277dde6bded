"""One colour per action of a tree, the same in the drawing, in the list of rules and on the map."""

import numpy as np

from omdt.export.palette import COLOURS, colour
from omdt.tree import LEAF, TreePolicy


def action_colours(tree: TreePolicy) -> list[str]:
    """[A] the colour of each action; the actions of the tree have different colours while there are enough.

    An action has the colour that it has in exported drawings, unless another action of the tree has taken it.
    """
    colours = [colour(action) for action in range(len(tree.action_names))]
    taken: set[str] = set()
    for action in np.unique(tree.action[tree.feature == LEAF]).tolist():
        free = [other for other in COLOURS if other not in taken]
        if colours[action] in taken and free:
            colours[action] = free[0]
        taken.add(colours[action])
    return colours
