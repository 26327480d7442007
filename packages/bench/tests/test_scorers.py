"""Custom scorers: registered by packages and by the project, named by scenarios, imported only when needed."""

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from ghx_base.errors import InputError
from ghx_bench import load_scorers
from ghx_bench.project import custom_scorers as scorers
from ghx_bench.project.custom_scorers import BadScorerError, scorer_names
from ghx_profiler.errors import UnknownNameError

PROJECT = """
def is_long(data, params):
    return len(data) >= params["least"]

SCORERS = {"is-long": is_long}
"""


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, EntryPoint]]:
    """The entry points of packages that are not installed."""
    entries = {
        name: EntryPoint(name=name, value=value, group=scorers.ENTRY_POINTS)
        for name, value in {"good": "builtins:bool", "broken": "no_such_module:f", "odd": "sys:maxsize"}.items()
    }
    monkeypatch.setattr(scorers, "_find_installed", lambda: entries)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield entries
    sys.modules.pop("my_scorers", None)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path / "my_scorers.py"
    path.write_text(PROJECT)
    return path


@pytest.mark.usefixtures("installed")
def test_scorers_come_from_packages_and_from_the_project(project: Path) -> None:
    assert scorer_names(project) == {"good", "broken", "odd", "is-long"}

    found = load_scorers(["is-long", "good"], project)

    assert found["is-long"]([1, 2], {"least": 2})
    assert not found["is-long"]([1], {"least": 2})
    assert found["good"] is bool


@pytest.mark.usefixtures("installed")
def test_only_what_is_named_is_imported() -> None:
    assert list(load_scorers(["good"])) == ["good"]
    assert "no_such_module" not in sys.modules


@pytest.mark.usefixtures("installed")
def test_the_project_goes_before_packages(project: Path) -> None:
    project.write_text(PROJECT.replace("is-long", "good"))

    assert load_scorers(["good"], project)["good"] is not bool


@pytest.mark.usefixtures("installed")
def test_what_cannot_be_used_is_one_clear_line() -> None:
    with pytest.raises(BadScorerError, match=r"^scorer 'broken' \(no_such_module:f\) cannot be imported: ModuleNot"):
        load_scorers(["broken"])
    with pytest.raises(BadScorerError, match=r"^scorer 'odd' \(sys:maxsize\) is a int, not a function$"):
        load_scorers(["odd"])
    with pytest.raises(UnknownNameError, match="no custom scorer 'goood'; did you mean 'good'"):
        load_scorers(["goood"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "expected a dict called 'SCORERS', found nothing"),
        ("SCORERS = []", "expected a dict called 'SCORERS', found a list"),
        ("SCORERS = {'a': 1}", "scorer 'a' .* is a int, not a function"),
        ("1 / 0", "cannot be imported"),
    ],
)
@pytest.mark.usefixtures("installed")
def test_a_project_file_that_cannot_be_used_is_one_clear_line(text: str, said: str, project: Path) -> None:
    project.write_text(text)

    with pytest.raises(InputError, match=said) as caught:
        scorer_names(project)

    assert "\n" not in str(caught.value)


def test_entry_points_are_looked_up_in_the_group_that_is_documented() -> None:
    scorers._find_installed.cache_clear()

    assert isinstance(scorer_names(), frozenset)
