"""The control agents with the real tools of a mode, on a real embedded GitHub."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from node_packages import NotObtainableError, node_modules

from ghx_bench.modes.definitions import ModeDefinition
from ghx_bench.modes.presets import PRESETS
from ghx_bench.modes.resolver import open_modes
from ghx_bench.scoring.github_collectors import JournalCollector
from ghx_bench.scoring.tool_categories import GitHubToolClassifier
from ghx_profiler.agents.controls.reference import ReferenceProvider
from ghx_profiler.agents.controls.replay import ReplayProvider
from ghx_profiler.agents.controls.solution import Solution
from ghx_profiler.contracts import SessionProvider, SessionRequest
from ghx_profiler.evidence import Mode, Stage
from ghx_profiler.records.trace import SessionTrace
from ghx_profiler.testing import sample_cell, sample_evidence, sample_scenario
from ghx_twin.pytest_plugin import GitHubTwin

pytestmark = pytest.mark.anyio

STEPS = (
    {"shell": "gh repo create {{repo}} --public --add-readme"},
    {"shell": "gh issue create -R {{repo}} --title {{title}} --body ''"},
    {"shell": "gh issue list -R {{repo}} --json number,title", "save": "issues"},
    {
        "for_each": "issues",
        "do": [{"shell": 'gh issue comment {{item.number}} -R {{repo}} --body "On: {{item.title}}"'}],
    },
    {"shell": "gh issue view 99 -R {{repo}}", "expect_failure": True},
    {"shell": "git clone -q https://github.com/{{repo}} copy && cat copy/README.md"},
    {"shell": "gh issue view 1 -R {{repo}} --json title,comments", "save": "issue"},
)
TITLE = 'It\'s $HOME, "quoted"'


async def hold(provider: SessionProvider, twin: GitHubTwin, mode: Mode, directory: Path) -> tuple[str, SessionTrace]:
    given = twin.server.client_environment(twin.world, twin.user).variables
    environment: Mapping[str, str] = {**mode.environment, **given}
    facts = {"repo": f"{twin.user}/box", "bindings": {"title": TITLE}}
    request = SessionRequest(cell=sample_cell(), mode=mode, environment=environment, directory=directory, facts=facts)
    async with provider.session(request) as session:
        answer = await session.prompt("")
        return answer.text, await session.trace()


@pytest.mark.process
async def test_a_solution_works_on_the_twin_with_the_modes_own_tools_and_can_be_replayed(
    github_twin: GitHubTwin, tmp_path: Path
) -> None:
    follow = Solution.model_validate({"steps": STEPS, "answer": "{{issue.title}}: {{issue.comments.0.body}}"})
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    async with open_modes(environ=os.environ) as modes:
        baseline = await modes.resolve("baseline")
        answer, trace = await hold(
            ReferenceProvider(lambda scenario, mode: follow), github_twin, baseline, tmp_path / "one"
        )
        asked = api_calls(github_twin)
        _, again = await hold(ReplayProvider(lambda cell: trace), github_twin, baseline, tmp_path / "two")

    assert answer == f"{TITLE}: On: {TITLE}"
    classify = GitHubToolClassifier(modes.server_names)
    assert [classify(call) for call in trace.tool_calls] == ["gh_cli"] * 5 + ["git", "gh_cli"]
    assert [call.success for call in trace.tool_calls] == [True] * 4 + [False, True, True]
    assert asked["api_git_calls"] > 0
    assert asked["api_mutations"] >= 3
    assert asked["api_errors"] >= 1
    # The repository is there already; the rest is done once more.
    assert [call.success for call in again.tool_calls] == [False] + [True] * 3 + [False, True, True]
    assert [call.input for call in again.tool_calls] == [call.input for call in trace.tool_calls]


def api_calls(twin: GitHubTwin) -> dict[str, Any]:
    class Handles:
        journal = twin.world.journal
        agent = twin.user

    evidence = sample_evidence(stage=Stage(scenario=sample_scenario(), handles=Handles()))
    return {metric.name: metric.value for metric in JournalCollector().collect(evidence)}


async def test_the_npm_server_works_on_the_twin_as_the_tool_of_a_mode(github_twin: GitHubTwin, tmp_path: Path) -> None:
    try:
        modules = node_modules("@modelcontextprotocol/server-github@2025.4.8")
    except NotObtainableError as error:
        pytest.skip(str(error))
    script = modules / "@modelcontextprotocol" / "server-github" / "dist" / "index.js"
    preset = PRESETS["npm"].model_copy(update={"command": "node", "args": (str(script),)})
    follow = Solution.model_validate(
        {
            "steps": [
                {"mcp": {"tool": "create_repository", "arguments": {"name": "box", "autoInit": True}}},
                {
                    "mcp": {
                        "tool": "create_issue",
                        "arguments": {"owner": github_twin.user, "repo": "box", "title": "{{title}}"},
                        "save": "made",
                    }
                },
                {
                    "mcp": {"tool": "get_issue", "arguments": {"owner": "nobody", "repo": "box", "issue_number": 1}},
                    "expect_failure": True,
                },
            ],
            "answer": "#{{made.number}} {{made.title}}",
        }
    )
    async with open_modes([ModeDefinition(name="npm", mcp_servers={"hub": preset})], environ=os.environ) as modes:
        mode = await modes.resolve("npm")
        answer, trace = await hold(ReferenceProvider(lambda scenario, mode: follow), github_twin, mode, tmp_path)

    assert answer == f"#1 {TITLE}"
    assert mode.facts["mcp_servers"] == {"hub": {"name": "github-mcp-server", "version": "0.6.2"}}
    assert [call.name for call in trace.tool_calls] == ["hub_create_repository", "hub_create_issue", "hub_get_issue"]
    assert [GitHubToolClassifier(modes.server_names)(call) for call in trace.tool_calls] == ["mcp"] * 3
