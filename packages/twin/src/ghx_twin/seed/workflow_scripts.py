"""The records of a seed for what the runs of a workflow do: steps, logs, and rules on the commit's files."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StrictBool, StrictInt, model_validator

from ghx_base.documents import RefusedError
from ghx_twin.seed.format import Seconds, SeedModel

Conclusion = Literal[
    "action_required", "cancelled", "failure", "neutral", "success", "skipped", "stale", "startup_failure", "timed_out"
]
_Ending = Literal["cancelled", "failure", "neutral", "skipped", "success", "timed_out"]
Scalar = StrictBool | StrictInt | str | None
_Line = Annotated[StrictInt, Field(ge=1)]


def _is_pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"it is no regular expression: {error}") from None
    return text


class SeedAnnotation(SeedModel):
    """What a job says about lines of a file."""

    path: str = Field(default=".github", description="The file; `.github`, as for failed steps, if left out.")
    start_line: _Line = 1
    end_line: _Line | None = Field(default=None, description="The last line; the first if left out.")
    start_column: _Line | None = None
    end_column: _Line | None = None
    annotation_level: Literal["notice", "warning", "failure"] = "failure"
    title: str | None = None
    message: str
    raw_details: str | None = None


class SeedYamlValue(SeedModel):
    """A value in a YAML file."""

    at: str = Field(
        min_length=1, description="The keys to it, joined by dots; `*` is any key or item: `jobs.test.steps.*.run`."
    )
    equals: Scalar = Field(description="What it must be.")


class SeedCondition(SeedModel):
    """A condition on a file of the commit: one of exists, has, lacks, matches and value."""

    file: str = Field(min_length=1, description="Its path; `*` stands for anything but /, `**` for anything.")
    exists: StrictBool | None = Field(default=None, description="Whether there is such a file.")
    has: str | None = Field(default=None, description="A text that such a file contains.")
    lacks: str | None = Field(default=None, description="A text that no such file contains; also where there is none.")
    matches: Annotated[str, AfterValidator(_is_pattern)] | None = Field(
        default=None, description="A regular expression that is found in such a file; ^ and $ are those of lines."
    )
    value: SeedYamlValue | None = Field(default=None, description="A value in such a YAML file.")

    @model_validator(mode="after")
    def _has_one_test(self) -> Self:
        if sum(test is not None for test in (self.exists, self.has, self.lacks, self.matches, self.value)) != 1:
            raise RefusedError("a condition has one of exists, has, lacks, matches and value")
        return self


class SeedOutcome(SeedModel):
    """How a job ends."""

    conclusion: _Ending = Field(default="failure", description="Its conclusion.")
    step: str | None = Field(
        default=None, description="The step that ends so, shown also where the file lacks it; the last if left out."
    )
    log: str | None = Field(default=None, description="What that step printed.")
    seconds: Seconds | None = Field(default=None, description="How long that step took.")
    annotations: tuple[SeedAnnotation, ...] = ()


class SeedRule(SeedOutcome):
    """How a job ends on commits that fit."""

    when: tuple[SeedCondition, ...] = Field(default=(), description="All of these hold.")
    unless: tuple[SeedCondition, ...] = Field(default=(), description="None of these holds.")


class SeedScriptStep(SeedModel):
    """What a step of the workflow file does where it succeeds."""

    name: str = Field(description="Its name; that of a command without one is `Run COMMAND`.")
    seconds: Seconds = 1
    log: str | None = Field(default=None, description="What it prints.")


class SeedScriptJob(SeedModel):
    """What a job does."""

    queued_seconds: Seconds = Field(default=1, description="How long it waits for a runner.")
    steps: tuple[SeedScriptStep, ...] = Field(default=(), description="More about steps of the file, by name.")
    rules: tuple[SeedRule, ...] = Field(default=(), description="The first that fits the commit says how it ends.")
    otherwise: SeedOutcome = Field(
        default=SeedOutcome(conclusion="success"), description="How it ends where none fits; it succeeds if left out."
    )


class SeedScript(SeedModel):
    """What the runs of a workflow do; it stands in no file of the repository, so no commit can change it."""

    jobs: dict[str, SeedScriptJob] = Field(
        default={}, description="By the key of the job in the file, or the name of its check; `*` for any other."
    )
