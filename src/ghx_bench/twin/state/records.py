"""Everything a world holds, one record for each table.

The database derives its tables from these classes, the diff its objects and fields, and both APIs render them. Times
have GitHub's spelling (`2026-01-01T00:00:00Z`), references are ids of other records, tuples and dictionaries are JSON.
"""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A row of one table; `id` is its primary key and, where GitHub shows one, its database id."""

    table: ClassVar[str]
    unique: ClassVar[tuple[tuple[str, ...], ...]] = ()  # columns that together occur once
    indexed: ClassVar[tuple[tuple[str, ...], ...]] = ()
    caseless: ClassVar[tuple[str, ...]] = ()  # columns whose case does not tell values apart

    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class User(Record):
    """A user, a bot or an organisation: whatever can own, write and be mentioned."""

    table: ClassVar[str] = "users"
    unique: ClassVar = (("login",),)
    caseless: ClassVar = ("login",)

    login: str
    type: str = "User"  # User | Organization | Bot
    name: str | None = None
    email: str | None = None
    bio: str | None = None
    company: str | None = None
    location: str | None = None
    blog: str | None = None
    site_admin: bool = False
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Token(Record):
    """A credential: whose it is and what it may do."""

    table: ClassVar[str] = "tokens"
    unique: ClassVar = (("token",),)

    token: str
    user_id: int
    scopes: tuple[str, ...] = ("repo", "read:org", "workflow", "gist", "delete_repo")


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership(Record):
    """A user's place in an organisation."""

    table: ClassVar[str] = "memberships"
    unique: ClassVar = (("organization_id", "user_id"),)

    organization_id: int
    user_id: int
    role: str = "member"  # member | admin


