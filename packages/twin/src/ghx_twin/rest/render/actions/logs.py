"""The logs of jobs: what the runner writes around a step's own lines, the times of lines, a run's logs as zip."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from ghx_twin.rest.render.repositories.archives import zip_files
from ghx_twin.state.clock import parse_time
from ghx_twin.state.records import CheckRun, Step

SET_UP, COMPLETE, POST = "Set up job", "Complete job", "Post "
_TICKS = 10_000_000  # of a second: GitHub's times have seven digits
_BYTE_ORDER_MARK = "\ufeff"  # at the beginning of every file of GitHub's logs
_LONGEST_NAME = 90  # UTF-16 units of a job's name in the zip, where gh looks for it
_NOT_IN_NAMES = re.compile(r'[/\\:*?"<>|\x00-\x1f]')
_ERROR = "##[error]"
_ENDINGS = {
    "failure": f"{_ERROR}Process completed with exit code 1.",
    "timed_out": f"{_ERROR}The job has exceeded the maximum execution time.",
    "cancelled": f"{_ERROR}The operation was canceled.",
}
_RUNNER = """\
Current runner version: '2.329.0'
##[group]Operating System
Ubuntu
24.04.3
LTS
##[endgroup]
##[group]Runner Image
Image: ubuntu-24.04
##[endgroup]
##[group]GITHUB_TOKEN Permissions
Contents: read
Metadata: read
##[endgroup]
Secret source: Actions"""


def job_log(job: CheckRun, steps: Sequence[Step]) -> str:
    """Return the log of a job: every line of every step that ran, with its time."""
    return _BYTE_ORDER_MARK + "".join(text for _, text in _stamped_steps(job, steps))


def logs_archive(jobs: Iterable[tuple[CheckRun, Sequence[Step]]]) -> bytes:
    """Return the logs of jobs as the zip that GitHub makes: one file for each job, and a folder of its steps."""
    files: dict[str, bytes] = {}
    names: set[str] = set()
    for position, (job, steps) in enumerate(jobs):
        name = _free_name(entry_name(job.name), names)
        written = list(_stamped_steps(job, steps))
        files[f"{position}_{name}.txt"] = (_BYTE_ORDER_MARK + "".join(text for _, text in written)).encode()
        for step, text in written:
            files[f"{name}/{step.number}_{entry_name(step.name)}.txt"] = (_BYTE_ORDER_MARK + text).encode()
    return zip_files(files)


def entry_name(name: str) -> str:
    """Return the name of a job or a step as GitHub cleans it for a zip: no separators, and not too long."""
    cleaned = _NOT_IN_NAMES.sub("", name).encode("utf-16-le")[: 2 * _LONGEST_NAME]
    return cleaned.decode("utf-16-le", "replace").strip()


def step_lines(job: CheckRun, step: Step) -> list[str]:
    """Return the lines of a step, without times: its own, and what the runner writes around them."""
    own = (step.log or "").splitlines()
    # A seed's log may have all of it already, as one that was copied from GitHub does.
    if step.name == SET_UP:
        runner = _RUNNER.splitlines()
        lines = own or ["Prepare workflow directory", "Prepare all required actions", f"Complete job name: {job.name}"]
        return lines if any(line.startswith("Current runner version") for line in own) else [*runner, *lines]
    if step.name == COMPLETE:
        return own or ["Cleaning up orphan processes"]
    if step.name.startswith(POST):
        return own or ["Post job cleanup."]
    if not own or not own[0].startswith("##[group]"):
        own = [f"##[group]Run {step.name.removeprefix('Run ')}", "##[endgroup]", *own]
    if step.conclusion in _ENDINGS and not any(line.startswith(_ERROR) for line in own):
        own.append(_ENDINGS[step.conclusion])
    return own


def _stamped_steps(job: CheckRun, steps: Sequence[Step]) -> Iterator[tuple[Step, str]]:
    """Yield the steps that ran, with their lines; times are spread over each step and never go back."""
    last = 0
    for step in steps:
        if step.status != "completed" or step.conclusion == "skipped" or step.started_at is None:
            continue
        lines = step_lines(job, step)
        begin = parse_time(step.started_at) * _TICKS
        end = parse_time(step.completed_at or step.started_at) * _TICKS
        stamped: list[str] = []
        for position, line in enumerate(lines, 1):
            last = max(last + 1, begin + (end - begin) * position // (len(lines) + 1))
            stamped.append(f"{_format_ticks(last)} {line}\n")
        yield step, "".join(stamped)


def _format_ticks(ticks: int) -> str:
    seconds, rest = divmod(ticks, _TICKS)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:07}Z"


def _free_name(name: str, names: set[str]) -> str:
    """Return a name that no other job of the archive has: jobs of one name are numbered, as GitHub does."""
    free, number = name, 0
    while free in names:
        number += 1
        free = f"{name} ({number})"
    names.add(free)
    return free
