"""The command `python -m omdt.check`."""

import argparse
import json
import sys
from pathlib import Path

from .intervals import read_intervals
from .model import read_model
from .reading import Json, RejectedError, UnreadableError, typed
from .verdict import GUARANTEED, Verdict, check, check_guaranteed, check_learned, words


def main(arguments: list[str] | None = None) -> int:
    """The stand-alone command: 0 when everything is verified, 1 when something is not, 2 for unreadable files."""
    parser = argparse.ArgumentParser(prog="python -m omdt.check", description="Check a solution of omdt.")
    parser.add_argument("solution", type=Path)
    parser.add_argument("model", type=Path, help="an npz file, as omdt.write writes it")
    parser.add_argument("--certificate", type=Path)
    parser.add_argument("--exact", action="store_true", help="compute with rational numbers")
    options = parser.parse_args(arguments)
    try:
        solution = json.loads(options.solution.read_text(encoding="utf-8"))
        print(words(_verdict(solution, options.model, options.certificate, exact=options.exact)))
    except RejectedError as error:
        print(f"NOT VERIFIED: {error}")
        return 1
    except (UnreadableError, OSError, ValueError, RecursionError) as error:
        print(f"omdt.check: {error}", file=sys.stderr)
        return 2
    return 0


def _verdict(solution: Json, model: Path, certificate: Path | None, *, exact: bool) -> Verdict:
    """The verdict on a solution of the model in a file, with what it guarantees if the file has intervals."""
    data, worlds = solution if isinstance(solution, dict) else {}, read_intervals(model)
    if worlds is not None and data.get("objective") == GUARANTEED:
        return check_guaranteed(worlds, solution, exact=exact)
    fallback = data.get("fallback")
    verdict = check(
        read_model(model, typed(fallback, str, "the fallback") if fallback else None),
        solution,
        certificate,
        exact=exact,
    )
    return verdict if worlds is None else check_learned(worlds, solution, verdict, exact=exact)


if __name__ == "__main__":
    sys.exit(main())
