"""Rivals as built-in modes, with the real packages of npm and a stand-in for GitHub's own server, on the emulator."""

import json
import os
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
import yaml
from bubblewrap import needs_bubblewrap
from eval_stage import LIBRARY, scenario
from mode_tools import require_tools
from nightly import mostly_nightly
from pydantic import JsonValue
from shell_runs import run_in_shell

from ghx_bench.cli.main import run
from ghx_bench.modes.definitions import ModeDefinition
from ghx_bench.modes.program_path import MissingToolError
from ghx_bench.modes.resolver import open_modes
from ghx_bench.scoring.tool_categories import GitHubToolClassifier, resolve_github_command
from ghx_bench.stages.sandbox_stage import Sandboxes, SandboxPlan
from ghx_bench.stages.twin_stage import TwinLifecycle
from ghx_bench.toolsets.questions import ToolCall, built_in_table
from ghx_profiler.agents.tools.toolbelt import ToolBelt, tool_belt
from ghx_profiler.contracts import SessionRequest
from ghx_profiler.evidence import Mode
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.shell import names_of
from ghx_profiler.store.rows import read_rows
from ghx_profiler.testing import sample_cell
from ghx_twin.pytest_plugin import GitHubTwin

REPO = "octocat/box"
TASK = scenario()
STAND_IN = Path(__file__).parents[3] / "tests" / "support" / "github_server_stand_in.py"
REQUESTS = Path(__file__).parents[3] / "tests" / "data" / "mcp_requests.yaml"


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


@pytest.mark.nightly
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


@needs_bubblewrap
@pytest.mark.anyio
@pytest.mark.process
async def test_gh_axi_works_in_a_sandbox() -> None:
    require_tools("gh-axi")
    async with open_modes(environ=os.environ) as modes:
        mode = await modes.resolve("gh-axi")
        lifecycle = TwinLifecycle(None, [TASK], LIBRARY, sandboxes=Sandboxes(SandboxPlan()))
        async with lifecycle.run(Path("run")), lifecycle.cell(sample_cell(), TASK, mode) as stage:
            environment = {**mode.environment, **stage.environment}
            words = "gh-axi issue list -R ghx-bench/fixtures"
            listed = await run_in_shell(words, environment=environment, directory=stage.directory)

    assert listed.exit_code == 0, listed.output
    assert "issues[" in listed.stdout


@pytest.mark.nightly
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


# -- GitHub's own server: a stand-in has its flags and makes its requests


def build_server(place: Path, version: str = "base") -> Path:
    """Write the stand-in as a program of its own."""
    place.parent.mkdir(parents=True, exist_ok=True)
    text = STAND_IN.read_text(encoding="utf-8").replace('VERSION = "base"', f'VERSION = "{version}"')
    place.write_text(f"#!{sys.executable}\n{text}", encoding="utf-8")
    place.chmod(0o755)
    return place


@pytest.mark.anyio
@pytest.mark.process
@pytest.mark.parametrize(
    ("configuration", "tools"),
    mostly_nightly(
        [
            ("github-mcp", ["issue_read", "list_issues", "get_me", "issue_write"]),
            ("github-mcp-all", ["issue_read", "list_issues", "get_me", "issue_write", "list_discussions"]),
            ("github-mcp-read-only", ["issue_read", "list_issues", "get_me"]),
            ("github-mcp-lockdown", ["issue_read", "list_issues", "get_me", "issue_write"]),
            ("github-mcp-tools", ["issue_read", "list_issues", "get_me", "issue_write"]),
        ],
        keep=1,
    ),
)
async def test_githubs_server_gets_the_flags_of_its_configuration_and_reads_the_twin(
    github_twin: GitHubTwin, tmp_path: Path, configuration: str, tools: list[str]
) -> None:
    await make_issue(github_twin, tmp_path)
    program = build_server(tmp_path / "bin" / "github-mcp-server")
    async with session(github_twin, tmp_path, f"{configuration}@{program}") as (_, belt):
        offered = [each.name.removeprefix("github_") for each in await belt.list_tools()]
        issue = await belt.mcp("github", "issue_read", {"owner": "octocat", "repo": "box", "issue_number": 1})

    assert offered == ["bash", *tools]
    assert json.loads(issue.text) == {"version": "base", "title": "Lamp flickers"}


