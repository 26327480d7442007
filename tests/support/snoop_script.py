"""The script that writes the table of what the prying agent finds."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

_SCRIPT = Path(__file__).parents[2] / "scripts" / "snoop_table.py"


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("snoop_table", _SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


TABLE = _load()
