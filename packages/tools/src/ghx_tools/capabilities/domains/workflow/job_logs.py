"""The log of a job: as it is, or so much of it as an agent asks for."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from ghx_base.wire import OMITTABLE
from ghx_tools.capabilities.client import GitHubClient, rest_path
from ghx_tools.capabilities.domains.workflow.runs import name_failed_steps
from ghx_tools.capabilities.models import Count, OutputModel, Positive, RepositoryInput, Text
from ghx_tools.capabilities.registry import Operation

LONGEST_LOG = 50_000  # characters
_MOST_ERROR_LINES = 10
_TIME = re.compile(r"^\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z ?")
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_BEGINNING = re.compile(r"##\[group\]Run .|(?:Post job cleanup\.|Cleaning up orphan processes)$")
# Of runners, and as pytest, Go, TAP and others begin the lines that say what went wrong.
_ERROR = re.compile(
    r"^##\[error\]|\b\w*(?:error|exception)\b|\b(?:fail|failed|failure|fatal|panic|traceback)\b|^e {2,}|^not ok\b",
    re.IGNORECASE,
)
_NO_ERROR = re.compile(r"\b(?:0|no) (?:errors?|exceptions?|failed|failures?)\b", re.IGNORECASE)
_WARNING = re.compile(r"^##\[warning\]|\bwarning\b", re.IGNORECASE)
_FAILED = "##[error]"


class JobInput(RepositoryInput):
    """Which job."""

    job_id: Annotated[Positive, Field(description="Id of the job; workflow.run.view has the jobs of a run.")]


class LogViewInput(JobInput):
    """Which job, and which lines of its log; none are given where none of these is asked for."""

    failed_steps: Annotated[bool | None, Field(description="Only lines of steps that failed.")] = None
    last_lines: Annotated[int | None, Field(ge=1, le=1000, description="Only the last ones, this many.")] = None
    search: Annotated[
        Text | None, Field(description="Only lines with this text in them, in any case, with their numbers.")
    ] = None
    context: Annotated[
        int | None, Field(ge=0, le=50, description="How many lines around each that was found; 2 if left out.")
    ] = None


class RawLog(OutputModel):
    """The log of a job; `truncated` if it is longer, and this is its end."""

    job_id: Positive
    log: str
    truncated: bool


class LogSummary(OutputModel):
    """How many lines look like errors and warnings, and the first that look like errors."""

    error_count: Count
    warning_count: Count
    top_error_lines: tuple[str, ...]


class LogView(OutputModel):
    """What is in the log of a job; `excerpt` has the lines that were asked for, without their times.

    `truncated` if there are more of these, and `excerpt` is their end.
    """

    job_id: Positive
    truncated: bool
    summary: LogSummary
    failed_steps: tuple[str, ...]
    excerpt: Annotated[str | None, OMITTABLE] = None


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    step: int
    text: str


async def read_raw_log(client: GitHubClient, inputs: JobInput) -> RawLog:
    """Read the log of a job."""
    log = await _read(client, inputs)
    # The end is kept: that is where a job fails.
    return RawLog(job_id=inputs.job_id, log=log[-LONGEST_LOG:], truncated=len(log) > LONGEST_LOG)


async def view_log(client: GitHubClient, inputs: LogViewInput) -> LogView:
    """Return a summary of the log of a job, and the requested lines."""
    job = (await client.get(_path(inputs))).data
    texts = [_ANSI.sub("", _TIME.sub("", line)) for line in (await _read(client, inputs)).splitlines()]
    lines = list(_split_into_steps(texts))
    failed = sorted({line.step for line in lines if line.text.startswith(_FAILED)})
    errors = [text for text in texts if _ERROR.search(text) and not _NO_ERROR.search(text)]
    summary = LogSummary(
        error_count=len(errors),
        warning_count=sum(_WARNING.search(text) is not None for text in texts),
        top_error_lines=tuple(errors[:_MOST_ERROR_LINES]),
    )
    log_view = LogView(
        job_id=inputs.job_id, truncated=False, summary=summary, failed_steps=tuple(name_failed_steps(job))
    )
    if not (inputs.failed_steps or inputs.last_lines or inputs.search):
        return log_view
    chosen = [line for line in lines if line.step in failed] if inputs.failed_steps else lines
    shown = list(_find(chosen, inputs.search, inputs.context)) if inputs.search else [line.text for line in chosen]
    excerpt = "\n".join(shown[-inputs.last_lines :] if inputs.last_lines else shown)
    is_cut = len(excerpt) > LONGEST_LOG or bool(inputs.last_lines and len(shown) > inputs.last_lines)
    return log_view.model_copy(update={"truncated": is_cut, "excerpt": excerpt[-LONGEST_LOG:]})


async def _read(client: GitHubClient, inputs: JobInput) -> str:
    return (await client.get(f"{_path(inputs)}/logs")).text


def _path(inputs: JobInput) -> str:
    return rest_path("repos", inputs.owner, inputs.name, "actions", "jobs", inputs.job_id)


def _split_into_steps(texts: Sequence[str]) -> Iterator[_Line]:
    """Yield every line with its step.

    Told by what the runner writes at the beginning of a step: the API names the steps of a job, but not their lines,
    and their times have whole seconds, in which two steps may follow each other.
    """
    step = 0
    for number, text in enumerate(texts, 1):
        step += _BEGINNING.match(text) is not None
        yield _Line(number, step, text)


def _find(lines: Sequence[_Line], term: str, context: int | None) -> Iterator[str]:
    """Yield the lines with a term, with some around them, numbered as `grep -n` does."""
    around = 2 if context is None else context
    hits = {place for place, line in enumerate(lines) if term.lower() in line.text.lower()}
    places = sorted(set(_places_around(hits, around, len(lines))))
    for before, place in zip([None, *places], places, strict=False):
        if before is not None and place > before + 1:
            yield "--"
        line = lines[place]
        yield f"{line.number}{':' if place in hits else '-'}{line.text}"


def _places_around(places: Iterable[int], around: int, end: int) -> Iterator[int]:
    for place in places:
        yield from range(max(0, place - around), min(end, place + around + 1))


_EXAMPLE = {"owner": "octocat", "name": "hello-world", "jobId": 9876543210}

OPERATIONS = {
    "workflow.job.logs.raw": Operation(
        input=JobInput, output=RawLog, function=read_raw_log, route="rest", example=_EXAMPLE
    ),
    "workflow.job.logs.view": Operation(
        input=LogViewInput,
        output=LogView,
        function=view_log,
        route="rest",
        example={**_EXAMPLE, "failedSteps": True, "lastLines": 50},
    ),
}
