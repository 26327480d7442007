"""Tests that start programs are marked by what they refer to, so that `make check` can leave them out."""

import subprocess
import sys
from pathlib import Path

import pytest
from gh_client import bundled_gh


def starts() -> int:
    return subprocess.run([sys.executable, "-c", ""], check=False).returncode


class Starter:
    def start(self) -> int:
        return starts()


@pytest.fixture
def starter() -> Starter:
    return Starter()


def marks_of(request: pytest.FixtureRequest) -> set[str]:
    return {mark.name for mark in request.node.iter_markers()} & {"process", "client"}


def test_a_test_whose_helper_starts_a_program_is_marked(request: pytest.FixtureRequest) -> None:
    assert starts() == 0
    assert marks_of(request) == {"process"}


def test_a_test_whose_fixture_can_start_a_program_is_marked(starter: Starter, request: pytest.FixtureRequest) -> None:
    assert starter.start() == 0
    assert marks_of(request) == {"process"}


def test_a_test_that_drives_a_program_of_others_is_marked_as_such(request: pytest.FixtureRequest) -> None:
    assert bundled_gh().exists()
    assert marks_of(request) == {"client"}


def test_a_test_beside_them_that_starts_nothing_is_not_marked(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    assert marks_of(request) == set()


@pytest.mark.process
def test_whoever_starts_programs_has_all_the_time_that_a_busy_machine_needs(request: pytest.FixtureRequest) -> None:
    mark = request.node.get_closest_marker("timeout")

    assert mark is not None
    assert mark.args[0] > float(request.config.getini("timeout"))
