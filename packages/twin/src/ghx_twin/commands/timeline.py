"""The timeline of an issue or pull request: who did what, when; and the entries that a text causes elsewhere.

What `data` holds, by event (ids are database ids; names and colours are kept as they were):

```
labeled, unlabeled           label: {id, name, color, description}
assigned, unassigned         assignee_id
milestoned, demilestoned     milestone: {id, title}
renamed                      from, to
closed                       state_reason; commit_sha or pull_id where one of them closed it; duplicate_of_id
locked                       lock_reason
cross-referenced             source_issue_id; comment_id where a comment did it
transferred                  from_repository_id, from_repository (`owner/name`), from_number
sub_issue_added, sub_issue_removed           sub_issue_id
parent_issue_added, parent_issue_removed     parent_issue_id
blocked_by_added, blocked_by_removed         blocking_issue_id
blocking_added, blocking_removed             blocked_issue_id
issue_type_added, issue_type_removed         issue_type: {id, name, color}
issue_type_changed                           issue_type, prev_issue_type: {id, name, color}
marked_as_duplicate, unmarked_as_duplicate   canonical_id, duplicate_id
connected                                    subject_id
referenced                   commit_sha, commit_repository_id
merged                       commit_sha
head_ref_force_pushed        before, after
base_ref_changed, automatic_base_change_succeeded    from, to
review_requested, review_request_removed     reviewer_id or team_id
review_dismissed             review_id, state (before, in lower case), message
head_ref_deleted, head_ref_restored, base_ref_deleted, ready_for_review, convert_to_draft, auto_merge_enabled,
auto_squash_enabled, auto_rebase_enabled, auto_merge_disabled                  nothing
added_to_project_v2, removed_from_project_v2     project_id
project_v2_item_status_changed     project_id, status, previous_status (names of options)
reopened, unlocked, pinned, unpinned, mentioned, subscribed, comment_deleted     nothing
```
"""

from collections.abc import Mapping

from ghx_twin.commands import kernel
from ghx_twin.queries import lookup
from ghx_twin.queries.permissions import at_least, user_role
from ghx_twin.queries.references import Reference, mentions, references
from ghx_twin.refusals import Refusal
from ghx_twin.state.records import Comment, Event, Issue, User
from ghx_twin.world import Act

_NOTHING: Mapping[str, object] = {}


def record_event(
    act: Act, issue: Issue, event: str, data: Mapping[str, object] = _NOTHING, *, actor: int | None = None
) -> Event:
    """Add an entry to the timeline of an issue or pull request, in the name of who acts unless an actor is given."""
    who = kernel.actor_id(act, lookup.repository_of(act.world, issue)) if actor is None else actor
    return act.database.insert(Event, issue_id=issue.id, actor_id=who, event=event, data=dict(data), created_at=act.now)


def record_mentions(
    act: Act, issue: Issue, text: str | None, *, before: str | None = None, comment: Comment | None = None
) -> None:
    """Record the events that a new text in an issue's conversation causes; `before` is the text it replaces."""
    # What the replaced text named has its entries already: an edit adds only the new ones.
    for login in mentions(text):
        if login not in mentions(before):
            _mention(act, issue, login)
    home = lookup.full_name(act.world, lookup.repository_of(act.world, issue))
    earlier = set(references(before, home))
    for reference in references(text, home):
        if reference not in earlier:
            _cross_reference(act, issue, reference, comment)


def _mention(act: Act, issue: Issue, login: str) -> None:
    user = act.database.one(User, login=login)
    if user is None or user.type == "Organization":
        return
    if not at_least(user_role(act.world, user, lookup.repository_of(act.world, issue)), "read"):
        return
    record_event(act, issue, "mentioned", actor=user.id)
    if not act.database.count(Event, issue_id=issue.id, event="subscribed", actor_id=user.id):
        record_event(act, issue, "subscribed", actor=user.id)


def _cross_reference(act: Act, source: Issue, reference: Reference, comment: Comment | None) -> None:
    try:
        repository = lookup.repository(act.world, act.viewer, reference.owner, reference.name)
        target = lookup.issue_or_pull(act.world, repository, reference.number)
    except Refusal:
        return  # a number that names nothing is just text
    events = act.database.all(Event, issue_id=target.id, event="cross-referenced")
    if target.id == source.id or any(event.data.get("source_issue_id") == source.id for event in events):
        return
    data: dict[str, object] = {"source_issue_id": source.id}
    if comment:
        data["comment_id"] = comment.id
    who = kernel.actor_id(act, lookup.repository_of(act.world, source))
    record_event(act, target, "cross-referenced", data, actor=who)
