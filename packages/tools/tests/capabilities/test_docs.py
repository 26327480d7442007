"""The page about capabilities is the one that the capabilities write."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[4]


def test_the_page_is_current() -> None:
    place = ROOT / "scripts" / "capability_docs.py"
    specification = importlib.util.spec_from_file_location("capability_docs", place)
    assert specification is not None
    assert specification.loader is not None
    script = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(script)

    written = (ROOT / "docs" / "capabilities.md").read_text(encoding="utf-8")

    assert script.page() == written, "run: python scripts/capability_docs.py"
