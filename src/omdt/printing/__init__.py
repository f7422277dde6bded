"""How results and problems are shown to people: as text on a console, and as HTML in a notebook.

There is one file per kind of object. All of them import what they show, and what they need for it, inside their
functions, so that the command line starts fast.
"""

from omdt.printing.alternatives import show_alternatives
from omdt.printing.comparisons import show_comparison
from omdt.printing.fronts import show_front
from omdt.printing.plain import escape, line, number, text_of
from omdt.printing.solutions import show

__all__ = ["escape", "line", "number", "show", "show_alternatives", "show_comparison", "show_front", "text_of"]
