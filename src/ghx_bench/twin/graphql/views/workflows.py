"""Workflows, their runs, and the check suites that these are."""

from typing import Any, ClassVar

from ghx_bench.twin.graphql import git_lookup
from ghx_bench.twin.graphql.subjects import SuiteOf
from ghx_bench.twin.graphql.views.base import Linked, RecordView, View
from ghx_bench.twin.queries import workflow_runs
from ghx_bench.twin.state.records import CheckRun, RunAttempt, Workflow, WorkflowRun


class CheckSuiteView(View[SuiteOf]):
    """The suite that a check run is part of: an attempt at a workflow run, or the check run alone."""

    typename: ClassVar[str] = "CheckSuite"
    __slots__ = ()

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
        return self.context.view_of(SuiteOf(workflow_runs.Origin(self.subject, attempt)))

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
