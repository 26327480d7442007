"""Global node ids in GitHub's spelling, and the records and git objects that they name.

An id is a prefix for the type, then msgpack in base64: the repository and the database id of a record. What lives in
git has no row, so the id of a commit, tree, blob, tag or ref carries the repository and the object's name instead.
"""

import base64
import binascii
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, cast

from ghx_twin.state import records
from ghx_twin.state.database import Database
from ghx_twin.state.records import Record

GitNodeKind = Literal["commit", "tree", "blob", "tag", "ref", "comparison", "rollup", "status"]

_ALONE = struct.Struct(">BBBI")  # an array of two in msgpack: version 0, a 32-bit id
_PAIR = struct.Struct(">BBBIBI")  # an array of three: version 0, two 32-bit ids
_GIT_HEAD = struct.Struct(">BBBI")  # an array of three: version 0, a 32-bit repository id, then a string
_ARRAY_OF_2, _ARRAY_OF_3, _UINT32, _SHORT_TEXT, _LONG_TEXT = 0x92, 0x93, 0xCE, 0xA0, 0xDA
_LONGEST_SHORT_TEXT = 31  # bytes that a one-byte head can count
_LONGEST_ID, _LONGEST_GIT_ID = 64, 1024  # characters we try to read; ids of records have at most 25
_GIT_PREFIXES: dict[GitNodeKind, str] = {
    "commit": "C",
    "tree": "TR",
    "blob": "B",
    "tag": "TA",
    "ref": "REF",
    "comparison": "CO",
    "rollup": "SCR",
    "status": "S",
}
_GIT_KINDS: dict[str, GitNodeKind] = {prefix: kind for kind, prefix in _GIT_PREFIXES.items()}


@dataclass(frozen=True, slots=True)
class NodeId:
    """What a global id says: the type by its prefix, the repository where it is in one, and the database id."""

    prefix: str
    repository_id: int | None
    id: int

    def __str__(self) -> str:
        if self.repository_id is None:
            packed = _ALONE.pack(_ARRAY_OF_2, 0, _UINT32, self.id)
        else:
            packed = _PAIR.pack(_ARRAY_OF_3, 0, _UINT32, self.repository_id, _UINT32, self.id)
        return f"{self.prefix}_{base64.urlsafe_b64encode(packed).decode().rstrip('=')}"


@dataclass(frozen=True, slots=True)
class GitNode:
    """What the global id of a git object says: its kind, its repository, and its sha or full ref name."""

    kind: GitNodeKind
    repository_id: int
    name: str

    def __str__(self) -> str:
        name = self.name.encode("utf-8", "surrogateescape")
        if len(name) <= _LONGEST_SHORT_TEXT:
            head = bytes([_SHORT_TEXT | len(name)])
        else:
            head = struct.pack(">BH", _LONG_TEXT, len(name))
        packed = _GIT_HEAD.pack(_ARRAY_OF_3, 0, _UINT32, self.repository_id) + head + name
        return f"{_GIT_PREFIXES[self.kind]}_{base64.urlsafe_b64encode(packed).decode().rstrip('=')}"


def parse_node_id(text: str) -> NodeId | None:
    """Return what a global id says; None for anything this server cannot have written."""
    prefix, separator, packed = text.partition("_")
    if not separator or len(text) > _LONGEST_ID:
        return None
    try:
        content = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        if len(content) == _ALONE.size:
            parsed = NodeId(prefix, None, _ALONE.unpack(content)[3])
        else:
            fields = _PAIR.unpack(content)
            parsed = NodeId(prefix, fields[3], fields[5])
    except (binascii.Error, ValueError, struct.error):
        return None
    # Several texts decode to the same bytes (padding bits, other msgpack heads); only the one we write is an id.
    return parsed if str(parsed) == text else None


def git_node_id(kind: GitNodeKind, repository_id: int, name: str) -> str:
    """Return the global id of a git object (`name` is its sha) or of a ref (`name` is `refs/heads/main`)."""
    return str(GitNode(kind, repository_id, name))


def parse_git_node_id(text: str) -> GitNode | None:
    """Return what the global id of a git object says; None for anything this server cannot have written."""
    prefix, separator, packed = text.partition("_")
    if not separator or prefix not in _GIT_KINDS or len(text) > _LONGEST_GIT_ID:
        return None
    try:
        content = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        repository_id = cast("int", _GIT_HEAD.unpack_from(content)[3])
        start = _GIT_HEAD.size + (1 if content[_GIT_HEAD.size] != _LONG_TEXT else 3)
        parsed = GitNode(_GIT_KINDS[prefix], repository_id, content[start:].decode("utf-8", "surrogateescape"))
    except (binascii.Error, ValueError, struct.error, IndexError):
        return None
    return parsed if str(parsed) == text else None


def node_id(database: Database, record: Record) -> str:
    """Return the global id of a record; both APIs show the same."""
    if isinstance(record, records.User):
        prefix = {"Organization": "O", "Bot": "BOT"}.get(record.type, "U")
        return str(NodeId(prefix, None, record.id))
    prefix = _FIELD_PREFIXES.get(record.data_type, "PVTF") if isinstance(record, records.ProjectField) else None
    prefix = prefix or _PREFIXES[type(record)]
    return str(NodeId(prefix, _KINDS[prefix].find_repository(database, record), record.id))


