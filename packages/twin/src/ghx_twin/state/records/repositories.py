"""Repositories, access to them, their labels and milestones, and comments on their commits."""

from dataclasses import dataclass
from typing import ClassVar

from ghx_twin.state.records.base import Record


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
    listed: ClassVar = (("repository_id", "id"),)
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
class CommitComment(Record):
    """A comment on a commit, or on a line of a file that it changes."""

    table: ClassVar[str] = "commit_comments"
    indexed: ClassVar = (("repository_id", "commit_sha"),)

    repository_id: int
    commit_sha: str
    author_id: int
    body: str
    path: str | None = None
    position: int | None = None  # lines below the file's first hunk header
    line: int | None = None
    created_at: str
    updated_at: str
