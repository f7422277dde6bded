"""What is known while a long run goes on, and how it is told: line by line, or live in a notebook."""

from omdt.progress.notebook import live
from omdt.progress.state import Known, Progress
from omdt.progress.ticking import LINE_SECONDS, Ticker

__all__ = ["LINE_SECONDS", "Known", "Progress", "Ticker", "live"]
