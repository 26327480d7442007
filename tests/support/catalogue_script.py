"""The script that writes the names of what GitHub has, as a module."""

import importlib
import sys
from functools import cache
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).parents[2] / "scripts"


@cache
def catalogue_script() -> Any:
    sys.path.insert(0, str(SCRIPTS))  # where it finds the module beside it, as when it is run
    try:
        return importlib.import_module("github_catalogue")
    finally:
        sys.path.remove(str(SCRIPTS))
