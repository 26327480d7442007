"""`ghx-bench surface` with real tools on the emulator: programs, MCP servers, and a toy server with planted faults."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import toy_mcp_server
import yaml
from nightly import mostly_nightly

from ghx_bench.cli.main import run
from ghx_bench.modes.definitions import BUILT_IN

TOY = Path(toy_mcp_server.__file__)
OURS = ("baseline", "ghx", "ghx-mcp")


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two modes: a clean toy server, and one with faults."""

    def server(*flags: str) -> dict[str, Any]:
        return {"toy": {"command": sys.executable, "args": [str(TOY), *flags]}}

    modes = [
        {"name": "clean", "mcp_servers": server(), "instructions": "Use the toy."},
        {"name": "faulty", "mcp_servers": server("--faults")},
    ]
    (tmp_path / "eval.config.yaml").write_text(yaml.safe_dump({"modes": modes}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def measure(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    assert run(["surface", *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def mode_of(surface: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in surface["modes"] if each["name"] == name)


@pytest.mark.process
def test_a_read_only_tool_that_writes_is_caught_and_a_clean_server_is_not_blamed(
    toys: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["surface", "faulty", "--lint", "--fail-on", "lint"]) == 1
    assert "gate failed: lint: faulty has 5 findings\n" in capsys.readouterr().err
    surface = measure(capsys, "clean", "faulty", "--lint", "--fail-on", "lint", code=1)

    clean, faulty = mode_of(surface, "clean"), mode_of(surface, "faulty")
    assert clean["lint"] == []
    assert clean["readOnlyCalled"] == 1
    assert clean["notCalled"] == []
    assert {(each["kind"], each["tool"]) for each in faulty["lint"]} == {
        ("missing-description", "view_issues"),
        ("ambiguous-names", "get_issue"),
        ("untyped-argument", "close_issue"),
        ("missing-annotations", "lock_issue"),
        ("read-only-writes", "peek"),
    }
    writes = next(each for each in faulty["lint"] if each["kind"] == "read-only-writes")
    assert writes["message"].count("POST") == 1


@pytest.mark.process
@pytest.mark.usefixtures("toys")
def test_the_gate_says_where_there_was_nothing_to_look_at(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["surface", "baseline", "clean", "--lint", "--fail-on", "lint"]) == 0
    assert "gate 'lint' passed, but: no MCP server of baseline lists a tool" in capsys.readouterr().err


@pytest.mark.process
def test_the_gate_holds_where_nothing_is_wrong(toys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clean = mode_of(measure(capsys, "clean", "--lint", "--fail-on", "lint"), "clean")

    server = clean["servers"][0]
    assert (server["version"], len(server["tools"])) == ("1", 2)
    assert server["instructions"]["characters"] == len("Read before you write.")
    told = (
        len("Use the toy.")
        + len("Read before you write.")
        + sum(each["size"]["characters"] for each in server["tools"])
    )
    assert clean["told"]["characters"] == told


@pytest.mark.process
def test_calls_of_ones_own_mode_are_measured_on_the_fixed_world(toys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = {"owner": "{{owner}}", "repo": "{{name}}"}
    calls = [
        {"id": "issue-view", "calls": {"clean": {"tool": "get_issue", "arguments": {**where, "issue_number": 1}}}},
        {"id": "issue-missing", "calls": {"clean": {
            "tool": "get_issue", "arguments": {**where, "issue_number": 99999}}}},
        {"id": "issue-comment", "calls": {"clean": {
            "tool": "add_comment", "arguments": {**where, "issue_number": 1, "body": "Yes."}}}},
        {"id": "twice", "asks": "Look twice.", "calls": {"clean": [
            {"tool": "get_issue", "arguments": {**where, "issue_number": 1}}] * 2}},
    ]  # fmt: skip
    (toys / "calls.yaml").write_text(yaml.safe_dump({"version": 1, "questions": calls}))

    clean = mode_of(measure(capsys, "clean", "--questions", "calls.yaml", "--limit-tokens", "100"), "clean")

    rows = {each["id"]: each for each in clean["rows"]}
    assert rows["issue-view"]["outcome"] == "answered"
    assert (rows["issue-view"]["calls"], rows["issue-view"]["requests"]) == (1, 1)
    assert rows["issue-view"]["overLimit"]
    assert rows["issue-missing"]["outcome"] == "refused"
    assert rows["issue-missing"]["noHint"]
    assert rows["issue-comment"]["requests"] == 2
    assert rows["twice"]["size"]["tokens"] == 2 * rows["issue-view"]["size"]["tokens"]
    assert rows["labels-list"] == {
        "id": "labels-list", "kind": "read", "outcome": "none", "reason": "the table has no call of this mode",
    }  # fmt: skip
    assert clean["answers"]["questions"] == 3


@pytest.mark.process
def test_a_call_of_a_server_that_the_mode_lacks_is_one_line(toys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = {"tool": "get_issue", "arguments": {}, "server": "elsewhere"}
    questions = {"version": 1, "questions": [{"id": "issue-view", "calls": {"clean": call}}]}
    (toys / "calls.yaml").write_text(yaml.safe_dump(questions))

    assert run(["surface", "clean", "--questions", "calls.yaml"]) == 2

    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "elsewhere" in line


LISTS_NOTHING = """
import json, sys

for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        who = {{"name": "bad", "version": "1"}}
        told = {{"result": {{"protocolVersion": "2025-06-18", "capabilities": {{}}, "serverInfo": who}}}}
        reply = told if asked["method"] == "initialize" else {reply}
        print(json.dumps({{"jsonrpc": "2.0", "id": asked["id"], **reply}}), flush=True)
"""


@pytest.mark.process
@pytest.mark.parametrize(
    "command",
    mostly_nightly([["surface"], ["surface", "--lint"], ["expose"], ["init", "new", "--mcp"]], keep=[["surface"]]),
)
@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ('{"error": {"code": -32603, "message": "out of order"}}', "does not list its tools: out of order"),
        ('sys.exit("no licence")', "does not list its tools: no licence"),
        (
            '{"result": {"tools": [{"name": 7, "inputSchema": {"type": "object"}}]}}',
            "tools.0.name: Input should be a valid string",
        ),
    ],
)
def test_a_server_that_does_not_list_its_tools_is_one_line(
    command: list[str], reply: str, says: str, toys: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (toys / "bad.py").write_text(LISTS_NOTHING.format(reply=reply))
    server = {"command": sys.executable, "args": ["./bad.py"]}
    (toys / "eval.config.yaml").write_text(yaml.safe_dump({"modes": [{"name": "bad", "mcp_servers": {"bad": server}}]}))

    assert run([*command, "bad"] if command[0] != "init" else [*command, f"{sys.executable} bad.py"]) in {2, 3}

    (line,) = capsys.readouterr().err.strip().splitlines()
    assert says in line
    assert "defect" not in line
    assert not (toys / "new").exists()


@pytest.mark.process
def test_a_mode_without_a_shell_is_not_measured_by_commands(toys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    modes = [{"name": "mute", "extends": "baseline", "shell": False}]
    (toys / "eval.config.yaml").write_text(yaml.safe_dump({"modes": modes}))

    mute = mode_of(measure(capsys, "mute"), "mute")
    assert mute["programs"] == []
    assert {(row["outcome"], row["reason"]) for row in mute["rows"]} == {("none", "the mode has no shell")}
    assert run(["expose", "mute", "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)["modes"]
    assert (shown["tools"], [each["reason"] for each in shown["notCalled"]]) == ([], ["the mode has no shell"])


@pytest.mark.nightly
@pytest.mark.process
def test_surface_of_our_modes(capsys: pytest.CaptureFixture[str]) -> None:
    surface = measure(capsys, *OURS)

    for each in surface["modes"]:
        assert not [row for row in each["rows"] if row["outcome"] in {"failed", "no-error"}], each["name"]
        assert all(row["requests"] != 0 for row in each["rows"] if row["outcome"] == "answered"), each["name"]
    gh, ghx_mcp = mode_of(surface, "baseline"), mode_of(surface, "ghx-mcp")
    # `gh` shows 30 of a list and says nothing; pages of ours say that there is another.
    assert "issues-list" in {row["id"] for row in gh["rows"] if row["cutOff"]}
    assert not [row["id"] for row in ghx_mcp["rows"] if row.get("cutOff")]
    assert [each["command"] for each in gh["programs"][0]["help"]][:2] == ["gh", "gh api"]
    assert not [each for each in ghx_mcp["lint"] if each["kind"] == "read-only-writes"]
    assert ghx_mcp["notCalled"] == []


def test_a_server_that_is_not_here_is_measured_by_its_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("hub.json").write_text(json.dumps({"tools": toy_mcp_server.CLEAN + toy_mcp_server.FAULTY}))

    (hub,) = measure(capsys, "--tools", "hub.json")["modes"]

    assert (hub["name"], hub["bySchemaOnly"], len(hub["servers"][0]["tools"])) == ("hub.json", True, 6)
    assert len(hub["lint"]) == 4
    assert run(["surface", "--tools", "hub.json"]) == 0
    assert "measured by its schema only" in capsys.readouterr().out
    assert run(["surface", "--tools", "hub.json", "--brief"]) == 0
    title, header, row = capsys.readouterr().out.splitlines()
    assert title.startswith("Without a model, in tokens")
    assert (header.split()[0], row.split()[0]) == ("mode", "hub.json")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["no-such-mode"],
        ["--tools", "no-such-file.json"],
        ["baseline", "--fail-on", "taste"],
        ["baseline", "--limit-tokens", "0"],
        ["baseline", "--limit-tokens", "-5"],
        ["baseline", "--brief", "--lint"],
        ["baseline", "--questions", "no-such-file.yaml"],
        ["baseline", "--questions", "misspelt.yaml"],
        ["baseline", "--markdown", "."],
        ["baseline", "--markdown", "/dev/null/tables.md"],
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    calls = {"baseline": "gh issue list -R {{repro}}"}
    Path("misspelt.yaml").write_text(json.dumps({"version": 1, "questions": [{"id": "issues-list", "calls": calls}]}))
    assert run(["surface", *arguments]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


@pytest.mark.parametrize("limit", ["0", "-5", "many"])
def test_compare_refuses_a_limit_that_is_none_as_well(limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", "--mode", "baseline", "--mode", "ghx", "--limit-tokens", limit]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_the_page_of_tool_sets_names_every_built_in_mode_as_measured_or_not() -> None:
    page = Path(__file__).parents[4].joinpath("docs", "toolsets.md").read_text(encoding="utf-8")
    table = page.partition("<!-- generated: surface -->")[2].partition("<!-- end -->")[0]
    measured = {line.split(" | ")[0].removeprefix("| ") for line in table.splitlines() if line.startswith("| ")}
    gaps = "".join(line for line in table.splitlines() if line.startswith("- not measured:"))

    for name in BUILT_IN.keys() - {"mcp"}:
        assert (name in measured) != (f"`{name}`" in gaps), name


def generated(page: str, name: str) -> str:
    text = Path(__file__).parents[4].joinpath(page).read_text(encoding="utf-8")
    assert text.count(f"<!-- generated: {name} -->") == 1, f"{page} has one place for {name}"
    return text.partition(f"<!-- generated: {name} -->\n")[2].partition("<!-- end -->")[0]


def test_samples_on_other_pages_are_of_the_run_that_wrote_the_table() -> None:
    page = generated("docs/toolsets.md", "surface")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    told = {row[0]: row[3] for row in rows if row[0] in OURS and len(row) == 8}
    ratios = {row[0]: row[4] for row in rows if row[0] in OURS and len(row) == 10}

    _, title, header, *lines, _ = generated("README.md", "demo").splitlines()
    tokenizer = title.partition("(")[2].partition(":")[0].removesuffix(")")
    assert f"- tokens: {tokenizer}\n" in page
    columns = ["mode", "told", "help", "answer p50", "smaller / larger than baseline", "ratio", "whole lists",
               "cut off silently", "API requests"]  # fmt: skip
    assert re.split(r"  +", header) == columns, "as `surface --brief` prints it"
    for name, line in zip(OURS, lines, strict=True):
        cells = re.split(r"  +", line)
        assert (cells[0], cells[1], cells[5]) == (name, told[name], ratios.get(name, "-"))

    sample = generated("docs/quickstart.md", "own-server")
    (npm,) = (row for row in rows if row[0] == "npm-mcp" and len(row) == 8)
    assert f"It shows {npm[2]} tools, " in sample
    assert "Answers: 2 of 4 differ" in generated("docs/toolsets.md", "compare")


def test_what_a_published_list_leaves_out_is_not_said_to_be_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    abridged = {"name": "look", "description": "Look.", "properties": {"owner": "string"}, "readOnly": True}
    Path("hub.json").write_text(json.dumps({"tools": [abridged]}))

    assert run(["surface", "--tools", "hub.json", "--lint"]) == 0

    out = capsys.readouterr().out
    (row,) = (line.split() for line in out.partition("Lint of MCP servers")[2].splitlines() if "hub.json  " in line)
    assert row == ["hub.json", "-", "-"]
    assert "were checked" in out
