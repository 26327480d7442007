"""ARCHITECTURE.md names files and folders that exist, and stays short."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text()
PATH = re.compile(r"`((?:ghx_\w+|scripts|docs|tests|packages)/[\w./*-]*)`")
ANY_NAME = re.compile(r"\b[A-Z]{2,}\b")


def exists(path: str) -> bool:
    """Return whether there is a file, module or folder; `DOMAIN`, `NOUN` and their like stand for any name."""
    pattern = ANY_NAME.sub("*", path.rstrip("/"))
    places = (f"packages/*/src/{pattern}", pattern) if path.startswith("ghx_") else (pattern,)
    return any(next(ROOT.glob(place + ending), None) for place in places for ending in ("", ".py"))


def test_every_path_on_the_page_is_there() -> None:
    paths = PATH.findall(PAGE)

    assert len(paths) > 80
    assert [path for path in paths if not exists(path)] == []


def test_a_path_that_is_not_there_is_found() -> None:
    assert not exists("ghx_twin/rest/handlers/DOMAIN/no_such_module.py")
    assert exists("ghx_twin/rest/handlers/DOMAIN/NOUN")


def test_the_page_is_short() -> None:
    assert len(PAGE.splitlines()) <= 200
