"""Workflows, their runs, and the check suites that these are."""

from collections.abc import Sequence
from typing import Any, ClassVar

from ghx_twin.graphql import git_lookup, suites
from ghx_twin.graphql.subjects import SuiteSubject
from ghx_twin.graphql.views.base import Linked, RecordView, View
from ghx_twin.queries.actions import workflow_runs
from ghx_twin.state.records import CheckRun, RunAttempt, Workflow, WorkflowRun


class CheckSuiteView(Linked, View[SuiteSubject]):
    """The suite that a check run is part of: an attempt at a workflow run, or the check run alone."""

    typename: ClassVar[str] = "CheckSuite"
    __slots__ = ()

    def id(self) -> str:
        """Return the global id."""
        return suites.suite_id(self.subject)[1]

    def database_id(self) -> int:
        """Return the id REST uses."""
        return suites.suite_id(self.subject)[0]

    def branch(self) -> Any:
        """Return the branch it ran for, where that is still there."""
        place = self._place
        name = place.head_branch if isinstance(place, WorkflowRun) else None
        home = self.context.home(place.repository_id)
        return self.context.view_of(git_lookup.ref(self.context, home, f"refs/heads/{name}") if name else None)

    def check_runs(self, filter_by: dict[str, Any] | None = None) -> Sequence[CheckRun]:
        """Return its check runs."""
        filters = filter_by or {}
        if not suites.fits(self.context, self.subject, {"app_id": filters.get("app_id")}):
            return []
        runs = suites.check_runs(self.context, self.subject, latest=filters.get("check_type") != "ALL")
        statuses = {*(filters.get("statuses") or ()), *([filters["status"]] if filters.get("status") else ())}
        endings, name = filters.get("conclusions"), filters.get("check_name")
        return [
            one for one in runs
            if (not statuses or one.status.upper() in statuses) and name in {None, one.name}
            and (not endings or (one.conclusion or "").upper() in endings)
        ]  # fmt: skip

    def creator(self) -> Any:
        """Return who set it off, where that is a person."""
        place = self._place
        actor = self.context.user(place.actor_id) if isinstance(place, WorkflowRun) else None
        return self.context.view_of(actor if actor and actor.type == "User" else None)

    def resource_path(self) -> str:
        """Return the path of its page."""
        home, place = self.context.home(self._place.repository_id), self._place
        page = f"actions/runs/{place.id}" if isinstance(place, WorkflowRun) else f"runs/{place.id}"
        return f"/{self.context.full_name(home)}/{page}"

    def commit(self) -> Any:
        """Return the commit."""
        home = self.context.home(self._place.repository_id)
        return self.context.view_of(git_lookup.commit_at(self.context, home, self._place.head_sha))

    def conclusion(self) -> str | None:
        """Return how it ended."""
        ended = self._progress.conclusion
        return ended.upper() if ended else None

    def status(self) -> str:
        """Return how far it is."""
        return self._progress.status.upper()

    def created_at(self) -> str:
        """Return when it began."""
        place = self._place
        return place.created_at if isinstance(place, WorkflowRun) else place.started_at

    def updated_at(self) -> str:
        """Return when it last changed."""
        progress = self._progress
        if isinstance(progress, RunAttempt):
            return progress.updated_at
        return progress.completed_at or progress.started_at

    def repository(self) -> Any:
        """Return where it ran."""
        return self.context.view_of(self.context.home(self._place.repository_id))

    def workflow_run(self) -> Any:
        """Return the workflow run that it is, where it is one."""
        return self.context.view_of(self._place if isinstance(self._place, WorkflowRun) else None)

    @property
    def _place(self) -> WorkflowRun | CheckRun:
        whole = self.subject.whole
        return whole if isinstance(whole, CheckRun) else whole.run

    @property
    def _progress(self) -> RunAttempt | CheckRun:
        whole = self.subject.whole
        return whole if isinstance(whole, CheckRun) else whole.attempt


class WorkflowRunView(Linked, RecordView[WorkflowRun]):
    """A run of a workflow."""

    typename: ClassVar[str] = "WorkflowRun"
    sources: ClassVar = {"subject": WorkflowRun}
    __slots__ = ()

    def check_suite(self) -> Any:
        """Return its check suite."""
        attempt = workflow_runs.latest_attempt(self.context.world, self.subject)
        return self.context.view_of(SuiteSubject(workflow_runs.Origin(self.subject, attempt)))

    def run_number(self) -> int:
        """Return its number among the runs of its workflow."""
        return self.subject.number

    def updated_at(self) -> str:
        """Return when its last attempt changed."""
        return workflow_runs.latest_attempt(self.context.world, self.subject).updated_at

    def resource_path(self) -> str:
        """Return the path of its page."""
        home = self.context.home(self.subject.repository_id)
        return f"/{self.context.full_name(home)}/actions/runs/{self.subject.id}"

    def workflow(self) -> Any:
        """Return the workflow."""
        return self.context.view_of(workflow_runs.workflow_of(self.context.world, self.subject))


class WorkflowView(Linked, RecordView[Workflow]):
    """A workflow."""

    typename: ClassVar[str] = "Workflow"
    sources: ClassVar = {"subject": Workflow}
    __slots__ = ()

    def state(self) -> str:
        """Return whether it runs."""
        return self.subject.state.upper()

    def resource_path(self) -> str:
        """Return the path of its page."""
        home, file = self.context.home(self.subject.repository_id), self.subject.path.rpartition("/")[2]
        return f"/{self.context.full_name(home)}/actions/workflows/{file}"
