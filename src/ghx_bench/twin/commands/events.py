"""The timeline of an issue: who did what, when.

What `data` holds, by event (ids are database ids; names and colours are kept as they were):

```
labeled, unlabeled           label: {id, name, color, description}
assigned, unassigned         assignee_id
milestoned, demilestoned     milestone: {id, title}
renamed                      from, to
closed                       state_reason; commit_sha or pull_id where one of them closed it
locked                       lock_reason
cross-referenced             source_issue_id; comment_id where a comment did it
transferred                  from_repository_id, from_repository (`owner/name`), from_number
referenced                   commit_sha, commit_repository_id
merged                       commit_sha
head_ref_force_pushed        before, after
base_ref_changed, automatic_base_change_succeeded    from, to
review_requested, review_request_removed     reviewer_id or team_id
review_dismissed             review_id, state (before, in lower case), message
head_ref_deleted, head_ref_restored, base_ref_deleted, ready_for_review, convert_to_draft, auto_merge_enabled,
auto_squash_enabled, auto_rebase_enabled, auto_merge_disabled                  nothing
reopened, unlocked, pinned, unpinned, mentioned, subscribed, comment_deleted     nothing
```
"""

from collections.abc import Mapping
from typing import TypeVar

from ghx_bench.twin.queries import lookup
from ghx_bench.twin.refusals import NotFoundRefusal
from ghx_bench.twin.state.columns import RecordT
from ghx_bench.twin.state.records import Comment, Event, Issue, Label, Milestone, Repository, User
from ghx_bench.twin.world import Act

TimedT = TypeVar("TimedT", Comment, Issue, Label, Milestone, Repository, User)


def fresh(act: Act, record: RecordT) -> RecordT:
    """Return a record as it is now: the caller may have read it before somebody else's change."""
    found = act.database.get(type(record), record.id)
    if found is None:
        raise NotFoundRefusal(f"Could not resolve to a node: it was deleted from {record.table}.")
    return found


def home(act: Act, record: Issue) -> Repository:
    """Return the repository that an issue lives in."""
    found = act.database.get(Repository, record.repository_id)
    if found is None:
        raise NotFoundRefusal(f"Could not resolve to a Repository with the id of {record.repository_id}.")
    return found


def actor_id(act: Act, repository: Repository) -> int:
    """Return who does it; what the world's maker does is done in the name of who looks after the repository."""
    return lookup.steward(act.world, repository).id if act.viewer is None else act.viewer.id


def record(act: Act, issue: Issue, event: str, *, actor: int | None = None, **data: object) -> Event:
    """Add an entry to an issue's timeline."""
    return write(act, issue, event, data, actor=actor)


def write(act: Act, issue: Issue, event: str, data: Mapping[str, object], *, actor: int | None = None) -> Event:
    """Add an entry whose data have names that Python keeps for itself, or are put together elsewhere."""
    who = actor_id(act, home(act, issue)) if actor is None else actor
    return act.database.insert(Event, issue_id=issue.id, actor_id=who, event=event, data=dict(data), created_at=act.now)


def happen(act: Act, issue: Issue, event: str, **data: object) -> Issue:
    """Add an entry to an issue's timeline and return the issue, changed now."""
    write(act, issue, event, data)
    return touch(act, issue)


def touch(act: Act, record: TimedT, **changes: object) -> TimedT:
    """Change a record and its time of change, which never goes back."""
    return act.database.update(record, **changes, updated_at=max(act.now, record.updated_at))
