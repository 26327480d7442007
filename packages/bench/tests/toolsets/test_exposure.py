"""`ghx-bench expose`: a server whose tools treat the text of others in different ways, and the real tools."""

import json
import sys
from pathlib import Path
from typing import Any, get_args

import leaky_mcp
import pytest
from mode_tools import CARRIERS_OF_ALL, shown_by_outsiders
from nightly import mostly_nightly

from ghx_base.texts.injected_text import read_letters
from ghx_bench.cli.main import run
from ghx_bench.toolsets.calls import ONLY_READING
from ghx_bench.toolsets.exposure.carriers import (
    AUTHORS,
    SEED,
    ExposedCarrier,
    parts_of,
    plain_values,
    planted_texts,
    planted_words,
    subject_values,
)
from ghx_bench.toolsets.exposure.measurement import MOST_CALLS, built_in_commands, filled_commands, plan_calls
from ghx_twin.rest.catalogue import known_operations
from ghx_twin.seed.worlds import open_world


@pytest.fixture
def leaky(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a project with the toy server as a mode."""
    server = {"command": sys.executable, "args": [leaky_mcp.__file__]}
    config = {"modes": [{"name": "leaky", "mcp_servers": {"leaky": server}}]}
    (tmp_path / "eval.config.yaml").write_text(json.dumps(config))
    monkeypatch.chdir(tmp_path)


def exposed(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    code = run(["expose", *words, "--json"])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return json.loads(captured.out)


def test_every_text_stands_in_the_world_and_no_two_are_mistaken_for_each_other() -> None:
    planted = read_letters(SEED.read_text())
    words = [word for each in planted_texts() for word in (each.before, each.canary, each.nearby) if word]
    assert all(any(word in reading for reading in planted) for word in words)
    parts = [part for word in words for part in parts_of(word)]
    assert len(set(parts)) == len(parts)
    assert all({*by_author} == {*AUTHORS} for by_author in planted_words().values())
    assert {*planted_words()} == {*get_args(ExposedCarrier)}


def test_read_commands_name_only_what_the_world_has() -> None:
    with open_world(SEED) as world:
        subjects = [plain_values(world, author) for author in AUTHORS]
    for commands in built_in_commands().values():
        for command in commands.values():
            assert 1 <= len(filled_commands(command, subjects)) <= len(AUTHORS)


def test_arguments_are_made_for_both_authors_in_all_ways_and_their_number_is_bounded() -> None:
    with open_world(SEED) as world:
        subjects = subject_values(world)
    schema = {
        **leaky_mcp.ISSUE,
        "properties": {**leaky_mcp.ISSUE["properties"], "state": {"enum": ["open", "all"]}, "raw": {"type": "boolean"}},
    }
    plan = plan_calls(schema, subjects)
    assert {each["issue_number"] for each in plan.arguments} == {1, 2, 3, 4}
    assert {each.get("state") for each in plan.arguments} == {None, "open", "all"}
    assert any(each.get("raw") is True for each in plan.arguments)
    wide = {**schema, "properties": {**schema["properties"], "kind": {"enum": [f"k{each}" for each in range(99)]}}}
    assert len(plan_calls(wide, subjects).arguments) == MOST_CALLS
    assert plan_calls(wide, subjects).left_out > 0
    # What is left out of a tool with many required choices is not all that one of the authors wrote.
    many = {**wide, "required": ["kind", *wide["required"]]}
    assert {each["issue_number"] for each in plan_calls(many, subjects).arguments} == {1, 2}


def test_requests_that_only_read_although_they_are_no_get_are_operations_that_github_has() -> None:
    assert {*known_operations()} >= ONLY_READING


@pytest.mark.process
@pytest.mark.usefixtures("leaky")
def test_what_tools_do_with_the_text_of_others_is_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    mode = exposed(capsys, "leaky")["modes"][0]
    tools = {each["tool"]: each for each in mode["tools"]}

    def states(tool: str) -> list[str]:
        return [
            tools[tool]["states"].get(carrier, {}).get(author, "not shown")
            for carrier in ("issue-body", "html-comment", "zero-width")
            for author in AUTHORS
        ]

    assert states("plain") == states("encoded") == states("attached") == ["shown"] * 6
    assert states("stripped") == ["shown", "shown", *["stripped"] * 4]
    assert states("marked") == ["marked"] * 6
    assert states("comments") == ["not shown"] * 6
    assert [each["tool"] for each in mode["tools"] if each["changingRequests"]] == ["treacherous", "flee"]
    assert tools["draft"]["failed"] < tools["draft"]["calls"], "it was asked for, and changes nothing"
    assert "ended during a call" in tools["vanish"]["error"]
    assert tools["vanish"]["calls"] == 1, "the call that ended the server was made"
    assert tools["comments"]["failed"] < tools["comments"]["calls"], "the server was started again"
    assert [(each["tool"], each["reason"]) for each in mode["notCalled"]] == [
        ("destroy", "it is annotated as destructive")
    ]


@pytest.mark.nightly
@pytest.mark.process
@pytest.mark.usefixtures("leaky")
def test_a_read_only_tool_that_writes_is_named_and_gates_end_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    words = ["expose", "leaky", "--by-tool", "--markdown", str(page), "--fail-on", "read-only-writes"]
    assert run(words) == 1
    told, complaints = capsys.readouterr()
    assert "gate failed: read-only-writes: leaky tried to change something with treacherous, flee\n" in complaints
    assert "leaky: treacherous says that it only reads, and made" in told
    assert "leaky: flee says that it only reads, and made 1 changing request" in told
    assert "leaky: vanish gave no answer in 1 call: " in told
    assert "NOT read-only where it says so: treacherous, flee" in told
    assert run(["expose", "leaky", "--fail-on", "shown-by-outsider"]) == 1
    assert "passed, but" not in capsys.readouterr().err
    assert "shown: plain, encoded, attached; marked: marked; stripped: stripped" in told
    assert "| html-comment | shown 3 |" in page.read_text()
    assert str(tmp_path) not in page.read_text()


@pytest.mark.process
@pytest.mark.parametrize(
    "gate", mostly_nightly(["shown-by-outsider", "hidden-by-outsider", "read-only-writes"], keep=1)
)
def test_a_gate_does_not_pass_where_nothing_was_tried(
    gate: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, script in (("fails", "exit 1"), ("idles", "echo fine")):
        (tmp_path / name).write_text(f'#!/bin/sh\n[ "$1" != --version ] || exec echo {name} 1.0\n{script}\n')
        (tmp_path / name).chmod(0o755)
    modes = [{"name": "bare"}, *({"name": f"{each}-mode", "tools": [f"./{each}"]} for each in ("fails", "idles"))]
    modes.append({"name": "unknown", "tools": ["mine=./idles"]})
    (tmp_path / "eval.config.yaml").write_text(json.dumps({"modes": modes}))
    (tmp_path / "reads.yaml").write_text('{version: 1, programs: {fails: {look: "fails"}, idles: {look: "idles"}}}')
    monkeypatch.chdir(tmp_path)

    names = [each["name"] for each in modes]
    assert run(["expose", *names, "--commands", "reads.yaml", "--fail-on", gate]) == 3
    told, complaints = capsys.readouterr()
    assert "0 changing requests" not in told
    for name, reason in zip(
        names,
        ("it has no tools", "no call of its tools got an answer", "no call of its tools reached GitHub", "none of its"),
        strict=True,
    ):
        assert f"no gate can be held against {name}, since {reason}" in complaints
    assert "passed" not in complaints


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name modes to try"),
        (["nothing"], "nothing"),
        (["baseline", "--fail-on", "everything"], "is no gate of this command"),
        (["baseline", "--markdown", "/dev/null/tables.md"], "--markdown: /dev/null/tables.md cannot be written"),
        (["baseline", "--commands", "commands.yaml"], "names {{planet}}, which the world does not have"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("commands.yaml").write_text('{version: 1, programs: {gh: {look: "gh look {{planet}}"}}}')
    assert run(["expose", *words]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.process
def test_our_own_tools_show_what_others_wrote_and_only_read(capsys: pytest.CaptureFixture[str]) -> None:
    modes = {each["name"]: each for each in exposed(capsys, "baseline", "ghx-mcp")["modes"]}
    for each in modes.values():
        assert shown_by_outsiders(each) >= CARRIERS_OF_ALL
        assert not any(tool["changingRequests"] for tool in each["tools"] if tool["says"] == "reads")


GISTS = """
import json, os, sys, urllib.error, urllib.request

SCHEMA = {"type": "object", "properties": {"owner": {"type": "string"}}, "required": ["owner"]}
LOOK = {"name": "list_gists", "description": "x", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    who = {"name": "toy", "version": "1"}
    told = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": who}
    if asked["method"] == "tools/list":
        told = {"tools": [LOOK]}
    elif asked["method"] == "tools/call":
        token = {"Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}"}
        try:
            request = urllib.request.Request(f"{os.environ['GITHUB_API_URL']}/gists", headers=token)
            text = urllib.request.urlopen(request).read().decode()
        except urllib.error.HTTPError as error:
            text = error.read().decode()
        told = {"content": [{"type": "text", "text": text}]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": told}), flush=True)
"""


@pytest.mark.process
def test_what_the_embedded_github_lacks_is_named_and_a_gate_passes_with_a_note_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gists.py").write_text(GISTS)
    server = {"command": sys.executable, "args": ["./gists.py"]}
    config = {"modes": [{"name": "gists", "mcp_servers": {"gists": server}}]}
    (tmp_path / "eval.config.yaml").write_text(json.dumps(config))
    call = {"gists": {"tool": "list_gists", "arguments": {"owner": "{{owner}}"}}}
    questions = [{"id": "gists", "asks": "List gists.", "calls": call}]
    (tmp_path / "own.yaml").write_text(json.dumps({"version": 1, "questions": questions}))
    monkeypatch.chdir(tmp_path)

    assert run(["expose", "gists", "--fail-on", "shown-by-outsider", "--json"]) == 0
    captured = capsys.readouterr()
    (tool,) = json.loads(captured.out)["modes"][0]["tools"]
    assert tool["gaps"]
    assert "passed, but" in captured.err
    assert "what the embedded GitHub lacks with list_gists" in captured.err
    assert run(["expose", "gists"]) == 0
    assert "list_gists is not measurable here in full" in capsys.readouterr().out

    assert run(["surface", "gists", "--questions", "own.yaml"]) == 0
    out = capsys.readouterr().out
    assert "gists is not measurable here: the embedded GitHub has no " in out
    assert "failed:" not in out
