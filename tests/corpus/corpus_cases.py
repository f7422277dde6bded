"""The corpus: PRISM models of our own with their properties, and what Storm says about them.

Nothing here needs Storm or uses the package, so that a mistake in the package cannot hide itself.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "data" / "corpus"
OPTIMA = FOLDER / "optima.json"
NAMES = sorted(path.stem for path in FOLDER.glob("*.prism"))


@dataclass(frozen=True)
class Case:
    """One property of one model, with Storm's answer.

    Attributes:
        model: the name of the model.
        property: as it stands in the file of properties.
        optimum: the mean over the initial states of the optimal value; may be infinite.
        states: the number of states of the model.
        choices: the number of its choices.
    """

    model: str
    property: str
    optimum: float
    states: int
    choices: int

    @property
    def id(self) -> str:
        """How the case is called among the tests."""
        return f"{self.model} {self.property}"

    @property
    def minimises(self) -> bool:
        """Whether small values are good ones."""
        return "min" in self.property.split("=?")[0].replace("{", " ").replace("}", " ")

    def path(self, ending: str) -> Path:
        """Where the model is in one of its forms: prism, drn or tra."""
        return FOLDER / f"{self.model}.{ending}"


def properties(model: str) -> list[str]:
    """The properties beside a model, without comments, names and semicolons."""
    text = re.sub(r"//.*", "", (FOLDER / f"{model}.props").read_text(encoding="utf-8"))
    parts = (part.strip() for part in text.split(";"))
    return [re.sub(r'^"[^"]*"\s*:\s*', "", part) for part in parts if part]


UNKNOWN_TO_DRN = {("portals", 'Pmax=? [F "nowhere"]')}
"""Models and properties with a label of no state: DRN has labels only where states have them."""


def cases(ending: str = "prism", most_states: int = 10_000) -> list[Case]:
    """The properties of all models that are there in one of the forms, up to a number of states."""
    known = json.loads(OPTIMA.read_text(encoding="utf-8"))
    return [
        Case(name, text, float(optimum), facts["states"], facts["choices"])
        for name, facts in known.items()
        for text, optimum in facts["optima"].items()
        if facts["states"] <= most_states
        and (FOLDER / f"{name}.{ending}").exists()
        and not (ending == "drn" and (name, text) in UNKNOWN_TO_DRN)
    ]
