"""The JavaScript of charts is made once for a version of the engine, and kept where the user's caches are."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import vl_convert

from ghx_profiler.reports.render import charts


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Count how often the bundle is made, and make a short one instead: the real one takes more than a second."""
    calls: list[str] = []

    def make(snippet: str) -> str:
        calls.append(snippet)
        return f"/* é */\r\n{snippet}</script>"

    monkeypatch.setattr(vl_convert, "javascript_bundle", make)
    charts.chart_bundle.cache_clear()
    yield calls
    charts.chart_bundle.cache_clear()


def another_process() -> str:
    """Return the bundle as a process gets it that has made none yet."""
    charts.chart_bundle.cache_clear()
    return charts.chart_bundle()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "ghx-bench"


def test_the_second_process_reads_what_the_first_one_made(made: list[str], cache: Path) -> None:
    bundles = {another_process(), another_process()}

    assert len(made) == len(bundles) == len(list(cache.iterdir())) == 1
    assert bundles.pop().endswith("<\\/script>")


@pytest.mark.parametrize(("length", "end"), [(-1, b""), (0, b""), (None, b"\xff")])
def test_a_damaged_file_is_made_again(length: int | None, end: bytes, made: list[str], cache: Path) -> None:
    first = another_process()
    [kept] = cache.iterdir()
    kept.write_bytes(kept.read_bytes()[:length] + end)

    assert [another_process(), another_process()] == [first, first]
    assert len(made) == 2


def test_it_is_kept_also_where_new_files_are_for_a_group(made: list[str], cache: Path) -> None:
    before = os.umask(0o002)
    try:
        another_process()
        another_process()
    finally:
        os.umask(before)

    assert len(made) == 1


@pytest.mark.parametrize("shared", ["file", "folder"])
def test_a_file_that_others_can_write_is_not_used(shared: str, made: list[str], cache: Path) -> None:
    another_process()
    [kept] = cache.iterdir()
    (kept if shared == "file" else cache).chmod(0o777)

    another_process()

    assert len(made) == 2


def test_a_file_of_another_user_is_not_used(made: list[str], cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    another_process()
    monkeypatch.setattr(charts.os, "geteuid", lambda: cache.stat().st_uid + 1)

    another_process()

    assert len(made) == 2


def test_another_version_of_the_engine_makes_its_own(
    made: list[str], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    another_process()
    monkeypatch.setattr(charts, "version", "99.{}".format)
    another_process()

    assert len(made) == len(list(cache.iterdir())) == 2


def test_another_way_to_make_it_does_not_take_the_old_one(
    made: list[str], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    another_process()
    monkeypatch.setattr(charts, "_BUNDLE_EXPORT", "window.other = vegaEmbed;")

    assert "other" in another_process()
    assert len(made) == 2


def test_where_nothing_can_be_kept_it_is_made_every_time(
    made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    for place in (str(tmp_path / "file"), "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", place)
        monkeypatch.delenv("HOME", raising=False)
        assert another_process()

    assert len(made) == 2
    assert not Path("relative").exists()
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_without_a_cache_of_its_own_a_home_has_one(
    made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    another_process()

    assert len(made) == len(list(tmp_path.rglob("ghx-bench/charts-*.js"))) == 1
