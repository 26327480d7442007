"""The records of a seed file, in snake_case YAML or JSON: accounts, repositories, and the world of both."""

from collections.abc import Mapping
from itertools import chain
from typing import Literal, Self

from pydantic import Field, StrictBool, StrictInt, model_validator

from ghx_base.documents import RefusedError
from ghx_twin.seed.checks import SeedCommitCheck, SeedWorkflow
from ghx_twin.seed.conversations import SeedIssue, SeedPull
from ghx_twin.seed.deployments import (
    SeedCache,
    SeedDeployment,
    SeedDeploymentReview,
    SeedEnvironment,
    SeedOrganizationSecret,
    SeedOrganizationVariable,
    SeedSecret,
    SeedVariable,
)
from ghx_twin.seed.format import (
    Files,
    Login,
    Moment,
    Number,
    Permission,
    RepositoryName,
    Role,
    SeedFault,
    SeedModel,
)
from ghx_twin.seed.mistakes import SeedError, error_place
from ghx_twin.seed.projects import SeedProject
from ghx_twin.seed.releases import SeedRelease
from ghx_twin.seed.repeats import RepeatedModel, repeat_names, resize, write_out
from ghx_twin.seed.rulesets import SeedRuleset
from ghx_twin.viewer import EVERY_SCOPE


class SeedToken(SeedModel):
    """A credential that exists from the start."""

    token: str = Field(min_length=1, description="What clients send.")
    scopes: tuple[str, ...] = Field(
        default=tuple(sorted(EVERY_SCOPE)), description="What it may do; everything if left out."
    )


class SeedUser(SeedModel):
    """A person or a bot."""

    login: Login
    type: Literal["User", "Bot"] = "User"
    name: str | None = None
    email: str | None = None
    bio: str | None = None
    company: str | None = None
    location: str | None = None
    blog: str | None = None
    site_admin: StrictBool = False
    tokens: tuple[SeedToken, ...] = ()
    next_project_number: Number | None = Field(default=None, description="The number of the next project.")
    at: Moment | None = Field(default=None, description="When the account was made.")


class SeedTeam(SeedModel):
    """A team of an organization."""

    name: str
    slug: str | None = Field(default=None, description="Its name in addresses; follows from the name if left out.")
    description: str | None = None
    privacy: Literal["closed", "secret"] = "closed"
    members: tuple[Login, ...] = ()


class SeedIssueType(SeedModel):
    """A type that issues in repositories of an organization can have."""

    name: str
    description: str | None = None
    color: Literal["gray", "blue", "green", "yellow", "orange", "red", "pink", "purple"] | None = None
    is_enabled: StrictBool = Field(default=True, description="Whether issues can be given it.")


class SeedOrganization(SeedModel):
    """An organization, its members and teams."""

    login: Login
    name: str | None = None
    email: str | None = None
    bio: str | None = Field(default=None, description="What it says about itself.")
    location: str | None = None
    blog: str | None = None
    members: dict[Login, Literal["member", "admin"]] = Field(default={}, description="Roles by login.")
    teams: tuple[SeedTeam, ...] = ()
    issue_types: tuple[SeedIssueType, ...] | None = Field(
        default=None, description="Types of issues; GitHub's three (Task, Bug, Feature) if left out."
    )
    next_project_number: Number | None = Field(default=None, description="The number of the next project.")
    rulesets: tuple[SeedRuleset, ...] = Field(default=(), description="Rules for refs of its repositories.")
    variables: tuple[SeedOrganizationVariable, ...] = Field(default=(), description="Variables of GitHub Actions.")
    secrets: tuple[SeedOrganizationSecret, ...] = Field(default=(), description="Secrets of GitHub Actions, by name.")
    at: Moment | None = Field(default=None, description="When it was made.")


class SeedInstallation(SeedModel):
    """An app installed on an account."""

    id: Number | None = Field(default=None, description="By which clients name it; the next free one if left out.")
    account: Login = Field(description="A user or an organization.")
    permissions: dict[str, Permission] | None = Field(
        default=None, description="What it may do there; all that the app asks for if left out."
    )
    repositories: tuple[RepositoryName, ...] | None = Field(
        default=None, description="The repositories it is for; all of the account's if left out."
    )
    tokens: tuple[str, ...] = Field(default=(), description="Tokens that act for it from the start, as `ghs_...`.")
    at: Moment | None = Field(default=None, description="When it was installed.")


