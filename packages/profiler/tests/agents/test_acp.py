"""Agents over the Agent Client Protocol: a small real one, which does what its prompt says."""

import json
import sys
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from acp.schema import InitializeRequest, NewSessionRequest, PromptRequest, SetSessionModeRequest
from tiny_agent_sessions import TINY_AGENT, TINY_MODEL, TinyAgentContract, hold, is_gone, log_of, request, with_model

from ghx_profiler.agents.controls.solution import Solution
from ghx_profiler.agents.drivers.acp import AcpProvider
from ghx_profiler.agents.drivers.installation import find_launch
from ghx_profiler.agents.drivers.recipe import Recipe
from ghx_profiler.agents.testing import Pace, Script, ScriptedEndpoint
from ghx_profiler.agents.tools.toolset import McpServer, ToolSet
from ghx_profiler.evidence import Answer, Mode
from ghx_profiler.records.causes import AgentError, EnvironmentFailure
from ghx_profiler.records.model_calls import usage_of
from ghx_profiler.records.trace import ReasoningEvent, TextOutputEvent, ToolCallEvent
from ghx_profiler.testing import sample_cell

pytestmark = [pytest.mark.anyio, pytest.mark.process]


def tiny(**changes: Any) -> Recipe:
    given = {
        "name": "tiny",
        "description": "a small agent",
        "command": [sys.executable, "-S", str(TINY_AGENT)],
        **changes,
    }
    return Recipe.model_validate(given)


def provider(**changes: Any) -> AcpProvider:
    recipe = tiny(**changes)
    return AcpProvider(recipe, find_launch(recipe, Path("nowhere")))


def metered(script: Script, **changes: Any) -> AbstractAsyncContextManager[tuple[AcpProvider, ScriptedEndpoint]]:
    return with_model(AcpProvider, tiny(**{**TINY_MODEL, **changes}), script)


def mode(*, instructions: str | None = None, shell: bool = True, **servers: McpServer) -> Mode:
    return Mode(name="some", instructions=instructions, settings=ToolSet(shell=shell, mcp_servers=servers).settings())


def params_of(tmp_path: Path, method: str) -> dict[str, Any]:
    (params,) = [each["params"] for each in log_of(tmp_path) if each.get("method") == method]
    return params


async def test_what_the_agent_tells_is_in_the_trace_in_its_order(tmp_path: Path) -> None:
    server = McpServer(command="ghx-server")
    answer, trace = await hold(provider(strip=["Warning: [^\n]*\n"]), request(tmp_path, mode(ghx=server)), "talk")

    assert answer == Answer(text="All done.")
    assert str(trace.facts["session"]).startswith("tiny-")
    thought, said, shell, view, last = [each for turn in trace.turns for each in turn.events]
    assert isinstance(thought, ReasoningEvent)
    assert thought.content == "Let me see."
    assert isinstance(said, TextOutputEvent)
    assert said.content == "First I look."
    assert isinstance(shell, ToolCallEvent)
    assert (shell.name, shell.input, shell.output, shell.success) == (
        "bash",
        {"command": "echo hi"},
        {"output": "hi\n"},
        True,
    )
    assert isinstance(view, ToolCallEvent)
    assert (view.name, view.input, view.success) == ("ghx_issue_view", {"issueNumber": 4}, False)
    assert isinstance(last, TextOutputEvent)
    assert [len(turn.events) for turn in trace.turns] == [3, 1, 1]


