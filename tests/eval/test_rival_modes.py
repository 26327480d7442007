"""Rivals as built-in modes, with the real packages of npm and a stand-in for GitHub's own server, on the twin."""

import json
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
from mode_tools import require_tools
from pydantic import JsonValue

from ghx_bench.agents.tools.toolbelt import ToolBelt, tool_belt
from ghx_bench.eval.cli.main import run
from ghx_bench.eval.modes.definitions import ModeDefinition
from ghx_bench.eval.modes.program_path import MissingToolError
from ghx_bench.eval.modes.resolver import open_modes
from ghx_bench.eval.scoring.tool_categories import GitHubToolClassifier, resolve_github_command
from ghx_bench.profiler.contracts import SessionRequest
from ghx_bench.profiler.evidence import Mode
from ghx_bench.profiler.recorder import TraceRecorder
from ghx_bench.profiler.shell import names_of
from ghx_bench.profiler.testing import sample_cell
from ghx_bench.twin.pytest_plugin import GitHubTwin

REPO = "octocat/box"


@asynccontextmanager
async def session(
    twin: GitHubTwin, directory: Path, name: str, own: Sequence[ModeDefinition] = ()
) -> AsyncGenerator[tuple[Mode, ToolBelt]]:
    """Open a session in a mode, on a world with one issue."""
    async with open_modes(own, environ=os.environ) as modes:
        mode = await modes.resolve(name)
        environment = {**mode.environment, **twin.server.client_environment(twin.world, twin.user).variables}
        request = SessionRequest(cell=sample_cell(), mode=mode, environment=environment, directory=directory, facts={})
        async with tool_belt(request, TraceRecorder()) as belt:
            yield mode, belt


async def make_issue(twin: GitHubTwin, directory: Path) -> None:
    async with session(twin, directory, "baseline") as (_, belt):
        made = await belt.shell(
            f"gh repo create {REPO} --public && gh issue create -R {REPO} --title 'Lamp flickers' --body No"
        )
        assert not made.failed, made.text


@pytest.mark.anyio
@pytest.mark.process
async def test_gh_axi_views_an_issue_on_the_twin_and_its_agent_does_not_find_gh(
    github_twin: GitHubTwin, tmp_path: Path
) -> None:
    require_tools("gh-axi")
    await make_issue(github_twin, tmp_path)
    async with session(github_twin, tmp_path, "gh-axi") as (mode, belt):
        viewed = await belt.shell(f"gh-axi issue view 1 -R {REPO}")
        others = await belt.shell("command -v gh node npx ghx")
        trace = belt.recorder.trace()

    assert not viewed.failed, viewed.text
    assert "Lamp flickers" in viewed.text
    assert others.text == ""
    told = cast("list[JsonValue]", mode.facts["tools"])
    assert told[0] == {"name": "gh-axi", "version": "0.1.35"}
    call = trace.tool_calls[0]
    assert GitHubToolClassifier(())(call) == "gh_cli"
    assert names_of(call, resolve_github_command) == ("gh-axi issue view",)


@pytest.mark.anyio
@pytest.mark.process
async def test_the_server_of_npm_lists_its_tools_and_reads_an_issue_on_the_twin(
    github_twin: GitHubTwin, tmp_path: Path
) -> None:
    require_tools("npm-mcp")
    await make_issue(github_twin, tmp_path)
    async with session(github_twin, tmp_path, "npm-mcp") as (mode, belt):
        tools = [each.name for each in await belt.list_tools()]
        issue = await belt.mcp("github", "get_issue", {"owner": "octocat", "repo": "box", "issue_number": 1})

    assert "github_get_issue" in tools
    assert len(tools) == 27  # with the shell
    assert not issue.failed, issue.text
    assert json.loads(issue.text)["title"] == "Lamp flickers"
    assert mode.facts["mcp_servers"] == {"github": {"name": "github-mcp-server", "version": "0.6.2"}}


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["gh-axi", "npm-mcp", "gh-axi@0.1.34"])
async def test_a_mode_whose_package_is_not_installed_is_refused_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.chdir(tmp_path)
    async with open_modes(environ=os.environ) as modes:
        with pytest.raises(MissingToolError, match=f"`ghx-bench doctor --install {mode}`"):
            await modes.resolve(mode)


def test_a_run_in_such_a_mode_ends_before_its_first_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run(["run", "--agent", "nop", "--mode", "gh-axi", "--scenario", "issue-triage-001"]) != 0
    assert "ghx-bench doctor --install gh-axi" in capsys.readouterr().err
    assert not (tmp_path / "results").exists()