def find_record(database: Database, identity: str) -> Record | None:
    """Return the record a global id names, wherever it is; the caller asks whether the viewer may see it."""
    parsed = parse_node_id(identity)
    kind = _KINDS.get(parsed.prefix) if parsed else None
    if parsed is None or kind is None:
        return None
    record = database.get(kind.model, parsed.id)
    # The repository in the id must be the record's own: the id of a transferred issue changes with its home.
    return record if record is not None and node_id(database, record) == identity else None


def repository_id(database: Database, record: Record) -> int | None:
    """Return the id of the repository that a record belongs to, where it belongs to one."""
    if isinstance(record, records.Repository):
        return record.id
    find = next((find for field, find in _BY_FIELD.items() if hasattr(record, field)), _no_repository)
    return find(database, record)


_Finder = Callable[[Database, Record], int | None]


@dataclass(frozen=True, slots=True)
class _Kind:
    model: type[Record]
    find_repository: _Finder


def _no_repository(_database: Database, _record: Record) -> None:
    return None


def _own_field(_database: Database, record: Record) -> int | None:
    return getattr(record, "repository_id", None)


def _through(model: type[Record], field: str) -> _Finder:
    def find(database: Database, record: Record) -> int | None:
        return getattr(database.get(model, getattr(record, field, None)), "repository_id", None)

    return find


def _owner(_database: Database, record: Record) -> int | None:
    return getattr(record, "owner_id", None)


def _project(_database: Database, record: Record) -> int | None:
    return getattr(record, "project_id", None)


_through_issue = _through(records.Issue, "issue_id")
_through_pull = _through(records.Pull, "pull_id")


def _through_thread(database: Database, record: Record) -> int | None:
    thread = database.get(records.Thread, getattr(record, "thread_id", None))
    return _through_pull(database, thread) if thread else None


def _through_subject(database: Database, reaction: Record) -> int | None:
    table, identity = getattr(reaction, "subject_kind", None), getattr(reaction, "subject_id", None)
    model = next((model for model in records.RECORDS if model.table == table), None)
    subject = database.get(model, identity) if model else None
    return repository_id(database, subject) if subject else None


_BY_FIELD: dict[str, _Finder] = {
    "repository_id": _own_field,
    "project_id": _no_repository,  # also where the item is an issue: a project belongs to an account
    "issue_id": _through_issue,
    "pull_id": _through_pull,
    "thread_id": _through_thread,
    "subject_id": _through_subject,
    "run_id": _through(records.WorkflowRun, "run_id"),
    "job_id": _through(records.CheckRun, "job_id"),
    "check_run_id": _through(records.CheckRun, "check_run_id"),
    "release_id": _through(records.Release, "release_id"),
}
_KINDS = {
    "U": _Kind(records.User, _no_repository),
    "O": _Kind(records.User, _no_repository),
    "BOT": _Kind(records.User, _no_repository),
    "T": _Kind(records.Team, _no_repository),
    "R": _Kind(records.Repository, _no_repository),
    "LA": _Kind(records.Label, _own_field),
    "MI": _Kind(records.Milestone, _own_field),
    "I": _Kind(records.Issue, _own_field),
    "PR": _Kind(records.Pull, _own_field),
    "IC": _Kind(records.Comment, _through_issue),
    "PRR": _Kind(records.Review, _through_pull),
    "PRRT": _Kind(records.Thread, _through_pull),
    "PRRC": _Kind(records.ReviewComment, _through_thread),
    "RRQ": _Kind(records.ReviewRequest, _through_pull),
    "EV": _Kind(records.Event, _through_issue),
    "REA": _Kind(records.Reaction, _no_repository),
    "SC": _Kind(records.Status, _own_field),
    "CR": _Kind(records.CheckRun, _own_field),
    "W": _Kind(records.Workflow, _own_field),
    "WFR": _Kind(records.WorkflowRun, _own_field),
    "AR": _Kind(records.Artifact, _own_field),
    "BPR": _Kind(records.Protection, _own_field),
    "CC": _Kind(records.CommitComment, _own_field),
    "RE": _Kind(records.Release, _own_field),
    "RA": _Kind(records.ReleaseAsset, _through(records.Release, "release_id")),
    "IT": _Kind(records.IssueType, _no_repository),
    "LB": _Kind(records.LinkedBranch, _own_field),
    # In the place of the repository stand the owner of a project, and the project of what is on it.
    "PVT": _Kind(records.Project, _owner),
    "PVTF": _Kind(records.ProjectField, _project),
    "PVTSSF": _Kind(records.ProjectField, _project),
    "PVTIF": _Kind(records.ProjectField, _project),
    "PVTI": _Kind(records.ProjectItem, _project),
    "PVTV": _Kind(records.ProjectView, _project),
    "PVTSU": _Kind(records.ProjectStatusUpdate, _project),
    "PWF": _Kind(records.ProjectWorkflow, _project),
    "DI": _Kind(records.DraftIssue, _no_repository),
    "RRS": _Kind(records.Ruleset, _own_field),
    "EN": _Kind(records.Environment, _own_field),
    "DE": _Kind(records.Deployment, _own_field),
    "DES": _Kind(records.DeploymentStatus, _own_field),
}
_FIELD_PREFIXES = {"single_select": "PVTSSF", "iteration": "PVTIF"}
_PREFIXES = {kind.model: prefix for prefix, kind in _KINDS.items() if kind.model is not records.User}
