"""The command `python -m omdt.check`."""

import argparse
import json
import sys
from pathlib import Path

from .model import read_model
from .reading import RejectedError, UnreadableError
from .verdict import check, words


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
        fallback = solution.get("fallback") if isinstance(solution, dict) else None
        print(words(check(read_model(options.model, fallback), solution, options.certificate, exact=options.exact)))
    except RejectedError as error:
        print(f"NOT VERIFIED: {error}")
        return 1
    except (UnreadableError, OSError, ValueError, RecursionError) as error:
        print(f"omdt.check: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