@dataclass(frozen=True, slots=True, kw_only=True)
class Team(Record):
    """A team of an organisation."""

    table: ClassVar[str] = "teams"
    unique: ClassVar = (("organization_id", "slug"),)
    caseless: ClassVar = ("slug",)

    organization_id: int
    slug: str
    name: str
    description: str | None = None
    privacy: str = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamMember(Record):
    """A user in a team."""

    table: ClassVar[str] = "team_members"
    unique: ClassVar = (("team_id", "user_id"),)

    team_id: int
    user_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository(Record):
    """A repository; its objects and refs live in a bare git repository of the same id."""

    table: ClassVar[str] = "repositories"
    unique: ClassVar = (("owner_id", "name"),)
    caseless: ClassVar = ("name",)

    owner_id: int
    name: str
    description: str | None = None
    homepage: str | None = None
    visibility: str = "public"  # public | private | internal
    default_branch: str = "main"
    has_issues: bool = True
    has_wiki: bool = True
    has_projects: bool = True
    has_downloads: bool = True
    has_discussions: bool = False
    has_pages: bool = False
    allow_merge_commit: bool = True
    allow_squash_merge: bool = True
    allow_rebase_merge: bool = True
    allow_auto_merge: bool = False
    allow_update_branch: bool = False
    allow_forking: bool = True
    delete_branch_on_merge: bool = False
    web_commit_signoff_required: bool = False
    archived: bool = False
    is_template: bool = False
    parent_id: int | None = None  # set on forks
    topics: tuple[str, ...] = ()
    next_number: int = 1  # shared by issues and pull requests
    next_milestone_number: int = 1
    created_at: str
    updated_at: str
    pushed_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Collaborator(Record):
    """A user's role in a repository that is not theirs."""

    table: ClassVar[str] = "collaborators"
    unique: ClassVar = (("repository_id", "user_id"),)

    repository_id: int
    user_id: int
    role: str = "write"  # read | triage | write | maintain | admin


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamRepository(Record):
    """A team's role in a repository of its organisation."""

    table: ClassVar[str] = "team_repositories"
    unique: ClassVar = (("team_id", "repository_id"),)
    indexed: ClassVar = (("repository_id",),)

    team_id: int
    repository_id: int
    role: str = "write"  # read | triage | write | maintain | admin


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirect(Record):
    """A name that a repository had before it was renamed."""

    table: ClassVar[str] = "redirects"
    unique: ClassVar = (("owner_id", "name"),)
    indexed: ClassVar = (("repository_id",),)
    caseless: ClassVar = ("name",)

    owner_id: int
    name: str
    repository_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection(Record):
    """The rules of protected branches whose names match a pattern."""

    table: ClassVar[str] = "protections"
    unique: ClassVar = (("repository_id", "pattern"),)

    repository_id: int
    pattern: str
    required_approvals: int | None = None  # None: reviews are not required, so pushes need no pull request
    dismiss_stale_reviews: bool = False
    required_checks: tuple[str, ...] = ()
    strict_checks: bool = False  # the branch must be up to date with its base
    enforce_admins: bool = False
    allow_force_pushes: bool = False
    allow_deletions: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Label(Record):
    """A label of a repository."""

    table: ClassVar[str] = "labels"
    unique: ClassVar = (("repository_id", "name"),)
    caseless: ClassVar = ("name",)

    repository_id: int
    name: str
    color: str = "ededed"
    description: str | None = None
    default: bool = False
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Milestone(Record):
    """A milestone of a repository."""

    table: ClassVar[str] = "milestones"
    unique: ClassVar = (("repository_id", "number"), ("repository_id", "title"))

    repository_id: int
    number: int
    title: str
    description: str | None = None
    state: str = "open"  # open | closed
    due_on: str | None = None
    creator_id: int
    created_at: str
    updated_at: str
    closed_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue(Record):
    """What issues and pull requests have in common; a pull request has a `Pull` beside it."""

    table: ClassVar[str] = "issues"
    unique: ClassVar = (("repository_id", "number"),)
    indexed: ClassVar = (("parent_id",), ("milestone_id",))

    repository_id: int
    number: int
    is_pull: bool = False
    author_id: int
    title: str
    body: str | None = None
    state: str = "open"  # open | closed
    state_reason: str | None = None  # completed | not_planned | duplicate | reopened
    locked: bool = False
    lock_reason: str | None = None  # off-topic | too heated | resolved | spam
    pinned: bool = False
    milestone_id: int | None = None
    parent_id: int | None = None  # the issue this one is a sub-issue of
    created_at: str
    updated_at: str
    closed_at: str | None = None
    closed_by_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency(Record):
    """An issue that cannot be done before another one is."""

    table: ClassVar[str] = "dependencies"
    unique: ClassVar = (("issue_id", "blocking_id"),)
    indexed: ClassVar = (("blocking_id",),)

    issue_id: int
    blocking_id: int  # the issue it waits for


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone(Record):
    """A number whose issue was deleted, or moved to another repository; it is not given out again."""

    table: ClassVar[str] = "tombstones"
    unique: ClassVar = (("repository_id", "number"),)
    indexed: ClassVar = (("moved_to_id",),)

    repository_id: int
    number: int
    moved_to_id: int | None = None  # the issue, where it was transferred


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull(Record):
    """What only a pull request has."""

    table: ClassVar[str] = "pulls"
    unique: ClassVar = (("issue_id",),)
    indexed: ClassVar = (("repository_id", "base_ref"), ("head_repository_id", "head_ref"))

    issue_id: int
    repository_id: int
    head_repository_id: int | None  # None once the fork is gone
    head_ref: str
    head_sha: str
    base_ref: str
    base_sha: str  # frozen at the merge or close, else the tip when last looked at by a push
    draft: bool = False
    maintainer_can_modify: bool = False
    merged_at: str | None = None
    merged_by_id: int | None = None
    merge_commit_sha: str | None = None
    auto_merge: dict[str, object] | None = None  # enabled_at, enabled_by_id, merge_method, commit_title, commit_message


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueLabel(Record):
    """A label on an issue or pull request."""

    table: ClassVar[str] = "issue_labels"
    unique: ClassVar = (("issue_id", "label_id"),)
    indexed: ClassVar = (("label_id",),)

    issue_id: int
    label_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignee(Record):
    """Someone an issue or pull request is assigned to."""

    table: ClassVar[str] = "assignees"
    unique: ClassVar = (("issue_id", "user_id"),)
    indexed: ClassVar = (("user_id",),)

    issue_id: int
    user_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRequest(Record):
    """A user or a team asked to review a pull request."""

    table: ClassVar[str] = "review_requests"
    indexed: ClassVar = (("pull_id",),)

    pull_id: int
    user_id: int | None = None
    team_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment(Record):
    """A comment in the conversation of an issue or pull request."""

    table: ClassVar[str] = "comments"
    indexed: ClassVar = (("issue_id",),)

    issue_id: int
    author_id: int
    body: str
    minimized_reason: str | None = None
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Review(Record):
    """A review of a pull request; pending ones are seen by their author only."""

    table: ClassVar[str] = "reviews"
    indexed: ClassVar = (("pull_id",),)

    pull_id: int
    author_id: int
    state: str  # PENDING | COMMENTED | APPROVED | CHANGES_REQUESTED | DISMISSED
    body: str = ""
    commit_sha: str
    created_at: str
    updated_at: str
    submitted_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread(Record):
    """A conversation on lines of a pull request's diff."""

    table: ClassVar[str] = "threads"
    indexed: ClassVar = (("pull_id",),)

    pull_id: int
    path: str
    subject_type: str = "line"  # line | file
    side: str = "RIGHT"  # LEFT | RIGHT
    start_side: str | None = None
    original_line: int | None = None  # where it stood in the diff it was written on
    original_start_line: int | None = None
    original_position: int | None = None  # lines below the file's first hunk header
    original_commit_sha: str
    line: int | None = None  # where it stands now; None when outdated
    start_line: int | None = None
    commit_sha: str  # the head it was last placed on
    outdated: bool = False
    diff_hunk: str = ""
    resolved_by_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewComment(Record):
    """A comment in a thread; belongs to the review it was submitted with."""

    table: ClassVar[str] = "review_comments"
    indexed: ClassVar = (("thread_id",), ("review_id",))

    thread_id: int
    review_id: int
    author_id: int
    body: str
    in_reply_to_id: int | None = None  # the thread's first comment
    commit_sha: str
    minimized_reason: str | None = None
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction(Record):
    """An emoji of one user under one thing."""

    table: ClassVar[str] = "reactions"
    unique: ClassVar = (("subject_kind", "subject_id", "user_id", "content"),)

    subject_kind: str  # table of the subject: issues, comments, review_comments, reviews
    subject_id: int
    user_id: int
    content: str  # +1 | -1 | laugh | confused | heart | hooray | rocket | eyes
    created_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(Record):
    """One entry of an issue's timeline that is not a comment, review or commit."""

    table: ClassVar[str] = "events"
    indexed: ClassVar = (("issue_id",),)

    issue_id: int
    actor_id: int
    event: str  # GitHub's REST names: labeled, closed, head_ref_force_pushed, ...
    data: dict[str, object]
    created_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Status(Record):
    """A commit status."""

    table: ClassVar[str] = "statuses"
    indexed: ClassVar = (("repository_id", "sha"),)

    repository_id: int
    sha: str
    context: str = "default"
    state: str  # error | failure | pending | success
    description: str | None = None
    target_url: str | None = None
    creator_id: int
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRun(Record):
    """A check run on a commit."""

    table: ClassVar[str] = "check_runs"
    indexed: ClassVar = (("repository_id", "head_sha"),)

    repository_id: int
    head_sha: str
    name: str
    status: str = "completed"  # queued | in_progress | completed
    conclusion: str | None = None  # success | failure | neutral | cancelled | skipped | timed_out | action_required
    workflow: str | None = None  # name of the workflow, where one made it
    event: str | None = None
    details_url: str | None = None
    title: str | None = None
    summary: str | None = None
    started_at: str
    completed_at: str | None = None


RECORDS: tuple[type[Record], ...] = (
    User, Token, Membership, Team, TeamMember, Repository, Collaborator, TeamRepository, Redirect, Protection, Label,
    Milestone, Issue, Dependency, Tombstone, Pull, IssueLabel, Assignee, ReviewRequest, Comment, Review, Thread,
    ReviewComment, Reaction, Event, Status, CheckRun,
)  # fmt: skip
