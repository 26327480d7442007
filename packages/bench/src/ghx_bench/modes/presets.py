"""MCP servers that can be named instead of described, and the configurations of GitHub's own."""

import sys
from collections.abc import Mapping
from pathlib import Path

from ghx_profiler.agents.tools.toolset import McpServer

ORIGIN_SWAP = Path(__file__).parent / "github_origin.cjs"

GH_AXI = "npm:gh-axi@0.1.35"
NPM_SERVER = "npm:@modelcontextprotocol/server-github@2025.4.8"
GITHUB_SERVER = "github-mcp-server"

_TOKEN = {"GITHUB_PERSONAL_ACCESS_TOKEN": "${GITHUB_TOKEN}"}


def github_server(*flags: str) -> McpServer:
    """Return GitHub's own server, a Go program, with these flags."""
    # It takes any address for github.com, plain http on loopback only.
    return McpServer(
        command=GITHUB_SERVER,
        args=("stdio", *flags),
        environment={**_TOKEN, "GITHUB_HOST": "${GITHUB_SERVER_URL}"},
    )


PRESETS: Mapping[str, McpServer] = {
    "github": github_server(),
    # The reference server, which has api.github.com built in.
    "npm": McpServer(command=NPM_SERVER, environment={**_TOKEN, "NODE_OPTIONS": f'--require "{ORIGIN_SWAP}"'}),
    # Ours. `-P`: what lies in the agent's folder must not be taken for a module.
    "ghx": McpServer(command=sys.executable, args=("-P", "-m", "ghx_tools.cli.main", "mcp")),
}
"""MCP servers that can be named instead of described."""

# The work of most scenarios, and of most of what is asked of such servers: issues, pull requests, files, and no more.
SHORT_TOOL_LIST = (
    "get_me",
    "issue_read",
    "issue_write",
    "list_issues",
    "add_issue_comment",
    "pull_request_read",
    "list_pull_requests",
    "add_reply_to_pull_request_comment",
    "pull_request_review_write",
    "merge_pull_request",
    "get_file_contents",
    "list_commits",
)

GITHUB_CONFIGURATIONS: Mapping[str, McpServer] = {
    "github-mcp-all": github_server("--toolsets=all"),
    "github-mcp-read-only": github_server("--read-only"),
    "github-mcp-lockdown": github_server("--lockdown-mode"),
    "github-mcp-tools": github_server(f"--tools={','.join(SHORT_TOOL_LIST)}"),
}
"""GitHub's own server with documented alternatives to its default: all tools, or fewer risky ones."""
