"""The agent `loop` in whole scenarios, over the APIs of all vendors; here, because it takes a minute."""

from pathlib import Path

import pytest
from agent_rows import assert_all_passed
from scripted_sessions import REAL_KEY, run_scripted

from ghx_profiler.records.model_calls import WireKind

from .conftest import make_loop
from .test_scenarios import MODES, SCENARIOS

pytestmark = [pytest.mark.anyio, pytest.mark.agents]


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "anthropic", "gemini"])
async def test_it_passes_in_every_mode_and_its_tokens_are_those_of_the_script(tmp_path: Path, wire: WireKind) -> None:
    ran = await run_scripted([make_loop(wire)], tmp_path, scenarios=SCENARIOS, modes=MODES)

    assert_all_passed(ran, len(MODES) * len(SCENARIOS))
    assert {call.wire for call in ran.endpoint.calls} == {wire}
    for row in ran.rows:
        category = {"baseline": "gh_cli", "ghx": "ghx", "ghx-mcp": "mcp"}[row.mode]
        assert row.tool_calls.by_category.keys() >= {category}, row.mode
        assert row.tool_calls.failed == 0
    for file in ran.directory.rglob("*"):
        assert not file.is_file() or REAL_KEY.encode() not in file.read_bytes(), file


async def test_four_sessions_at_once_do_not_get_in_each_others_way(tmp_path: Path) -> None:
    ran = await run_scripted(
        [make_loop("openai-chat")], tmp_path, modes=["baseline", "ghx-mcp"], repetitions=2, concurrency=4
    )

    assert_all_passed(ran, 4)
