"""The first draft of a scenario: a file that is valid as it stands, and says what to change in it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from pydantic import TypeAdapter, ValidationError

from ghx_bench._base.errors import InputError, OperationError
from ghx_bench._base.problems import shortened
from ghx_bench._base.wire import JsonObject
from ghx_bench.eval.folders import SUFFIXES
from ghx_bench.eval.scenario import Category, ScenarioId

Format = Literal["yaml", "json"]

_ID: TypeAdapter[str] = TypeAdapter(ScenarioId)
_TIMEOUT_MS = 180_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """A small task of one category, the fixture it needs, and how it is checked."""

    prompt: str
    asserts: str
    checkpoint_id: str
    capability: str
    input: JsonObject
    condition: JsonObject
    fixture: str | None = None
    variable: str | None = None

    @property
    def requires(self) -> list[str]:
        return [] if self.fixture is None else [self.fixture]

    @property
    def bindings(self) -> dict[str, str]:
        return {} if self.variable is None else {self.variable: f"{self.fixture}.number"}


_PLACE: JsonObject = {"owner": "{{owner}}", "name": "{{repo_name}}"}

_TASKS: dict[Category, _Task] = {
    "pr": _Task(
        fixture="pr_with_changes",
        variable="pr_number",
        prompt="Review pull request #{{pr_number}} in {{repo}}, and submit a review that requests changes.",
        asserts="A review that requests changes was submitted",
        checkpoint_id="changes-requested",
        capability="pr.reviews.list",
        input={**_PLACE, "prNumber": "{{pr_number}}"},
        condition={"type": "contains_item", "value": {"state": "CHANGES_REQUESTED"}},
    ),
    "issue": _Task(
        fixture="issue_for_triage",
        variable="issue_number",
        prompt="Answer issue #{{issue_number}} in {{repo}} with a comment, and close it.",
        asserts="The issue is closed",
        checkpoint_id="issue-closed",
        capability="issue.view",
        input={**_PLACE, "issueNumber": "{{issue_number}}"},
        condition={"type": "field_equals", "path": "state", "value": "CLOSED"},
    ),
    "workflow": _Task(
        prompt="Start the workflow 'release' on the branch 'main' of {{repo}}.",
        asserts="The workflow was started on that branch",
        checkpoint_id="workflow-started",
        capability="workflow.runs.list",
        input={**_PLACE, "branch": "main"},
        condition={"type": "contains_item", "value": {"workflowName": "release"}},
    ),
    "release": _Task(
        prompt="Draft the release v1.1.0 of {{repo}}, with notes on what changed since v1.0.0. Do not publish it.",
        asserts="There is a draft of the release",
        checkpoint_id="release-drafted",
        capability="release.list",
        input=_PLACE,
        condition={"type": "contains_item", "value": {"tagName": "v1.1.0", "isDraft": True}},
    ),
    "repo": _Task(
        prompt="Make sure that {{repo}} has a label called 'needs-triage'.",
        asserts="The label is there",
        checkpoint_id="label-exists",
        capability="repo.labels.list",
        input=_PLACE,
        condition={"type": "contains_item", "value": {"name": "needs-triage"}},
    ),
}


def write_starter(id_: str, folder: Path, *, category: Category | None = None, format_: Format = "yaml") -> Path:
    """Write the first draft of a scenario into a folder, which is made if need be; never over another file."""
    _check_id(id_)
    path = folder / f"{id_}.{format_}"
    for other in (folder / f"{id_}{suffix}" for suffix in SUFFIXES):
        if other.exists() and other != path:
            raise InputError(f"{other}: there is a scenario with this id already; choose another id or folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(starter_text(id_, category=category or _category_of(id_), format_=format_))
    except FileExistsError:
        what = path if path.exists() else folder
        raise InputError(f"{what}: there is a file already; choose another id or folder") from None
    except OSError as error:
        raise OperationError(f"{path}: the file cannot be written: {error.strerror or error}") from error
    return path


def starter_text(id_: str, *, category: Category, format_: Format) -> str:
    """Return the first draft of a scenario."""
    task = _TASKS[category]
    if format_ == "json":
        return json.dumps(_as_json(id_, category, task), indent=2, ensure_ascii=False) + "\n"
    return _as_yaml(id_, category, task)


def _check_id(id_: str) -> None:
    try:
        _ID.validate_python(id_)
    except ValidationError:
        said = f"{shortened(id_)} cannot be the id of a scenario"
        raise InputError(f"{said}; write lower-case words and three digits: 'pr-review-001'") from None


def _category_of(id_: str) -> Category:
    """Guess the category by the first word of the id."""
    first = id_.partition("-")[0]
    return next((each for each in get_args(Category) if each == first), "issue")


def _name_of(id_: str) -> str:
    return id_.rpartition("-")[0].replace("-", " ").capitalize()


def _as_json(id_: str, category: Category, task: _Task) -> JsonObject:
    return {
        "id": id_,
        "name": _name_of(id_),
        "description": "What this scenario is for, and what makes it hard.",
        "category": category,
        "difficulty": "basic",
        "tags": [category],
        "prompt": task.prompt,
        "timeoutMs": _TIMEOUT_MS,
        "allowedRetries": 1,
        "fixture": {"repo": "{{fixture_repo}}", "requires": [*task.requires], "bindings": {**task.bindings}},
        "assertions": {
            "checkpoints": [
                {
                    "id": task.checkpoint_id,
                    "description": task.asserts,
                    "task": task.capability,
                    "input": task.input,
                    "condition": task.condition,
                }
            ]
        },
    }


def _as_yaml(id_: str, category: Category, task: _Task) -> str:
    bindings = _block(task.bindings, indent=4)
    return f"""\
# A scenario: a task for an agent, and how to tell that it was done. Check it with: ghx-bench check
# For completion in your editor: ghx-bench schema scenario > scenario.schema.json
id: {id_}
name: {json.dumps(_name_of(id_))}
description: What this scenario is for, and what makes it hard.

category: {category}  # pr, issue, workflow, release or repo
difficulty: basic  # basic, intermediate or advanced
tags: [{category}]  # any words, to select scenarios by

# What the agent is told. {{{{variables}}}} are replaced before each iteration.
prompt: >-
  {task.prompt}
timeoutMs: {_TIMEOUT_MS}  # the longest the agent may take
allowedRetries: 1  # only after failures that are not the agent's, such as a lost connection

# What has to be there before the agent starts, and the variables that stand for it.
# Besides the bindings there are repo, owner, repo_name, fixture_repo and run_id.
fixture:
  repo: "{{{{fixture_repo}}}}"  # the configured repository
  requires: {json.dumps(task.requires)}  # fixtures, by name
  bindings:{bindings or " {}"}  # a variable: its path in the manifest of fixtures

# What is verified afterwards, in this order: a capability is called, and its output must satisfy the condition.
assertions:
  checkpoints:
    - id: {task.checkpoint_id}
      description: {task.asserts}
      task: {task.capability}
      input:{_block(task.input, indent=8)}
      condition:{_block(task.condition, indent=8)}
"""


def _block(value: JsonObject | dict[str, str], *, indent: int) -> str:
    return "".join(f"\n{' ' * indent}{key}: {json.dumps(each)}" for key, each in value.items())
