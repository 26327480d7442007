"""The server, driven by the inspector of the protocol's makers."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from node_packages import NODE, NotObtainableError, node_modules

from ghx_tools.capabilities.index import ENTRIES
from ghx_twin.pytest_plugin import GitHubTwin

PACKAGE = "@modelcontextprotocol/inspector@2.12.0"
SERVER = (sys.executable, "-m", "ghx_tools.cli.main", "mcp")
PASSED_ON = ("GHX_UNIX_SOCKET", "GITHUB_TOKEN")


@pytest.fixture
def inspect(github_twin: GitHubTwin, tmp_path: Path) -> Callable[..., Any]:
    """Ask a server something by the inspector's command line; return what it answered."""
    try:
        program = node_modules(PACKAGE) / ".bin" / "mcp-inspector"
    except NotObtainableError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))

    def inspected(*words: str, target: tuple[str, ...] = SERVER) -> Any:
        variables = [word for name in PASSED_ON for word in ("-e", f"{name}={github_twin.environment[name]}")]
        done = subprocess.run(
            [NODE, program, "--cli", *(variables if target == SERVER else ()), *target, *words],
            env={"PATH": os.pathsep.join((str(NODE.parent), os.defpath)), "HOME": str(tmp_path)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return inspected


def called(tool: str, **given: object) -> tuple[str, ...]:
    pairs = (word for name, value in given.items() for word in ("--tool-arg", f"{name}={value}"))
    return ("--method", "tools/call", "--tool-name", tool, *pairs)


@pytest.mark.nightly
def test_the_inspector_lists_and_calls_tools(inspect: Callable) -> None:
    tools = inspect("--method", "tools/list")["tools"]
    viewed = inspect(*called("pr_view", owner="acme", name="tools", prNumber=1))

    assert len(tools) == len(ENTRIES) + 1
    assert all(tool["outputSchema"]["type"] == "object" for tool in tools)
    assert viewed["structuredContent"]["title"] == "Count from zero"


def test_the_inspector_calls_tools_over_http(inspect: Callable, serve: Callable) -> None:
    with serve("--toolsets", "pr") as address:
        steps = json.dumps([{"task": "pr_list", "input": {"owner": "acme", "name": "tools"}}])
        header = ("--header", "Authorization: Bearer a-token-of-the-server")
        chained = inspect(*called("chain", steps=steps), *header, target=(address,))

    assert [each["number"] for each in chained["structuredContent"]["results"][0]["data"]["items"]] == [4, 2, 1]
