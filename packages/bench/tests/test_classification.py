"""Tool calls sorted: what is inside a shell call counts, not that it is one."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ghx_bench.scoring.tool_categories import GitHubToolClassifier, resolve_github_command
from ghx_profiler.records.trace import SessionTrace, ToolCallEvent
from ghx_profiler.shell import names_of, parse_shell

CLASSIFY = GitHubToolClassifier(["github", "ghx"])


def bash(command: str) -> ToolCallEvent:
    return ToolCallEvent(name="bash", input={"command": command})


@pytest.mark.parametrize(
    ("command", "category"),
    [
        ("ghx run pr.view --input '{}'", "ghx"),
        ('ghx chain --steps - <<\'EOF\'\n[{"task": "pr.view"}, {"task": "pr.merge"}]\nEOF', "ghx"),
        ("cd repo && ghx capabilities list | head", "ghx"),
        ("gh pr view 7 | jq .title && ghx run pr.merge", "ghx"),
        ("cd x && gh pr view", "gh_cli"),
        ("GH_TOKEN=t timeout 10 gh api graphql -f query='{ viewer { login } }'", "gh_cli"),
        ("for n in 1 2; do gh issue close $n; done", "gh_cli"),
        ("title=$(gh pr view 7 --json title); echo $title", "gh_cli"),
        ("bash -lc 'gh pr list'", "gh_cli"),
        ("git push && gh pr create --fill", "gh_cli"),
        ("git push", "git"),
        ("cd repo; git -C . commit -m 'use gh here'", "git"),
        ("cat notes-about-gh.md", "bash"),
        ("echo gh pr view", "bash"),
        ("grep -r gh . # git push", "bash"),
        ("ls -la", "bash"),
        ("", "bash"),
    ],
)
def test_a_shell_call_is_what_runs_in_it(command: str, category: str) -> None:
    assert CLASSIFY(bash(command)) == category


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("github_pull_request_read", "mcp"),
        ("mcp__github__pull_request_read", "mcp"),
        ("ghx_pr_threads_list", "mcp"),
        ("mcp__unknown__tool", "mcp"),
        ("mcp__unknown", "other"),
        ("gitlab_merge", "other"),
        ("read", "file_ops"),
        ("Read", "file_ops"),
        ("write_file", "file_ops"),
        ("edit", "file_ops"),
        ("MultiEdit", "file_ops"),
        ("apply_patch", "file_ops"),
        ("str_replace_based_edit_tool", "file_ops"),
        ("glob", "file_ops"),
        ("todowrite", "other"),
        ("webfetch", "other"),
        ("github", "other"),
    ],
)
def test_other_tools_are_known_by_name_and_those_of_servers_by_their_server(name: str, category: str) -> None:
    assert CLASSIFY(ToolCallEvent(name=name, input={"path": "x"})) == category


@pytest.mark.parametrize("given", [None, 3, [], {}, {"command": None}, {"other": "gh pr view"}])
def test_a_shell_call_that_cannot_be_read_is_still_one(given: Any) -> None:
    assert CLASSIFY(ToolCallEvent(name="bash", input=given)) == "bash"


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("bash", {"command": "gh pr list"}),
        ("Bash", {"command": "gh pr list", "description": "List"}),
        ("shell", {"command": ["bash", "-lc", "gh pr list"]}),
        ("exec_command", {"cmd": "gh pr list", "yield_time_ms": 1000}),
        ("run_shell_command", {"command": "gh pr list"}),
        ("local_shell", {"action": {"type": "exec", "command": ["bash", "-lc", "gh pr list"]}}),
        ("terminal", {"command": "gh pr list"}),
        ("run_terminal_cmd", {"command": "gh pr list"}),
        ("developer__shell", {"command": "gh pr list"}),
        ("execute_command", {"command": "gh pr list"}),
        ("container.exec", {"cmd": ["bash", "-lc", "gh pr list"]}),
    ],
)
def test_the_shell_tools_of_all_agents_are_looked_into(name: str, given: Any) -> None:
    assert CLASSIFY(ToolCallEvent(name=name, input=given)) == "gh_cli"


@pytest.mark.parametrize(
    "name", ["mcp__unknown.view", "mcp.unknown.view", "view (unknown MCP Server)", "mcp_ghx_issue_view", "ghx: view"]
)
def test_tools_of_servers_are_sorted_as_such_however_they_are_written(name: str) -> None:
    assert CLASSIFY(ToolCallEvent(name=name, input={})) == "mcp"


@pytest.mark.parametrize(
    ("mode", "counts"),
    [("baseline", {"gh_cli": 8}), ("ghx", {"ghx": 2}), ("mcp", {"mcp": 4, "gh_cli": 1})],
)
def test_recorded_sessions_of_real_agents_are_sorted(older_tools: Path, mode: str, counts: dict[str, int]) -> None:
    text = (older_tools / "sessions" / f"{mode}-iter-0.json").read_text()
    trace = SessionTrace.model_validate_json(text)

    assert Counter(map(CLASSIFY, trace.tool_calls)) == counts


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("ghx run pr.threads.list --input -", "ghx:pr.threads.list"),
        ("ghx run --verbose issue.view", "ghx:issue.view"),
        ("ghx run", "ghx run"),
        ("ghx chain --steps -", "ghx:chain"),
        ("ghx capabilities list", "ghx capabilities list"),
        ("gh pr view 7 --json title", "gh pr view"),
        ("gh -R octo/box pr merge 7", "gh pr merge"),
        ("gh api repos/octo/box/pulls/7", "gh api"),
        ("gh api graphql -f query=x", "gh api graphql"),
        ("git -C repo push origin main", "git push"),
        ("ls -la", "ls"),
    ],
)
def test_commands_are_named_as_people_speak_of_them(command: str, name: str) -> None:
    (parsed,) = parse_shell(command).commands

    assert resolve_github_command(parsed) == name


def test_recorded_chains_and_capabilities_are_named(older_tools: Path) -> None:
    text = (older_tools / "sessions" / "ghx-iter-0.json").read_text()
    trace = SessionTrace.model_validate_json(text)

    assert [names_of(call, resolve_github_command) for call in trace.tool_calls] == [
        ("ghx:pr.threads.list",),
        ("ghx:chain",),
    ]
