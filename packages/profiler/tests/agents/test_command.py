"""Agents that are run as a command: a small real program, which does what its prompt says."""

import json
import sys
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from tiny_agent_sessions import (
    PATIENCE_S,
    TINY_AGENT,
    TINY_MODEL,
    TinyAgentContract,
    hold,
    is_gone,
    log_of,
    request,
    with_model,
)

from ghx_profiler.agents.controls.solution import Solution
from ghx_profiler.agents.drivers.command import CommandProvider
from ghx_profiler.agents.drivers.installation import find_launch
from ghx_profiler.agents.drivers.recipe import Recipe
from ghx_profiler.agents.testing import Pace, Script, ScriptedEndpoint
from ghx_profiler.agents.tools.toolset import McpServer, ToolSet
from ghx_profiler.evidence import Answer, Mode
from ghx_profiler.records.causes import AgentError, EnvironmentFailure
from ghx_profiler.records.model_calls import usage_of
from ghx_profiler.records.trace import TextOutputEvent

pytestmark = [pytest.mark.anyio, pytest.mark.process]

TINY = [sys.executable, "-S", str(TINY_AGENT), "--print"]


def tiny(**changes: Any) -> Recipe:
    given = {"name": "tiny", "description": "a small agent", "protocol": "command", "command": TINY}
    return Recipe.model_validate({**given, **changes})


def provider(**changes: Any) -> CommandProvider:
    recipe = tiny(**changes)
    return CommandProvider(recipe, find_launch(recipe, Path("nowhere")))


def metered(script: Script, **changes: Any) -> AbstractAsyncContextManager[tuple[CommandProvider, ScriptedEndpoint]]:
    return with_model(CommandProvider, tiny(**TINY_MODEL, **changes), script)


def with_servers(**servers: McpServer) -> Mode:
    return Mode(name="some", settings=ToolSet(mcp_servers=servers).settings())


@pytest.mark.parametrize("command", [TINY, [*TINY, "${PROMPT}"]], ids=["stdin", "argument"])
async def test_the_prompt_is_given_as_the_command_takes_it(tmp_path: Path, command: list[str]) -> None:
    prompt = "Say ${HOME} and 'this' as they are.\necho"

    answer, trace = await hold(provider(command=command), request(tmp_path), prompt)

    assert answer == Answer(text=prompt)
    assert log_of(tmp_path)[0]["arguments"] == ["--print", prompt][: len(command) - len(TINY) + 1]
    assert trace.facts == {}


async def test_the_modes_instructions_are_the_first_paragraph_or_a_file_of_the_agents(tmp_path: Path) -> None:
    settings = Mode(name="some", instructions="Use gh.")

    answer, _ = await hold(provider(), request(tmp_path, settings), "echo")
    in_file, _ = await hold(provider(instructions_file=".tiny/AGENTS.md"), request(tmp_path, settings), "echo")

    assert answer.text == "Use gh.\n\necho"
    assert in_file.text == "echo"
    assert (tmp_path / "home" / ".tiny" / "AGENTS.md").read_text() == "Use gh."


async def test_servers_of_the_mode_are_where_the_recipe_says_with_what_the_session_has(tmp_path: Path) -> None:
    server = McpServer(command="server", environment={"SERVER_TOKEN": "${GITHUB_TOKEN}", "PATTERN": "a$b"})
    wanted = request(tmp_path, with_servers(mine=server), ODD="${NOT_OURS}")
    place = {"shape": "claude", "file": ".tiny/mcp.json"}

    await hold(provider(mcp_servers=place), wanted, "echo")

    settings = json.loads((tmp_path / "home" / ".tiny" / "mcp.json").read_text())["mcpServers"]["mine"]
    assert settings["env"] == {**wanted.environment, "SERVER_TOKEN": "t0ken", "PATTERN": "a$b"}


async def test_each_server_is_told_the_variables_that_are_its_own_and_the_agent_is_not(tmp_path: Path) -> None:
    server = McpServer(command="server", environment={"SERVER_TOKEN": "${GITHUB_TOKEN}"})
    own = {"one": {"GITHUB_TOKEN": "t0ken-1"}, "two": {"GITHUB_TOKEN": "t0ken-2"}}
    wanted = replace(request(tmp_path, with_servers(one=server, two=server)), server_environments=own)

    await hold(provider(mcp_servers={"shape": "claude", "file": ".tiny/mcp.json"}), wanted, "echo")

    settings = json.loads((tmp_path / "home" / ".tiny" / "mcp.json").read_text())["mcpServers"]
    assert {name: (each["env"]["GITHUB_TOKEN"], each["env"]["SERVER_TOKEN"]) for name, each in settings.items()} == {
        "one": ("t0ken-1", "t0ken-1"),
        "two": ("t0ken-2", "t0ken-2"),
    }
    assert log_of(tmp_path)[0]["environment"]["GITHUB_TOKEN"] == "t0ken"


