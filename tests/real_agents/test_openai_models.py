"""Real agents and the newer models of OpenAI, which refuse `max_tokens` of chat completions and want another API."""

import pytest
from agent_rows import assert_all_passed

from .conftest import RealAgents

pytestmark = [pytest.mark.anyio, pytest.mark.agents]


@pytest.mark.parametrize("agent", ["goose", "opencode", "opencode-run", "qwen"])
async def test_a_newer_model_of_openai_is_asked_by_the_api_that_it_wants_and_measured(
    agent: str, agents: RealAgents
) -> None:
    ran = await agents.run(agents.install(agent), modes=["ghx-mcp"], models=["gpt-5.1"])

    assert_all_passed(ran, 1)
    assert {(call.wire, call.model) for call in ran.endpoint.calls} == {("openai-responses", "gpt-5.1")}
    main = [call.body for call in ran.endpoint.calls if not call.is_side]
    # As much as the agent itself, or the vendor, thinks right: OpenCode would choose the least over the protocol.
    efforts = {(body.get("reasoning") or {}).get("effort") for body in main}
    assert efforts <= {None, "medium"}
