"""The MCP server as a process of its own, in a world, with the official client on the other side."""

import re
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from ghx_twin.pytest_plugin import GitHubTwin
from ghx_twin.seed.worlds import open_world
from ghx_twin.world import World

WORLD = Path(__file__).parents[1] / "capabilities" / "world.yaml"
COMMAND = ("-m", "ghx_tools.cli.main", "mcp")

TOKEN = "a-token-of-the-server"
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}

Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def anyio_backend() -> str:
    """What the processes of the SDK's client are tested with."""
    return "asyncio"


@pytest.fixture(scope="session")
def seeded_world() -> Generator[World]:
    with open_world(WORLD) as world:
        yield world


@pytest.fixture
def github_world(seeded_world: World) -> Generator[World]:
    with seeded_world.fork() as world:
        yield world


@pytest.fixture
def serve(github_twin: GitHubTwin) -> Callable[..., AbstractAsyncContextManager[str]]:
    """Serve over HTTP while the scope lasts, and tell the address."""

    @contextmanager
    def served(*flags: str) -> Generator[str]:
        words = [sys.executable, *COMMAND, "--http", "0", *flags]
        environment = {**github_twin.environment, "GHX_MCP_TOKEN": TOKEN}
        with subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True) as process:
            try:
                assert process.stderr is not None
                line = process.stderr.readline()
                address = re.fullmatch(r"serving on (http://127\.0\.0\.1:\d+/mcp)\n", line)
                assert address, line
                yield address[1]
            finally:
                process.terminate()

    return served


@pytest.fixture(params=["stdio", "stdio, modern", "http", "http, modern"])
def connect(
    request: pytest.FixtureRequest, github_twin: GitHubTwin, tmp_path: Path, serve: Callable[..., object]
) -> Connect:
    """Open a session with a server that was started with some flags; over both transports, in both of its dialects."""
    transport, _, dialect = request.param.partition(", ")
    mode = "auto" if dialect else "legacy"

    @asynccontextmanager
    async def over_stdio(*flags: str) -> AsyncGenerator[Client]:
        server = StdioServerParameters(
            command=sys.executable, args=[*COMMAND, *flags], env=github_twin.environment, cwd=tmp_path
        )
        with (tmp_path / "errors").open("w") as errors:
            async with Client(stdio_client(server, errlog=errors), mode=mode) as client:
                yield client
        assert (tmp_path / "errors").read_text() == ""

    @asynccontextmanager
    async def over_http(*flags: str) -> AsyncGenerator[Client]:
        with serve(*flags) as address:  # type: ignore[attr-defined]
            async with (
                httpx2.AsyncClient(trust_env=False, headers=AUTHORIZED) as http,
                Client(streamable_http_client(address, http_client=http), mode=mode) as client,
            ):
                yield client

    return over_stdio if transport == "stdio" else over_http
