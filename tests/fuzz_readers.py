"""Coverage-guided fuzzing of the readers of files: whatever the bytes, a model or an `InputError` comes of them.

    python tests/fuzz_readers.py drn --seconds 600

Needs atheris, which is not installed with the rest: pip install atheris. The inputs that broke a reader are left in the
current directory under names that begin with its own.
"""

import argparse
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["omdt"]):
    from omdt.errors import InputError
    from omdt.formats import read
    from omdt.solution import load

import omdt
from malformed import MODELS, archive, good_members

SEPARATOR = b"\n%%\n"
"""Between the files of one model."""

NAMES = {
    "npz": ("model.npz",),
    "drn": ("model.drn",),
    "tra": ("model.tra", "model.sta", "model.lab", "model.srew", "model.trew"),
    "csv": ("model.csv",),
    "json": ("policy.json",),
}


def seeds(reader: str) -> list[bytes]:
    """Good input to begin with."""
    if reader == "npz":
        return [archive(good_members()), archive(good_members(), compression=0)]
    if reader == "drn":
        return [(MODELS / "robot.drn").read_bytes()]
    if reader == "tra":
        files = ("robot.tra", "robot.sta", "robot.lab", "robot1.srew", "robot2.trew")
        return [SEPARATOR.join((MODELS / name).read_bytes() for name in files)]
    if reader == "csv":
        return [(MODELS / name).read_bytes() for name in ("machine.csv", "machine-log.csv")]
    return [omdt.solve(omdt.make("frozenlake_4x4"), method="copy").to_json().encode()]


def target(reader: str, folder: Path) -> Callable[[bytes], None]:
    """Reads bytes as a file; everything but an `InputError` is a finding."""
    names = NAMES[reader]
    parameters = {"drn": {"reward": "steps"}, "tra": {"reward": "steps"}}.get(reader, {})

    def test_one(data: bytes) -> None:
        parts = data.split(SEPARATOR, len(names) - 1)
        for name, content in zip(names, parts, strict=False):
            (folder / name).write_bytes(content)
        for name in names[len(parts) :]:
            (folder / name).unlink(missing_ok=True)
        try:
            if reader == "json":
                load(folder / names[0])
            else:
                read(folder / names[0], **parameters)
        except InputError:
            return

    return test_one


def main() -> None:
    """Fuzz one reader for a while; the exit status is not 0 when it broke."""
    parser = argparse.ArgumentParser(description="random bytes, read as a file of one format")
    parser.add_argument("reader", choices=NAMES)
    parser.add_argument("--seconds", type=int, default=600, help="how long to go on (default: 600)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other bytes (default: 1)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as directory:
        corpus, files = Path(directory, "corpus"), Path(directory, "files")
        corpus.mkdir()
        files.mkdir()
        for i, content in enumerate(seeds(options.reader)):
            (corpus / str(i)).write_bytes(content)
        arguments = [
            sys.argv[0],
            f"-max_total_time={options.seconds}",
            f"-seed={options.seed}",
            f"-artifact_prefix={options.reader}-",
            "-max_len=20000",
            "-timeout=10",
            "-rss_limit_mb=2048",
            "-print_final_stats=1",
            str(corpus),
        ]
        atheris.Setup(arguments, target(options.reader, files))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
