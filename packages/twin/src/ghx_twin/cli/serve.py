"""`ghx-twin serve`: one world on loopback until stopped."""

import gc
import json
import re
import signal
import threading
from pathlib import Path
from types import FrameType
from typing import Annotated

from cyclopts import Parameter

from ghx_twin.cli.notes import print_notes
from ghx_twin.state.clock import ClockPolicy

LAST_PORT = 65535


def serve(
    *,
    seed: Annotated[Path | None, Parameter(help="The seed (YAML or JSON) of the world; else it has one user.")] = None,
    faults: Annotated[
        Path | None, Parameter(help="What goes wrong on purpose (YAML or JSON), beside the seed's own.")
    ] = None,
    data_dir: Annotated[Path | None, Parameter(help="Where the world is kept; else it ends with the server.")] = None,
    port: Annotated[int, Parameter(help="The port on 127.0.0.1; a free one if left out.")] = 0,
    user: Annotated[str | None, Parameter(help="Whose token is printed; the first user if left out.")] = None,
    token: Annotated[str | None, Parameter(help="The user's token; else one of the world, or a new one.")] = None,
    clock: Annotated[ClockPolicy, Parameter(help="The time in it: the real one, or a second for each write.")] = "wall",
) -> int:
    """Serve a world and print one line of JSON when ready: url, socket, user, token."""
    gc.disable()  # until it serves: what is loaded stays, and looking for garbage in it takes a tenth of the start
    from ghx_base.errors import FlagError
    from ghx_base.files.scratch import sweep
    from ghx_twin.seed.worlds import add_faults, open_world, person
    from ghx_twin.server.loopback import Server
    from ghx_twin.server.tokens import ensure_token

    if not 0 <= port <= LAST_PORT:
        raise FlagError("--port", f"{port} is no port; name one from 1 to {LAST_PORT}, or 0 for a free one")
    if token is not None and not re.fullmatch(r"[!-~]{8,255}", token):
        raise FlagError("--token", "a token has 8 to 255 letters, digits and signs, and no spaces")
    stopped = _stop_event()
    with open_world(seed, data_dir, clock=clock) as world, Server(port=port) as server:
        if faults is not None:
            add_faults(world, faults)
        client = person(world, user)
        saved_token = ensure_token(world, client, token)
        world.seal()
        server.add(world, is_default=True)
        ready = {"url": server.url, "socket": str(server.socket_path), "user": client.login, "token": saved_token}
        gc.freeze()
        gc.enable()
        print(json.dumps(ready), flush=True)  # noqa: T201 - this command's output
        sweep()  # once it is ready, since nothing of its own depends on it
        stopped.wait()
        print_notes(world)
    return 0


def _stop_event() -> threading.Event:
    """Return an event that is set when the process receives a signal to stop."""
    stopped = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopped.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    return stopped
