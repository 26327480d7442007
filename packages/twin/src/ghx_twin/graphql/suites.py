"""The check suites of commits: one for each workflow run, and one for each check run that a tool reported."""

from collections.abc import Mapping, Sequence
from typing import Any

from ghx_twin.graphql.context import Context
from ghx_twin.graphql.subjects import SuiteSubject
from ghx_twin.nodes import NodeId, parse_node_id
from ghx_twin.queries.actions import workflow_runs
from ghx_twin.state.records import CheckRun, Repository, RunAttempt, WorkflowRun

_PREFIX = "CS"


def suites_of(context: Context, repository: Repository, sha: str) -> list[SuiteSubject]:
    """Return the suites of a commit, those of workflow runs first."""
    runs = context.database.all(WorkflowRun, repository_id=repository.id, head_sha=sha)
    latest = workflow_runs.latest_attempts(context.world, runs)
    alone = context.database.all(CheckRun, repository_id=repository.id, head_sha=sha, attempt_id=None)
    of_runs = (workflow_runs.Origin(run, latest[run.id]) for run in runs)
    return [SuiteSubject(whole) for whole in (*of_runs, *alone)]


def suite_id(suite: SuiteSubject) -> tuple[int, str]:
    """Return the database id and the global id of a suite."""
    place = suite.whole if isinstance(suite.whole, CheckRun) else suite.whole.run
    return place.id, str(NodeId(_PREFIX, place.repository_id, place.id))


def find_suite(context: Context, identity: str) -> SuiteSubject | None:
    """Return the suite with a global id, where the viewer may see it."""
    parsed = parse_node_id(identity)
    if parsed is None or parsed.prefix != _PREFIX:
        return None
    repository = context.visible(context.repository(parsed.repository_id or 0))
    where = {"id": parsed.id, "repository_id": repository.id if repository else None}
    run = context.database.one(WorkflowRun, **where)
    if run is not None:
        return SuiteSubject(workflow_runs.Origin(run, workflow_runs.latest_attempt(context.world, run)))
    alone = context.database.one(CheckRun, attempt_id=None, **where)
    return SuiteSubject(alone) if alone else None


def check_runs(context: Context, suite: SuiteSubject, *, latest: bool = True) -> Sequence[CheckRun]:
    """Return the check runs of a suite: of its latest attempt, or of all."""
    if isinstance(suite.whole, CheckRun):
        return [suite.whole]
    if latest:
        return workflow_runs.jobs(context.world, suite.whole.attempt)
    attempts = context.database.all(RunAttempt, order="number", run_id=suite.whole.run.id)
    return [job for attempt in attempts for job in workflow_runs.jobs(context.world, attempt)]


def fits(context: Context, suite: SuiteSubject, filters: Mapping[str, Any]) -> bool:
    """Return whether a suite is of the app, and has a check run of the name, that a filter asks for."""
    app, name = filters.get("app_id"), filters.get("check_name")
    if app is not None and (app != workflow_runs.ACTIONS_APP_ID or isinstance(suite.whole, CheckRun)):
        return False
    return name is None or any(one.name == name for one in check_runs(context, suite))
