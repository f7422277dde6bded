"""The documentation as a user follows it: its examples, its commands and its files, in the order of the page."""

import re
import shlex
from pathlib import Path

DOCS = Path(__file__).parent.parent.parent / "docs"


class Page:
    """One page of the documentation, or the part below one of its headings.

    Args:
        name: of the file in docs.
        heading: the title of the part; by default the whole page.
    """

    def __init__(self, name: str, heading: str | None = None) -> None:
        text = (DOCS / name).read_text(encoding="utf-8")
        if heading is not None:
            level, rest = re.findall(rf"^(#+) {re.escape(heading)}\n(.*)", text, re.M | re.S)[0]
            text = re.split(rf"^#{{1,{len(level)}}} ", rest, flags=re.M)[0]
        self.text = text

    @property
    def commands(self) -> list[list[str]]:
        """The arguments of every indented command line that begins with omdt."""
        lines = re.findall(r"^    omdt (?!: )(.*)$", self.text, re.M)
        return [shlex.split(line, comments=True) for line in lines]

    @property
    def messages(self) -> list[str]:
        """Every indented line that is a message of omdt."""
        return re.findall(r"^    (omdt: .*)$", self.text, re.M)

    def blocks(self, language: str) -> list[str]:
        """The fenced blocks of a language."""
        return re.findall(rf"^```{language}\n(.*?)^```", self.text, re.M | re.S)
