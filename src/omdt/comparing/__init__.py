"""Methods side by side on one problem, with policies of the user's own among them."""

from omdt.comparing.all_methods import compare
from omdt.comparing.results import MEANING, Comparison, Row

__all__ = ["MEANING", "Comparison", "Row", "compare"]
