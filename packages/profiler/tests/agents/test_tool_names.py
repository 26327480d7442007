"""The names that agents give to tools of MCP servers."""

import pytest

from ghx_profiler.agents.tools.toolset import server_tool_of

SERVERS = ("ghx", "git", "git_hub", "my-server", "my_server", "a.b", "mcp")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("mcp__ghx__issue_view", ("ghx", "issue_view")),
        ("mcp__ghx.issue_view", ("ghx", "issue_view")),
        ("mcp_ghx_issue_view", ("ghx", "issue_view")),
        ("mcp.ghx.issue_view", ("ghx", "issue_view")),
        ("ghx__issue_view", ("ghx", "issue_view")),
        ("ghx_issue_view", ("ghx", "issue_view")),
        ("ghx.issue_view", ("ghx", "issue_view")),
        ("ghx/issue_view", ("ghx", "issue_view")),
        ("ghx: issue_view", ("ghx", "issue_view")),
        ("issue_view (ghx MCP Server)", ("ghx", "issue_view")),
        ("git_hub_view", ("git_hub", "view")),
        ("mcp_git_hub_view", ("git_hub", "view")),
        ("git_view", ("git", "view")),
        ("mcp__my-server__view", ("my-server", "view")),
        ("my_server_view", ("my_server", "view")),
        ("mcp__a_b__view", ("a.b", "view")),
        ("view (a.b MCP Server)", ("a.b", "view")),
        ("mcp_view", ("mcp", "view")),
        ("mcp__mcp__view", ("mcp", "view")),
        ("ghx", None),
        ("ghx_", None),
        ("mcp__ghx__", ("mcp", "ghx__")),
        ("issue_view", None),
        ("bash", None),
        ("view (other MCP Server)", None),
        ("gitlab_view", None),
    ],
)
def test_server_and_tool_are_told_from_a_name_however_an_agent_joins_them(
    name: str, found: tuple[str, str] | None
) -> None:
    assert server_tool_of(name, SERVERS) == found
