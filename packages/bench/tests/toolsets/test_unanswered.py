"""Servers that hang, talk without end or never start: told soon, once, and without a defect."""

import io
import json
import sys
from pathlib import Path

import anyio
import pytest
import yaml
from nightly import mostly_nightly

from ghx_bench.cli import measured_modes, own_server
from ghx_bench.cli.main import run
from ghx_bench.modes import resolver
from ghx_bench.modes.waiting import Waiting
from ghx_bench.toolsets import calls

pytestmark = pytest.mark.process

SERVER = """
import json, sys, time

LOG = open("{log}", "a")
SCHEMA = {{"type": "object", "properties": {{"state": {{"enum": ["a", "b", "c"]}}}}, "required": ["state"]}}
TOOLS = [{{"name": name, "description": name, "inputSchema": SCHEMA, "annotations": {{"readOnlyHint": True}}}}
         for name in ("hang", "look")]
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    who = {{"name": "toy", "version": "1"}}
    told = {{"protocolVersion": "2025-06-18", "capabilities": {{"tools": {{}}}}, "serverInfo": who}}
    if asked["method"] == "tools/list":
        told = {{"tools": TOOLS, **{page}}}
    elif asked["method"] == "tools/call":
        print(asked["params"]["name"], file=LOG, flush=True)
        if asked["params"]["name"] == "hang":
            time.sleep(3600)  # and answers nothing else meanwhile
        told = {{"content": [{{"type": "text", "text": "seen"}}]}}
    print(json.dumps({{"jsonrpc": "2.0", "id": asked["id"], "result": told}}), flush=True)
"""


def write_project(folder: Path, script: str) -> Path:
    """Write a project with one mode, whose server is this script."""
    log = folder / "calls.log"
    (folder / "server.py").write_text(script)
    server = {"command": sys.executable, "args": ["./server.py"]}
    (folder / "eval.config.yaml").write_text(yaml.safe_dump({"modes": [{"name": "toy", "mcp_servers": {"t": server}}]}))
    return log


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(calls, "CALL_LIMIT_S", 1.0)
    return tmp_path


