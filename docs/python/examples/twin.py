# %% World, Act, Viewer
from ghx_twin import Act, Viewer, World
from ghx_twin.commands import issues, repositories, users

world = World.create()
with world.acting(None) as act:  # without a viewer: the maker of the world, who may do everything
    assert isinstance(act, Act)
    ann = users.create_user(act, login="ann")
    widgets = repositories.create(act, owner=ann, name="widgets", auto_init=True)

with world.acting(Viewer(user=ann)) as act:  # all of the block happens, or nothing
    issues.create(act, widgets, title="It breaks")

# %% Snapshot, Difference, diff
from ghx_twin import Difference, Snapshot, diff

before = world.snapshot()
assert isinstance(before, Snapshot)
with world.acting(Viewer(user=ann)) as act:
    issues.create(act, widgets, title="It is slow")
changes = diff(before, world)
assert all(isinstance(change, Difference) for change in changes)
assert "ann/widgets#2" in {change.name for change in changes if change.change == "created"}
world.restore(before)
assert not diff(before, world)

# %% WorldSeed, load_seed, seed_text, build_world, export_seed
import tempfile
from pathlib import Path

from ghx_twin import WorldSeed, build_world, export_seed, load_seed, seed_text

seed = export_seed(world)  # the world as a file that can be read, changed and built again
assert isinstance(seed, WorldSeed)
file = Path(tempfile.mkdtemp(), "seed.yaml")
file.write_text(seed_text(seed))
with World.create() as copy:
    build_world(copy, load_seed(file))
    assert seed_text(export_seed(copy)) == seed_text(seed)

# %% Server, served, ClientEnvironment
import asyncio

import httpx2

from ghx_twin import ClientEnvironment, Server, served

with Server() as server:  # on loopback and on a unix socket; `gh` and `git` need only the environment
    server.add(world)
    environment = server.client_environment(world, "ann")
    assert isinstance(environment, ClientEnvironment)
    headers = {"Authorization": f"token {environment.variables['GH_TOKEN']}"}
    assert httpx2.get(f"{server.url}/user", headers=headers).json()["login"] == "ann"


async def serve() -> str:
    async with served(world) as server:  # the same in asynchronous code
        return server.url


assert asyncio.run(serve()).startswith("http://127.0.0.1:")

# %% TwinApp
from ghx_twin import TwinApp
from ghx_twin.server.hosting import Hosting

hosting = Hosting()
token = hosting.issue_token(world, ann)  # the token selects the world and the user


async def titles() -> list[str]:
    transport = httpx2.ASGITransport(app=TwinApp(hosting))  # no socket: for tests in one process
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(transport=transport, base_url="https://api.github.com", headers=headers) as client:
        return [issue["title"] for issue in (await client.get("/repos/ann/widgets/issues")).json()]


assert asyncio.run(titles()) == ["It breaks"]

# %% Journal, Entry
from ghx_twin import Entry, Journal

assert isinstance(world.journal, Journal)
last = list(world.journal)[-1]
assert isinstance(last, Entry)
assert (last.operation, last.mutation) == ("GET /repos/{owner}/{repo}/issues", False)

# %% Fault, InjectedChange, primary_rate_limit, secondary_rate_limit
from ghx_twin import Fault, InjectedChange, primary_rate_limit, secondary_rate_limit

edit = InjectedChange(actor="ann", method="PATCH", path="/repos/ann/widgets/issues/1", body={"body": "New"})

world.faults.add(
    Fault(status=502, times=2, method="POST", path="/repos/*/issues"),  # twice, then it works
    secondary_rate_limit(times=1, retry_after_s=7),
    primary_rate_limit(times=1),
    Fault(path="/repos/ann/widgets/issues/1", skip=2, times=1, change=edit),  # on the third read
)
world.faults.clear()
world.close()
