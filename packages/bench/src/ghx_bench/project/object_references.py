"""References to objects in a user's own code: `file.py`, `file.py:name` or `module:name`."""

import hashlib
import importlib
import importlib.util
import os
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from ghx_base.errors import InputError
from ghx_base.problems import nearest, one_line
from ghx_bench.project.folders import SUFFIXES

T = TypeVar("T")

_LONGEST_REASON = 500


DEFAULT_AGENT = "Agent"
"""What an agent is called in a file or module where no name is given."""


class BadReferenceError(InputError):
    """A file, module or object named on the command line cannot be used."""

    code = "BAD_TARGET"


def is_reference(name: str) -> bool:
    """Return whether a name refers to an object in Python code: `file.py`, `file.py:Name` or `module:Name`."""
    return ":" in name or name.endswith(".py")


def is_recipe_file(name: str) -> bool:
    """Return whether a name is the path of a recipe, which describes an agent."""
    return name.endswith(SUFFIXES)


def load_reference(reference: str, kind: type[T], *, default: str) -> T:
    """Import what `reference` names and return the object in it, which has to be a `kind`."""
    place, name = _split(reference)
    return _object_in(place, name or default, kind, reference)


def load_object(reference: str, *, default: str) -> object:
    """Import the module of `reference` and return its object."""
    place, name = _split(reference)
    module = _module_of(place, reference)
    value: object = getattr(module, name or default, None)
    if value is None:
        names = [each for each in vars(module) if not each.startswith("_")]
        suggestion = nearest(name or default, names)
        hint = "" if suggestion is None else f"; did you mean {suggestion!r}?"
        raise BadReferenceError(one_line(f"{reference}: there is nothing called {name or default!r} in it{hint}"))
    return value


def file_of(reference: str) -> Path | None:
    """Return the file that a reference names, if it names one; that of a recipe is its path."""
    if is_recipe_file(reference):
        return Path(reference)
    place, _ = _split(reference)
    return place if isinstance(place, Path) else None


def normalise_reference(reference: str, *, default: str) -> str:
    """Return what all ways to write a reference have in common: its file as an absolute path, and its name."""
    place, name = _split(reference)
    return f"{os.path.abspath(place) if isinstance(place, Path) else place}:{name or default}"  # noqa: PTH100 - no links


def reference_beside(reference: str, folder: Path) -> str:
    """Return a reference, or the path of a recipe, with its file taken from a folder; any other name as it is."""
    if is_recipe_file(reference):
        return str(folder / reference)
    place, name = _split(reference)
    if not isinstance(place, Path):
        return reference
    return f"{folder / place}:{name}" if name else str(folder / place)


def _split(reference: str) -> tuple[Path | str, str]:
    """Return the file or module of a reference, and the name in it, which is empty where none is given."""
    place, colon, name = (reference, "", "") if reference.endswith(".py") else reference.rpartition(":")
    if not colon:
        place, name = reference, ""
    return (Path(place) if place.endswith(".py") else place), name


def load_from_file(path: Path, name: str, kind: type[T]) -> T:
    """Import a Python file and return the object of that name in it, which has to be a `kind`."""
    return _object_in(path, name, kind, f"{path}:{name}")


def explain_import(error: BaseException) -> str:
    """Return on one line why a module could not be imported."""
    message = one_line(" ".join(str(error).split()))
    excerpt = message if len(message) <= _LONGEST_REASON else message[:_LONGEST_REASON] + "…"
    return f"{type(error).__name__}: {excerpt}" if excerpt else type(error).__name__


def _object_in(place: Path | str, name: str, kind: type[T], reference: str) -> T:
    value: object = getattr(_module_of(place, reference), name, None)
    if not isinstance(value, kind):
        what = "nothing" if value is None else f"a {type(value).__name__}"
        raise BadReferenceError(one_line(f"{reference}: expected a {kind.__name__} called {name!r}, found {what}"))
    return value


def _module_of(place: Path | str, reference: str) -> ModuleType:
    try:
        if isinstance(place, Path):
            return _import_file(place)
        _make_importable(Path.cwd())
        return importlib.import_module(place)
    except FileNotFoundError as error:
        if isinstance(place, Path) and not place.is_file():
            raise BadReferenceError(one_line(f"{reference}: no such file")) from None
        raise _refusal(reference, error) from error
    except (Exception, SystemExit) as error:
        # Plugin call: the user's own module may raise anything while it is imported, and may even end the program.
        raise _refusal(reference, error) from error


def _refusal(reference: str, error: BaseException) -> BadReferenceError:
    return BadReferenceError(one_line(f"{reference}: cannot be imported ({explain_import(error)})"))


def _import_file(path: Path) -> ModuleType:
    """Import a file with its folder on the path, as `python file.py` would, but under a name of its own.

    As any module it is executed once, also where several objects of it are asked for; changed since, it is another.
    """
    if not path.is_file():
        raise FileNotFoundError(path)
    content = hashlib.sha256(os.fsencode(os.path.realpath(path)) + b"\0" + path.read_bytes())
    name = f"_ghx_bench_reference_{content.hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it is executed: dataclasses and pickle look their module up there
    _make_importable(path.parent)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _make_importable(folder: Path) -> None:
    """Put a folder on the path: before installed modules, and after the standard library, which it must not shadow."""
    place = os.path.realpath(folder)
    if place not in sys.path:
        compiled = [each for each in sys.path if Path(each).name == "lib-dynload"]  # which sysconfig does not name
        standard = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), *compiled}
        after = max((index for index, each in enumerate(sys.path) if each in standard), default=-1) + 1
        sys.path.insert(after, place)
