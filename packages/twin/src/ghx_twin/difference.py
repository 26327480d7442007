"""Differences between two moments of a world: which object, which field, before, after, and who did it."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, fields
from itertools import takewhile
from typing import Any, Literal, NamedTuple

from ghx_twin.git.storage import Refs
from ghx_twin.nodes import repository_id
from ghx_twin.state.changes import Change
from ghx_twin.state.columns import row_to_record
from ghx_twin.state.database import Database
from ghx_twin.state.names import display_value, object_name
from ghx_twin.state.records import RECORDS, Issue, Pull, Record, Release, Repository, User
from ghx_twin.world import Snapshot, World

BOOKKEEPING = frozenset({"updated_at", "pushed_at", "next_number", "next_milestone_number", "next_project_number"})
"""Fields that GitHub moves when anything else moves."""

_SECRET = frozenset({"token"})  # a diff is shown to people
_PULL_REF = re.compile(r"refs/pull/(\d+)/(?:head|merge)")
_HEAD = "HEAD"
_CHANGES_PER_READ = 2000

ChangeKind = Literal["created", "changed", "deleted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One difference; a created or deleted object has no field, and its fields as `after` or `before`."""

    change: ChangeKind
    kind: str  # its table: issues, pulls, review_comments, refs, ...
    name: str  # as a person would say it: `acme/widgets#7`, `acme/widgets label bug`
    repository: str | None
    id: int
    field: str | None = None
    before: object = None
    after: object = None
    by: str | None = None
    """Whom GitHub names, by login; None for the world's maker, for what GitHub does without a user (`AutomaticEvent`),
    and for what was so before the two parted."""
    caused_by: str | None = None
    """Whose request or run set it off, by login, where that is not `by`."""
    at: str | None = None

    @property
    def is_bookkeeping(self) -> bool:
        """Return whether this merely follows from another difference."""
        if self.kind == "refs" and self.field is not None:
            return self.field == _HEAD or self.field.startswith("refs/pull/")
        if self.kind == "secrets":
            return False  # of a new value, the time is all that can be seen
        return self.field in BOOKKEEPING


class _Authorship(NamedTuple):
    by: str | None = None
    caused_by: str | None = None
    at: str | None = None


@dataclass(frozen=True, slots=True)
class _Moment:
    database: Database
    refs: dict[int, Refs]


@dataclass(frozen=True, slots=True)
class _Comparison:
    before: _Moment
    after: _Moment
    authors: "_Authors"


def diff(before: World | Snapshot, after: World | Snapshot) -> tuple[Difference, ...]:
    """Return what is different after, objects in the order of their tables and ids; nothing for equal worlds."""
    with ExitStack() as opened:
        first, second = _open_moment(before, opened), _open_moment(after, opened)
        compared = _Comparison(first, second, _Authors(first.database, second.database))
        return (*_diff_records(compared), *_diff_refs(compared))


def _open_moment(side: World | Snapshot, opened: ExitStack) -> _Moment:
    if isinstance(side, World):
        side = side.snapshot()  # other threads may go on writing meanwhile
    database = Database.from_bytes(side.records)
    opened.callback(database.close)
    return _Moment(database, side.refs)


def _diff_records(compared: _Comparison) -> Iterator[Difference]:
    for model in RECORDS:
        # Rows are compared as sets before any becomes a record: two moments of a world are mostly equal.
        rows = compared.before.database.rows(model), compared.after.database.rows(model)
        unequal = [set(rows[0]) - set(rows[1]), set(rows[1]) - set(rows[0])]
        before, after = ({row[0]: row_to_record(model, row) for row in side} for side in unequal)
        for identity in sorted(before.keys() | after.keys()):
            yield from _diff_record(compared, before.get(identity), after.get(identity))


def _diff_record(compared: _Comparison, old: Record | None, new: Record | None) -> Iterator[Difference]:
    first, second = compared.before.database, compared.after.database
    if old is None and new is not None:
        result = compared.authors.of(new.table, new.id, None)
        yield _describe("created", second, new, result, after=_values(second, new))
    elif new is None and old is not None:
        result = compared.authors.of(old.table, old.id, None)
        yield _describe("deleted", first, old, result, before=_values(first, old))
    elif old is not None and new is not None:
        changed = [field.name for field in fields(old) if getattr(old, field.name) != getattr(new, field.name)]
        if "parent_id" in changed and "sub_issue_position" in changed:
            changed.remove("sub_issue_position")  # another parent gives another place
        if isinstance(new, Release) and "is_latest" in changed and not new.is_latest:
            others = second.all(Release, repository_id=new.repository_id, is_latest=True)
            changed = [name for name in changed if name != "is_latest" or not others]  # one of them has replaced it
        for name in changed:
            result = compared.authors.of(new.table, new.id, name)
            values: dict[str, object] = {}
            if name not in _SECRET:
                values = {"before": display_value(first, old, name), "after": display_value(second, new, name)}
            yield _describe("changed", second, new, result, field=name.removesuffix("_id"), **values)


