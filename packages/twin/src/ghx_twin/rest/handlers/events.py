"""What happened to issues, and who reacted."""

import json

from ghx_twin.commands.issues import reactions
from ghx_twin.commands.issues.reactions import CONTENTS, Subject
from ghx_twin.queries.projects.projects import may
from ghx_twin.queries.timeline import is_visible_to
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.reply import Reply, created, json_reply, no_content
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.pagination import list_reply
from ghx_twin.rest.render import events as render
from ghx_twin.rest.render.issues import reactions as render_reactions
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import Event, Issue, Project, Reaction
from ghx_twin.state.rows import Rows


def list_events(request: RestRequest) -> Reply:
    """List issue events."""
    rows = _rows(request, "WHERE issue_id = ?", from_path.issue(request).id, "ORDER BY id")
    return list_reply(request, rows, lambda one: render.event(request.view, one))


def list_repository_events(request: RestRequest) -> Reply:
    """List issue events for a repository."""
    place = "JOIN issues ON issues.id = events.issue_id WHERE issues.repository_id = ?"
    rows = _rows(request, place, from_path.repository(request).id, "ORDER BY events.id DESC")
    return list_reply(request, rows, lambda one: render.event_with_issue(request.view, one))


def get_event(request: RestRequest) -> Reply:
    """Get an issue event."""
    home, identity = from_path.repository(request), request.number("event_id")
    event = request.world.database.get(Event, identity)
    issue = request.world.database.get(Issue, event.issue_id) if event else None
    is_visible = event is not None and is_visible_to(request.world, request.viewer, event)
    if event is None or not is_visible or issue is None or issue.repository_id != home.id:
        raise NotFoundRefusal(f"Could not resolve to an event with the id of {identity}.")
    return json_reply(render.event_with_issue(request.view, event))


def list_timeline(request: RestRequest) -> Reply:
    """List timeline events for an issue."""
    return list_reply(request, render.timeline(request.view, from_path.issue(request)), lambda body: body)


def list_issue_reactions(request: RestRequest) -> Reply:
    """List reactions for an issue."""
    return _list(request, from_path.issue(request))


def create_issue_reaction(request: RestRequest) -> Reply:
    """Create reaction for an issue."""
    return _create(request, from_path.issue(request))


def delete_issue_reaction(request: RestRequest) -> Reply:
    """Delete an issue reaction."""
    return _delete(request, from_path.issue(request))


def list_comment_reactions(request: RestRequest) -> Reply:
    """List reactions for an issue comment."""
    return _list(request, from_path.comment(request))


def create_comment_reaction(request: RestRequest) -> Reply:
    """Create reaction for an issue comment."""
    return _create(request, from_path.comment(request))


def delete_comment_reaction(request: RestRequest) -> Reply:
    """Delete an issue comment reaction."""
    return _delete(request, from_path.comment(request))


def list_review_comment_reactions(request: RestRequest) -> Reply:
    """List reactions for a pull request review comment."""
    return _list(request, from_path.review_comment(request)[0])


def create_review_comment_reaction(request: RestRequest) -> Reply:
    """Create reaction for a pull request review comment."""
    return _create(request, from_path.review_comment(request)[0])


def delete_review_comment_reaction(request: RestRequest) -> Reply:
    """Delete a pull request comment reaction."""
    return _delete(request, from_path.review_comment(request)[0])


def _list(request: RestRequest, subject: Subject) -> Reply:
    content = request.query.get("content")
    records = request.world.database.all(Reaction, subject_kind=subject.table, subject_id=subject.id)
    chosen = [one for one in records if content is None or one.content == content]
    return list_reply(request, chosen, lambda one: render_reactions.reaction(request.view, one))


def _create(request: RestRequest, subject: Subject) -> Reply:
    body = request.body()
    body.require("content")
    content = body.choice("content", CONTENTS) or body.required_text("content")
    existing = request.world.database.one(
        Reaction, subject_kind=subject.table, subject_id=subject.id, user_id=request.viewer.id, content=content
    )
    with request.acting() as act:
        record = reactions.add(act, subject, content)
    reaction = render_reactions.reaction(request.view, record)
    return json_reply(reaction) if existing else created(reaction)


def _delete(request: RestRequest, subject: Subject) -> Reply:
    identity = request.number("reaction_id")
    reaction = request.world.database.get(Reaction, identity)
    if reaction is None or (reaction.subject_kind, reaction.subject_id) != (subject.table, subject.id):
        raise NotFoundRefusal(f"Could not resolve to a reaction with the id of {identity}.")
    with request.acting() as act:
        reactions.delete(act, subject, reaction)
    return no_content()


def _rows(request: RestRequest, where: str, identity: int, order: str) -> Rows[Event]:
    marks = ", ".join("?" * len(render.TIMELINE_ONLY))
    # What happened on a project is for those who may see it; 0 stands for all other events.
    on_project = "coalesce(json_extract(events.data, '$.project_id'), 0) IN (SELECT value FROM json_each(?))"
    boards = [one for one in request.world.database.all(Project) if may(request.world, request.viewer, one, "reader")]
    seen = json.dumps([0, *(one.id for one in boards)])
    rest = f"{where} AND events.event NOT IN ({marks}) AND {on_project} {order}"
    return Rows(request.world.database, Event, rest, (identity, *render.TIMELINE_ONLY, seen))
