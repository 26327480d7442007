"""An embedded GitHub: worlds that real clients talk to over the wire; useful alone.

```python
with World.create() as world, Server() as server:
    plant(world, load_seed("seed.yaml"))
    server.add(world)
    environment = server.client_environment(world, "octo").over(os.environ)
    subprocess.run(["gh", "pr", "list", "--repo", "acme/widgets"], env=environment)
```
The names below are imported on first use (PEP 562): a diff loads no web server.
"""

from typing import TYPE_CHECKING

from ghx_base.lazy import lazy_exports

if TYPE_CHECKING:  # GraphQL and the web server cost start-up time: what is behind a name loads with its first use
    from ghx_twin.difference import Difference, diff
    from ghx_twin.faults import Fault, InjectedChange, primary_rate_limit, secondary_rate_limit
    from ghx_twin.journal import Entry, Journal
    from ghx_twin.seed.document import WorldSeed
    from ghx_twin.seed.harvesting import harvest
    from ghx_twin.seed.loading import load_seed, seed_text
    from ghx_twin.seed.planting import plant
    from ghx_twin.server.app import TwinApp
    from ghx_twin.server.clients.environment import ClientEnvironment
    from ghx_twin.server.loopback import Server, served
    from ghx_twin.viewer import Viewer
    from ghx_twin.world import Act, Snapshot, World

__all__ = [
    "Act",
    "ClientEnvironment",
    "Difference",
    "Entry",
    "Fault",
    "InjectedChange",
    "Journal",
    "Server",
    "Snapshot",
    "TwinApp",
    "Viewer",
    "World",
    "WorldSeed",
    "diff",
    "harvest",
    "load_seed",
    "plant",
    "primary_rate_limit",
    "secondary_rate_limit",
    "seed_text",
    "served",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "difference": "Difference diff",
        "faults": "Fault InjectedChange primary_rate_limit secondary_rate_limit",
        "journal": "Entry Journal",
        "seed.document": "WorldSeed",
        "seed.harvesting": "harvest",
        "seed.loading": "load_seed seed_text",
        "seed.planting": "plant",
        "server.app": "TwinApp",
        "server.clients.environment": "ClientEnvironment",
        "server.loopback": "Server served",
        "viewer": "Viewer",
        "world": "Act Snapshot World",
    },
)
