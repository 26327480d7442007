"""The people of an import: everyone named in it, and the owner with its members and teams."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ghx_twin.seed.document import SeedIssueType, SeedOrganization, SeedTeam, SeedUser
from ghx_twin.seed.importing.github import GitHubReader, Json

GHOST = "ghost"
"""The account that GitHub shows in place of one that was deleted."""

_INSIDERS = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
_DETAILS = "... on User { name createdAt } ... on Bot { createdAt } ... on Organization { name createdAt }"


@dataclass(slots=True)
class People:
    """Accounts by login, as the API showed them wherever they were named."""

    seen: dict[str, Json] = field(default_factory=dict[str, Json])
    teams: dict[str, Json] = field(default_factory=dict[str, Json])
    insiders: dict[str, None] = field(default_factory=dict[str, None])
    issue_types: frozenset[str] = frozenset()  # those of the organization
    organization: str | None = None  # the owner, where that is one

    def login(self, account: Json | None) -> str:
        """Return the login of an account and remember it; `ghost` where it is gone."""
        if account is None:
            account = {"login": GHOST, "id": 10137, "type": "User"}
        self.seen.setdefault(str(account["login"]), account)
        return str(account["login"])

    def writer(self, account: Json | None, association: str | None) -> str:
        """Return the login of who said something, and remember whether GitHub says that they belong to the project."""
        login = self.login(account)
        if association in _INSIDERS and login != GHOST:
            self.insiders[login] = None
        return login

    def optional_login(self, account: Json | None) -> str | None:
        """Return the login of an account; None if it does not exist."""
        return None if account is None else self.login(account)

    def team(self, team: Json) -> str:
        """Return `organization/slug` of a team and remember it."""
        self.teams.setdefault(str(team["slug"]), team)
        return f"{self.organization}/{team['slug']}"

    def bots(self) -> dict[str, str]:
        """Return the logins of bots without the `[bot]` that REST puts behind them, unless a user has the same."""
        names = {str(each["login"]) for each in self.seen.values() if each["type"] == "Bot"}
        short = {name: name.removesuffix("[bot]") for name in names}
        return {name.lower(): plain for name, plain in short.items() if plain == name or plain not in self.seen}

    def pseudonyms(self) -> dict[str, str]:
        """Return new logins for everyone but the owner, the ghost and bots, by old ones in lower case."""
        people = [each for each in self._sorted() if each["type"] != "Bot" and each["login"] != GHOST]
        return {str(each["login"]).lower(): f"user-{number}" for number, each in enumerate(people, 1)}

    def users(self, github: GitHubReader, *, with_names: bool) -> tuple[SeedUser, ...]:
        """Return everyone who was named, the oldest account first."""
        everyone = [each for each in self._sorted() if each["login"] != self.organization]
        details = github.nodes(
            "names of people", [str(each["node_id"]) for each in everyone if "node_id" in each], _DETAILS
        )
        users: list[SeedUser] = []
        for each in everyone:
            detail = details.get(str(each.get("node_id")), {})
            content: Json = {"login": each["login"], "type": "Bot" if each["type"] == "Bot" else "User"}
            content |= {"at": detail.get("createdAt"), "name": detail.get("name") if with_names else None}
            users.append(SeedUser.model_validate(content))
        return tuple(users)

    def _sorted(self) -> list[Json]:
        return sorted(self.seen.values(), key=lambda each: int(each["id"]))


def import_issue_types(github: GitHubReader, people: People, login: str) -> tuple[SeedIssueType, ...] | None:
    """Return the types that issues of an organization can have; None for GitHub's three, where they are not shown."""
    listed = github.pages_if_visible(f"types of issues of {login}", f"/orgs/{login}/issue-types")
    people.issue_types = frozenset(str(each["name"]) for each in listed) or frozenset({"Task", "Bug", "Feature"})
    fields = tuple(SeedIssueType.model_fields)
    types = tuple(SeedIssueType.model_validate({name: each.get(name) for name in fields}) for each in listed)
    return types or None


def import_organization(
    github: GitHubReader, people: People, login: str, issue_types: tuple[SeedIssueType, ...] | None
) -> SeedOrganization:
    """Return the organization that owns the repository, with the members and teams that the token may see."""
    profile = github.get(f"/orgs/{login}")
    members: dict[str, str] = {}
    for role in ("admin", "member"):
        listed = github.pages_if_visible(f"members of {login}", f"/orgs/{login}/members", role=role)
        members |= {people.login(each): role for each in listed}
    for team in github.pages_if_visible(f"teams of {login}", f"/orgs/{login}/teams"):
        people.team(team)
    content: dict[str, Any] = {
        "login": profile["login"],
        "name": profile.get("name"),
        "bio": profile.get("description"),
        "members": members,
        "teams": tuple(_teams(github, people, login)),
        "issue_types": issue_types,
        "at": profile.get("created_at"),
    }
    return SeedOrganization.model_validate(content)


def _teams(github: GitHubReader, people: People, login: str) -> Iterable[SeedTeam]:
    for slug, team in people.teams.items():
        members = github.pages_if_visible(f"members of teams of {login}", f"/orgs/{login}/teams/{slug}/members")
        same = {name: team.get(name) for name in ("name", "slug", "description")}
        privacy = team.get("privacy") or "closed"
        yield SeedTeam.model_validate(
            {**same, "privacy": privacy, "members": tuple(people.login(each) for each in members)}
        )
