"""Pictures of solutions: the HTML report, figures with matplotlib, and what a notebook shows."""

from omdt.report.front import write_plot
from omdt.report.page import report_html, write_report
from omdt.report.plane import plot_regions, plot_visits
from omdt.report.plots import plot_front, plot_trace, plot_tree

__all__ = [
    "plot_front",
    "plot_regions",
    "plot_trace",
    "plot_tree",
    "plot_visits",
    "report_html",
    "write_plot",
    "write_report",
]
