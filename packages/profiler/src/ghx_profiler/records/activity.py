"""The changes and requests of a session in its world; saved next to its trace."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import JsonValue

from ghx_base.wire import OMITTABLE, Count, ForeignModel, Number

MOST_CHANGES = 500
MOST_REQUESTS = 2_000
"""What one file holds, some 600 kB: an agent in a loop makes as many requests as its time allows."""

_LONGEST_TEXT = 1_000


class ObservedChange(ForeignModel):
    """One thing that is not as it was before; what was created or deleted has all its fields on one side."""

    change: Literal["created", "changed", "deleted"]
    what: str
    """The kind of thing and, of a change, the field: `issues.state`."""
    name: str
    before: JsonValue = None
    after: JsonValue = None


class ObservedRequest(ForeignModel):
    """One request of the session's programs, and how it was answered."""

    at: str
    """When it was answered, in UTC."""
    surface: str
    method: str
    path: str
    operation: str
    status: Count
    failed: bool
    changed: bool
    """Whether it changed something."""
    duration_ms: Number
    request_bytes: Count
    response_bytes: Count
    user_agent: Annotated[str | None, OMITTABLE] = None
    tool: Annotated[str | None, OMITTABLE] = None
    """The program or MCP server that made it."""
    belonging: Annotated[Literal["own", "foreign", "neutral"] | None, OMITTABLE] = None
    """Whether that is a tool of the session's mode, another one, or one that every mode has."""
    fault: Annotated[str | None, OMITTABLE] = None
    """The scripted fault that it met: its kind, and the rule in parentheses."""


class SessionActivity(ForeignModel):
    """The changes and requests of one session, in order; bounded, with counts of the omitted ones."""

    version: Literal[1] = 1
    session_id: str = ""
    changes: tuple[ObservedChange, ...] = ()
    changes_left_out: Count = 0
    requests: tuple[ObservedRequest, ...] = ()
    requests_left_out: Count = 0
    faults_not_met: tuple[str, ...] = ()
    """The scripted faults that no request met: the session was easier than its scenario wants it."""

    @classmethod
    def bounded(
        cls,
        changes: Sequence[ObservedChange],
        requests: Sequence[ObservedRequest],
        *,
        requests_dropped: int = 0,
        faults_not_met: tuple[str, ...] = (),
    ) -> Self:
        """Return the first changes and requests, with long texts shortened."""
        kept_changes = [
            each.model_copy(update={"before": _shorten(each.before), "after": _shorten(each.after)})
            for each in changes[:MOST_CHANGES]
        ]
        return cls(
            changes=tuple(kept_changes),
            changes_left_out=len(changes) - len(kept_changes),
            requests=tuple(requests[:MOST_REQUESTS]),
            requests_left_out=max(0, len(requests) - MOST_REQUESTS) + requests_dropped,
            faults_not_met=faults_not_met,
        ).with_all_keys()


def _shorten(value: JsonValue) -> JsonValue:
    match value:
        case str() if len(value) > _LONGEST_TEXT:
            return f"{value[:_LONGEST_TEXT]}… ({len(value):,} characters)"
        case list():
            return [_shorten(each) for each in value]
        case dict():
            return {key: _shorten(each) for key, each in value.items()}
        case _:
            return value
