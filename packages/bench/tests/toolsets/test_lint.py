"""The lint of lists of tools: a planted fault of each kind is found, and none in a clean list."""

import json
from pathlib import Path
from typing import Any

import pytest
from toy_mcp_server import CLEAN, FAULTY

from ghx_base.errors import InputError
from ghx_bench.toolsets.lint import lint_tools
from ghx_bench.toolsets.sizes import ESTIMATE
from ghx_bench.toolsets.tool_lists import measure_tools, noun_of, parse_tool, read_tools


def lint(*tools: dict[str, Any]) -> set[tuple[str, str]]:
    return {(each.kind, each.tool) for each in lint_tools("toy", [parse_tool(each) for each in tools])}


def test_nothing_is_wrong_with_clean_tools() -> None:
    assert lint(*CLEAN) == set()


def test_each_planted_fault_is_found_and_no_other() -> None:
    assert lint(*CLEAN, *FAULTY) == {
        ("missing-description", "view_issues"),
        ("ambiguous-names", "get_issue"),
        ("untyped-argument", "close_issue"),
        ("missing-annotations", "lock_issue"),
    }


def test_tools_with_the_same_description_are_ambiguous() -> None:
    assert ("ambiguous-names", "get_issue") in lint(
        CLEAN[0], {**CLEAN[0], "name": "peek", "description": "read an  issue."}
    )


@pytest.mark.parametrize(
    "part",
    [{"type": "array"}, {"type": "array", "items": {}}, {}],
)
def test_arguments_and_items_need_a_type(part: dict[str, Any]) -> None:
    tool = {**CLEAN[0], "inputSchema": {"properties": {"what": {"description": "It.", **part}}}}
    assert lint(tool) == {("untyped-argument", "get_issue")}


def test_an_argument_needs_a_description_unless_it_names_its_choices() -> None:
    parts = {"state": {"enum": ["open"]}, "title": {"type": "string"}}
    found = lint_tools("toy", [parse_tool({**CLEAN[0], "inputSchema": {"properties": parts}})])
    assert [each.message for each in found] == ["the argument 'title' has no description"]


def test_a_tool_that_is_not_read_only_says_whether_it_destroys() -> None:
    assert lint({**CLEAN[1], "annotations": {"readOnlyHint": False}}) == {("missing-annotations", "add_comment")}


@pytest.mark.parametrize("wrapped", [CLEAN, {"tools": CLEAN}, {"jsonrpc": "2.0", "id": 1, "result": {"tools": CLEAN}}])
def test_a_list_of_tools_is_read_from_a_file(tmp_path: Path, wrapped: object) -> None:
    (tmp_path / "tools.json").write_text(json.dumps(wrapped))
    tools = read_tools(tmp_path / "tools.json")

    measured = measure_tools("toy", "1", tools, "Read first.", ESTIMATE)

    assert [each.name for each in measured.tools] == ["get_issue", "add_comment"]
    told = {key: CLEAN[0][key] for key in ("name", "description", "inputSchema")}
    assert measured.tools[0].size.characters == len(json.dumps(told, separators=(",", ":")))
    assert measured.size.characters == 11 + sum(each.size.characters for each in measured.tools)
    assert [(each.name, each.tools) for each in measured.groups] == [("comment", 1), ("issue", 1)]


def test_a_published_list_is_read_and_not_blamed_for_what_it_leaves_out(tmp_path: Path) -> None:
    published = [
        {"name": "get_it", "readOnly": True, "description": "Get it.", "required": ["how"],
         "properties": {"how": ["fast", "slow"], "who": "string"}},
    ]  # fmt: skip
    (tmp_path / "tools.json").write_text(json.dumps(published))
    (tool,) = read_tools(tmp_path / "tools.json")

    assert tool.input_schema["properties"] == {"how": {"enum": ["fast", "slow"]}, "who": {"type": "string"}}
    assert tool.is_read_only
    assert lint_tools("published", [tool]) == ()


@pytest.mark.parametrize("content", ["{", '{"a": 1}', "[1]", '[{"description": "x"}]', '"text"'])
def test_what_is_no_list_of_tools_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "tools.json").write_text(content)
    with pytest.raises(InputError):
        read_tools(tmp_path / "tools.json")


@pytest.mark.parametrize(
    ("name", "noun"),
    [("list_issues", "issue"), ("issue_view", "issue"), ("getPullRequest", "pull"),
     ("search_repositories", "repository"), ("create_or_update_file", "file"), ("list_branches", "branch"),
     ("get", "get")],
)  # fmt: skip
def test_tools_are_grouped_by_the_noun_in_their_name(name: str, noun: str) -> None:
    assert noun_of(name) == noun
