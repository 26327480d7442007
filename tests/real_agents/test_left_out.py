"""What recipes are for: without the setting, tools, skills or the model are out of reach, and that is said by name."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from agent_rows import assert_all_passed

from ghx_profiler.agents.drivers.recipe import Recipe
from ghx_profiler.agents.drivers.recipe_settings import ServerSettings
from ghx_profiler.records.causes import Cause

from .conftest import RealAgents
from .test_scenarios import DESCRIPTION, SKILL, run_with_skill

pytestmark = [pytest.mark.anyio, pytest.mark.agents]

SLOW_SERVER = {
    "command": "/bin/bash",
    "args": ["-c", f"/bin/sleep 3; exec {sys.executable} -P -m ghx_tools.cli.main mcp"],
}
MODES = [{"name": "prompt-server", "extends": "ghx-mcp"}, {"name": "slow-server", "mcp_servers": {"ghx": SLOW_SERVER}}]


def without_variable(name: str) -> Callable[[Recipe], Recipe]:
    def change(recipe: Recipe) -> Recipe:
        assert name in recipe.environment
        kept = {key: value for key, value in recipe.environment.items() if key != name}
        return recipe.model_copy(update={"environment": kept})

    return change


def without_tool_search_setting(recipe: Recipe) -> Recipe:
    settings = cast("dict[str, Any]", recipe.files[".qwen/settings.json"])
    tools = {key: value for key, value in settings["tools"].items() if key != "toolSearch"}
    return recipe.model_copy(update={"files": {".qwen/settings.json": {**settings, "tools": tools}}})


def without_waiting(recipe: Recipe) -> Recipe:
    config = cast("dict[str, Any]", recipe.files[".codex/config.toml"])
    kept = {key: value for key, value in config.items() if key != "mcp_optional_startup_grace_ms"}
    return recipe.model_copy(update={"files": {".codex/config.toml": kept}, "session_meta": {}})


def without_session_mode(recipe: Recipe) -> Recipe:
    assert recipe.session_mode is not None
    return recipe.model_copy(update={"session_mode": None})


def without_word(word: str) -> Callable[[Recipe], Recipe]:
    def change(recipe: Recipe) -> Recipe:
        assert word in recipe.command
        return recipe.model_copy(update={"command": tuple(each for each in recipe.command if each != word)})

    return change


def without_provider(recipe: Recipe) -> Recipe:
    content = cast("dict[str, Any]", recipe.environment["OPENCODE_CONFIG_CONTENT"])
    kept = {key: value for key, value in content.items() if key != "provider"}
    return recipe.model_copy(update={"environment": {**recipe.environment, "OPENCODE_CONFIG_CONTENT": kept}})


def without_servers(recipe: Recipe) -> Recipe:
    """Return a recipe that puts servers where the program does not look for them."""
    words = tuple(word for word in recipe.command if word not in ("--mcp-config", "${HOME}/.claude/mcp.json"))
    elsewhere = ServerSettings(shape="claude", file=".claude/mcp.json")
    return recipe.model_copy(update={"mcp_servers": elsewhere, "command": words})


@pytest.mark.parametrize(
    ("agent", "change", "mode"),
    [
        ("claude", without_variable("ENABLE_TOOL_SEARCH"), "prompt-server"),
        ("claude-print", without_variable("ENABLE_TOOL_SEARCH"), "prompt-server"),
        ("claude-print", without_servers, "prompt-server"),
        ("codex", without_waiting, "slow-server"),
        ("codex-exec", without_waiting, "slow-server"),
        ("opencode-run", without_servers, "prompt-server"),
        ("gemini", without_variable("GEMINI_CLI_TRUST_WORKSPACE"), "prompt-server"),
        ("qwen", without_tool_search_setting, "prompt-server"),
        ("qwen", without_variable("QWEN_CODE_LEGACY_MCP_BLOCKING"), "slow-server"),
    ],
    ids=[
        "claude-search",
        "claude-print-search",
        "claude-print-servers",
        "codex-waiting",
        "codex-exec-waiting",
        "opencode-run-servers",
        "gemini-trust",
        "qwen-search",
        "qwen-waiting",
    ],
)
async def test_without_its_setting_an_agent_is_not_measured_as_one_without_tools(
    agent: str, change: Callable[[Recipe], Recipe], mode: str, agents: RealAgents
) -> None:
    recipe = change(agents.install(agent))

    ran = await agents.run(recipe, modes=[mode], mode_definitions=MODES, solved_as="ghx-mcp")

    (row,) = ran.rows
    assert not row.success
    assert row.error is not None
    assert f"{agent}: ghx: tools not offered" in row.error
    assert row.cause == Cause.ENVIRONMENT


@pytest.mark.parametrize(
    ("agent", "change"),
    [
        ("codex", without_session_mode),
        ("codex-exec", without_word("--dangerously-bypass-approvals-and-sandbox")),
    ],
    ids=["codex-session-mode", "codex-exec-bypass"],
)
async def test_an_agent_in_a_sandbox_of_its_own_is_not_measured_as_one_that_fails(
    agent: str, change: Callable[[Recipe], Recipe], agents: RealAgents
) -> None:
    ran = await agents.run(change(agents.install(agent)), modes=["baseline", "ghx-mcp"])

    assert len(ran.rows) == 2
    for row in ran.rows:
        assert (row.success, row.cause) == (None, Cause.ENVIRONMENT), row.mode
        assert f"{agent}: its own settings keep it from the work" in (row.error or ""), row.mode


@pytest.mark.parametrize(
    ("agent", "change", "says"),
    [
        ("goose", without_variable("GOOSE_PROVIDER"), "goose: it refused session/new: "),
        ("goose", without_variable("OPENAI_HOST"), "goose: it ended its turn without asking its model for anything"),
        (
            "opencode",
            without_provider,
            "opencode: it refused session/prompt (and asked its model for nothing): Internal error",
        ),
    ],
    ids=["goose-provider", "goose-host", "opencode-provider"],
)
async def test_an_agent_without_a_way_to_its_model_is_not_measured(
    agent: str, change: Callable[[Recipe], Recipe], says: str, agents: RealAgents
) -> None:
    ran = await agents.run(change(agents.install(agent)), modes=["baseline"])

    (row,) = ran.rows
    assert (row.success, row.cause) == (None, Cause.ENVIRONMENT), row.error
    assert says in (row.error or "")


@pytest.mark.parametrize("agent", ["codex", "qwen"])
async def test_with_its_settings_an_agent_waits_for_a_slow_server(agent: str, agents: RealAgents) -> None:
    recipe = agents.install(agent)

    ran = await agents.run(recipe, modes=["slow-server"], mode_definitions=MODES, solved_as="ghx-mcp")

    (row,) = ran.rows
    assert row.success, row.error
    took = {each.label: each.duration_ms for each in row.timing.segments}
    assert took["session"] > 3000  # and not the prompt, which is what counts


async def test_a_command_waits_for_a_slow_server_too(agents: RealAgents) -> None:
    recipes = [agents.install(name) for name in ("claude-print", "codex-exec", "opencode-run")]

    ran = await agents.run(*recipes, modes=["slow-server"], mode_definitions=MODES, solved_as="ghx-mcp")

    assert_all_passed(ran, 3)


async def test_without_room_for_it_claude_leaves_out_what_a_skill_is_for(agents: RealAgents, tmp_path: Path) -> None:
    recipe = without_variable("SLASH_COMMAND_TOOL_CHAR_BUDGET")(agents.install("claude-print"))

    first = await run_with_skill(recipe, agents, tmp_path)

    assert SKILL in first
    assert DESCRIPTION not in first
