"""An embedded world behind sockets, in which fixtures are made and an agent works on them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ghx_bench.fixtures.embedded import DEFAULT_REPO, LOGINS
from ghx_bench.fixtures.fixture_document import Actor
from ghx_bench.fixtures.library import FixtureLibrary, load_fixtures
from ghx_bench.fixtures.manager import FixtureManager
from ghx_bench.scenario.manifest import FixtureManifest
from ghx_tools.capabilities.client import GitHubClient
from ghx_twin.journal import Entry
from ghx_twin.queries import lookup
from ghx_twin.server.loopback import Server
from ghx_twin.world import World

LIBRARY = load_fixtures()
MADE_BY_API = tuple(name for name in LIBRARY.names if LIBRARY.get(name).world is None)
"""The fixtures that are made in a repository; the others are worlds of their own."""
NOTHING = FixtureManifest(seed_id="default", created_at="2026-01-01T00:00:00.000Z", repo=DEFAULT_REPO, fixtures={})


@dataclass(frozen=True, kw_only=True)
class FixtureBench:
    """A world with the people of embedded runs, and access to it as each of them."""

    server: Server
    world: World
    repo: str = DEFAULT_REPO
    manifest: FixtureManifest = NOTHING  # of the fixtures that are in it from the start

    def token(self, login: str) -> str:
        return self.server.hosting.issue_token(self.world, lookup.user(self.world, login))

    def clients(self, **logins: str) -> dict[Actor, GitHubClient]:
        wanted: Mapping[Any, str] = logins or LOGINS
        return {actor: GitHubClient(self.server.url, self.token(login)) for actor, login in wanted.items()}

    def manager(
        self, library: FixtureLibrary = LIBRARY, *, known: FixtureManifest | None = None, seed_id: str = "default"
    ) -> FixtureManager:
        return FixtureManager(self.repo, self.clients(), library, manifest=known, seed_id=seed_id)

    async def rest(self, method: str, path: str, body: dict[str, Any] | None = None, *, who: Actor = "agent") -> Any:
        """Ask something about the repository; the agent does it unless somebody else is named."""
        client = self.clients()[who]
        whole = f"/repos/{self.repo}/{path}"
        if method == "GET":
            return (await client.get(whole, params=body)).data
        return (await getattr(client, method.lower())(whole, body)).data

    async def graphql(self, document: str, *, who: Actor = "agent", **variables: Any) -> Any:
        owner, name = self.repo.split("/")
        given = {"owner": owner, "name": name} if "$owner" in document else {}
        return await self.clients()[who].graphql(document, {**given, **variables})

    async def threads(self, number: int) -> list[dict[str, Any]]:
        document = """
        query($owner: String!, $name: String!, $number: Int!) {
          repository(owner: $owner, name: $name) {
            pullRequest(number: $number) {
              author { login }
              reviewThreads(first: 50) {
                nodes {
                  id isResolved path line
                  comments(first: 20) { nodes { databaseId body author { login } } }
                }
              }
            }
          }
        }
        """
        data = await self.graphql(document, number=number)
        return data["repository"]["pullRequest"]["reviewThreads"]["nodes"]

    def changes(self, since: int) -> list[Entry]:
        """Return the requests that changed the world, after the first so many."""
        return [entry for entry in self.world.journal.since(since) if entry.mutation]
