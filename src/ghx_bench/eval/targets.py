"""Finding a user's object by `file.py:name` or `module:name`."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from ghx_bench._base.errors import InputError

T = TypeVar("T")


class TargetError(InputError):
    """A file, module or object named on the command line cannot be used."""

    code = "BAD_TARGET"


def load_target(target: str, kind: type[T], *, default: str) -> T:
    """Import what `target` names and return the object in it, which has to be a `kind`."""
    place, _, name = target.partition(":")
    module = _module_of(place, target)
    found: object = getattr(module, name or default, None)
    if not isinstance(found, kind):
        what = "nothing" if found is None else f"a {type(found).__name__}"
        raise TargetError(f"{target}: expected a {kind.__name__} called {name or default!r}, found {what}")
    return found


def _module_of(place: str, target: str) -> ModuleType:
    try:
        return _import_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    except FileNotFoundError:
        raise TargetError(f"{target}: no such file") from None
    except Exception as error:
        # Plugin call: the user's own module may raise anything while it is imported.
        raise TargetError(f"{target}: cannot be imported ({type(error).__name__}: {error})") from error


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise FileNotFoundError(path)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # Registered, and with its folder on the path, as `python file.py` would have it.
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent.resolve()))
    spec.loader.exec_module(module)
    return module
