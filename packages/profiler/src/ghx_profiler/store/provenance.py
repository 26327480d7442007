"""What a run was made with: everything that could make a difference to its rows, so that a change is noticed."""

import ast
import hashlib
import inspect
import os.path
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pydantic import Field, JsonValue
from pydantic_core import to_json

from ghx_base.own_code import is_own
from ghx_base.wire import ForeignModel

_DIGITS = 16
_INSTALLED = "site-packages"


class ProvenanceRecord(ForeignModel):
    """The ingredients of a run, by name, and its environment; rows have its id.

    A changed ingredient changes rows, and resuming refuses it. The environment (machine, commit) is only recorded.
    """

    id: str
    recorded_at: str
    ingredients: dict[str, str]
    circumstances: dict[str, JsonValue] = Field(default={})


def make_provenance(
    recorded_at: str, ingredients: Mapping[str, str], circumstances: Mapping[str, JsonValue]
) -> ProvenanceRecord:
    """Return the record of these ingredients and environment, with an id by content."""
    ordered, around = dict(sorted(ingredients.items())), dict(circumstances)
    return ProvenanceRecord(
        id=digest([ordered, around]), recorded_at=recorded_at, ingredients=ordered, circumstances=around
    )


def digest(value: object) -> str:
    """Return a short digest of a value, the same for equal values."""
    return hashlib.sha256(to_json(value, fallback=str)).hexdigest()[:_DIGITS]


_MADE = frozenset({"__pycache__", "node_modules", ".git"})


def digest_file(path: Path) -> str:
    """Return a short digest of what is in a file, or in all files of a folder that are not fetched or made."""
    summary = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file() and _MADE.isdisjoint(file.relative_to(path).parts):
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


def code_of(value: object, project: Path | None = None) -> Iterator[tuple[str, str]]:
    """Yield the code that an object is made of, and its version or digest.

    That is the package of its class, or the class's file with what it imports from its folder and from the project's,
    and with every module that was loaded from its folder; of a function, its own package or file. Our own code is told
    by the version of the run. What wraps another (`__wrapped__`, as of functions) is made of its code.
    """
    value = getattr(value, "__wrapped__", value)
    code = value if inspect.isfunction(value) else type(value)
    try:
        file = Path(inspect.getfile(code)).resolve()
    except (TypeError, OSError):
        return  # of an interpreter's prompt, or built in
    if is_own(file):
        return
    if _INSTALLED in file.parts:
        package = code.__module__.partition(".")[0]
        try:
            yield f"package {package}", version(package)
        except PackageNotFoundError:
            yield f"package {package}", digest_file(file)
        return
    yield from digests_of_script(file, None if project is None else project.resolve(), also=_loaded_beside(file.parent))


def digests_of_script(
    file: Path, project: Path | None = None, *, also: Iterable[Path] = ()
) -> Iterator[tuple[str, str]]:
    """Yield a file and the files that it imports from its folder and the project's, each with its digest."""
    imported = find_local_imports(file, () if project is None else (project,))
    for each in sorted({file, *imported, *also}):
        if not is_own(each):
            yield os.path.relpath(each, file.parent), digest_file(each)


def _loaded_beside(folder: Path) -> Iterator[Path]:
    """Yield the files of modules that were imported by name from a folder or below."""
    for name, module in list(sys.modules.items()):
        place: object = getattr(module, "__file__", None)
        if not isinstance(place, str) or not Path(place).is_relative_to(folder):
            continue
        path = Path(place)
        # One under a name of its own was loaded by its path, for something else: another agent, or scorers.
        was_imported = name.rpartition(".")[2] == path.stem or path.stem == "__init__"
        if was_imported and _INSTALLED not in path.parts and not is_own(path) and path.is_file():
            yield path


def find_local_imports(file: Path, roots: Sequence[Path] = ()) -> set[Path]:
    """Return the files that a file imports, and those that these import; not the file itself.

    Names are looked up in the folder of the given file, as Python does for a script, and in `roots`.
    Imports inside functions count. A file that is not Python imports nothing; neither does what was installed.
    """
    folders = tuple(dict.fromkeys((file.parent, *roots)))
    imported, left = {file}, [file]
    while left:
        one = left.pop()
        new = {path for path in _imported_by(one, folders) if _INSTALLED not in path.parts} - imported
        imported |= new
        left += new
    return imported - {file}


def _imported_by(file: Path, folders: Sequence[Path]) -> Iterator[Path]:
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, OSError, RecursionError):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for each in names:
                    yield from _files_of(each.name, folders)
            case ast.ImportFrom(module=module, names=names, level=level):
                # One dot is the folder of the file, each further one the folder above.
                places = (file.parents[min(level, len(file.parents)) - 1],) if level else folders
                for each in names:
                    yield from _files_of(".".join(filter(None, (module, each.name))), places)
            case _:
                pass


def _files_of(name: str, folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the files of a dotted name: of every package on the way, and of the module if it is one."""
    for folder in folders:
        place, files = folder, list[Path]()
        for part in name.split("."):
            place /= part
            files += [each for each in (place / "__init__.py", place.with_name(f"{part}.py")) if each.is_file()]
        if files:
            yield from files
            return
