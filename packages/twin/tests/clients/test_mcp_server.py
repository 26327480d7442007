"""The reference MCP server of npm, unmodified: all of its tools work on the twin."""

import json
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from node_packages import NODE, NotObtainableError, node_modules

from ghx_twin.pytest_plugin import GitHubTwin
from ghx_twin.queries import lookup

PACKAGE = "@modelcontextprotocol/server-github@2025.4.8"
HOME = {"owner": "acme", "repo": "widgets"}


@dataclass
class McpClient:
    """Speaks JSON-RPC, a line for each message, with a server's standard input and output."""

    server: subprocess.Popen[str]
    called: list[str] = field(default_factory=list)

    def request(self, method: str, /, **params: Any) -> dict[str, Any]:
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self.server.stdin.write(json.dumps(message) + "\n")
        self.server.stdin.flush()
        return json.loads(self.server.stdout.readline())["result"]

    def call(self, name: str, /, **arguments: Any) -> Any:
        self.called.append(name)
        result = self.request("tools/call", name=name, arguments=arguments)
        text = result["content"][0]["text"]
        assert not result.get("isError"), text
        return json.loads(text) if text.startswith(("{", "[")) else text


@contextmanager
def mcp(modules: Path, environment: dict[str, str]) -> Generator[McpClient]:
    script = modules / "@modelcontextprotocol" / "server-github" / "dist" / "index.js"
    variables = {"GITHUB_PERSONAL_ACCESS_TOKEN": environment["GH_TOKEN"]}
    with subprocess.Popen(
        [NODE, script],
        env={**environment, **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        client = McpClient(server)
        about = {"name": "tests", "version": "1"}
        client.request("initialize", protocolVersion="2024-11-05", capabilities={}, clientInfo=about)
        yield client
        assert server.stdin is not None
        server.stdin.close()
        server.terminate()


def test_every_tool_of_the_reference_server_works(github_twin: GitHubTwin) -> None:
    try:
        modules = node_modules(PACKAGE)
    except NotObtainableError as error:
        pytest.skip(str(error))
    with mcp(modules, github_twin.environment) as client:
        _read(client)
        _change_issues(client)
        _change_files(client)
        _change_pulls(client)
        offered = {tool["name"] for tool in client.request("tools/list")["tools"]}

    assert set(client.called) == offered
    # Before it writes a file, the server asks for the one it may replace.
    assert {(entry.method, entry.status) for entry in github_twin.world.journal if entry.failed} <= {("GET", 404)}
    repository = lookup.repository(github_twin.world, None, "acme", "widgets")
    assert lookup.pull(github_twin.world, repository, 7).merged_at is not None


def _read(client: McpClient) -> None:
    assert client.call("get_issue", **HOME, issue_number=1)["title"] == "A crash"
    assert [each["number"] for each in client.call("list_issues", **HOME, state="closed")] == [8, 2]
    assert client.call("get_pull_request", **HOME, pull_number=7)["head"]["ref"] == "feature"
    assert [each["number"] for each in client.call("list_pull_requests", **HOME, state="open")] == [7]
    assert len(client.call("get_pull_request_files", **HOME, pull_number=7)) == 2
    assert client.call("get_pull_request_status", **HOME, pull_number=7)["state"] == "success"
    assert len(client.call("get_pull_request_comments", **HOME, pull_number=7)) == 4
    assert client.call("get_pull_request_reviews", **HOME, pull_number=7)[0]["user"]["login"] == "reader"
    assert client.call("list_commits", **HOME)[0]["commit"]["message"] == "fix the cli of widgets"
    assert "Widgets" in client.call("get_file_contents", **HOME, path="README.md")["content"]
    assert client.call("search_repositories", query="widgets")["total_count"] == 1
    assert client.call("search_code", q="main repo:acme/widgets")["total_count"] == 2
    assert client.call("search_issues", q="crash repo:acme/widgets is:issue")["total_count"] == 1
    assert client.call("search_users", q="hubot")["items"][0]["login"] == "hubot"


def _change_issues(client: McpClient) -> None:
    made = client.call("create_issue", **HOME, title="From MCP", body="Text", labels=["bug"], assignees=["octo"])
    client.call("update_issue", **HOME, issue_number=made["number"], state="closed", title="Done")
    assert client.call("add_issue_comment", **HOME, issue_number=made["number"], body="hello")["body"] == "hello"


def _change_files(client: McpClient) -> None:
    assert client.call("create_repository", name="from-mcp", autoInit=True)["full_name"] == "octo/from-mcp"
    assert client.call("fork_repository", owner="acme", repo="other")["fork"] is True
    client.call("create_branch", **HOME, branch="mcp", from_branch="main")
    written = {"path": "mcp.md", "content": "hi\n", "message": "Write", "branch": "mcp"}
    assert client.call("create_or_update_file", **HOME, **written)["content"]["path"] == "mcp.md"
    files = [{"path": "a/b.md", "content": "b\n"}, {"path": "mcp.md", "content": "ho\n"}]
    client.call("push_files", **HOME, branch="mcp", files=files, message="Push both")
    assert client.call("get_file_contents", **HOME, path="mcp.md", branch="mcp")["content"] == "ho\n"


def _change_pulls(client: McpClient) -> None:
    made = client.call("create_pull_request", **HOME, title="By MCP", head="mcp", base="main", body="")
    client.call("create_or_update_file", **HOME, path="m.md", content="m\n", message="Ahead", branch="main")
    client.call("update_pull_request_branch", **HOME, pull_number=made["number"])
    comments = [{"path": "src/b.py", "line": 2, "body": "Why?"}]
    review = {"event": "COMMENT", "body": "Hm.", "comments": comments}
    assert client.call("create_pull_request_review", **HOME, pull_number=7, **review)["state"] == "COMMENTED"
    assert client.call("merge_pull_request", **HOME, pull_number=7, merge_method="squash")["merged"] is True
