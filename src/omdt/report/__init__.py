"""Pictures of solutions: the HTML report, figures with matplotlib, and what a notebook shows."""

from omdt.report.page import report_html, write_report
from omdt.report.plots import plot_grid, plot_trace, plot_tree

__all__ = ["plot_grid", "plot_trace", "plot_tree", "report_html", "write_report"]