async def test_a_session_is_opened_as_the_protocol_and_the_recipe_say(tmp_path: Path) -> None:
    agent = provider(
        command=[sys.executable, "-S", str(TINY_AGENT), "--model", "${MODEL}"],
        environment={"TINY_HOME": "${HOME}/x", "TINY_SETTINGS": {"place": "${DIRECTORY}", "on": True}},
        files={".tiny/settings.json": {"model": "${MODEL}", "${MODEL}": 1}, ".tiny/notes.txt": "for ${MODEL}"},
        authentication="a-key",
        session_mode="all-allowed",
        session_meta={"patienceMs": 60},
    )
    server = McpServer(command="server", args=("--now",), environment={"SERVER_TOKEN": "${GITHUB_TOKEN}"})
    wanted = request(tmp_path, mode(mine=server))
    await hold(agent, wanted, "echo")

    InitializeRequest.model_validate(params_of(tmp_path, "initialize"))
    assert params_of(tmp_path, "authenticate") == {"methodId": "a-key"}
    opened = NewSessionRequest.model_validate(params_of(tmp_path, "session/new"))
    assert opened.cwd == str(wanted.directory)
    assert opened.field_meta == {"patienceMs": 60}
    (given,) = params_of(tmp_path, "session/new")["mcpServers"]
    assert (given["name"], given["command"], given["args"]) == ("mine", "server", ["--now"])
    variables = {each["name"]: each["value"] for each in given["env"]}
    assert variables == {**wanted.environment, "SERVER_TOKEN": "t0ken"}
    changed = SetSessionModeRequest.model_validate(params_of(tmp_path, "session/set_mode"))
    assert changed.mode_id == "all-allowed"
    PromptRequest.model_validate(params_of(tmp_path, "session/prompt"))

    started = log_of(tmp_path)[0]
    assert started["arguments"] == ["--model", sample_cell().model]
    extra = {key: value for key, value in started["environment"].items() if key.startswith("TINY_")}
    work, home = wanted.directory, wanted.environment["HOME"]
    settings = json.dumps({"place": str(work), "on": True})
    assert extra == {"TINY_HOME": f"{home}/x", "TINY_SETTINGS": settings, "TINY_LOG": str(tmp_path / "log")}
    files = Path(home, ".tiny")
    assert json.loads((files / "settings.json").read_text()) == {"model": "sample/model", "sample/model": 1}
    assert (files / "notes.txt").read_text() == "for sample/model"


async def test_skills_of_the_mode_are_copied_to_where_the_agent_looks_for_them(tmp_path: Path) -> None:
    skill = tmp_path / "skill"
    (skill / "scripts").mkdir(parents=True)
    (skill / "SKILL.md").write_text("Read them first.")
    (skill / "scripts" / "sort").touch(mode=0o755)
    skilled = Mode(name="some", settings=ToolSet(skills={"triage": str(skill)}).settings())

    await hold(provider(skills_folder=".tiny/skills"), request(tmp_path, skilled), "echo")
    with pytest.raises(EnvironmentFailure, match="'some' has skills, and the recipe of tiny does not say where"):
        await hold(provider(), request(tmp_path, skilled), "echo")

    copied = tmp_path / "home/.tiny/skills/triage"
    assert (copied / "SKILL.md").read_text() == "Read them first."
    assert (copied / "scripts/sort").stat().st_mode & 0o100


async def test_the_modes_instructions_are_the_first_paragraph_or_a_file_of_the_agents(tmp_path: Path) -> None:
    instructed = mode(instructions="Use gh.")

    answer, _ = await hold(provider(), request(tmp_path, instructed), "echo")
    in_file, _ = await hold(provider(instructions_file=".tiny/AGENTS.md"), request(tmp_path, instructed), "echo")

    assert answer.text == "Use gh.\n\necho"
    assert in_file.text == "echo"
    assert (tmp_path / "home" / ".tiny" / "AGENTS.md").read_text() == "Use gh."


@pytest.mark.parametrize(
    ("kinds", "shell", "chosen"),
    [
        (("allow_once", "allow_always"), True, {"optionId": "once", "outcome": "selected"}),
        (("allow_always",), True, {"optionId": "always", "outcome": "selected"}),
        (("reject_once",), True, {"optionId": "no", "outcome": "selected"}),
        (("reject_always",), True, {"outcome": "cancelled"}),
        (("allow_once",), False, {"optionId": "no", "outcome": "selected"}),
    ],
)
async def test_permission_is_answered_by_kind(
    tmp_path: Path, kinds: tuple[str, ...], shell: bool, chosen: Mapping[str, str]
) -> None:
    agent = provider(permissions=kinds, without_shell={})
    answer, trace = await hold(agent, request(tmp_path, mode(shell=shell)), "permission")

    assert json.loads(answer.text) == {"outcome": chosen}
    (call,) = trace.tool_calls
    assert (call.name, call.input) == ("bash", {"command": "rm -r x"})
    is_refused = chosen.get("optionId") not in ("once", "always")
    assert trace.facts["permissions"] == {"asked": 1, "refused": int(is_refused)}


