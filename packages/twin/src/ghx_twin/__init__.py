"""An embedded GitHub: worlds that real clients talk to over the wire; useful alone.

```python
with World.create() as world, Server() as server:
    build_world(world, load_seed("seed.yaml"))
    server.add(world)
    environment = server.client_environment(world, "octo").over(os.environ)
    subprocess.run(["gh", "pr", "list", "--repo", "acme/widgets"], env=environment)
```
The names below are imported on first use (PEP 562): a diff loads no web server.
"""

from typing import TYPE_CHECKING

from ghx_base.lazy import lazy_exports

if TYPE_CHECKING:  # GraphQL and the web server cost start-up time: what is behind a name loads with its first use
    from ghx_twin.difference import Difference as Difference
    from ghx_twin.difference import diff as diff
    from ghx_twin.faults import Fault as Fault
    from ghx_twin.faults import InjectedChange as InjectedChange
    from ghx_twin.faults import primary_rate_limit as primary_rate_limit
    from ghx_twin.faults import secondary_rate_limit as secondary_rate_limit
    from ghx_twin.journal import Entry as Entry
    from ghx_twin.journal import Journal as Journal
    from ghx_twin.seed.building import build_world as build_world
    from ghx_twin.seed.document import WorldSeed as WorldSeed
    from ghx_twin.seed.exporting import export_seed as export_seed
    from ghx_twin.seed.loading import load_seed as load_seed
    from ghx_twin.seed.loading import seed_text as seed_text
    from ghx_twin.server.app import TwinApp as TwinApp
    from ghx_twin.server.clients.environment import ClientEnvironment as ClientEnvironment
    from ghx_twin.server.loopback import Server as Server
    from ghx_twin.server.loopback import served as served
    from ghx_twin.viewer import Viewer as Viewer
    from ghx_twin.world import Act as Act
    from ghx_twin.world import Snapshot as Snapshot
    from ghx_twin.world import World as World

__getattr__, __dir__ = lazy_exports(__name__)