def test_a_tool_that_hangs_is_called_once_and_the_others_are_tried_on_a_server_of_their_own(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write_project(project, SERVER.format(log=project / "calls.log", page={}))

    assert run(["expose", "toy", "--json"]) == 0
    hang, look = json.loads(capsys.readouterr().out)["modes"][0]["tools"]
    assert (hang["calls"], hang["failed"], hang["error"]) == (1, 1, "(no answer within 1 s)")
    assert hang["leftOut"] > 0
    assert (look["failed"], look["error"]) == (0, None)
    assert log.read_text().split().count("hang") == 1
    log.unlink()

    questions = [{"id": f"q{at}", "asks": "Look.", "calls": {"toy": {"tool": tool, "arguments": {"state": "a"}}}}
                 for at, tool in enumerate(("hang", "look", "hang", "look"))]  # fmt: skip
    (project / "own.yaml").write_text(json.dumps({"version": 1, "questions": questions}))
    assert run(["surface", "toy", "--questions", "own.yaml", "--json"]) == 0
    rows = {row["id"]: row for row in json.loads(capsys.readouterr().out)["modes"][0]["rows"]}
    assert [rows[f"q{at}"]["outcome"] for at in range(4)] == ["failed", "answered", "failed", "answered"]
    assert log.read_text().split().count("hang") == 1, "also where it is looked at whether it only reads"


def test_a_tool_that_ends_its_server_has_failed_and_the_other_questions_are_asked(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sound = SERVER.format(log=project / "calls.log", page={}).replace("time.sleep(3600)", "pass")
    end = 'print("Oh!", file=sys.stderr, flush=True), __import__("os")._exit(1)'
    log = write_project(project, sound)
    (project / "dying.py").write_text(sound.replace("            pass", f"            {end}"))
    kinds = (("hang", "read"), ("look", "read"), ("hang", "change"), ("hang", "error"), ("look", "read"))
    questions = [
        {"id": f"q{at}", "asks": "Look.", "kind": kind, "calls": {"toy": {"tool": tool, "arguments": {"state": "a"}}}}
        for at, (tool, kind) in enumerate(kinds)
    ]
    (project / "own.yaml").write_text(json.dumps({"version": 1, "questions": questions}))

    assert run(["surface", "toy@./dying.py", "--questions", "own.yaml", "--json"]) == 0
    mode = json.loads(capsys.readouterr().out)["modes"][0]
    rows = {row["id"]: row for row in mode["rows"]}
    assert [rows[f"q{at}"]["outcome"] for at in range(5)] == ["failed", "answered", "failed", "failed", "answered"]
    assert rows["q0"]["reason"] == "the MCP server 't' ended during a call of 'hang': Oh!"
    assert [each["tool"] for each in mode["notCalled"]] == ["hang", "look"]
    assert mode["readOnlyCalled"] == 0, "neither asked GitHub for anything"
    assert log.read_text().split().count("hang") == 4, "once for each question, and to see whether it only reads"

    modes = ["--mode", "toy", "--mode", "toy@./dying.py"]
    assert run(["compare", *modes, "--questions", "own.yaml", "--fail-on", "failing", "--json"]) == 1
    (gate,) = json.loads(capsys.readouterr().out)["gates"]
    assert "question q0 (fails); question q2 (fails); tool hang (fails)" in gate["reason"]


def test_a_list_of_tools_that_begins_again_is_one_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_project(project, SERVER.format(log=project / "calls.log", page={"nextCursor": "again"}))

    assert run(["surface", "toy", "--lint"]) == 3

    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "'again' comes twice" in line


@pytest.mark.parametrize(
    "command", mostly_nightly([["surface", "toy"], ["expose", "toy"], ["init", "new", "--mcp"]], keep=1)
)
def test_a_server_that_never_answers_is_told_within_the_patience_of_somebody_who_waits(
    command: list[str], project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:

    for module in (resolver, calls, measured_modes, own_server):
        monkeypatch.setattr(module, "PATIENCE_S", 1.0)
    write_project(project, "import time\ntime.sleep(3600)\n")

    assert run(command if command[0] != "init" else [*command, f"{sys.executable} server.py"]) == 3

    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "did not answer within 1 s" in line
    assert not (project / "new").exists()


@pytest.mark.parametrize(
    "command", mostly_nightly([["surface", "toy"], ["expose", "toy"], ["init", "new", "--mcp", "./uvx"]], keep=1)
)
def test_a_server_that_may_have_to_be_fetched_has_more_time_wherever_it_is_started(
    command: list[str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (resolver, calls, measured_modes, own_server):
        monkeypatch.setattr(module, "PATIENCE_S", 0.0)
    script = SERVER.format(log=project / "calls.log", page={}).replace('"hang", "look"', '"look",')
    (project / "uvx").write_text(f"#!{sys.executable}\n{script}")
    (project / "uvx").chmod(0o755)
    modes = [{"name": "toy", "mcp_servers": {"t": {"command": "./uvx"}}}]
    (project / "eval.config.yaml").write_text(yaml.safe_dump({"modes": modes}))

    assert run(command) == 0


def test_a_server_that_starts_once_and_then_no_more_is_told_as_well(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(calls, "PATIENCE_S", 2.0)
    once = 'import os, sys, time\nif os.path.exists("{0}"): time.sleep(3600)\nopen("{0}", "w").close()\n'
    script = once.format(project / "was-here") + SERVER.format(log=project / "calls.log", page={})
    write_project(project, script)

    assert run(["surface", "toy", "--lint"]) == 3

    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "no answer to `initialize` within 2 s" in line


def test_a_server_that_writes_garbage_without_end_is_told_at_once(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_project(project, "while True: print('nonsense')\n")

    assert run(["surface", "toy", "--lint"]) == 3

    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "no message of the protocol" in line
    assert "nonsense" in line


class Terminal(io.StringIO):
    """A terminal that tells when something was written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = anyio.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.written.set()
        return super().write(text)


@pytest.mark.anyio
async def test_who_waits_at_a_terminal_is_told_for_what(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, waiting = Terminal(), Waiting()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(measured_modes, "_TOLD_AGAIN_S", 0.0)

    async with measured_modes.tell_waiting(waiting):
        with waiting.wait_for("the MCP server t to answer `initialize`"), waiting.wait_for("another"):
            await terminal.written.wait()

    assert "waiting for the MCP server t to answer" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K"), "nothing of it is left"
