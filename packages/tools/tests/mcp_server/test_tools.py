"""The capabilities as tools, called by the official client over both transports."""

import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
from mcp import types

from ghx_base.version import VERSION
from ghx_tools.capabilities.index import ENTRIES
from ghx_tools.capabilities.registry import capability
from ghx_tools.mcp.toolsets import select
from ghx_twin.faults import Fault
from ghx_twin.pytest_plugin import GitHubTwin

pytestmark = pytest.mark.anyio

WIDGETS = {"owner": "acme", "name": "widgets"}
PULL = {"owner": "acme", "name": "tools", "prNumber": 1}
SLOW_TO_START = pytest.mark.parametrize("connect", ["stdio"], indirect=True)


def error_of(result: types.CallToolResult) -> dict[str, Any]:
    assert result.is_error
    assert result.structured_content is None
    (content,) = result.content
    return json.loads(content.text)  # type: ignore[union-attr]


async def test_every_capability_is_a_tool_and_works_over_every_transport(connect: Callable) -> None:
    async with connect() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        result = await client.call_tool("pr_threads_list", {**PULL, "first": 2})

        assert client.server_info.name == "ghx"
        assert client.server_info.version == VERSION
        assert tools.keys() == {*(id_.replace(".", "_") for id_ in ENTRIES), "chain"}
        jsonschema.validate(result.structured_content, tools["pr_threads_list"].output_schema)
        assert [thread["comments"][0]["body"] for thread in result.structured_content["items"]] == ["First", "Third"]
        assert json.loads(result.content[0].text) == result.structured_content


@SLOW_TO_START
async def test_tools_say_what_they_take_and_give_and_do(connect: Callable) -> None:
    async with connect() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}

    for entry in ENTRIES.values():
        tool, called = tools[entry.id.replace(".", "_")], capability(entry.id)
        assert tool.description == entry.description
        assert tool.annotations.read_only_hint == (entry.effect == "reads")
        assert tool.annotations.destructive_hint == (entry.effect == "destructive")
        assert tool.input_schema["properties"].keys() == called.input_schema["properties"].keys()
        assert tool.output_schema["properties"].keys() == called.output_schema["properties"].keys()
        assert '"title": "' not in json.dumps([tool.input_schema, tool.output_schema])
        assert "description" not in {*tool.input_schema, *tool.output_schema}
        jsonschema.validate(dict(called.operation.example), tool.input_schema)
    assert tools["chain"].annotations.destructive_hint is True


@SLOW_TO_START
async def test_a_tool_that_changes_something_changes_it(connect: Callable) -> None:
    async with connect() as client:
        created = await client.call_tool("issue_create", {**WIDGETS, "title": "From a tool"})
        number = created.structured_content["number"]
        viewed = await client.call_tool("issue_view", {**WIDGETS, "issueNumber": number})

        assert viewed.structured_content["title"] == "From a tool"


@SLOW_TO_START
async def test_what_goes_wrong_is_told_and_does_not_end_the_session(connect: Callable, github_twin: GitHubTwin) -> None:
    async with connect() as client:
        missing = await client.call_tool("pr_view", {**PULL, "prNumber": 99})
        misspelt = await client.call_tool("pr_veiw", PULL)
        unknown_input = await client.call_tool("pr_view", {**PULL, "prnumbr": 1})
        github_twin.world.faults.add(Fault(status=403, message="Not for you", times=1))
        forbidden = await client.call_tool("pr_view", PULL)
        fine = await client.call_tool("pr_view", PULL)

        assert error_of(missing)["code"] == "NOT_FOUND"
        assert "'pr_view'" in error_of(misspelt)["message"]
        assert "'prNumber'" in error_of(unknown_input)["message"]
        assert error_of(forbidden) == {"code": "AUTH", "message": "Not for you"}
        assert fine.structured_content["number"] == 1
        assert github_twin.token not in str([missing, misspelt, unknown_input, forbidden, fine])


@SLOW_TO_START
async def test_a_chain_calls_several_tools_by_their_names(connect: Callable, github_twin: GitHubTwin) -> None:
    steps = [
        {"task": "issue_create", "input": {**WIDGETS, "title": "New"}},
        {"task": "issue.comments.create", "input": {**WIDGETS, "issueNumber": "{{steps.0.data.number}}", "body": "Hi"}},
        {"task": "pr_veiw", "input": PULL},
    ]
    async with connect() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        before = len(github_twin.world.journal)
        result = await client.call_tool("chain", {"steps": steps})
        spent = len(github_twin.world.journal) - before

    assert not result.is_error
    jsonschema.validate(result.structured_content, tools["chain"].output_schema)
    assert result.structured_content["status"] == "partial"
    assert [each["ok"] for each in result.structured_content["results"]] == [True, True, False]
    assert spent == 4


async def test_the_progress_of_a_chain_is_told_over_every_transport(connect: Callable) -> None:
    told: list[tuple[float, float | None]] = []

    async def note(done: float, total: float | None, _message: str | None) -> None:
        told.append((done, total))

    steps = [{"task": "issue_view", "input": {**WIDGETS, "issueNumber": number}} for number in (1, 999)]
    async with connect() as client:
        await client.call_tool("chain", {"steps": steps}, progress_callback=note)

    assert sorted(told) == [(1, 2), (2, 2)]


@SLOW_TO_START
@pytest.mark.parametrize(
    "given", [{}, {"steps": []}, {"steps": [{"task": 1}]}, {"steps": [{"task": "pr_view", "input": {}}], "more": 1}]
)
async def test_a_chain_that_is_none_is_refused(connect: Callable, given: dict[str, Any]) -> None:
    async with connect() as client:
        assert error_of(await client.call_tool("chain", given))["code"] == "VALIDATION"


@SLOW_TO_START
async def test_toolsets_choose_domains(connect: Callable) -> None:
    async with connect("--toolsets", "search,repo") as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        refused = await client.call_tool("issue_view", {**WIDGETS, "issueNumber": 1})

    assert {name.partition("_")[0] for name in names} == {"search", "repo", "chain"}
    assert error_of(refused)["code"] == "VALIDATION"


def test_toolsets_go_by_the_names_of_githubs_own_server_too() -> None:
    assert select(["actions", "issues"]) == select(["workflow", "issue"])
    assert "workflow_job_logs_view" in select(["actions"]).tools


@SLOW_TO_START
async def test_a_server_that_only_reads_changes_nothing_not_even_in_a_chain(
    connect: Callable, github_twin: GitHubTwin
) -> None:
    closing = {"task": "issue_close", "input": {**WIDGETS, "issueNumber": 1}}
    by_id = {"task": "issue.close", "input": {**WIDGETS, "issueNumber": 1}}
    viewing = {"task": "issue_view", "input": {**WIDGETS, "issueNumber": 1}}
    async with connect("--read-only") as client:
        tools = (await client.list_tools()).tools
        refused = await client.call_tool("issue_close", closing["input"])
        chained = await client.call_tool("chain", {"steps": [closing, by_id, viewing]})

    assert all(tool.annotations.read_only_hint for tool in tools)
    assert error_of(refused)["code"] == "VALIDATION"
    assert [each["ok"] for each in chained.structured_content["results"]] == [False, False, True]
    assert chained.structured_content["results"][2]["data"]["state"] == "OPEN"
    assert not any(entry.mutation for entry in github_twin.world.journal)
