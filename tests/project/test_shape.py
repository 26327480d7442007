"""The ratchet on the shape of the tree: a figure that got worse fails, and a new baseline needs a reason for it."""

import ast
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "shape.py"


@pytest.fixture
def shape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the script, with a baseline of its own in which modules are few."""
    specification = importlib.util.spec_from_file_location("shape", SCRIPT)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    baseline = tmp_path / "shape.json"
    baseline.write_text(json.dumps({"figures": {"modules": 5, "lines": 100}, "reasons": {}}))
    monkeypatch.setattr(module, "BASELINE", baseline)
    return module


def run(shape: ModuleType, monkeypatch: pytest.MonkeyPatch, figures: dict[str, int], *words: str) -> int:
    monkeypatch.setattr(shape, "measure", lambda: figures)
    monkeypatch.setattr(sys, "argv", ["shape.py", *words])
    return shape.main()


@pytest.mark.parametrize(
    ("figures", "code"),
    [
        ({"modules": 5, "lines": 100}, 0),
        ({"modules": 4, "lines": 100}, 0),
        ({"modules": 6, "lines": 90}, 1),
        ({"modules": 5, "lines": 100, "folders": 1}, 1),
    ],
)
def test_a_figure_that_got_worse_fails(
    shape: ModuleType, monkeypatch: pytest.MonkeyPatch, figures: dict[str, int], code: int
) -> None:
    assert run(shape, monkeypatch, figures) == code


def test_a_new_baseline_needs_a_reason_where_a_figure_got_worse(
    shape: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    worse = {"modules": 6, "lines": 90}

    assert run(shape, monkeypatch, worse, "--write") == 2
    assert run(shape, monkeypatch, worse, "--write", "a new command") == 0

    assert json.loads(shape.BASELINE.read_text()) == {"figures": worse, "reasons": {"modules": "a new command"}}
    assert run(shape, monkeypatch, worse) == 0


@pytest.mark.nightly
def test_the_figures_of_this_tree_are_measured(shape: ModuleType) -> None:
    figures = shape.measure()

    assert all(value > 0 for name, value in figures.items() if name != "modules over 400 lines")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return 'one two three four five'", True),
        ("return 'one two'", False),
        ("return one.two(three, four, five)", False),
    ],
)
def test_a_function_composes_prose_if_it_returns_text_with_several_words(
    shape: ModuleType, body: str, expected: bool
) -> None:
    (function,) = ast.parse(f"def f() -> str:\n    {body}").body

    assert shape.composes_prose(function) is expected
