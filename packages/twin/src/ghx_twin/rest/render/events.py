"""What happened to an issue: events one by one, and the whole timeline."""

from collections.abc import Mapping
from typing import Any, cast

from ghx_twin.git.objects import Commit
from ghx_twin.queries.issues.issue_relations import visible_issues
from ghx_twin.queries.timeline import Happening, moments
from ghx_twin.reply import JsonObject
from ghx_twin.rest.render.issues import issues
from ghx_twin.rest.render.pulls.reviews import review
from ghx_twin.rest.render.repositories.commits import git_commit
from ghx_twin.rest.render.users import optional_user, simple_team
from ghx_twin.rest.render.view import View
from ghx_twin.state.records import Comment, Event, Issue, Repository, Review, Team

TIMELINE_ONLY = frozenset({"cross-referenced"})


def event(view: View, event: Event) -> JsonObject:
    """Render one event, without the issue it belongs to."""
    issue = view.database.get(Issue, event.issue_id)
    assert issue is not None  # noqa: S101 - an event goes with its issue
    repository = view.repository(issue.repository_id)
    sha = event.data.get("commit_sha")
    return {
        "id": event.id,
        "node_id": view.node(event),
        "url": view.api(repository, f"/issues/events/{event.id}"),
        "actor": optional_user(view, event.actor_id),
        "event": event.event,
        "commit_id": sha,
        "commit_url": view.api(repository, f"/commits/{sha}") if sha else None,
        "created_at": event.created_at,
        **_details(view, event),
        "performed_via_github_app": None,
    }


def event_with_issue(view: View, event_record: Event) -> JsonObject:
    """Render one event with the issue it belongs to."""
    issue = view.database.get(Issue, event_record.issue_id)
    assert issue is not None  # noqa: S101 - the same
    return {**event(view, event_record), "issue": issues.issue(view, issue)}


def timeline(view: View, issue: Issue) -> list[JsonObject]:
    """Render everything that happened to an issue or pull request, oldest first."""
    repository = view.repository(issue.repository_id)
    happened = (moment.item for moment in moments(view.world, view.viewer, issue))
    # A review that is not submitted yet is missing even from its author's timeline.
    visible_events = (one for one in happened if not (isinstance(one, Review) and one.submitted_at is None))
    return [_happening(view, repository, one) for one in visible_events]


def _happening(view: View, repository: Repository, item: Happening) -> JsonObject:
    match item:
        case Event(event="cross-referenced"):
            return _cross_reference(view, item)
        case Event():
            return event(view, item)
        case Comment():
            body = issues.comment(view, item)
            return {**body, "event": "commented", "actor": body["user"]}
        case Review():
            return {**review(view, item), "state": item.state.lower(), "event": "reviewed"}
        case Commit():
            return {**git_commit(view, repository, item), "event": "committed"}


def _cross_reference(view: View, event: Event) -> JsonObject:
    identity = event.data.get("source_issue_id")
    source = view.database.get(Issue, identity) if isinstance(identity, int) else None
    cross_reference = {"type": "issue", "issue": issues.issue(view, source)} if source else {"type": "issue"}
    return {
        "actor": optional_user(view, event.actor_id),
        "comment_id": event.data.get("comment_id"),
        "created_at": event.created_at,
        "updated_at": event.created_at,
        "source": cross_reference,
        "event": event.event,
    }


def _details(view: View, event: Event) -> JsonObject:  # noqa: PLR0911 - a table of shapes
    data = cast("Mapping[str, Any]", event.data)
    match event.event:
        case "labeled" | "unlabeled":
            return {"label": {"name": data["label"]["name"], "color": data["label"]["color"]}}
        case "assigned" | "unassigned":
            person = optional_user(view, data["assignee_id"])
            return {"assignee": person, "assigner": optional_user(view, event.actor_id)}
        case "milestoned" | "demilestoned":
            return {"milestone": {"title": data["milestone"]["title"]}}
        case "renamed":
            return {"rename": {"from": data["from"], "to": data["to"]}}
        case "closed":
            return {"state_reason": data.get("state_reason")}
        case "locked":
            return {"lock_reason": data.get("lock_reason")}
        case "review_requested" | "review_request_removed":
            return _review_request(view, event, data)
        case "review_dismissed":
            dismissed = {"state": data["state"], "review_id": data["review_id"], "dismissal_message": data["message"]}
            return {"dismissed_review": dismissed}
        case _:
            return _relation(view, event.event, data)


# What REST calls the issue that an event is about, and what the event's data calls it.
_RELATIONS = {
    f"{relation}_{change}": names
    for relation, names in {
        "sub_issue": ("sub_issue", "sub_issue_id"),
        "parent_issue": ("parent_issue", "parent_issue_id"),
        "blocked_by": ("blocked_by", "blocking_issue_id"),
        "blocking": ("blocking", "blocked_issue_id"),
    }.items()
    for change in ("added", "removed")
}


def _relation(view: View, event: str, data: Mapping[str, Any]) -> JsonObject:
    """Return the type, or the other issue, that an event is about; nothing where it is about neither."""
    if event not in _RELATIONS:
        return {name: data[name] for name in ("issue_type", "prev_issue_type") if name in data}
    shown_as, name = _RELATIONS[event]
    other = view.database.get(Issue, data[name])
    relation = visible_issues(view.world, view.viewer, [other] if other else [])
    return {shown_as: issues.issue_reference(view, relation[0]) if relation else None}


def _review_request(view: View, event: Event, data: Mapping[str, Any]) -> JsonObject:
    body: JsonObject = {"review_requester": optional_user(view, event.actor_id)}
    team = view.database.get(Team, data.get("team_id"))
    if team:
        return {**body, "requested_team": simple_team(view, team)}
    return {**body, "requested_reviewer": optional_user(view, data.get("reviewer_id"))}
