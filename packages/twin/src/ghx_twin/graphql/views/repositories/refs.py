"""Branches and tags, comparisons, and who git says did something."""

from collections.abc import Sequence
from typing import Any, ClassVar

from ghx_twin.git.errors import GitError
from ghx_twin.graphql import git_lookup
from ghx_twin.graphql.lists import PullQuery
from ghx_twin.graphql.subjects import ActorSubject, CommitSubject, ComparisonSubject, RefSubject
from ghx_twin.graphql.views.base import View
from ghx_twin.nodes import git_node_id
from ghx_twin.queries.repositories.protections import protection_of
from ghx_twin.state.records import Pull


class RefView(View[RefSubject]):
    """A branch or tag."""

    typename: ClassVar[str] = "Ref"
    __slots__ = ()

    def id(self) -> str:
        """Return the global id."""
        return git_node_id("ref", self.subject.repository.id, self.subject.name)

    def name(self) -> str:
        """Return the name without its prefix."""
        return self.subject.name.removeprefix(self.prefix())

    def prefix(self) -> str:
        """Return `refs/heads/` or `refs/tags/`."""
        kind = self.subject.name.split("/", 2)[1]
        return f"refs/{kind}/"

    def repository(self) -> Any:
        """Return where it is."""
        return self.context.view_of(self.subject.repository)

    def target(self) -> Any:
        """Return what it points at."""
        return self.context.view_of(git_lookup.git_object(self.context, self.subject.repository, self.subject.sha))

    def associated_pull_requests(self, **filters: Any) -> Sequence[Pull]:
        """Return the pull requests that want to merge it."""
        query = PullQuery(self.context).where("pulls.head_repository_id = ?", self.subject.repository.id)
        return query.where("pulls.head_ref = ?", self.name()).filter(**filters).visible()

    def branch_protection_rule(self) -> Any:
        """Return the rules of the branch."""
        if self.prefix() != "refs/heads/":
            return None
        return self.context.view_of(protection_of(self.context.world, self.subject.repository, self.name()))

    def compare(self, head_ref: str) -> Any:
        """Compare another ref, of this repository or of a fork, with this one."""
        owner, colon, branch = head_ref.partition(":")
        git = self.context.world.git(self.subject.repository)
        head = git.resolve(branch if colon else head_ref, self.subject.repository.default_branch)
        if colon and owner.lower() != self.context.owner(self.subject.repository).login.lower():
            head = self._head_of_fork(owner, branch)
        try:
            base = git.peel(self.subject.sha)
        except GitError:
            return None
        return None if head is None else self.context.view_of(ComparisonSubject(self.subject.repository, base, head))

    def _head_of_fork(self, owner: str, branch: str) -> str | None:
        """Return a fork's branch as far as its objects are here, which a pull request sees to."""
        pulls = self.context.database.all(Pull, repository_id=self.subject.repository.id, head_ref=branch)
        for pull in pulls[::-1]:
            fork = self.context.visible(self.context.repository(pull.head_repository_id))
            if fork and self.context.owner(fork).login.lower() == owner.lower():
                return pull.head_sha
        return None


class ComparisonView(View[ComparisonSubject]):
    """A ref compared with another."""

    typename: ClassVar[str] = "Comparison"
    __slots__ = ()

    def id(self) -> str:
        """Return the global id."""
        return git_node_id("comparison", self.subject.repository.id, f"{self.subject.base}...{self.subject.head}")

    def ahead_by(self) -> int:
        """Return how many commits only the head has."""
        return self._counts()[0]

    def behind_by(self) -> int:
        """Return how many commits only the base has."""
        return self._counts()[1]

    def status(self) -> str:
        """Return how the two stand to each other."""
        match self._counts():
            case (0, 0):
                return "IDENTICAL"
            case (_, 0):
                return "AHEAD"
            case (0, _):
                return "BEHIND"
            case _:
                return "DIVERGED"

    def base_target(self) -> Any:
        """Return the base."""
        return self.context.view_of(CommitSubject(self.subject.repository, self.subject.base))

    def head_target(self) -> Any:
        """Return the head."""
        return self.context.view_of(CommitSubject(self.subject.repository, self.subject.head))

    def commits(self) -> list[CommitSubject]:
        """Return the commits that only the head has, oldest first."""
        git = self.context.world.git(self.subject.repository)
        commits_between = git.commits_between(self.subject.base, self.subject.head)
        return git_lookup.known_commits(self.context, self.subject.repository, commits_between)

    def _counts(self) -> tuple[int, int]:
        subject = self.subject
        git = self.context.world.git(subject.repository)
        key = ("comparison", subject.repository.id, subject.base, subject.head)
        return self.context.once(key, lambda: git.ahead_behind(subject.base, subject.head))


class GitActorView(View[ActorSubject]):
    """Who a commit says did something."""

    typename: ClassVar[str] = "GitActor"
    __slots__ = ()

    def avatar_url(self, size: int | None = None) -> str:
        """Return the address of a picture."""
        user = git_lookup.user_by_email(self.context, self.subject.signature.email)
        scaled = f"&s={size}" if size else ""
        return f"https://avatars.githubusercontent.com/u/{user.id if user else 0}?v=4{scaled}"

    def date(self) -> str:
        """Return when."""
        return self.subject.signature.at

    def email(self) -> str:
        """Return the address."""
        return self.subject.signature.email

    def name(self) -> str:
        """Return the name."""
        return self.subject.signature.name

    def user(self) -> Any:
        """Return the account with this address."""
        user = git_lookup.user_by_email(self.context, self.subject.signature.email)
        return self.context.view_of(user) if user and user.type == "User" else None
