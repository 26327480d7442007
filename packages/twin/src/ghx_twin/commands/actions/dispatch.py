"""Runs that somebody asks for: `workflow_dispatch` with inputs, checked against the file."""

import json
from collections.abc import Mapping
from typing import Any

from ghx_twin.commands import kernel, texts
from ghx_twin.commands.actions import starting
from ghx_twin.git.repository import GitRepository
from ghx_twin.queries import lookup, permissions
from ghx_twin.queries.actions.workflow_files import (
    InputDefinition,
    WorkflowFile,
    WorkflowFileError,
    read_workflow_file,
)
from ghx_twin.refusals import InvalidRefusal
from ghx_twin.state.records import Workflow, WorkflowRun
from ghx_twin.world import Act

_EVENT = "workflow_dispatch"
_NO_TRIGGER = f"Workflow does not have '{_EVENT}' trigger"
_DISABLED = f"Cannot trigger a '{_EVENT}' on a disabled workflow"
_MOST_CHARACTERS = 65_535  # of all inputs, as JSON
_FLAGS = ("true", "false")


def dispatch(act: Act, workflow: Workflow, *, ref: str, inputs: Mapping[str, Any]) -> WorkflowRun:
    """Start a run of a workflow on a branch or tag; without a script its jobs stay queued."""
    current = kernel.reload(act, workflow)
    home = lookup.repository_by_id(act.world, act.viewer, current.repository_id)
    permissions.require(act, home, "write")
    git = act.git(home)
    result = _find_ref(git, ref)
    if result is None:
        raise InvalidRefusal(f"No ref found for: {ref}")
    if current.state != "active":
        raise InvalidRefusal(_DISABLED)
    name, sha = result
    file = _read_file(git, sha, current)
    arguments = _check_inputs(file, inputs)
    actor = lookup.user_by_id(act.world, kernel.actor_id(act, home)).login
    values = {f"inputs.{key}": value for key, value in arguments.items()} | {
        "github.actor": actor, "github.event_name": _EVENT, "github.ref_name": name, "github.sha": sha,
    }  # fmt: skip
    run = starting.insert_run(
        act, current, sha=sha, event=_EVENT, branch=name, title=starting.run_title(file, values), inputs=arguments
    )
    starting.queue_jobs(act, run, starting.insert_attempt(act, run), file.jobs)
    return run


def _find_ref(git: GitRepository, ref: str) -> tuple[str, str] | None:
    """Return the short name of a branch or tag and its commit."""
    names = [ref] if ref.startswith("refs/") else [f"refs/heads/{ref}", f"refs/tags/{ref}"]
    for name in names:
        sha = git.ref(name) if git.is_ref_name(name) and name.startswith(("refs/heads/", "refs/tags/")) else None
        commit = git.resolve(sha, "") if sha else None
        if commit is not None:
            return name.split("/", 2)[2], commit
    return None


def _read_file(git: GitRepository, sha: str, workflow: Workflow) -> WorkflowFile:
    try:
        file = read_workflow_file(git, sha, workflow.path)
    except WorkflowFileError:
        file = None
    if file is None or _EVENT not in file.triggers:
        raise InvalidRefusal(_NO_TRIGGER)
    return file


def _check_inputs(file: WorkflowFile, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of all inputs of the file; refuse those that it does not have, or would not take."""
    unknown = [name for name in inputs if name not in file.inputs]
    if unknown:
        raise InvalidRefusal(f"Unexpected inputs provided: {json.dumps(unknown, ensure_ascii=False)}")
    if len(json.dumps(dict(inputs), ensure_ascii=False)) > _MOST_CHARACTERS:
        raise InvalidRefusal("inputs are too large.")
    values: dict[str, Any] = {}
    for name, defined in file.inputs.items():
        value = inputs.get(name)
        if value is None or value == "":
            if defined.required and defined.default is None:
                raise InvalidRefusal(f"Required input '{name}' not provided")
            value = _default_of(defined)
        values[name] = _check_value(name, defined, value)
    return values


def _check_value(name: str, defined: InputDefinition, value: object) -> object:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    texts.check_unicode(text, resource="WorkflowRun", field=name)
    allowed = _FLAGS if defined.type == "boolean" else defined.options if defined.type == "choice" else None
    if allowed is not None and text not in allowed:
        raise InvalidRefusal(f"Provided value '{text}' for input '{name}' not in the list of allowed values")
    return text


def _default_of(defined: InputDefinition) -> object:
    if defined.default is not None:
        return defined.default
    match defined.type:
        case "boolean":
            return False
        case "choice":
            return defined.options[0] if defined.options else ""
        case _:
            return ""
