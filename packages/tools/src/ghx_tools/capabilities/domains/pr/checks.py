"""The checks of a pull request."""

from collections.abc import AsyncGenerator
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import Field

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.pr.lookup import pull_variables
from ghx_tools.capabilities.domains.pr.records import EXAMPLE
from ghx_tools.capabilities.models import Count, OutputModel, PullInput, get_value, require_value
from ghx_tools.capabilities.registry import Operation

_LIST = """
query PullRequestChecks($owner: String!, $name: String!, $prNumber: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $prNumber) {
      statusCheckRollup {
        contexts(first: 100, after: $after) {
          nodes {
            ... on CheckRun {
              name status conclusion startedAt detailsUrl
              checkSuite { workflowRun { event workflow { name } } }
              annotations(first: 50) {
                nodes { path message annotationLevel location { start { line } end { line } } }
              }
            }
            ... on StatusContext { context statusState: state createdAt targetUrl }
          }
          pageInfo { hasNextPage endCursor }
        }
      }
    }
  }
}
"""

Outcome = Literal["failed", "pending", "passed"]
_OUTCOMES: MappingProxyType[str, Outcome] = MappingProxyType(
    {
        **dict.fromkeys(("SUCCESS", "NEUTRAL", "SKIPPED"), "passed"),  # none of which holds a merge up
        **dict.fromkeys(("FAILURE", "ERROR", "TIMED_OUT", "ACTION_REQUIRED", "CANCELLED", "STARTUP_FAILURE"), "failed"),
    }
)


class ChecksInput(PullInput):
    """Which checks."""

    state: Annotated[Outcome | None, Field(description="Only those that came out like this.")] = None


class Annotation(OutputModel):
    """A remark of a check about some lines."""

    path: str | None
    start_line: int | None
    end_line: int | None
    level: str | None
    message: str | None


class Check(OutputModel):
    """One check run or commit status; `state` is GitHub's conclusion, or how far it is."""

    name: str | None
    state: str | None
    workflow: str | None
    link: str | None
    annotations: tuple[Annotation, ...]


class CheckCounts(OutputModel):
    """How all checks came out, whichever were asked for; each counts once."""

    total: Count
    failed: Count
    pending: Count
    passed: Count


class Checks(OutputModel):
    """Checks of the last commit, and how many came out how."""

    items: tuple[Check, ...]
    summary: CheckCounts


async def list_checks(client: GitHubClient, inputs: ChecksInput) -> Checks:
    """List the checks of a pull request; of a check that ran several times, the last run."""
    latest: dict[tuple[Any, ...], dict[str, Any]] = {}
    async for context in _contexts(client, inputs):
        run = get_value(context, "checkSuite", "workflowRun")
        # A workflow that runs for push and for pull_request has a check of the same name for each of them.
        key = (context.get("name"), context.get("context"), get_value(run, "event"), get_value(run, "workflow", "name"))
        if key not in latest or _start_time(latest[key]) <= _start_time(context):
            latest[key] = context
    checks = [_describe_check(context) for context in latest.values()]
    outcomes = [(_OUTCOMES.get(check["state"], "pending"), check) for check in checks]
    counts = {name: sum(outcome == name for outcome, _ in outcomes) for name in ("failed", "pending", "passed")}
    items = [check for outcome, check in outcomes if inputs.state in (None, outcome)]
    return Checks.model_validate({"items": items, "summary": {"total": len(outcomes), **counts}})


async def _contexts(client: GitHubClient, inputs: ChecksInput) -> AsyncGenerator[dict[str, Any]]:
    after: str | None = None
    while True:
        answer = await client.graphql(_LIST, {**pull_variables(inputs), "after": after})
        rollup = require_value(answer, "repository", "pullRequest")["statusCheckRollup"]
        if rollup is None:  # nothing was ever checked
            return
        for node in rollup["contexts"]["nodes"]:
            if node:
                yield node
        after = rollup["contexts"]["pageInfo"]["endCursor"]
        if not rollup["contexts"]["pageInfo"]["hasNextPage"]:
            return


def _start_time(context: dict[str, Any]) -> str:
    return context.get("startedAt") or context.get("createdAt") or ""


def _describe_check(context: dict[str, Any]) -> dict[str, Any]:
    annotations: list[Any] = get_value(context, "annotations", "nodes") or []
    return {
        "name": context.get("name") or context.get("context"),
        "state": context.get("statusState") or context.get("conclusion") or context["status"],
        "workflow": get_value(context, "checkSuite", "workflowRun", "workflow", "name"),
        "link": context.get("detailsUrl") or context.get("targetUrl"),
        "annotations": [_describe_annotation(each) for each in annotations if each],
    }


def _describe_annotation(annotation: dict[str, Any]) -> dict[str, Any]:
    return {
        "path": annotation["path"],
        "startLine": get_value(annotation, "location", "start", "line"),
        "endLine": get_value(annotation, "location", "end", "line"),
        "level": annotation["annotationLevel"],
        "message": annotation["message"],
    }


OPERATIONS = {
    "pr.checks.list": Operation(
        input=ChecksInput,
        output=Checks,
        function=list_checks,
        route="graphql",
        example={**EXAMPLE, "state": "failed"},
    ),
}