class SeedApp(SeedModel):
    """A GitHub App, whose bot is `slug[bot]`."""

    id: Number | None = Field(default=None, description="By which the app names itself; the next free one if left out.")
    slug: str = Field(description="Its name in addresses.")
    name: str | None = Field(default=None, description="Its name; the slug if left out.")
    owner: Login
    description: str | None = None
    client_id: str | None = Field(default=None, description="The other name that it may sign with.")
    public_key: str | None = Field(default=None, description="The RSA key in PEM that its signatures are checked with.")
    permissions: dict[str, Permission] = Field(default={}, description="What it asks for: `issues: write`, ...")
    events: tuple[str, ...] = ()
    installations: tuple[SeedInstallation, ...] = ()
    at: Moment | None = Field(default=None, description="When it was made.")


class SeedCommit(SeedModel):
    """One commit; the branch is made where it does not exist."""

    branch: str | None = Field(default=None, description="The branch it is put on; the default branch if left out.")
    from_: str | None = Field(
        default=None, alias="from", description="Where a new branch starts; the default branch if left out."
    )
    message: str
    author: Login | None = Field(default=None, description="Who wrote it; the owner if left out.")
    files: Files = Field(default={}, description="Files by path; null removes one.")
    at: Moment | None = None


class SeedLabel(RepeatedModel):
    """A label."""

    name: str
    color: str = Field(default="ededed", description="Six hexadecimal digits.")
    description: str | None = None

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        self.refuse_same("name")
        return self


class SeedMilestone(RepeatedModel):
    """A milestone."""

    number: Number | None = Field(default=None, description="Its number; the next free one if left out.")
    title: str
    description: str | None = None
    state: Literal["open", "closed"] = "open"
    due_on: Moment | None = None
    creator: Login | None = Field(default=None, description="Who made it; the owner if left out.")
    at: Moment | None = None
    closed_at: Moment | None = None

    @model_validator(mode="after")
    def _check_titles(self) -> Self:
        self.refuse_same("title")
        return self


class SeedProtection(SeedModel):
    """Rules for branches whose names match a pattern; they hold from when the world is planted."""

    pattern: str = Field(description="The name of a branch, or a shell pattern such as `release/*`.")
    required_approvals: StrictInt | None = Field(
        default=None, ge=0, le=6, description="How many approvals a merge takes; left out, no pull request is needed."
    )
    dismiss_stale_reviews: StrictBool = Field(default=False, description="Whether a push dismisses approvals.")
    required_checks: tuple[str, ...] = Field(default=(), description="Names of checks that must have passed.")
    strict_checks: StrictBool = Field(
        default=False, description="Whether a branch must be up to date with its base to be merged."
    )
    enforce_admins: StrictBool = Field(default=False, description="Whether administrators are bound as well.")
    allow_force_pushes: StrictBool = False
    allow_deletions: StrictBool = False


class SeedCommitComment(SeedModel):
    """A comment on a commit."""

    commit: str = Field(description="A branch, a tag or the sha of a commit.")
    author: Login | None = Field(default=None, description="Who wrote it; the owner if left out.")
    body: str
    path: str | None = Field(default=None, description="The file it is about.")
    position: StrictInt | None = Field(default=None, description="The line in the difference, below its first header.")
    line: StrictInt | None = Field(default=None, description="The line in the file.")
    at: Moment | None = None
    updated_at: Moment | None = None


