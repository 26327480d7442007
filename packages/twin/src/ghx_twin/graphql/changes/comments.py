"""Mutations of comments, reactions and labels."""

from collections.abc import Sequence

from ghx_twin.commands.issues import comments, labels, reactions
from ghx_twin.commands.kernel import UNSET, Unset
from ghx_twin.graphql.changes.change import AsEdge, Change, Mutation, Outcome
from ghx_twin.graphql.failures import LACKS
from ghx_twin.graphql.subjects import ReactionsSubject
from ghx_twin.graphql.views.issues.reactions import CONTENTS, ReactionGroupView
from ghx_twin.queries import lookup
from ghx_twin.refusals import NotImplementedRefusal
from ghx_twin.state.records import Comment, Issue, Label, Pull, Reaction, Repository, Review, ReviewComment


def add_comment(change: Change, *, subject_id: str, body: str) -> Outcome:
    """Comment on an issue or pull request."""
    issue = change.conversation(subject_id)
    return {"comment_edge": AsEdge(comments.create(change.act, issue, body)), "subject": issue}


def update_issue_comment(change: Change, *, id: str, body: str) -> Outcome:  # noqa: A002 - the input's own name
    """Rewrite a comment."""
    return {"issue_comment": comments.update(change.act, change.find(id, Comment), body)}


def delete_issue_comment(change: Change, *, id: str) -> Outcome:  # noqa: A002 - the same
    """Delete a comment."""
    comments.delete(change.act, change.find(id, Comment))
    return {}


def minimize_comment(change: Change, *, subject_id: str, classifier: str) -> Outcome:
    """Hide a comment behind a reason."""
    reason = classifier.lower().replace("_", "-")
    return {"minimized_comment": comments.minimize(change.act, _minimizable(change, subject_id), reason)}


def unminimize_comment(change: Change, *, subject_id: str) -> Outcome:
    """Show a hidden comment again."""
    return {"unminimized_comment": comments.unminimize(change.act, _minimizable(change, subject_id))}


def add_reaction(change: Change, *, subject_id: str, content: str) -> Outcome:
    """React to something."""
    subject = _reactable(change, subject_id)
    return _reaction(change, subject, reactions.add(change.act, subject, CONTENTS[content]))


def remove_reaction(change: Change, *, subject_id: str, content: str) -> Outcome:
    """Take a reaction back."""
    subject = _reactable(change, subject_id)
    return _reaction(change, subject, reactions.remove(change.act, subject, CONTENTS[content]))


def create_label(
    change: Change, *, repository_id: str, name: str, color: str, description: str | None = None
) -> Outcome:
    """Create a label."""
    repository = change.find(repository_id, Repository)
    return {"label": labels.create(change.act, repository, name=name, color=color, description=description)}


def update_label(
    change: Change,
    *,
    id: str,  # noqa: A002 - the same
    name: str | None = None,
    color: str | None = None,
    description: str | Unset | None = UNSET,
) -> Outcome:
    """Change a label."""
    label = change.find(id, Label)
    changed = labels.update(
        change.act,
        label,
        name=UNSET if name is None else name,
        color=UNSET if color is None else color,
        description=description,
    )
    return {"label": changed}


def delete_label(change: Change, *, id: str) -> Outcome:  # noqa: A002 - the same
    """Delete a label."""
    labels.delete(change.act, change.find(id, Label))
    return {}


def _minimizable(change: Change, identity: str) -> Comment:
    comment = change.find(identity, Comment, Review, ReviewComment)
    if not isinstance(comment, Comment):
        raise NotImplementedRefusal(f"Minimizing a {type(comment).__name__} {LACKS}")
    return comment


def _reactable(change: Change, identity: str) -> Issue | Comment | Review | ReviewComment:
    subject = change.find(identity, Issue, Pull, Comment, Review, ReviewComment)
    return lookup.issue_of(change.context.world, subject) if isinstance(subject, Pull) else subject


def _reaction(change: Change, subject: Issue | Comment | Review | ReviewComment, reaction: Reaction | None) -> Outcome:
    groups = [ReactionGroupView(change.context, ReactionsSubject(subject, content)) for content in CONTENTS]
    return {"reaction": reaction, "subject": subject, "reaction_groups": groups}


COMMENT_CHANGES: Sequence[Mutation] = (
    add_comment, update_issue_comment, delete_issue_comment, minimize_comment, unminimize_comment, add_reaction,
    remove_reaction, create_label, update_label, delete_label,
)  # fmt: skip
