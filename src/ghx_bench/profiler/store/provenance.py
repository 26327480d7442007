"""What a run was made with: everything that could make a difference to its rows, so that a change is noticed."""

import hashlib
import inspect
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pydantic import Field, JsonValue
from pydantic_core import to_json

from ghx_bench._base.wire import ForeignModel

_DIGITS = 16
_OURS = Path(__file__).parents[2]
_INSTALLED = "site-packages"


class ProvenanceRecord(ForeignModel):
    """The ingredients of a run, by name, and the circumstances; rows carry its id.

    A changed ingredient makes other rows, and resuming refuses it. Circumstances (machine, commit) are only kept.
    """

    id: str
    recorded_at: str
    ingredients: dict[str, str]
    circumstances: dict[str, JsonValue] = Field(default={})


def make_provenance(
    recorded_at: str, ingredients: Mapping[str, str], circumstances: Mapping[str, JsonValue]
) -> ProvenanceRecord:
    """Return the record of these ingredients and circumstances, with an id that is the same for the same."""
    ordered, around = dict(sorted(ingredients.items())), dict(circumstances)
    return ProvenanceRecord(
        id=digest([ordered, around]), recorded_at=recorded_at, ingredients=ordered, circumstances=around
    )


def digest(value: object) -> str:
    """Return a short digest of a value, the same for equal values."""
    return hashlib.sha256(to_json(value, fallback=str)).hexdigest()[:_DIGITS]


def digest_file(path: Path) -> str:
    """Return a short digest of what is in a file, or in all files of a folder."""
    summary = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file() and "__pycache__" not in file.parts:
            summary.update(str(file.relative_to(path)).encode())
            summary.update(hashlib.sha256(file.read_bytes()).digest())
    return summary.hexdigest()[:_DIGITS]


def changed_ingredients(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """Name the ingredients that are not what they were, or that are there only once; a file may have moved."""
    gone = {(name.partition(": ")[0], value): name for name, value in before.items() if name not in now}
    new = {(name.partition(": ")[0], value): name for name, value in now.items() if name not in before}
    moved = {name for key in gone.keys() & new.keys() for name in (gone[key], new[key])}
    changed = {name for name in {**before, **now} if before.get(name) != now.get(name)}
    return tuple(sorted(changed - moved))


def code_of(made: object) -> Iterator[tuple[str, str]]:
    """Yield the code that an object is made of, and its version or digest.

    That is the package of its class, or the class's file with every module that was loaded from the same folder. Our
    own code is told by the version of the run. What wraps another (`__wrapped__`, as of functions) is made of its code.
    """
    made = getattr(made, "__wrapped__", made)
    try:
        file = Path(inspect.getfile(type(made))).resolve()
    except (TypeError, OSError):
        return  # of an interpreter's prompt, or built in
    if file.is_relative_to(_OURS):
        return
    if _INSTALLED in file.parts:
        package = type(made).__module__.partition(".")[0]
        try:
            yield f"package {package}", version(package)
        except PackageNotFoundError:
            yield f"package {package}", digest_file(file)
        return
    for each in sorted({file, *_loaded_beside(file.parent)}):
        yield str(each.relative_to(file.parent)), digest_file(each)


def _loaded_beside(folder: Path) -> Iterator[Path]:
    """Yield the files of modules that were imported by name from a folder or below."""
    for name, module in list(sys.modules.items()):
        place: object = getattr(module, "__file__", None)
        if not isinstance(place, str) or not Path(place).is_relative_to(folder):
            continue
        path = Path(place)
        # One under a name of its own was loaded by its path, for something else: another agent, or scorers.
        was_imported = name.rpartition(".")[2] == path.stem or path.stem == "__init__"
        if was_imported and _INSTALLED not in path.parts and not path.is_relative_to(_OURS) and path.is_file():
            yield path