async def test_a_mode_with_servers_needs_a_recipe_that_says_where_they_go(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match="add `mcp_servers`"):
        await hold(provider(), request(tmp_path, with_servers(ghx=McpServer(command="server"))), "echo")


async def test_a_session_is_metered_and_never_holds_the_key(tmp_path: Path) -> None:
    solution = Solution.model_validate({"steps": [{"shell": "echo $TINY_KEY"}], "answer": "done"})
    async with metered(Script(solution=solution)) as (agent, endpoint):
        answer, trace = await hold(agent, request(tmp_path), "Do it.")

    assert answer.text == "done"
    assert usage_of(trace.model_calls) == endpoint.claimed_usage()
    assert {key for call in endpoint.calls for key in call.keys} == {"the-real-key"}
    assert "the-real-key" not in json.dumps(log_of(tmp_path))


async def test_an_agent_that_crashes_is_to_blame_and_its_last_words_are_told(tmp_path: Path) -> None:
    async with provider().session(request(tmp_path)) as session:
        with pytest.raises(AgentError, match=r"^tiny: it ended with exit code 7; it wrote: a first line \| out"):
            await session.prompt("crash")
        trace = await session.trace()

    assert [each.content for each in trace.events if isinstance(each, TextOutputEvent)] == ["I begin.\n"]


async def test_an_agent_that_ends_before_it_asks_its_model_is_not_to_blame(tmp_path: Path) -> None:
    async with metered(Script()) as (agent, _):
        with pytest.raises(EnvironmentFailure, match=r"before it asked its model for anything; .*no such model"):
            await hold(agent, request(tmp_path, TINY_DIES="1"), "Do it.")


async def test_an_agent_that_gives_up_after_it_asked_its_model_is_to_blame(tmp_path: Path) -> None:
    async with metered(Script()) as (agent, _):
        with pytest.raises(AgentError, match="exit code 1; it wrote: I give up"):
            await hold(agent, request(tmp_path), "fail")


async def test_an_error_in_the_stream_is_told_though_the_exit_code_is_none(tmp_path: Path) -> None:
    stream = tmp_path / "stream"
    stream.write_text(json.dumps({"type": "turn.failed", "error": {"message": "too many tokens"}}) + "\n")

    with pytest.raises(AgentError, match=r"it ended with exit code 0 \(too many tokens\)"):
        await hold(provider(output="codex-jsonl"), request(tmp_path), f"stream {stream}")


async def test_output_of_another_dialect_is_a_mistake_of_the_recipe(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match="nothing that it printed is codex-jsonl; mend"):
        await hold(provider(output="codex-jsonl"), request(tmp_path), "echo")


async def test_a_program_that_cannot_be_started_is_the_environments_fault(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match="cannot be started: Argument list too long"):
        await hold(provider(command=[*TINY, "${PROMPT}"]), request(tmp_path), "x" * 3_000_000)


async def test_a_child_in_the_background_is_not_waited_for_and_is_ended(tmp_path: Path) -> None:
    with anyio.fail_after(PATIENCE_S):
        answer, _ = await hold(provider(), request(tmp_path), "leave a child")

    assert answer.text == "It goes on."
    assert is_gone(log_of(tmp_path)[-1]["child"])


async def test_at_the_deadline_nothing_is_left(tmp_path: Path) -> None:
    async with provider().session(request(tmp_path)) as session:
        with anyio.move_on_after(1) as scope:
            await session.prompt("hang")
        await session.trace()

    assert scope.cancelled_caught
    assert all(is_gone(each.get("child") or each["pid"]) for each in log_of(tmp_path))


async def test_an_agent_that_does_not_offer_the_tools_of_a_server_is_not_measured(tmp_path: Path) -> None:
    slow, place = Script(pace=Pace(before_first_s=30)), {"shape": "claude", "file": "mcp.json"}
    async with metered(slow, mcp_servers=place) as (agent, _):
        with pytest.raises(EnvironmentFailure, match=r"^tiny: ghx: tools not offered: .* 1 tool \(bash\)"):
            await hold(agent, request(tmp_path, with_servers(ghx=McpServer(command="ghx-server"))), "Do it.")


class TestCommandProviderKeepsTheContract(TinyAgentContract):
    def make_provider(self) -> CommandProvider:
        return provider()

    def metered(self, script: Script) -> AbstractAsyncContextManager[tuple[CommandProvider, ScriptedEndpoint]]:
        return metered(script)
