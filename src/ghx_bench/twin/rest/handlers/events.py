"""What happened to issues, and who reacted."""

from ghx_bench.twin.commands import reactions
from ghx_bench.twin.commands.reactions import CONTENTS, Subject
from ghx_bench.twin.refusals import NotFoundRefusal
from ghx_bench.twin.rest.answer import NO_CONTENT, Answer, created
from ghx_bench.twin.rest.handlers import located
from ghx_bench.twin.rest.pagination import listed
from ghx_bench.twin.rest.render import events as render
from ghx_bench.twin.rest.render import reactions as render_reactions
from ghx_bench.twin.rest.request import RestRequest
from ghx_bench.twin.state.records import Event, Issue, Reaction


def list_events(request: RestRequest) -> Answer:
    """List issue events."""
    found = request.world.database.all(Event, issue_id=located.issue(request).id)
    shown = [one for one in found if one.event not in render.TIMELINE_ONLY]
    return listed(request, shown, lambda one: render.event(request.view, one))


def list_repository_events(request: RestRequest) -> Answer:
    """List issue events for a repository."""
    found = request.world.database.select(
        Event,
        "JOIN issues ON issues.id = events.issue_id WHERE issues.repository_id = ? ORDER BY events.id DESC",
        (located.repository(request).id,),
    )
    shown = [one for one in found if one.event not in render.TIMELINE_ONLY]
    return listed(request, shown, lambda one: render.event_with_issue(request.view, one))


def get_event(request: RestRequest) -> Answer:
    """Get an issue event."""
    home, identity = located.repository(request), request.number("event_id")
    found = request.world.database.get(Event, identity)
    issue = request.world.database.get(Issue, found.issue_id) if found else None
    if found is None or issue is None or issue.repository_id != home.id:
        raise NotFoundRefusal(f"Could not resolve to an event with the id of {identity}.")
    return Answer(body=render.event_with_issue(request.view, found))


def list_timeline(request: RestRequest) -> Answer:
    """List timeline events for an issue."""
    return listed(request, render.timeline(request.view, located.issue(request)), lambda body: body)


def list_issue_reactions(request: RestRequest) -> Answer:
    """List reactions for an issue."""
    return _list(request, located.issue(request))


def create_issue_reaction(request: RestRequest) -> Answer:
    """Create reaction for an issue."""
    return _create(request, located.issue(request))


def delete_issue_reaction(request: RestRequest) -> Answer:
    """Delete an issue reaction."""
    return _delete(request, located.issue(request))


def list_comment_reactions(request: RestRequest) -> Answer:
    """List reactions for an issue comment."""
    return _list(request, located.comment(request))


def create_comment_reaction(request: RestRequest) -> Answer:
    """Create reaction for an issue comment."""
    return _create(request, located.comment(request))


def delete_comment_reaction(request: RestRequest) -> Answer:
    """Delete an issue comment reaction."""
    return _delete(request, located.comment(request))


def list_review_comment_reactions(request: RestRequest) -> Answer:
    """List reactions for a pull request review comment."""
    return _list(request, located.review_comment(request)[0])


def create_review_comment_reaction(request: RestRequest) -> Answer:
    """Create reaction for a pull request review comment."""
    return _create(request, located.review_comment(request)[0])


def delete_review_comment_reaction(request: RestRequest) -> Answer:
    """Delete a pull request comment reaction."""
    return _delete(request, located.review_comment(request)[0])


def _list(request: RestRequest, subject: Subject) -> Answer:
    content = request.query.get("content")
    found = request.world.database.all(Reaction, subject_kind=subject.table, subject_id=subject.id)
    chosen = [one for one in found if content is None or one.content == content]
    return listed(request, chosen, lambda one: render_reactions.reaction(request.view, one))


def _create(request: RestRequest, subject: Subject) -> Answer:
    body = request.body()
    body.require("content")
    content = body.choice("content", CONTENTS) or body.required_text("content")
    known = request.world.database.one(
        Reaction, subject_kind=subject.table, subject_id=subject.id, user_id=request.viewer.id, content=content
    )
    with request.acting() as act:
        made = reactions.add(act, subject, content)
    shown = render_reactions.reaction(request.view, made)
    return Answer(body=shown) if known else created(shown)


def _delete(request: RestRequest, subject: Subject) -> Answer:
    identity = request.number("reaction_id")
    found = request.world.database.get(Reaction, identity)
    if found is None or (found.subject_kind, found.subject_id) != (subject.table, subject.id):
        raise NotFoundRefusal(f"Could not resolve to a reaction with the id of {identity}.")
    with request.acting() as act:
        reactions.delete(act, subject, found)
    return NO_CONTENT