async def test_what_is_no_message_is_passed_over_and_lines_may_be_long(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    answer, _ = await hold(provider(), request(tmp_path), "noise")

    assert len(answer.text) == 300_000
    assert not caplog.records


@pytest.mark.parametrize(("prompt", "reason"), [("refuse", "refusal"), ("limit", "tool_limit")])
async def test_why_the_agent_stopped_is_in_its_answer(tmp_path: Path, prompt: str, reason: str) -> None:
    answer, _ = await hold(provider(), request(tmp_path), prompt)

    assert answer.reason == reason


async def test_an_agent_that_crashes_is_to_blame_and_its_last_words_are_told(tmp_path: Path) -> None:
    async with provider().session(request(tmp_path)) as session:
        with pytest.raises(AgentError, match=r"exit code 7 .*it wrote: a first line \| out of memory"):
            await session.prompt("crash")
        trace = await session.trace()

    assert [each.content for each in trace.events if isinstance(each, TextOutputEvent)] == ["I begin."]


async def test_an_agent_that_leaves_a_child_with_its_output_behind_has_crashed(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="tiny: it ended with exit code 7 before it answered session/prompt"):
        await hold(provider(), request(tmp_path), "leave")


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"TINY_DIES": "1"}, "tiny: it ended with exit code 1 before it answered initialize; it wrote: no such model"),
        ({"TINY_REFUSES": "session/new"}, "tiny: it refused session/new: Authentication required {'try': 'a key'}"),
    ],
)
async def test_what_fails_before_the_prompt_is_the_environments_fault(
    tmp_path: Path, variables: dict[str, str], words: str
) -> None:
    with pytest.raises(EnvironmentFailure) as raised:
        await hold(provider(), request(tmp_path, **variables), "echo")

    assert str(raised.value) == words


async def test_a_mode_without_a_shell_needs_a_recipe_that_can_do_without(tmp_path: Path) -> None:
    wanted = request(tmp_path, mode(shell=False))
    with pytest.raises(EnvironmentFailure, match="`without_shell`"):
        await hold(provider(), wanted, "echo")

    await hold(provider(without_shell={"environment": {"TINY_SHELL": "no"}}), wanted, "echo")
    assert log_of(tmp_path)[0]["environment"]["TINY_SHELL"] == "no"


async def test_a_server_by_url_is_for_agents_that_can_reach_it(tmp_path: Path) -> None:
    server = McpServer(url="http://127.0.0.1:9/mcp", headers={"Authorization": "Bearer ${GITHUB_TOKEN}"})
    with pytest.raises(EnvironmentFailure, match="takes no MCP servers by URL, and 'far' is one"):
        await hold(provider(), request(tmp_path, mode(far=server)), "echo")
    (tmp_path / "log").unlink()

    await hold(provider(), request(tmp_path, mode(far=server), TINY_HTTP="1"), "echo")

    headers = [{"name": "Authorization", "value": "Bearer t0ken"}]
    expected = {"type": "http", "name": "far", "url": "http://127.0.0.1:9/mcp", "headers": headers}
    assert params_of(tmp_path, "session/new")["mcpServers"] == [expected]


