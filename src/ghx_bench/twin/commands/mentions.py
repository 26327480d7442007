"""What writing a text does elsewhere: people it calls are told, issues it names point back at it."""

from ghx_bench.twin.commands import events
from ghx_bench.twin.commands.references import Reference, mentions, references
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.queries.permissions import at_least, user_role
from ghx_bench.twin.refusals import Refusal
from ghx_bench.twin.state.records import Comment, Event, Issue, User
from ghx_bench.twin.world import Act


def note(
    act: Act, issue: Issue, text: str | None, *, before: str | None = None, comment: Comment | None = None
) -> None:
    """Write the events that a new text in an issue's conversation causes; `before` is what it replaces."""
    repository = events.home(act, issue)
    for login in mentions(text):
        if login not in mentions(before):
            _call(act, issue, login)
    home = lookup.full_name(act.world, repository)
    known = set(references(before, home))
    for reference in references(text, home):
        if reference not in known:
            _point(act, issue, reference, comment)


def _call(act: Act, issue: Issue, login: str) -> None:
    user = act.database.one(User, login=login)
    if user is None or user.type == "Organization":
        return
    if not at_least(user_role(act.world, user, events.home(act, issue)), "read"):
        return
    events.record(act, issue, "mentioned", actor=user.id)
    if not act.database.count(Event, issue_id=issue.id, event="subscribed", actor_id=user.id):
        events.record(act, issue, "subscribed", actor=user.id)


def _point(act: Act, source: Issue, reference: Reference, comment: Comment | None) -> None:
    try:
        repository = lookup.repository(act.world, act.viewer, reference.owner, reference.name)
        target = lookup.issue_or_pull(act.world, repository, reference.number)
    except Refusal:
        return  # a number that names nothing is just text
    if target.id == source.id or _is_known(act, target, source):
        return
    data: dict[str, object] = {"source_issue_id": source.id}
    if comment:
        data["comment_id"] = comment.id
    events.write(act, target, "cross-referenced", data, actor=events.actor_id(act, events.home(act, source)))


def _is_known(act: Act, target: Issue, source: Issue) -> bool:
    known = act.database.all(Event, issue_id=target.id, event="cross-referenced")
    return any(event.data.get("source_issue_id") == source.id for event in known)