class SeedRepository(RepeatedModel):
    """A repository with its history and conversations; `repeat` says whether it is there, 0 or 1."""

    name: RepositoryName
    description: str | None = None
    homepage: str | None = None
    visibility: Literal["public", "private", "internal"] = "public"
    default_branch: str = "main"
    topics: tuple[str, ...] = ()
    fork_of: RepositoryName | None = Field(default=None, description="The repository it is a fork of; listed before.")
    has_issues: StrictBool = True
    has_wiki: StrictBool = True
    has_projects: StrictBool = True
    has_downloads: StrictBool = True
    has_discussions: StrictBool = False
    allow_merge_commit: StrictBool = True
    allow_squash_merge: StrictBool = True
    allow_rebase_merge: StrictBool = True
    allow_auto_merge: StrictBool = False
    allow_update_branch: StrictBool = False
    allow_forking: StrictBool = True
    delete_branch_on_merge: StrictBool = False
    web_commit_signoff_required: StrictBool = False
    archived: StrictBool = False
    is_template: StrictBool = False
    collaborators: dict[Login, Role] = Field(default={}, description="Roles by login.")
    teams: dict[str, Role] = Field(default={}, description="Roles by slug, of teams of the organization that owns it.")
    labels: tuple[SeedLabel, ...] | None = Field(default=None, description="Labels; GitHub's nine if left out.")
    milestones: tuple[SeedMilestone, ...] = ()
    files: Files = Field(default={}, description="Files of the first commit on the default branch.")
    history: tuple[SeedCommit, ...] = Field(default=(), description="Commits after that, in order.")
    tags: dict[str, str] = Field(default={}, description="Tags by name: the branch or commit each points to.")
    checks: tuple[SeedCommitCheck, ...] = Field(default=(), description="What tools reported on commits.")
    workflows: tuple[SeedWorkflow, ...] = Field(default=(), description="Workflows of GitHub Actions and their runs.")
    protection: tuple[SeedProtection, ...] = ()
    rulesets: tuple[SeedRuleset, ...] = Field(default=(), description="Rules for refs, newer than protection.")
    variables: tuple[SeedVariable, ...] = Field(default=(), description="Variables of GitHub Actions.")
    secrets: tuple[SeedSecret, ...] = Field(default=(), description="Secrets of GitHub Actions, by name.")
    caches: tuple[SeedCache, ...] = Field(default=(), description="Caches of GitHub Actions.")
    environments: tuple[SeedEnvironment, ...] = Field(default=(), description="Where it is deployed to.")
    deployments: tuple[SeedDeployment, ...] = Field(default=(), description="Deployments, oldest first.")
    deployment_reviews: tuple[SeedDeploymentReview, ...] = Field(
        default=(), description="Who let runs go on to an environment, or did not."
    )
    issues: tuple[SeedIssue, ...] = ()
    pulls: tuple[SeedPull, ...] = ()
    commit_comments: tuple[SeedCommitComment, ...] = Field(default=(), description="Comments on commits.")
    releases: tuple[SeedRelease, ...] = Field(default=(), description="Releases, in the order they were made.")
    at: Moment | None = Field(default=None, description="When it was made.")
    updated_at: Moment | None = None
    pushed_at: Moment | None = None
    exported: StrictBool = Field(
        default=False,
        description="Written by an export: it says what has happened, so the roles of today are not checked.",
    )
    bundle: str | None = Field(
        default=None,
        description="The whole history as a git bundle in base64, instead of files, history and tags; from an export.",
    )
    gone_numbers: tuple[Number, ...] = Field(
        default=(), description="Numbers of issues that were deleted or moved away; from an export."
    )
    next_number: Number | None = Field(default=None, description="The number of the next issue or pull request.")
    next_milestone_number: Number | None = Field(default=None, description="The number of the next milestone.")

    @model_validator(mode="after")
    def _check_name(self) -> Self:
        if self.times > 1:
            reason = f"a repository is there once or not at all, not {self.times} times"
            raise RefusedError(reason, at=("repeat",), suggestion="write 0 or 1")
        return self

    def repeatable(self) -> dict[str, tuple[SeedModel, ...]]:
        """Return the lists in which an entry, or a comment under one, may stand for many."""
        lists = {"labels": self.labels or (), "milestones": self.milestones, "issues": self.issues, "pulls": self.pulls}
        return {name: entries for name, entries in lists.items() if entries}

    def written_out(self) -> Self:
        """Return the repository with an entry for each of what one stands for."""
        update: dict[str, tuple[SeedModel, ...]] = {}
        for name, entries in self.repeatable().items():
            with error_place(name):
                update[name] = write_out(entries)
        return self.model_copy(update=update)


class WorldSeed(SeedModel):
    """A whole world."""

    version: Literal[1] = Field(default=1, description="The version of this format.")
    users: tuple[SeedUser, ...] = ()
    organizations: tuple[SeedOrganization, ...] = ()
    apps: tuple[SeedApp, ...] = Field(default=(), description="GitHub Apps and where they are installed.")
    repositories: tuple[SeedRepository, ...] = ()
    projects: tuple[SeedProject, ...] = ()
    faults: tuple[SeedFault, ...] = Field(default=(), description="What goes wrong on purpose, and for which requests.")

    def sizes(self) -> frozenset[str]:
        """Return the names of the entries that can be repeated more or less often."""
        lists = chain.from_iterable(each.repeatable().values() for each in self.repositories)
        return frozenset(name for entries in (self.repositories, *lists) for name in repeat_names(entries))

    def resized(self, size: Mapping[str, int]) -> Self:
        """Return the world with as many of the named entries as `size` says."""
        repositories = tuple(
            each.model_copy(update={name: resize(entries, size) for name, entries in each.repeatable().items()})
            for each in resize(self.repositories, size)
        )
        return self.model_copy(update={"repositories": repositories})

    def written_out(self) -> Self:
        """Return the world with an entry for each of what one stands for."""
        there: list[SeedRepository] = []
        for each in self.repositories:
            with error_place(f"repositories: {each.name}"):
                if each.times > 1:  # by a size that was set later
                    raise SeedError(f"a repository is there once or not at all, and not {each.times} times; set 0 or 1")
                there += [each.written_out()] * each.times
        return self.model_copy(update={"repositories": tuple(there)})
