"""The agent `loop` on the embedded GitHub: real tools, real MCP sessions, and a model that decides as a script says."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from agent_rows import assert_all_passed
from scripted_sessions import MODEL, REAL_KEY, MakeAgent, run_scripted

from ghx_bench.agents.loop import LoopProvider
from ghx_bench.agents.loop_limits import LoopLimits, ModelRoute
from ghx_bench.agents.meter import ModelProvider
from ghx_bench.agents.model_budget import ModelBudget
from ghx_bench.profiler.model_calls import WireKind

pytestmark = [pytest.mark.anyio, pytest.mark.process]

MODES = ("baseline", "ghx", "ghx-mcp")
SCENARIOS = ("issue-triage-001", "pr-reply-threads-001", "repo-release-notes-001")
WIRES: tuple[WireKind, ...] = ("openai-responses", "anthropic", "gemini")


def loop(wire: WireKind = "openai-chat", budget: ModelBudget | None = None, **limits: Any) -> MakeAgent:
    def make(providers: Mapping[WireKind, ModelProvider]) -> LoopProvider:
        routes = {MODEL: ModelRoute(wire=wire, model=MODEL)}
        chosen = LoopLimits.model_validate(limits)
        return LoopProvider(routes, {wire: providers[wire]}, limits=chosen, session_budget=budget)

    return make


async def test_it_passes_in_every_mode_and_its_tokens_are_those_of_the_script(tmp_path: Path) -> None:
    ran = await run_scripted([loop()], tmp_path, scenarios=SCENARIOS, modes=MODES, concurrency=2)

    assert_all_passed(ran, len(MODES) * len(SCENARIOS))
    assert {key for call in ran.endpoint.calls for key in call.keys} == {REAL_KEY}
    assert all(call.is_streamed for call in ran.endpoint.calls)
    for row in ran.rows:
        category = {"baseline": "gh_cli", "ghx": "ghx", "ghx-mcp": "mcp"}[row.mode]
        assert row.tool_calls.by_category.keys() >= {category}, row.mode
        assert row.tool_calls.failed == 0
    for file in ran.directory.rglob("*"):
        assert not file.is_file() or REAL_KEY.encode() not in file.read_bytes(), file


@pytest.mark.parametrize("wire", WIRES)
async def test_it_speaks_the_wire_of_every_vendor(tmp_path: Path, wire: WireKind) -> None:
    ran = await run_scripted([loop(wire)], tmp_path, modes=["ghx-mcp"])

    assert_all_passed(ran, 1)
    assert {call.wire for call in ran.endpoint.calls} == {wire}
