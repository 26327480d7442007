"""Finding a user's object by `file.py:name` or `module:name`."""

import hashlib
import importlib
import importlib.util
import os
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from ghx_bench._base.errors import InputError
from ghx_bench._base.problems import one_line

T = TypeVar("T")

_LONGEST_REASON = 500


class TargetError(InputError):
    """A file, module or object named on the command line cannot be used."""

    code = "BAD_TARGET"


def is_target(name: str) -> bool:
    """Say whether a name is a place in somebody's code: `file.py`, `file.py:Name` or `module:Name`."""
    return ":" in name or name.endswith(".py")


def load_target(target: str, kind: type[T], *, default: str) -> T:
    """Import what `target` names and return the object in it, which has to be a `kind`."""
    place, name = _taken_apart(target)
    return _object_in(place, name or default, kind, target)


def load_object(target: str, *, default: str) -> object:
    """Import what `target` names and return the object in it, whatever it is."""
    place, name = _taken_apart(target)
    found: object = getattr(_module_of(place, target), name or default, None)
    if found is None:
        raise TargetError(one_line(f"{target}: there is nothing called {name or default!r} in it"))
    return found


def file_of(target: str) -> Path | None:
    """Return the file that a target names, if it names one."""
    place, _ = _taken_apart(target)
    return place if isinstance(place, Path) else None


def target_beside(target: str, folder: Path) -> str:
    """Return a target with its file taken from a folder; the name of a module stays as it is."""
    place, name = _taken_apart(target)
    if not isinstance(place, Path):
        return target
    return f"{folder / place}:{name}" if name else str(folder / place)


def _taken_apart(target: str) -> tuple[Path | str, str]:
    """Return the file or module of a target, and the name in it, which is empty where none is given."""
    place, colon, name = (target, "", "") if target.endswith(".py") else target.rpartition(":")
    if not colon:
        place, name = target, ""
    return (Path(place) if place.endswith(".py") else place), name


def load_from_file(path: Path, name: str, kind: type[T]) -> T:
    """Import a Python file and return the object of that name in it, which has to be a `kind`."""
    return _object_in(path, name, kind, f"{path}:{name}")


def explain_import(error: BaseException) -> str:
    """Say on one line why a module of somebody else's could not be imported."""
    said = one_line(" ".join(str(error).split()))
    shown = said if len(said) <= _LONGEST_REASON else said[:_LONGEST_REASON] + "…"
    return f"{type(error).__name__}: {shown}" if shown else type(error).__name__


def _object_in(place: Path | str, name: str, kind: type[T], target: str) -> T:
    found: object = getattr(_module_of(place, target), name, None)
    if not isinstance(found, kind):
        what = "nothing" if found is None else f"a {type(found).__name__}"
        raise TargetError(one_line(f"{target}: expected a {kind.__name__} called {name!r}, found {what}"))
    return found


def _module_of(place: Path | str, target: str) -> ModuleType:
    try:
        return _import_file(place) if isinstance(place, Path) else _import_module(place)
    except FileNotFoundError as error:
        if isinstance(place, Path) and not place.is_file():
            raise TargetError(one_line(f"{target}: no such file")) from None
        raise _refusal(target, error) from error
    except (Exception, SystemExit) as error:
        # Plugin call: the user's own module may raise anything while it is imported, and may even end the program.
        raise _refusal(target, error) from error


def _refusal(target: str, error: BaseException) -> TargetError:
    return TargetError(one_line(f"{target}: cannot be imported ({explain_import(error)})"))


def _import_module(name: str) -> ModuleType:
    _make_importable(Path.cwd())
    return importlib.import_module(name)


def _import_file(path: Path) -> ModuleType:
    """Import a file with its folder on the path, as `python file.py` would, but under a name that is nobody else's.

    That is done once, as with any module: who asks for another object of it gets what is there already. A file that
    was changed since is another module.
    """
    if not path.is_file():
        raise FileNotFoundError(path)
    content = hashlib.sha256(os.fsencode(os.path.realpath(path)) + b"\0" + path.read_bytes())
    name = f"_ghx_bench_target_{content.hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _make_importable(path.parent)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _make_importable(folder: Path) -> None:
    """Let modules of a folder be imported before installed ones, but not instead of the standard library's."""
    place = os.path.realpath(folder)
    if place not in sys.path:
        standard = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), *_compiled_parts()}
        after = max((index for index, each in enumerate(sys.path) if each in standard), default=-1) + 1
        sys.path.insert(after, place)


def _compiled_parts() -> list[str]:
    """Return the folders of the standard library's compiled modules."""
    return [each for each in sys.path if Path(each).name == "lib-dynload"]
