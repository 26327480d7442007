"""Objects of the user's own: found in files and modules, without harm to anything else, and told in one line if not."""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ghx_bench.project.object_references import BadReferenceError, load_from_file, load_reference


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def refusal(target: str) -> str:
    with pytest.raises(BadReferenceError) as caught:
        load_reference(target, dict, default="it")
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", ["mine.py", "json.py", "statistics.py", "a:b.py", "with space.py", "1.py"])
def test_a_file_is_imported_whatever_its_name(name: str, folder: Path) -> None:
    (folder / name).write_text("it = {'n': 1}\nother = {'n': 2}\n")

    assert load_reference(name, dict, default="it") == {"n": 1}
    assert load_reference(f"{name}:other", dict, default="it") == {"n": 2}
    assert load_from_file(folder / name, "other", dict) == {"n": 2}
    assert sys.modules["json"] is json
    assert sys.modules["statistics"] is statistics


def test_a_file_beside_the_target_does_not_stand_in_for_the_standard_library(folder: Path) -> None:
    (folder / "mine.py").write_text(
        "import colorsys, beside\nit = {'n': beside.n, 'hsv': hasattr(colorsys, 'rgb_to_hsv')}"
    )
    (folder / "colorsys.py").write_text("")
    (folder / "beside.py").write_text("n = 1")

    assert load_reference("mine.py", dict, default="it") == {"n": 1, "hsv": True}


def test_records_of_a_file_know_their_module(folder: Path) -> None:
    (folder / "mine.py").write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass, fields\nfrom typing import ClassVar\n"
        "@dataclass\nclass A:\n    x: ClassVar[int] = 1\n    y: int = 2\n"
        "it = {'fields': [each.name for each in fields(A)]}\n"
    )

    assert load_reference("mine.py", dict, default="it") == {"fields": ["y"]}


def test_a_module_of_the_current_folder_is_found_by_the_installed_command(folder: Path) -> None:
    (folder / "my_module.py").write_text("it = {'n': 1}\n")
    code = (
        "import sys; sys.path.remove('')\n"
        "from ghx_bench.project.object_references import load_reference\n"
        "print(load_reference('my_module:it', dict, default='x'))"
    )

    assert subprocess.check_output([sys.executable, "-c", code], text=True, cwd=folder).strip() == "{'n': 1}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import sys\nsys.exit()", "mine.py: cannot be imported (SystemExit)"),
        ("raise SystemExit('bye\\nbye')", "mine.py: cannot be imported (SystemExit: bye bye)"),
        ("1 / 0", "mine.py: cannot be imported (ZeroDivisionError: division by zero)"),
        ("open('not/there')", "mine.py: cannot be imported (FileNotFoundError: [Errno 2] No such file or directory:"),
        ("def (", "mine.py: cannot be imported (SyntaxError: "),
        ("import not_there_at_all", "mine.py: cannot be imported (ModuleNotFoundError: No module named 'not_there"),
        ("raise ValueError('x' * 10_000)", "mine.py: cannot be imported (ValueError: xxx"),
        (
            "import pydantic\nclass M(pydantic.BaseModel):\n    a: int\nM(a='x')",
            "mine.py: cannot be imported (ValidationError: 1 validation error for M a Input should be a valid integer",
        ),
        ("it = []", "mine.py: expected a dict called 'it', found a list"),
        ("", "mine.py: expected a dict called 'it', found nothing"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line_and_leaves_nothing_behind(text: str, said: str, folder: Path) -> None:
    (folder / "mine.py").write_text(text)
    before = {name for name in sys.modules if name.startswith("_ghx_bench_reference")}

    told = refusal("mine.py")

    assert told.startswith(said)
    assert len(told) < 700
    if "cannot be imported" in said:
        assert {name for name in sys.modules if name.startswith("_ghx_bench_reference")} == before


@pytest.mark.usefixtures("folder")
def test_what_is_not_there_is_told() -> None:
    assert refusal("mine.py") == "mine.py: no such file"
    assert refusal("mine.py:it") == "mine.py:it: no such file"
    assert refusal("not_there_at_all:it").startswith("not_there_at_all:it: cannot be imported (ModuleNotFoundError")
    assert refusal(":it").startswith(":it: cannot be imported (ValueError")


def test_an_interrupt_is_not_swallowed(folder: Path) -> None:
    (folder / "mine.py").write_text("raise KeyboardInterrupt")

    with pytest.raises(KeyboardInterrupt):
        load_reference("mine.py", dict, default="it")
