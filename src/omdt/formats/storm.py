"""Models in the PRISM language and in JANI, built state by state by Storm (needs the extra `storm`)."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from omdt.errors import InputError, require
from omdt.formats.drn import read_drn_as
from omdt.formats.text import check_is_file
from omdt.mdp import MDP

DIGITS = 17
"""Significant digits with which every double survives being printed."""


def read_symbolic(
    path: Path,
    *,
    discount: float | None = None,
    reward: str | None = None,
    cost: str | None = None,
    constants: str | None = None,
) -> MDP:
    """Read a model in the PRISM language or in JANI; its variables become the features.

    Args:
        path: the file; .jani is JANI, everything else the PRISM language.
        discount: the languages have none; 0.99 is assumed, with a warning.
        reward: name of the reward model to maximise; needed when there are several.
        cost: name of the reward model to minimise instead.
        constants: values of the constants that the model leaves open, such as "N=3,p=0.5".
    """
    require("stormpy", "storm", f"reading {path.suffix} files")
    check_is_file(path)
    with TemporaryDirectory() as folder:
        drn = Path(folder) / "model.drn"
        try:
            _build(path, constants, drn)
        except RuntimeError as error:
            raise InputError(f"Storm cannot build {path}: {error}") from None
        return read_drn_as(drn, path, discount=discount, reward=reward, cost=cost)


def _build(path: Path, constants: str | None, drn: Path) -> None:
    """Let Storm explore the model and write all of it as DRN."""
    import stormpy
    from stormpy.developer import DirectEncodingExporterOptions, LogLevel, set_log_level
    from stormpy.io import export_to_drn

    # Storm logs to standard output, which belongs to results; what is wrong stands in its exceptions as well.
    set_log_level(LogLevel.OFF)
    program: Any = stormpy.parse_jani_model(path)[0] if path.suffix == ".jani" else stormpy.parse_prism_program(path)
    if constants is not None:
        program, _ = stormpy.instantiate_constants(program, constants)
    model = stormpy.build_model(program, options=stormpy.BuilderOptions(build_full=True))
    options = DirectEncodingExporterOptions()
    options.output_precision = DIGITS
    export_to_drn(model, drn, options=options)
