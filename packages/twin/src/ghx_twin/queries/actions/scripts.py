"""How a job goes by the script of its workflow: what it does is decided by the files of the commit that it runs on.

The same commit always gives the same outcome. A script is part of the world and of no file in it, so that a commit can
end a failure only by what the rules ask for.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict, cast

from ghx_twin.git.repository import GitRepository
from ghx_twin.queries.actions.triggers import matches_glob
from ghx_twin.queries.actions.workflow_files import JobDefinition, StepDefinition, WorkflowFileError, parse_yaml

FAILING = frozenset({"cancelled", "failure", "timed_out"})
_ANY_JOB = "*"
_WILDCARDS = re.compile(r"[*?\[]")
_REGARDLESS = re.compile(r"\b(?:always|failure)\(\)|!\s*cancelled\(\)")
_FAILED = "##[error]Process completed with exit code 1."
_HAS_POST = re.compile(r"^actions/(?:checkout|cache|setup-[\w-]+)@")  # actions that clean up after themselves


class YamlValue(TypedDict):
    """A value in a YAML file."""

    at: str
    equals: bool | int | str | None


class Condition(TypedDict):
    """A condition on files of a commit."""

    file: str
    exists: bool | None
    has: str | None
    lacks: str | None
    matches: str | None
    value: YamlValue | None


class Outcome(TypedDict):
    """How a job ends."""

    conclusion: str
    step: str | None
    log: str | None
    seconds: int | None
    annotations: Sequence[dict[str, Any]]


class Rule(Outcome):
    """How a job ends on commits that fit."""

    when: Sequence[Condition]
    unless: Sequence[Condition]


class ScriptStep(TypedDict):
    """What a step does where it succeeds."""

    name: str
    seconds: int
    log: str | None


class ScriptJob(TypedDict):
    """What a job does."""

    queued_seconds: int
    steps: Sequence[ScriptStep]
    rules: Sequence[Rule]
    otherwise: Outcome


class Script(TypedDict):
    """What the runs of a workflow do, as a record holds it; the records of seeds say what each key means."""

    jobs: dict[str, ScriptJob]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """A step as it will go."""

    name: str
    seconds: int = 1
    conclusion: str = "success"
    log: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """A job as it will go, from when it has what it needs."""

    conclusion: str
    queued_seconds: int = 1
    steps: tuple[PlannedStep, ...] = ()
    annotations: Sequence[dict[str, Any]] = ()

    @property
    def seconds(self) -> int:
        """Return how long it takes once a runner has it."""
        return sum(step.seconds for step in self.steps)


_SUCCESS: Outcome = {"conclusion": "success", "step": None, "log": None, "seconds": None, "annotations": ()}
_UNSCRIPTED: ScriptJob = {"queued_seconds": 1, "steps": (), "rules": (), "otherwise": _SUCCESS}


def complete_script(script: Mapping[str, Any], jobs: Sequence[JobDefinition]) -> dict[str, Any]:
    """Return a script that knows each job of a workflow file by its key and by the name of its check."""
    jobs_by_key: dict[str, ScriptJob] = dict(cast("Script", script)["jobs"])
    for job in jobs:
        job_script = (
            jobs_by_key.get(job.key) or jobs_by_key.get(job.name) or (None if _ANY_JOB in jobs_by_key else _UNSCRIPTED)
        )
        if job_script is not None:
            jobs_by_key.setdefault(job.key, job_script)
            jobs_by_key.setdefault(job.name, job_script)
    return {**script, "jobs": jobs_by_key}


def find_script_jobs(
    script: Mapping[str, Any], others: Iterable[Mapping[str, Any]], name: str, jobs: Sequence[JobDefinition]
) -> list[ScriptJob]:
    """Return what scripts say of the check `name`, one at least; `jobs` are those of the workflow's file.

    A commit can give a job another key, the name of another job, or a place in another workflow, whose scripts are
    `others`. None of these takes a check away from the rules that are for it.
    """
    script_jobs = cast("Script", script)["jobs"]
    by_key = [script_jobs[job.key] for job in jobs if job.name == name and job.key in script_jobs]
    by_name = [
        keys[name] for keys in (script_jobs, *(cast("Script", other)["jobs"] for other in others)) if name in keys
    ]
    # Workflows may have jobs of one name: what its own script says of it is enough.
    matching = by_key + by_name[:1] if name in script_jobs else by_key + by_name
    if matching or _ANY_JOB in script_jobs:
        return matching or [script_jobs[_ANY_JOB]]
    # The script may be about a job that was renamed to this one.
    present = {text for job in jobs for text in (job.key, job.name)}
    return [_UNSCRIPTED, *(each for key, each in script_jobs.items() if jobs and key not in present)]


def plan_job(
    script_jobs: Sequence[ScriptJob], job: JobDefinition, git: GitRepository, sha: str, *, is_skipped: bool = False
) -> JobPlan:
    """Return how a job goes on a commit by the first of its scripts, or by the first that fails.

    `is_skipped` where one that it needs has failed or was skipped.
    """
    outcomes = [
        next((rule for rule in each["rules"] if _fits(rule, git, sha)), each["otherwise"]) for each in script_jobs
    ]
    chosen = next((at for at, each in enumerate(outcomes) if each["conclusion"] in FAILING), 0)
    script, outcome = script_jobs[chosen], outcomes[chosen]
    fails = outcome["conclusion"] in FAILING
    # The rules come first: `if: false`, or `needs` of a job that fails, would otherwise turn a red check into a skipped
    # one, which lets a merge through.
    if outcome["conclusion"] == "skipped" or (not fails and (is_skipped or job.condition == "false")):
        return JobPlan(conclusion="skipped", queued_seconds=0)
    steps = _plan_steps(job, script["steps"], outcome)
    return JobPlan(
        conclusion=outcome["conclusion"],
        queued_seconds=script["queued_seconds"],
        steps=steps,
        annotations=(*outcome["annotations"], *_error_annotations(steps)),
    )


def runs_after_failure(condition: str) -> bool:
    """Return whether a job or step with this `if` runs although something before it has failed."""
    return _REGARDLESS.search(condition) is not None


def _fits(rule: Rule, git: GitRepository, sha: str) -> bool:
    conditions_hold = all(_holds(condition, git, sha) for condition in rule["when"])
    return conditions_hold and not any(_holds(condition, git, sha) for condition in rule["unless"])


def _holds(condition: Condition, git: GitRepository, sha: str) -> bool:
    contents = _contents(git, sha, condition["file"])
    if (exists := condition["exists"]) is not None:
        return exists == any(True for _ in contents)
    if (text := condition["has"]) is not None:
        return any(text in _decode(content) for content in contents)
    if (text := condition["lacks"]) is not None:
        return not any(text in _decode(content) for content in contents)
    if (pattern := condition["matches"]) is not None:
        return any(re.search(pattern, _decode(content), re.MULTILINE) for content in contents)
    value = condition["value"]
    return value is not None and any(_has_value(content, value) for content in contents)


def _contents(git: GitRepository, sha: str, path: str) -> Iterator[bytes]:
    """Yield the contents of the files that a path or pattern names."""
    if _WILDCARDS.search(path):
        commit = git.commit(sha)
        entries = git.tree(commit.tree, recursive=True) if commit else []
        matching = [entry for entry in entries if matches_glob(path, entry.path)]
    else:
        entry = git.entry(sha, path)
        matching = [] if entry is None else [entry]
    for entry in matching:
        if entry.type == "blob":
            yield git.blob(entry.sha) or b""


def _decode(content: bytes) -> str:
    return content.decode("utf-8", "replace").replace("\r\n", "\n")


def _has_value(content: bytes, expected: YamlValue) -> bool:
    try:
        document = parse_yaml(content)
    except WorkflowFileError:
        return False
    equals = expected["equals"]
    values = _values_at(document, expected["at"].split("."))
    return any(type(each) is type(equals) and each == equals for each in values)


def _values_at(value: Any, keys: Sequence[str]) -> Iterator[Any]:
    if not keys:
        yield value
        return
    key, *rest = keys
    items: dict[str, Any] = {}
    if isinstance(value, dict):
        items = {str(name): each for name, each in cast("dict[Any, Any]", value).items()}
    elif isinstance(value, list):
        items = {str(index): each for index, each in enumerate(cast("list[Any]", value))}
    for each in items.values() if key == _ANY_JOB else [items[key]] if key in items else []:
        yield from _values_at(each, rest)


def _plan_steps(job: JobDefinition, script_steps: Sequence[ScriptStep], outcome: Outcome) -> tuple[PlannedStep, ...]:
    steps_by_name = {step["name"]: step for step in script_steps}
    own, fails, name = list(job.steps), outcome["conclusion"] in FAILING, outcome["step"]
    if name is None and fails:
        name = own[-1].name if own else f"Run {job.name}"
    if name is not None and all(step.name != name for step in own):
        # Shown although the file has no such step: who takes the step out of the file has not fixed what it found.
        own.append(StepDefinition(name=name))
    steps: list[PlannedStep] = []
    has_failed = False
    for step in own:
        if step.name == name:
            steps.append(_end_step(step, steps_by_name.get(step.name), outcome))
            has_failed, name = fails, None  # the first of that name
        elif step.condition == "false" or (has_failed and not runs_after_failure(step.condition)):
            steps.append(PlannedStep(name=step.name, seconds=0, conclusion="skipped"))
        else:
            steps.append(_plan_step(step, steps_by_name.get(step.name)))
    posts = (step for step in reversed(job.steps) if step.uses and _HAS_POST.match(step.uses))
    return (
        PlannedStep(name="Set up job", log=_setup_log(job)),
        *steps,
        *(PlannedStep(name=f"Post {step.name}", seconds=0, log="Post job cleanup.\n") for step in posts),
        PlannedStep(name="Complete job", seconds=0, log="Cleaning up orphan processes\n"),
    )


def _plan_step(step: StepDefinition, script_step: ScriptStep | None) -> PlannedStep:
    printed = _whole_lines(script_step["log"]) if script_step else ""
    return PlannedStep(
        name=step.name, seconds=script_step["seconds"] if script_step else 1, log=_command_lines(step) + printed
    )


def _end_step(step: StepDefinition, script_step: ScriptStep | None, outcome: Outcome) -> PlannedStep:
    planned, conclusion = _plan_step(step, script_step), outcome["conclusion"]
    log = planned.log if outcome["log"] is None else _command_lines(step) + _whole_lines(outcome["log"])
    if conclusion == "failure" and "##[error]" not in (log or ""):
        log = f"{log or ''}{_FAILED}\n"
    return replace(
        planned,
        conclusion=("failure" if conclusion == "failure" else "cancelled") if conclusion in FAILING else "success",
        seconds=planned.seconds if outcome["seconds"] is None else outcome["seconds"],
        log=log,
    )


def _command_lines(step: StepDefinition) -> str:
    """Return how a runner shows what a step is going to do."""
    if step.run is None:
        return f"##[group]Run {step.uses}\n##[endgroup]\n" if step.uses else ""
    lines = step.run.strip().splitlines() or [""]
    commands = "".join(f"{line}\n" for line in lines)
    return f"##[group]Run {lines[0]}\n{commands}shell: /usr/bin/bash -e {{0}}\n##[endgroup]\n"


def _setup_log(job: JobDefinition) -> str:
    actions = dict.fromkeys(step.uses for step in job.steps if step.uses)
    return "".join(
        (
            "Prepare workflow directory\n",
            "Prepare all required actions\n" if actions else "",
            *(f"Download action repository '{action}'\n" for action in actions),
            f"Complete job name: {job.name}\n",
        )
    )


def _whole_lines(text: str | None) -> str:
    return f"{text}\n" if text and not text.endswith("\n") else text or ""


def _error_annotations(steps: Sequence[PlannedStep]) -> Iterator[dict[str, Any]]:
    """Yield an annotation for each error that steps report, at the line of the log, as GitHub makes them."""
    for step in steps:
        for number, line in enumerate((step.log or "").splitlines(), 1):
            if line.startswith("##[error]"):
                yield {"path": ".github", "start_line": number, "message": line.removeprefix("##[error]")}
