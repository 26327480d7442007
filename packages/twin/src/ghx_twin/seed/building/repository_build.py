"""The state of a repository while it is built from a seed."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ghx_twin.commands.issues import reactions
from ghx_twin.commands.issues.reactions import Subject
from ghx_twin.commands.kernel import reload
from ghx_twin.git.repository import GitRepository
from ghx_twin.queries import lookup
from ghx_twin.seed.conversations import SeedIssue, SeedPull
from ghx_twin.seed.document import SeedRepository
from ghx_twin.seed.format import Emoji
from ghx_twin.seed.mistakes import error_place
from ghx_twin.state.records import Issue, Repository, User
from ghx_twin.viewer import Viewer
from ghx_twin.world import Act, World


@dataclass(frozen=True, slots=True)
class RepositoryBuild:
    """A repository's record and its seed; `conversations` are those that were built so far."""

    world: World
    record: Repository
    seed: SeedRepository
    conversations: list[tuple[SeedIssue | SeedPull, Issue]] = field(
        default_factory=list[tuple[SeedIssue | SeedPull, Issue]]
    )

    @property
    def steward(self) -> str:
        """Return the login that acts where the seed names none; an organization cannot act itself."""
        return lookup.default_actor(self.world, self.record).login

    @property
    def git(self) -> GitRepository:
        """Return the git side of the repository."""
        return self.world.git(self.record)

    def current(self, act: Act) -> Repository:
        """Return the repository as it is now."""
        return reload(act, self.record)

    def person(self, login: str) -> User:
        """Return a user, bot or organization by login."""
        return lookup.account(self.world, login)

    @contextmanager
    def acting_as(self, who: str | User, *, at: str | None = None) -> Generator[Act]:
        """Open the world for a change by `who`, with the rights of that user."""
        user = self.person(who) if isinstance(who, str) else who
        # An export says what has happened: the author of an old comment may have lost the role since.
        unrestricted = self.seed.exported or user.type == "Organization"
        with self.world.acting(Viewer(user=user, unrestricted=unrestricted), at=at) as act:
            yield act

    @contextmanager
    def acting_unrestricted(self, who: str | None, *, at: str | None = None) -> Generator[Act]:
        """Open the world for a change by `who` (the steward if left out), whatever that user's role.

        Workflow runs have an actor who need not have write access: GitHub starts them.
        """
        with self.world.acting(Viewer(user=self.person(who or self.steward), unrestricted=True), at=at) as act:
            yield act

    def react(self, subject: Subject, logins_by_emoji: Mapping[Emoji, Sequence[str]]) -> None:
        """Add reactions to a subject, dated when it was written."""
        at = getattr(subject, "created_at", None)
        for content, logins in logins_by_emoji.items():
            for login in logins:
                with error_place(f"reaction {content} of {login}"), self.acting_as(login, at=at) as act:
                    reactions.add(act, subject, content)