@pytest.mark.nightly
@pytest.mark.process
def test_githubs_server_is_measured_with_its_own_calls_and_a_configuration_with_those_that_it_offers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    build_server(tmp_path / "github-mcp-server")
    names = ("github-mcp@./github-mcp-server", "github-mcp-read-only@./github-mcp-server")

    assert run(["surface", *names, "--json"]) == 0

    default, read_only = (
        {row["id"]: row for row in mode["rows"]} for mode in json.loads(capsys.readouterr().out)["modes"]
    )
    offered = {"who-am-i", "issue-view", "issues-list", "issues-list-closed"}
    written = {"issue-create", "issue-label", "issue-assign", "issue-close", "issue-edit"}
    for rows, ids in ((default, offered | written), (read_only, offered)):
        assert ids <= {
            id_ for id_, row in rows.items() if row["outcome"] == "answered" and row["requests"] == row["calls"]
        }
    assert {read_only[id_]["lackingTool"] for id_ in written} == {"issue_write"}
    assert default["issue-missing"]["outcome"] == "refused"
    assert run(["surface", names[1]]) == 0
    assert "of the table not asked, since it does not offer " in capsys.readouterr().out


def test_the_calls_of_githubs_server_are_of_tools_that_it_is_known_to_have() -> None:
    told = yaml.safe_load(REQUESTS.read_text(encoding="utf-8"))["go"]
    known = {tool for tools in told.values() for tool in tools}
    column = [each.steps("github-mcp", {}) for each in built_in_table().questions]

    assert {step.tool for steps in column for step in steps if isinstance(step, ToolCall)} <= known
    assert sum(map(bool, column)) > 45


def test_githubs_server_is_named_as_missing_with_how_it_is_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.defpath)

    run(["doctor", "--json"])

    needs = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert needs["mode github-mcp"]["state"] == "optional"
    assert "github.com/github/github-mcp-server/releases" in needs["mode github-mcp"]["remedy"]
    assert needs["mode gh-axi"]["remedy"] == "ghx-bench doctor --install gh-axi"
    assert needs["mode npm-mcp"]["remedy"] == "ghx-bench doctor --install npm-mcp"


AGENT = """
from contextlib import asynccontextmanager

from ghx_profiler.agents import tool_belt
from ghx_profiler import Answer, TraceRecorder


class Reader:
    name = "reader"

    @asynccontextmanager
    async def session(self, request):
        self.recorder, self.facts = TraceRecorder(), request.facts
        async with tool_belt(request, self.recorder) as self.belt:
            yield self

    async def prompt(self, text):
        owner, repo = self.facts["repo"].split("/")
        issue = {"owner": owner, "repo": repo, "issue_number": 1}
        return Answer(text=(await self.belt.mcp("github", "issue_read", issue)).text)

    async def trace(self):
        return self.recorder.trace()
"""


@pytest.mark.nightly
@pytest.mark.process
def test_base_and_head_of_a_server_are_two_modes_of_one_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tmp_path / "project"
    assert run(["init", str(project)]) == 0
    build_server(project / "build" / "base")
    build_server(project / "build" / "head" / "github-mcp-server", "head")  # a folder with the program is as good
    (project / "agent.py").write_text(AGENT, encoding="utf-8")
    (project / "eval.config.yaml").write_text(
        "modes: [github-mcp@./build/base, github-mcp@./build/head]\nagents: [{id: 'agent.py:Reader'}]\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)  # the pins are taken from the folder of the configuration

    run(["run", "--config", "project/eval.config.yaml", "--repetitions", "1", "--scenario", "issue-answer-001"])

    (folder,) = (tmp_path / "results").iterdir()
    rows = list(read_rows(folder / "rows.jsonl"))
    assert "2 cells measured, 0 not measured" in capsys.readouterr().err
    told = {row.mode: (folder / "sessions" / row.cell.path).with_suffix(".json").read_text() for row in rows}
    assert [*told] == ["github-mcp@./build/base", "github-mcp@./build/head"]
    assert all(f'\\"version\\": \\"{mode.rpartition("/")[2]}\\"' in text for mode, text in told.items())
    (made,) = json.loads((folder / "run.json").read_text())["provenance"]
    digests = {name: value for name, value in made["ingredients"].items() if ": server github: " in name}
    assert [*digests] == [
        "mode github-mcp@./build/base: server github: base",
        "mode github-mcp@./build/head: server github: github-mcp-server",
    ]
    assert len({*digests.values()}) == 2
    assert run(["report", str(folder)]) == 0
