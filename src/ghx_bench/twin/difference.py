"""What differs between two moments of a world: which object, which field, before, after, and who did it."""

import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, fields
from typing import Any, Literal

from ghx_bench.twin.authorship import Authors
from ghx_bench.twin.git.storage import Refs
from ghx_bench.twin.nodes import repository_id
from ghx_bench.twin.state.columns import row_to_record
from ghx_bench.twin.state.database import Database
from ghx_bench.twin.state.names import display_value, object_name
from ghx_bench.twin.state.records import RECORDS, Issue, Pull, Record, Repository
from ghx_bench.twin.world import Snapshot, World

BOOKKEEPING = frozenset({"updated_at", "pushed_at", "next_number", "next_milestone_number"})
"""Fields that GitHub moves when anything else moves."""

_SECRET = frozenset({"token"})  # a diff is shown to people
_PULL_REF = re.compile(r"refs/pull/(\d+)/(?:head|merge)")
_HEAD = "HEAD"

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
    by: str | None = None  # login; None where the world's maker did it, or where it was so before the two parted
    at: str | None = None

    @property
    def is_bookkeeping(self) -> bool:
        """Tell whether this merely follows from another difference."""
        if self.kind == "refs" and self.field is not None:
            return self.field == _HEAD or self.field.startswith("refs/pull/")
        return self.field in BOOKKEEPING


@dataclass(frozen=True, slots=True)
class _Moment:
    database: Database
    refs: dict[int, Refs]


@dataclass(frozen=True, slots=True)
class _Comparison:
    before: _Moment
    after: _Moment
    authors: Authors


def diff(before: World | Snapshot, after: World | Snapshot) -> tuple[Difference, ...]:
    """List what is different after, objects in the order of their tables and ids; nothing for equal worlds."""
    with ExitStack() as opened:
        first, second = _open_moment(before, opened), _open_moment(after, opened)
        compared = _Comparison(first, second, Authors(first.database, second.database))
        return (*_diff_records(compared), *_diff_refs(compared))


def _open_moment(side: World | Snapshot, opened: ExitStack) -> _Moment:
    if isinstance(side, World):
        side = side.snapshot()  # others may go on writing
    database = Database.from_bytes(side.records)
    opened.callback(database.close)
    return _Moment(database, side.refs)


def _diff_records(compared: _Comparison) -> Iterator[Difference]:
    for model in RECORDS:
        rows = compared.before.database.rows(model), compared.after.database.rows(model)
        unequal = [set(rows[0]) - set(rows[1]), set(rows[1]) - set(rows[0])]
        before, after = ({row[0]: row_to_record(model, row) for row in side} for side in unequal)
        for identity in sorted(before.keys() | after.keys()):
            yield from _diff_record(compared, before.get(identity), after.get(identity))


def _diff_record(compared: _Comparison, old: Record | None, new: Record | None) -> Iterator[Difference]:
    first, second = compared.before.database, compared.after.database
    if old is None and new is not None:
        by, at = compared.authors.of(new.table, new.id, None)
        yield _describe("created", second, new, after=_values(second, new), by=by, at=at)
    elif new is None and old is not None:
        by, at = compared.authors.of(old.table, old.id, None)
        yield _describe("deleted", first, old, before=_values(first, old), by=by, at=at)
    elif old is not None and new is not None:
        for name in _unequal_fields(old, new):
            by, at = compared.authors.of(new.table, new.id, name)
            values = {} if name in _SECRET else _two(display_value(first, old, name), display_value(second, new, name))
            yield _describe("changed", second, new, field=name.removesuffix("_id"), by=by, at=at, **values)


def _unequal_fields(old: Record, new: Record) -> Iterable[str]:
    return (field.name for field in fields(old) if getattr(old, field.name) != getattr(new, field.name))


def _two(before: object, after: object) -> dict[str, object]:
    return {"before": before, "after": after}


def _diff_refs(compared: _Comparison) -> Iterator[Difference]:
    first, second = compared.before.refs, compared.after.refs
    for identity in sorted(first.keys() | second.keys()):
        before, after = first.get(identity, {}), second.get(identity, {})
        name = _repository_name(compared, identity)
        for ref in sorted(before.keys() | after.keys()):
            if before.get(ref) != after.get(ref):
                by, at = _find_mover(compared, identity, ref)
                yield Difference(
                    change=_kind(before.get(ref), after.get(ref)),
                    kind="refs",
                    name=f"{name} {ref}",
                    repository=name,
                    id=identity,
                    field=ref,
                    before=before.get(ref),
                    after=after.get(ref),
                    by=by,
                    at=at,
                )


def _find_mover(compared: _Comparison, identity: int, ref: str) -> tuple[str | None, str | None]:
    """Return who moved a ref; those that follow from something else, by whoever did that."""
    authors = compared.authors
    found = authors.of("refs", identity, ref)
    if found[1] is None and ref == _HEAD:
        found = authors.of("repositories", identity, "default_branch")
    if found[1] is None and (pull := _pull_of(compared, identity, ref)) is not None:
        base = (identity, f"refs/heads/{pull.base_ref}")
        found = authors.latest(("pulls", pull.id), ("issues", pull.issue_id), ref=base)
    if found[1] is None:
        found = authors.of("repositories", identity, None)
    return found


def _pull_of(compared: _Comparison, identity: int, ref: str) -> Pull | None:
    parsed, database = _PULL_REF.fullmatch(ref), compared.after.database
    issue = database.one(Issue, repository_id=identity, number=int(parsed[1])) if parsed else None
    return database.one(Pull, issue_id=issue.id) if issue else None


def _kind(before: object, after: object) -> ChangeKind:
    if before is None:
        return "created"
    return "deleted" if after is None else "changed"


def _repository_name(compared: _Comparison, identity: int) -> str:
    for moment in (compared.after, compared.before):
        repository = moment.database.get(Repository, identity)
        if repository is not None:
            return object_name(moment.database, repository)
    return f"repository {identity}"


def _describe(change: ChangeKind, database: Database, record: Record, **rest: Any) -> Difference:
    repository = database.get(Repository, repository_id(database, record))
    return Difference(
        change=change,
        kind=record.table,
        name=object_name(database, record),
        repository=None if repository is None else object_name(database, repository),
        id=record.id,
        **rest,
    )


def _values(database: Database, record: Record) -> dict[str, object]:
    return {
        field.name.removesuffix("_id"): display_value(database, record, field.name)
        for field in fields(record)
        if field.name not in _SECRET
    }
