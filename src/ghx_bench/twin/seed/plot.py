"""A repository of a seed that is being planted, and who speaks in it."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ghx_bench.twin.commands import kernel, reactions
from ghx_bench.twin.commands.reactions import Subject
from ghx_bench.twin.git.repository import GitRepository
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.seed.document import SeedRepository
from ghx_bench.twin.seed.format import Emoji
from ghx_bench.twin.seed.mistakes import within
from ghx_bench.twin.seed.talk import SeedIssue, SeedPull
from ghx_bench.twin.state.records import Issue, Repository, User
from ghx_bench.twin.viewer import Viewer
from ghx_bench.twin.world import Act, World


@dataclass(frozen=True, slots=True)
class Plot:
    """A repository's record beside what the seed says of it."""

    world: World
    record: Repository
    seed: SeedRepository
    planted: list[tuple[SeedIssue | SeedPull, Issue]] = field(default_factory=list[tuple[SeedIssue | SeedPull, Issue]])

    @property
    def steward(self) -> str:
        """Return the login of whoever does what nobody is named for: organizations do not act themselves."""
        return lookup.default_actor(self.world, self.record).login

    @property
    def git(self) -> GitRepository:
        """Return the git side of the repository."""
        return self.world.git(self.record)

    def current(self, act: Act) -> Repository:
        """Return the repository as it is now."""
        return kernel.reload(act, self.record)

    def person(self, login: str) -> User:
        """Return a user, bot or organization by login."""
        return lookup.account(self.world, login)

    @contextmanager
    def speaking(self, who: str | User, *, at: str | None = None) -> Generator[Act]:
        """Act as somebody, with no more rights than they have; an export, and an organization, may do everything."""
        user = self.person(who) if isinstance(who, str) else who
        unrestricted = self.seed.exported or user.type == "Organization"
        with self.world.acting(Viewer(user=user, unrestricted=unrestricted), at=at) as act:
            yield act

    @contextmanager
    def recalling(self, who: str | None, *, at: str | None = None) -> Generator[Act]:
        """Act as somebody (the steward if left out) past what they may do: machines set things off for anybody."""
        with self.world.acting(Viewer(user=self.person(who or self.steward), unrestricted=True), at=at) as act:
            yield act

    def react(self, subject: Subject, wanted: Mapping[Emoji, Sequence[str]]) -> None:
        """Let people react to something, at the time it was written."""
        at = getattr(subject, "created_at", None)
        for content, logins in wanted.items():
            for login in logins:
                with within(f"reaction {content} of {login}"), self.speaking(login, at=at) as act:
                    reactions.add(act, subject, content)
