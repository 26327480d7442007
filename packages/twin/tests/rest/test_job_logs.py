"""The text of job logs and the zip of a run's logs, as the runner writes them and as gh finds them."""

import io
import re
import zipfile
from collections.abc import Sequence

import pytest

from ghx_twin.rest.render.actions.logs import entry_name, job_log, logs_archive, step_lines
from ghx_twin.state.records import CheckRun, Step

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z .*")
NOON = "2026-11-16T12:00:00Z"


def job(name: str = "build") -> CheckRun:
    return CheckRun(id=1, repository_id=1, head_sha="a" * 40, name=name, conclusion="failure", started_at=NOON)


def step(
    number: int, name: str, *, log: str | None = None, conclusion: str = "success", seconds: tuple[int, int] = (0, 9)
) -> Step:
    begin, end = (f"2026-11-16T12:00:{second:02}Z" for second in seconds)
    return Step(
        id=number,
        job_id=1,
        number=number,
        name=name,
        log=log,
        conclusion=conclusion,
        started_at=begin,
        completed_at=end,
    )


STEPS = (
    step(1, "Set up job", seconds=(0, 2)),
    step(2, "Run pytest -q", log="collected 2\nE   assert 1 == 2\n", conclusion="failure", seconds=(2, 30)),
    step(3, "Upload", conclusion="skipped"),
    step(4, "Post Run actions/checkout@v4", seconds=(30, 30)),
    step(5, "Complete job", seconds=(30, 30)),
)


def entries(jobs: Sequence[tuple[CheckRun, Sequence[Step]]]) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(logs_archive(jobs))) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_every_line_has_its_time_and_times_do_not_go_back() -> None:
    log = job_log(job(), STEPS)

    assert log.startswith("\ufeff2026-11-16T12:00:00.")
    lines = log.removeprefix("\ufeff").splitlines()
    assert all(LINE.fullmatch(line) for line in lines)
    times = [line[:28] for line in lines]
    assert times == sorted(set(times))
    pytest_times = [time for time, line in zip(times, lines, strict=True) if "collected" in line or "assert" in line]
    assert all("2026-11-16T12:00:02" < time < "2026-11-16T12:00:30" for time in pytest_times)


def test_the_runner_writes_around_the_lines_of_a_step() -> None:
    texts = [line[29:] for line in job_log(job(), STEPS).removeprefix("\ufeff").splitlines()]

    assert texts[0].startswith("Current runner version: ")
    assert "Complete job name: build" in texts
    begin = texts.index("##[group]Run pytest -q")
    assert texts[begin + 1 :] == [
        "##[endgroup]",
        "collected 2",
        "E   assert 1 == 2",
        "##[error]Process completed with exit code 1.",
        "Post job cleanup.",
        "Cleaning up orphan processes",
    ]


@pytest.mark.parametrize(
    ("conclusion", "log", "last"),
    [
        ("success", "fine\n", "fine"),
        ("failure", "no\n", "##[error]Process completed with exit code 1."),
        ("failure", "##[error]Process completed with exit code 2.\n", "##[error]Process completed with exit code 2."),
        ("cancelled", None, "##[error]The operation was canceled."),
    ],
)
def test_a_step_ends_with_its_error_once(conclusion: str, log: str | None, last: str) -> None:
    assert step_lines(job(), step(2, "Run it", log=log, conclusion=conclusion))[-1] == last


def test_a_log_that_was_copied_from_github_keeps_its_heading() -> None:
    log = "##[group]Run make\nmake\nshell: /usr/bin/bash -e {0}\n##[endgroup]\nok\n"

    assert step_lines(job(), step(2, "Build", log=log)) == log.splitlines()


def test_the_zip_has_a_file_for_each_job_and_a_folder_of_its_steps() -> None:
    found = entries([(job(), STEPS), (job("lint / fast: all"), STEPS[:1])])

    assert list(found) == [
        "0_build.txt",
        "build/1_Set up job.txt",
        "build/2_Run pytest -q.txt",
        "build/4_Post Run actionscheckout@v4.txt",
        "build/5_Complete job.txt",
        "1_lint  fast all.txt",
        "lint  fast all/1_Set up job.txt",
    ]
    steps = [text.removeprefix("\ufeff") for name, text in found.items() if name.startswith("build/")]
    assert "".join(steps) == job_log(job(), STEPS).removeprefix("\ufeff") == found["0_build.txt"].removeprefix("\ufeff")


def test_jobs_of_one_name_have_files_of_their_own() -> None:
    assert [name for name in entries([(job(), STEPS[:1])] * 3) if "/" in name] == [
        "build/1_Set up job.txt",
        "build (1)/1_Set up job.txt",
        "build (2)/1_Set up job.txt",
    ]


def test_the_same_logs_are_the_same_bytes() -> None:
    assert logs_archive([(job(), STEPS)]) == logs_archive([(job(), STEPS)])


@pytest.mark.parametrize(
    ("name", "entry"),
    [("a/b: c", "ab c"), ("x" * 100, "x" * 90), ("😅" * 50, "😅" * 45), (f"{'x' * 89} y", "x" * 89), ("..", "..")],
)
def test_names_are_cleaned_as_gh_expects(name: str, entry: str) -> None:
    assert entry_name(name) == entry