def _diff_refs(compared: _Comparison) -> Iterator[Difference]:
    first, second = compared.before.refs, compared.after.refs
    for identity in sorted(first.keys() | second.keys()):
        before, after = first.get(identity, {}), second.get(identity, {})
        name = _repository_name(compared, identity)
        for ref in sorted(before.keys() | after.keys()):
            old, new = before.get(ref), after.get(ref)
            if old != new:
                mover = _find_mover(compared, identity, ref)
                yield Difference(
                    change="created" if old is None else "deleted" if new is None else "changed",
                    kind="refs",
                    name=f"{name} {ref}",
                    repository=name,
                    id=identity,
                    field=ref,
                    before=old,
                    after=new,
                    **mover._asdict(),
                )


def _find_mover(compared: _Comparison, identity: int, ref: str) -> _Authorship:
    """Return who moved a ref and when; for a ref that follows from something else, who did that."""
    authors = compared.authors
    mover = authors.of("refs", identity, ref)
    # HEAD follows the default branch, refs/pull/N the pull request and its base, and the refs of a new repository its
    # creation: these moves are not noted on their own.
    if mover.at is None and ref == _HEAD:
        mover = authors.of("repositories", identity, "default_branch")
    if mover.at is None and (parsed := _PULL_REF.fullmatch(ref)):
        database = compared.after.database
        issue = database.one(Issue, repository_id=identity, number=int(parsed[1]))
        if pull := database.one(Pull, issue_id=issue.id) if issue else None:
            base = (identity, f"refs/heads/{pull.base_ref}")
            mover = authors.latest(("pulls", pull.id), ("issues", pull.issue_id), ref=base)
    if mover.at is None:
        mover = authors.of("repositories", identity, None)
    return mover


def _repository_name(compared: _Comparison, identity: int) -> str:
    for moment in (compared.after, compared.before):
        repository = moment.database.get(Repository, identity)
        if repository is not None:
            return object_name(moment.database, repository)
    return f"repository {identity}"


def _describe(
    change: ChangeKind, database: Database, record: Record, authorship: _Authorship, **rest: Any
) -> Difference:
    repository = database.get(Repository, repository_id(database, record))
    return Difference(
        change=change,
        kind=record.table,
        name=object_name(database, record),
        repository=None if repository is None else object_name(database, repository),
        id=record.id,
        **authorship._asdict(),
        **rest,
    )


def _values(database: Database, record: Record) -> dict[str, object]:
    return {
        field.name.removesuffix("_id"): display_value(database, record, field.name)
        for field in fields(record)
        if field.name not in _SECRET
    }


class _Authors:
    """Who changed each field last in `after`, since it parted from `before`; from the worlds' own memory of changes."""

    def __init__(self, before: Database, after: Database) -> None:
        self._logins = {user.id: user.login for user in (*before.all(User), *after.all(User))}
        self._last: dict[tuple[str, int, str | None], Change] = {}
        self._latest: dict[tuple[str, int], Change] = {}
        for change in after.changes(after=_last_shared_change(before, after)):
            self._last[change.table, change.object_id, change.field] = change
            self._latest[change.table, change.object_id] = change

    def of(self, table: str, identity: int, field: str | None) -> _Authorship:
        """Return who changed a field (None: made or deleted the whole object) last, and when."""
        return self._describe(self._last.get((table, identity, field)))

    def latest(self, *objects: tuple[str, int], ref: tuple[int, str] | None = None) -> _Authorship:
        """Return who was the last to change anything of some objects, or a ref of a repository, and when."""
        changes = [self._latest.get(each) for each in objects]
        changes += [] if ref is None else [self._last.get(("refs", *ref))]
        return self._describe(max((each for each in changes if each), key=lambda each: each.seq, default=None))

    def _describe(self, change: Change | None) -> _Authorship:
        if change is None:
            return _Authorship()
        by, caused_by = (None if one is None else self._logins.get(one) for one in (change.actor_id, change.cause_id))
        return _Authorship(by, caused_by, change.at)


def _last_shared_change(before: Database, after: Database) -> int:
    """Return the sequence number of the last change that both remember alike: up to there they were one world."""
    # A fork inherits the memory of its parent, and both go on counting from there: the same number may stand for two
    # different changes, so the rows are compared, not the numbers.
    shared = 0
    while True:
        first = before.change_rows(after=shared, limit=_CHANGES_PER_READ)
        second = after.change_rows(after=shared, limit=_CHANGES_PER_READ)
        if not first or not second:
            return shared
        if first == second:
            shared = first[-1][0]
            continue
        alike = list(takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
        return alike[-1][0][0] if alike else shared
