"""What an agent changed in its world, and what it asked of it, while the world is still there."""

from collections.abc import Iterable
from typing import Any

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from ghx_bench.modes.request_origins import RequestOrigins
from ghx_bench.scenario.allowed_changes import PRIVATE_TABLES, REFS, public_name
from ghx_profiler.records.activity import ObservedChange, ObservedRequest, SessionActivity
from ghx_twin.difference import Difference
from ghx_twin.journal import Entry
from ghx_twin.world import World


def observe(
    world: World, differences: tuple[Difference, ...], *, agent: str, origins: RequestOrigins | None = None
) -> SessionActivity:
    """Return what an agent changed, bookkeeping of GitHub's own left out, and its requests.

    Requests without a token are the agent's as well; those of the bench have an actor of their own.
    """
    own = changes_by(agent, differences)
    journal = world.journal
    requests = [_request(entry, origins) for entry in journal if entry.actor in (agent, None)]
    unmet = tuple(rule for rule, count in world.faults.count_hits().items() if not count)
    return SessionActivity.bounded(
        list(map(_change, own)), requests, requests_dropped=journal.dropped, faults_not_met=unmet
    )


def changes_by(agent: str, differences: Iterable[Difference]) -> list[Difference]:
    """Return what an agent changed or set off, bookkeeping of GitHub's own left out.

    What GitHub does without a user, such as the progress of a run, is not the agent's, even where its push started it.
    A branch or tag that has moved without an author is: no such event moves one, and nobody else was there.
    """
    return [each for each in differences if _is_by(agent, each) and not _is_incidental(each)]


def _is_by(agent: str, difference: Difference) -> bool:
    if difference.by is None:
        return difference.kind == REFS
    return agent in {difference.by, difference.caused_by}


def changed_part(difference: Difference) -> str:
    """Return which kind of object a difference is about and, of a change, which field, in the words of patterns."""
    kind = public_name(difference.kind)
    field = None if kind == REFS else difference.field  # the name of a ref is in its name already
    return kind if field is None else f"{kind}.{field}"


def _is_incidental(difference: Difference) -> bool:
    """Return whether GitHub makes a difference by itself where something else is changed."""
    if difference.kind in PRIVATE_TABLES or difference.is_bookkeeping:
        return True
    # GitHub wraps every reply in an empty review.
    return difference.kind == "reviews" and difference.change == "created" and _is_wrapping(difference.after)


def _is_wrapping(review: object) -> bool:
    match review:
        case {"state": "COMMENTED", "body": "" | None}:
            return True
        case _:
            return False


def _change(difference: Difference) -> ObservedChange:
    return ObservedChange(
        change=difference.change,
        what=changed_part(difference),
        name=difference.name,
        before=_known(difference.before),
        after=_known(difference.after),
    )


def _known(value: object) -> JsonValue:
    """Return a value as JSON; of a whole object, the fields that say something."""
    value_on_wire: JsonValue = to_jsonable_python(value, fallback=str)
    return (
        {key: each for key, each in value_on_wire.items() if each not in (None, "", [])}
        if isinstance(value_on_wire, dict)
        else value_on_wire
    )


def _request(entry: Entry, origins: RequestOrigins | None) -> ObservedRequest:
    fields: dict[str, Any] = {}
    if origins is not None and entry.surface != "proxy":
        origin = origins.origin_of(entry)
        fields = {"tool": origin.tool, "belonging": origin.belonging}
    if entry.user_agent is not None:
        fields["user_agent"] = entry.user_agent
    if entry.fault is not None:
        fields["fault"] = str(entry.fault)
    return ObservedRequest(
        at=entry.at,
        surface=entry.surface,
        method=entry.method,
        path=entry.path,
        operation=entry.operation,
        status=entry.status,
        failed=entry.failed,
        changed=entry.mutation,
        duration_ms=entry.duration_ms,
        request_bytes=entry.request_bytes,
        response_bytes=entry.response_bytes,
        **fields,
    )
