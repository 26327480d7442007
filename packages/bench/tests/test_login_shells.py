"""Real stages of both lifecycles keep to themselves: a login shell finds what its mode has, tokens are secrets."""

import os
import sys
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from eval_stage import LIBRARY, scenario
from pydantic import JsonValue
from shell_runs import run_in_shell

from ghx_bench.assembly import COMMON_ENVIRONMENT
from ghx_bench.fixtures.embedded import AGENT, AUTHOR, embedded_world
from ghx_bench.modes.definitions import BUILT_IN, ModeDefinition
from ghx_bench.modes.presets import GITHUB_CONFIGURATIONS
from ghx_bench.modes.resolver import Modes, open_modes
from ghx_bench.project.config_sections import FixtureChoice
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_bench.stages.github_stage import LiveLifecycle
from ghx_bench.stages.twin_stage import TwinLifecycle
from ghx_profiler.contracts import Lifecycle
from ghx_profiler.evidence import Mode
from ghx_profiler.testing import sample_cell
from ghx_twin.queries import lookup
from ghx_twin.server.loopback import Server

pytestmark = pytest.mark.anyio

REPO = "acme/playground"
TASK = scenario(prompt="{{repo}}", fixture={"repo": "{{fixture_repo}}", "requires": [], "bindings": {}})
OWN = {"baseline": {"gh"}, "ghx": {"ghx"}, "ghx-mcp": set[str](), "mcp": set[str]()}
TOOLS = "gh ghx ghx-bench ghx-twin github-mcp-server python3 node npx curl"


async def nobody(*_: object) -> dict[str, JsonValue]:
    return {"name": None, "version": None}


@pytest.fixture(scope="module")
async def modes() -> AsyncGenerator[Mapping[str, Mode]]:
    # In place of GitHub's own server, which a machine may lack.
    mcp = ModeDefinition.model_validate({"name": "mcp", "mcp_servers": {"github": {"command": sys.executable}}})
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Modes, "_identity", nobody)  # who its servers are has nothing to do with shells
        async with open_modes([mcp], environ=os.environ) as known:
            yield {name: await known.resolve(name) for name in OWN}


@pytest.fixture(scope="module")
def github(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[LiveLifecycle, set[str]]]:
    """A lifecycle that takes an embedded server for github.com, and the tokens of its two identities."""
    with embedded_world(REPO) as world, Server() as server:
        server.add(world)
        agent, author = (server.hosting.issue_token(world, lookup.user(world, login)) for login in (AGENT, AUTHOR))
        choice = FixtureChoice(
            repo=REPO, author_token_env="AUTHOR_TOKEN", manifest=tmp_path_factory.mktemp("fixtures") / "latest.json"
        )
        environ = {
            "GHX_UNIX_SOCKET": str(server.socket_path),
            "GITHUB_TOKEN": agent,
            "AUTHOR_TOKEN": author,
        }
        yield LiveLifecycle(choice, (TASK,), LIBRARY, environ), {agent, author}


def test_these_are_all_built_in_modes_that_come_with_the_bench_or_are_as_mcp() -> None:
    assert {name for name, mode in BUILT_IN.items() if not mode.packages} == {
        *OWN,
        "github-mcp",
        *GITHUB_CONFIGURATIONS,
    }


async def test_a_login_shell_on_a_twins_stage_finds_the_tools_of_its_mode_alone(modes: Mapping[str, Mode]) -> None:
    await assert_isolated(TwinLifecycle(REPO, (TASK,), LIBRARY), modes)


async def test_a_login_shell_on_a_live_stage_finds_the_tools_of_its_mode_alone(
    modes: Mapping[str, Mode], github: tuple[LiveLifecycle, set[str]]
) -> None:
    await assert_isolated(github[0], modes)


async def test_the_tokens_of_both_identities_are_secrets_of_a_live_stage(
    modes: Mapping[str, Mode], github: tuple[LiveLifecycle, set[str]]
) -> None:
    lifecycle, tokens = github
    cell = sample_cell(scenario_id=TASK.id, mode="baseline")
    async with lifecycle.run(Path("run_1")), lifecycle.cell(cell, TASK, modes["baseline"]) as stage:
        assert stage.secrets == tokens


async def assert_isolated(lifecycle: Lifecycle[EvalScenario], modes: Mapping[str, Mode]) -> None:
    async with lifecycle.run(Path("run_1")):
        for mode in modes.values():
            async with session_environment(lifecycle, mode) as environment:
                for shell in ("bash", "sh"):
                    path, found = await seen_by(shell, environment)
                    assert path == mode.environment["PATH"], f"{shell} in mode {mode.name}"
                    assert found == OWN[mode.name], f"{shell} in mode {mode.name}"


@asynccontextmanager
async def session_environment(lifecycle: Lifecycle[EvalScenario], mode: Mode) -> AsyncGenerator[dict[str, str]]:
    async with lifecycle.cell(sample_cell(scenario_id=TASK.id, mode=mode.name), TASK, mode) as stage:
        yield {**COMMON_ENVIRONMENT, **mode.environment, **stage.environment}


async def seen_by(shell: str, environment: Mapping[str, str]) -> tuple[str, set[str]]:
    """Return the path of a login shell, and the tools it finds."""
    script = f'echo "$PATH"; for tool in {TOOLS}; do command -v $tool >/dev/null && echo $tool; done; true'
    ran = await run_in_shell(f"{shell} -lc '{script}'", environment=environment)
    path, *found = ran.stdout.splitlines()
    return path, set(found)