async def test_each_server_is_told_the_variables_that_are_its_own_and_the_agent_is_not(tmp_path: Path) -> None:
    near = McpServer(command="server")
    far = McpServer(url="http://127.0.0.1:9/mcp", headers={"Authorization": "Bearer ${GITHUB_TOKEN}"})
    own = {"near": {"GITHUB_TOKEN": "t0ken-1"}, "far": {"GITHUB_TOKEN": "t0ken-2"}}
    wanted = replace(request(tmp_path, mode(near=near, far=far), TINY_HTTP="1"), server_environments=own)

    await hold(provider(), wanted, "echo")

    one, two = params_of(tmp_path, "session/new")["mcpServers"]
    assert {"name": "GITHUB_TOKEN", "value": "t0ken-1"} in one["env"]
    assert two["headers"] == [{"name": "Authorization", "value": "Bearer t0ken-2"}]
    assert log_of(tmp_path)[0]["environment"]["GITHUB_TOKEN"] == "t0ken"


async def test_at_the_deadline_the_agent_is_told_to_stop_and_the_call_that_ran_is_in_the_trace(tmp_path: Path) -> None:
    async with provider().session(request(tmp_path)) as session:
        with anyio.move_on_after(0.5) as scope:
            await session.prompt("hang")
        trace = await session.trace()

    assert scope.cancelled_caught
    assert params_of(tmp_path, "session/cancel") == {"sessionId": trace.facts["session"]}
    (call,) = trace.tool_calls
    assert (call.input, call.output, call.success) == ({"command": "sleep 600"}, None, None)
    assert call.unfinished
    (child,) = [each["child"] for each in log_of(tmp_path) if "child" in each]
    assert is_gone(child)


async def test_a_session_is_metered_and_never_holds_the_key(tmp_path: Path) -> None:
    solution = Solution.model_validate({"steps": [{"shell": "echo $TINY_KEY"}], "answer": "done"})
    async with metered(Script(solution=solution)) as (agent, endpoint):
        answer, trace = await hold(agent, request(tmp_path), "Do it.")

    assert answer.text == "done"
    assert usage_of(trace.model_calls) == endpoint.claimed_usage()
    assert [call.side for call in trace.model_calls] == [None, None]
    assert {key for call in endpoint.calls for key in call.keys} == {"the-real-key"}
    assert trace.tool_calls[0].output == {"output": f"{log_of(tmp_path)[0]['environment']['TINY_KEY']}\n"}
    assert "the-real-key" not in json.dumps(log_of(tmp_path))


async def test_an_agent_that_does_not_offer_the_tools_of_a_server_is_not_measured(tmp_path: Path) -> None:
    async with metered(Script(pace=Pace(before_first_s=30))) as (agent, _):
        with pytest.raises(EnvironmentFailure, match=r"^tiny: ghx: tools not offered: .* 1 tool \(bash\)"):
            await hold(agent, request(tmp_path, mode(ghx=McpServer(command="ghx-server"))), "Do it.")

    assert params_of(tmp_path, "session/cancel")


async def test_an_agent_whose_own_settings_keep_it_from_the_work_is_not_measured(tmp_path: Path) -> None:
    script = Script(solution=Solution(answer="done"), pace=Pace(before_first_s=1))
    async with metered(script, unfit_if=["[Nn]etwork is (closed|restricted)"]) as (agent, _):
        answer, _ = await hold(agent, request(tmp_path), "Find out whether the network is closed.")
        closed = request(tmp_path, TINY_INSTRUCTIONS="You are tiny. The network is closed.")
        with pytest.raises(EnvironmentFailure, match=r"^tiny: its own settings .* say 'network is closed'$"):
            await hold(agent, closed, "Do it.")

    assert answer.text == "done"
    assert params_of(tmp_path, "session/cancel")


async def test_an_agent_that_never_reaches_its_model_is_not_measured(tmp_path: Path) -> None:
    """As goose does with models that it asks by another protocol than its recipe leads anywhere."""
    async with metered(Script(), wire="anthropic") as (agent, _):
        with pytest.raises(EnvironmentFailure, match=r"without asking its model .* but for POST /v1/chat/completions"):
            await hold(agent, request(tmp_path), "Do it.")


class TestAcpProviderKeepsTheContract(TinyAgentContract):
    def make_provider(self) -> AcpProvider:
        return provider()

    def metered(self, script: Script) -> AbstractAsyncContextManager[tuple[AcpProvider, ScriptedEndpoint]]:
        return metered(script)
