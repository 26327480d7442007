"""Emoji under issues, comments and reviews."""

from ghx_twin.commands import kernel
from ghx_twin.commands.texts import invalid
from ghx_twin.nodes import repository_id
from ghx_twin.queries.permissions import NEEDS_ADMIN, may, require
from ghx_twin.refusals import ForbiddenRefusal, NotFoundRefusal, RoleRefusal
from ghx_twin.state.records import (
    Comment,
    Issue,
    Pull,
    Reaction,
    Record,
    Repository,
    Review,
    ReviewComment,
    Thread,
)
from ghx_twin.world import Act

CONTENTS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")
Subject = Issue | Comment | Review | ReviewComment


def add(act: Act, subject: Subject, content: str) -> Reaction:
    """Add a reaction, or return the same one that the user has there already."""
    current = kernel.reload(act, subject)
    repository = _require_read(act, current)
    if content not in CONTENTS:
        raise invalid("Reaction", "content", value=content)
    key = {
        "subject_kind": current.table,
        "subject_id": current.id,
        "user_id": kernel.actor_id(act, repository),
        "content": content,
    }
    return act.database.one(Reaction, **key) or act.database.insert(Reaction, **key, created_at=act.now)


def remove(act: Act, subject: Subject, content: str) -> Reaction | None:
    """Remove the viewer's own reaction, and return it if there was one."""
    current = kernel.reload(act, subject)
    repository = _require_read(act, current)
    who = kernel.actor_id(act, repository)
    reaction = act.database.one(
        Reaction, subject_kind=current.table, subject_id=current.id, user_id=who, content=content
    )
    if reaction:
        act.database.delete(reaction)
    return reaction


def delete(act: Act, subject: Subject, reaction: Reaction) -> None:
    """Remove a reaction by its record; only the user who reacted may."""
    current = kernel.reload(act, reaction)
    _require_read(act, kernel.reload(act, subject))
    if (current.subject_kind, current.subject_id) != (subject.table, subject.id):
        raise NotFoundRefusal(f"Could not resolve to a Reaction with the id of {reaction.id}.")
    if act.viewer is not None and current.user_id != act.viewer.id:
        raise RoleRefusal(NEEDS_ADMIN)
    act.database.delete(current)


def _require_read(act: Act, subject: Subject) -> Repository:
    repository = act.database.get(Repository, repository_id(act.database, subject))
    if repository is None:
        raise NotFoundRefusal("Could not resolve to a node to react to.")
    require(act, repository, "read")
    issue = _conversation(act, subject)
    if issue and issue.locked and not may(act.world, act.viewer, repository, "write"):
        raise ForbiddenRefusal("Unable to react because the conversation is locked.")
    return repository


def _conversation(act: Act, subject: Record) -> Issue | None:
    match subject:
        case Issue():
            return subject
        case Comment():
            return act.database.get(Issue, subject.issue_id)
        case Review():
            pull = act.database.get(Pull, subject.pull_id)
        case ReviewComment():
            thread = act.database.get(Thread, subject.thread_id)
            pull = act.database.get(Pull, thread.pull_id) if thread else None
        case _:
            return None
    return act.database.get(Issue, pull.issue_id) if pull else None
