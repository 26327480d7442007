"""Statuses and check runs of commits."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar
from urllib.parse import quote

from ghx_twin.graphql import git_lookup
from ghx_twin.graphql.connections import Connection
from ghx_twin.graphql.subjects import RollupSubject, StatusSubject, SuiteSubject
from ghx_twin.graphql.views.base import Linked, RecordView, View
from ghx_twin.nodes import find_record, git_node_id
from ghx_twin.queries import lookup
from ghx_twin.queries.actions import workflow_runs
from ghx_twin.queries.actions.checks import combined_state
from ghx_twin.queries.pulls import mergeability
from ghx_twin.refusals import InvalidRefusal, NotFoundRefusal
from ghx_twin.state.clock import parse_time
from ghx_twin.state.records import Annotation, CheckRun, Pull, Repository, Status, Step


class StatusCheckRollupView(View[RollupSubject]):
    """What checks and statuses of a commit add up to."""

    typename: ClassVar[str] = "StatusCheckRollup"
    __slots__ = ()

    def id(self) -> str:
        """Return the global id, which is that of its commit under another type."""
        return git_node_id("rollup", self.subject.repository.id, self.subject.sha)

    def state(self) -> str:
        """Return the sum in one word."""
        return self.subject.rollup.state

    def commit(self) -> Any:
        """Return the commit."""
        return self.context.view_of(git_lookup.commit_at(self.context, self.subject.repository, self.subject.sha))

    def contexts(self) -> Sequence[CheckRun | Status]:
        """Return every check run and status."""
        return self.subject.rollup.contexts


class CheckContexts(Connection[Sequence[CheckRun | Status]]):
    """Check runs and statuses, counted by state."""

    __slots__ = ()

    def check_run_count(self) -> int:
        """Return how many check runs there are."""
        return sum(isinstance(one, CheckRun) for one in self.items)

    def check_run_counts_by_state(self) -> list["StateCount"]:
        """Return how many check runs are in each state."""
        states = (one.conclusion or one.status for one in self.items if isinstance(one, CheckRun))
        return _count_states("CheckRunStateCount", states)

    def status_context_count(self) -> int:
        """Return how many statuses there are."""
        return sum(isinstance(one, Status) for one in self.items)

    def status_context_counts_by_state(self) -> list["StateCount"]:
        """Return how many statuses are in each state."""
        return _count_states("StatusContextStateCount", (one.state for one in self.items if isinstance(one, Status)))


class StateCount:
    """How many there are in a state."""

    __slots__ = ("_count", "_state", "typename")

    def __init__(self, typename: str, state: str, count: int) -> None:
        self.typename, self._state, self._count = typename, state, count

    def state(self) -> str:
        """Return the state."""
        return self._state

    def count(self) -> int:
        """Return how many."""
        return self._count


class CommitStatusView(View[StatusSubject]):
    """The statuses of a commit."""

    typename: ClassVar[str] = "Status"
    __slots__ = ()

    def id(self) -> str:
        """Return the global id, which is that of its commit under another type."""
        return git_node_id("status", self.subject.rollup.repository.id, self.subject.rollup.sha)

    def state(self) -> str:
        """Return what the statuses add up to."""
        return combined_state(list(self._statuses())).upper()

    def commit(self) -> Any:
        """Return the commit."""
        rollup = self.subject.rollup
        return self.context.view_of(git_lookup.commit_at(self.context, rollup.repository, rollup.sha))

    def context_(self, name: str) -> Any:
        """Return the status with a name."""
        return self.context.view_of(next((one for one in self._statuses() if one.context == name), None))

    def contexts(self) -> list[Any]:
        """Return every status."""
        return [self.context.view_of(one) for one in self._statuses()]

    def combined_contexts(self) -> Sequence[CheckRun | Status]:
        """Return every check run and status."""
        return self.subject.rollup.rollup.contexts

    def _statuses(self) -> tuple[Status, ...]:
        return self.subject.rollup.rollup.statuses


class StatusContextView(RecordView[Status]):
    """One status of a commit."""

    typename: ClassVar[str] = "StatusContext"
    sources: ClassVar = {"subject": Status}
    __slots__ = ()

    def context_(self) -> str:
        """Return its name."""
        return self.subject.context

    def state(self) -> str:
        """Return what it says."""
        return self.subject.state.upper()

    def commit(self) -> Any:
        """Return the commit."""
        home = self.context.home(self.subject.repository_id)
        return self.context.view_of(git_lookup.commit_at(self.context, home, self.subject.sha))

    def creator(self) -> Any:
        """Return who set it."""
        return self.context.view_of(self.context.user(self.subject.creator_id))

    def is_required(self, **pull: Any) -> bool:
        """Return whether a pull request cannot be merged without it."""
        return _is_required(self, self.subject.context, **pull)


class CheckRunView(Linked, RecordView[CheckRun]):
    """One check run on a commit."""

    typename: ClassVar[str] = "CheckRun"
    sources: ClassVar = {"subject": CheckRun}
    __slots__ = ()

    def annotations(self) -> list[Annotation]:
        """Return what it says about lines of files."""
        return self.context.database.all(Annotation, check_run_id=self.subject.id)

    def steps(self, number: int | None = None) -> list[Step]:
        """Return its steps, where it is a job, or the one with a number."""
        steps = workflow_runs.steps(self.context.world, self.subject)
        return [step for step in steps if number in {None, step.number}]

    def check_suite(self) -> Any:
        """Return the suite it is part of."""
        return self.context.view_of(SuiteSubject(self._origin() or self.subject))

    def details_url(self) -> str | None:
        """Return where there is more: what its tool said, or the page of a job."""
        return self.subject.details_url or (self.url() if self._origin() else None)

    def status(self) -> str:
        """Return how far it is."""
        return self.subject.status.upper()

    def conclusion(self) -> str | None:
        """Return how it ended."""
        return self.subject.conclusion.upper() if self.subject.conclusion else None

    def repository(self) -> Any:
        """Return where it ran."""
        return self.context.view_of(self.context.home(self.subject.repository_id))

    def resource_path(self) -> str:
        """Return the path of its page."""
        home, origin = self.context.home(self.subject.repository_id), self._origin()
        page = workflow_runs.job_path(origin.run, self.subject) if origin else f"/runs/{self.subject.id}"
        return f"/{self.context.full_name(home)}{page}"

    def permalink(self) -> str:
        """Return the address of its page."""
        return self.url()

    def is_required(self, **pull: Any) -> bool:
        """Return whether a pull request cannot be merged without it."""
        return _is_required(self, self.subject.name, **pull)

    def _origin(self) -> workflow_runs.Origin | None:
        if self.subject.attempt_id is None:
            return None
        key = ("attempt", self.subject.attempt_id)
        return self.context.once(key, lambda: workflow_runs.origin(self.context.world, self.subject))


class CheckAnnotationView(View[Annotation]):
    """What a check run says about lines of a file."""

    typename: ClassVar[str] = "CheckAnnotation"
    sources: ClassVar = {"subject": Annotation}
    __slots__ = ()

    def annotation_level(self) -> str:
        """Return how bad it is."""
        return self.subject.annotation_level.upper()

    def blob_url(self) -> str:
        """Return the page of the file."""
        run = self.context.database.get(CheckRun, self.subject.check_run_id)
        assert run is not None  # noqa: S101 - annotations go with their check run
        name = self.context.full_name(self.context.home(run.repository_id))
        return f"{self.context.base.html}/{name}/blob/{run.head_sha}/{quote(self.subject.path)}"

    def database_id(self) -> int:
        """Return its number among all annotations."""
        return self.subject.id

    def location(self) -> "AnnotationSpan":
        """Return the lines that it is about."""
        return AnnotationSpan(self.subject)


class AnnotationSpan:
    """The lines that an annotation is about."""

    typename: ClassVar[str] = "CheckAnnotationSpan"
    __slots__ = ("_annotation",)

    def __init__(self, annotation: Annotation) -> None:
        self._annotation = annotation

    def start(self) -> "AnnotationPosition":
        """Return where it begins."""
        return AnnotationPosition(self._annotation.start_line, self._annotation.start_column)

    def end(self) -> "AnnotationPosition":
        """Return where it ends."""
        return AnnotationPosition(self._annotation.end_line, self._annotation.end_column)


class AnnotationPosition:
    """A place in a file."""

    typename: ClassVar[str] = "CheckAnnotationPosition"
    __slots__ = ("_column", "_line")

    def __init__(self, line: int, column: int | None) -> None:
        self._line, self._column = line, column

    def line(self) -> int:
        """Return the line, from 1."""
        return self._line

    def column(self) -> int | None:
        """Return the column, from 1, where it is known."""
        return self._column


class CheckStepView(View[Step]):
    """A step of a job."""

    typename: ClassVar[str] = "CheckStep"
    sources: ClassVar = {"subject": Step}
    __slots__ = ()

    def status(self) -> str:
        """Return how far it is."""
        return self.subject.status.upper()

    def conclusion(self) -> str | None:
        """Return how it ended."""
        return self.subject.conclusion.upper() if self.subject.conclusion else None

    def seconds_to_completion(self) -> int | None:
        """Return how long it took."""
        if self.subject.started_at is None or self.subject.completed_at is None:
            return None
        return parse_time(self.subject.completed_at) - parse_time(self.subject.started_at)


def _count_states(typename: str, states: Iterable[str]) -> list[StateCount]:
    return [StateCount(typename, state.upper(), count) for state, count in Counter(states).items()]


def _is_required(
    view: RecordView[Any], name: str, *, pull_request_id: str | None = None, pull_request_number: int | None = None
) -> bool:
    pull = _pull(view, view.context.home(view.subject.repository_id), pull_request_id, pull_request_number)
    return mergeability.is_required(view.context.world, pull, name)


def _pull(view: RecordView[Any], home: Repository, identity: str | None, number: int | None) -> Pull:
    if identity is not None:
        record = find_record(view.context.database, identity)
        if not isinstance(record, Pull) or record.repository_id != home.id:
            raise NotFoundRefusal(f"Could not resolve to a node with the global id of '{identity}'")
        return record
    if number is None:
        raise InvalidRefusal("Either `pullRequestId` or `pullRequestNumber` must be provided.")
    return lookup.pull(view.context.world, home, number)
