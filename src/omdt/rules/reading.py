"""Rules from a YAML or JSON file, and kept trees from JSON files."""

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from omdt.errors import InputError
from omdt.files import read_json
from omdt.rules.kept import freed
from omdt.rules.statement import Rules

YAML = (".yaml", ".yml")
"""What the names of YAML files end in."""


def read_rules(path: str | Path) -> Rules:
    """The rules of a file: YAML if its name ends so, otherwise JSON.

    The entries are those of `omdt.Rules`. `keep` may be the name of a file with a tree or a solution, relative to the
    folder of the rules, and `free` then lists the places in it that are open.

    Raises:
        InputError: if the file cannot be read, or has something that is no rule.
    """
    path = Path(path)
    data = _read_yaml(path) if path.suffix.lower() in YAML else read_json(path)
    try:
        return Rules.from_dict(_with_tree(data, path.parent))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def kept_tree(path: str | Path, free: Sequence[str] = ()) -> Any:
    """The tree of a file, which may be that of a solution, as nested dictionaries in which some places are open.

    Args:
        path: a JSON file.
        free: places such as `tree.left.right`, which become open.

    Raises:
        InputError: if the file cannot be read, or has no such place.
    """
    data = read_json(path)
    if isinstance(data, dict) and "format" in data and "tree" in data:
        data = data["tree"]
    for place in free:
        try:
            data = freed(data, place)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
    return data


def joined(one: Rules, other: Rules) -> Rules:
    """The rules of both; what can be said only once must not be said by both.

    Raises:
        InputError: if both say the same thing differently.
    """
    together: dict[str, Any] = {}
    for it in fields(Rules):
        first, second = getattr(one, it.name), getattr(other, it.name)
        if isinstance(first, tuple) and isinstance(second, tuple) and it.name not in ("features", "order"):
            together[it.name] = first + second
        elif isinstance(first, dict) and it.name != "keep":
            twice = first.keys() & second.keys()
            if twice:
                raise InputError(f"{it.name} is given twice for {', '.join(sorted(twice))}; leave one out")
            together[it.name] = first | second
        elif first and second and first != second:
            raise InputError(f"{it.name} is given twice, by a flag and by the file; leave one out")
        else:
            together[it.name] = first if second in (None, ()) else second
    return replace(one, **together)


def _with_tree(data: Any, folder: Path) -> Any:
    """The entries of a file with the tree in place of the name of its file."""
    if not isinstance(data, dict) or ("free" not in data and not isinstance(data.get("keep"), str)):
        return data
    entries = dict(data)
    free = entries.pop("free", [])
    places = [free] if isinstance(free, str) else free
    if not isinstance(entries.get("keep"), str) or not all(isinstance(place, str) for place in places):
        raise InputError("free lists places of the tree in the file that keep names, as in tree.left")
    entries["keep"] = kept_tree(folder / entries["keep"], places)
    return entries


def _read_yaml(path: Path) -> Any:
    import yaml

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a YAML file: {' '.join(str(error).split())}") from None
