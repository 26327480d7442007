"""A small world for tests of issues: one repository, and people with every role in it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from ghx_twin.commands import issues, repositories, users
from ghx_twin.refusals import Refusal
from ghx_twin.state.records import Issue, Label, Repository, User
from ghx_twin.viewer import EVERY_SCOPE, Viewer
from ghx_twin.world import Act, World

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Village:
    """`acme/widgets` with its people: `owner` administers acme, `stranger` has no role."""

    world: World
    people: dict[str, User]
    acme: User
    widgets: Repository

    def viewer(self, login: str, scopes: frozenset[str] = EVERY_SCOPE) -> Viewer:
        return Viewer(user=self.people[login], scopes=scopes)

    def act(self, login: str | None, command: Callable[..., Result], /, *arguments: object, **named: object) -> Result:
        """Run one command in a transaction of its own."""
        with self.world.acting(self.viewer(login) if login else None) as act:
            return command(act, *arguments, **named)

    def refusal(self, login: str, command: Callable[..., object], /, *arguments: object, **named: object) -> Refusal:
        """Run a command that must be refused, and must have changed nothing."""
        before = self.world.snapshot()
        try:
            self.act(login, command, *arguments, **named)
        except Refusal as refusal:
            assert self.world.snapshot() == before
            return refusal
        raise AssertionError(f"{command.__name__} was not refused")

    def issue(self, login: str = "owner", **named: object) -> Issue:
        return self.act(login, issues.create, self.widgets, **{"title": "It breaks", **named})

    def label(self, name: str) -> Label:
        found = self.world.database.one(Label, repository_id=self.widgets.id, name=name)
        assert found is not None
        return found

    def now(self, record: Result) -> Result:
        found = self.world.database.get(type(record), record.id)  # type: ignore[attr-defined]
        assert found is not None
        return found


def make_village() -> Village:
    world = World.create()
    logins = ("owner", "member", "writer", "triager", "reader", "stranger")
    with world.acting(None) as act:
        people = {login: users.create_user(act, login=login) for login in logins}
        acme = users.create_organization(act, login="acme")
        users.add_member(act, acme, people["owner"], "admin")
        users.add_member(act, acme, people["member"])
        widgets = repositories.create(act, owner=acme, name="widgets", auto_init=True)
        _invite(act, widgets, people)
    return Village(world=world, people=people, acme=acme, widgets=widgets)


def _invite(act: Act, repository: Repository, people: dict[str, User]) -> None:
    for login, role in (("writer", "write"), ("triager", "triage"), ("reader", "read")):
        repositories.add_collaborator(act, repository, people[login], role)
