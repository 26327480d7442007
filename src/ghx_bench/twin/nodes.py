"""From records to global node ids and back."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from ghx_bench.twin.identity import NodeId, parse_node_id
from ghx_bench.twin.state import records
from ghx_bench.twin.state.database import Database
from ghx_bench.twin.state.records import Record


@dataclass(frozen=True, slots=True)
class _Kind:
    model: type[Record]
    repository: Callable[[Database, Record], int | None]


def node_id(database: Database, record: Record) -> str:
    """Return the global id of a record; both APIs show the same."""
    if isinstance(record, records.User):
        prefix = {"Organization": "O", "Bot": "BOT"}.get(record.type, "U")
        return str(NodeId(prefix, None, record.id))
    prefix = _prefixes()[type(record)]
    return str(NodeId(prefix, _KINDS[prefix].repository(database, record), record.id))


def find_record(database: Database, identity: str) -> Record | None:
    """Return the record a global id names, wherever it is; whether the viewer may see it is for the caller to ask."""
    parsed = parse_node_id(identity)
    kind = _KINDS.get(parsed.prefix) if parsed else None
    if parsed is None or kind is None:
        return None
    record = database.get(kind.model, parsed.id)
    return record if record is not None and node_id(database, record) == identity else None


def repository_id(database: Database, record: Record) -> int | None:
    """Return the repository that a record belongs to, where it belongs to one."""
    if isinstance(record, records.Repository):
        return record.id
    way = next((way for field, way in _WAYS_HOME.items() if hasattr(record, field)), _no_repository)
    return way(database, record)


def _no_repository(_database: Database, _record: Record) -> None:
    return None


def _direct(_database: Database, record: Record) -> int | None:
    return getattr(record, "repository_id", None)


def _through_issue(database: Database, record: Record) -> int | None:
    issue = database.get(records.Issue, getattr(record, "issue_id", None))
    return issue.repository_id if issue else None


def _through_pull(database: Database, record: Record) -> int | None:
    pull = database.get(records.Pull, getattr(record, "pull_id", None))
    return pull.repository_id if pull else None


def _through_thread(database: Database, record: Record) -> int | None:
    thread = database.get(records.Thread, getattr(record, "thread_id", None))
    return _through_pull(database, thread) if thread else None


def _through_run(database: Database, record: Record) -> int | None:
    run = database.get(records.WorkflowRun, getattr(record, "run_id", None))
    return run.repository_id if run else None


def _through_subject(database: Database, reaction: Record) -> int | None:
    table, identity = getattr(reaction, "subject_kind", None), getattr(reaction, "subject_id", None)
    model = next((model for model in records.RECORDS if model.table == table), None)
    subject = database.get(model, identity) if model else None
    return repository_id(database, subject) if subject else None


_WAYS_HOME: dict[str, Callable[[Database, Record], int | None]] = {
    "repository_id": _direct,
    "issue_id": _through_issue,
    "pull_id": _through_pull,
    "thread_id": _through_thread,
    "subject_id": _through_subject,
    "run_id": _through_run,
}
_KINDS = {
    "U": _Kind(records.User, _no_repository),
    "O": _Kind(records.User, _no_repository),
    "BOT": _Kind(records.User, _no_repository),
    "T": _Kind(records.Team, _no_repository),
    "R": _Kind(records.Repository, _no_repository),
    "LA": _Kind(records.Label, _direct),
    "MI": _Kind(records.Milestone, _direct),
    "I": _Kind(records.Issue, _direct),
    "PR": _Kind(records.Pull, _direct),
    "IC": _Kind(records.Comment, _through_issue),
    "PRR": _Kind(records.Review, _through_pull),
    "PRRT": _Kind(records.Thread, _through_pull),
    "PRRC": _Kind(records.ReviewComment, _through_thread),
    "RRQ": _Kind(records.ReviewRequest, _through_pull),
    "EV": _Kind(records.Event, _through_issue),
    "REA": _Kind(records.Reaction, _no_repository),
    "SC": _Kind(records.Status, _direct),
    "CR": _Kind(records.CheckRun, _direct),
    "W": _Kind(records.Workflow, _direct),
    "WFR": _Kind(records.WorkflowRun, _direct),
    "BPR": _Kind(records.Protection, _direct),
}


@cache
def _prefixes() -> dict[type[Record], str]:
    return {kind.model: prefix for prefix, kind in _KINDS.items() if kind.model is not records.User}
