"""Before the first cell, every tool of a mode reports its version and answers a question, or the run does not start."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from bench_command import rows_of, run_in, run_in_process, write_files

from ghx_bench.modes.program_path import find_tool

pytestmark = pytest.mark.process

SERVER = """
import json, sys, urllib.request

ABOUT, TOOLS, ANSWER = json.loads(sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if asked["method"] == "initialize":
        version = asked["params"]["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": ABOUT}
    elif asked["method"] == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    else:
        result = {"content": [{"type": "text", "text": ANSWER or ""}], "isError": ANSWER is not None}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


def run_mode(folder: Path, capsys: pytest.CaptureFixture[str], mode: dict[str, Any]) -> tuple[int, str]:
    """Return the exit code and the output of a run in one mode."""
    config = {
        "modes": [{"name": "mine", **mode}],
        "agents": ["nop"],
        "scenarios": {"ids": ["issue-triage-001"]},
        "execution": {"repetitions": 1, "warmup": False},
    }
    (folder / "eval.config.yaml").write_text(json.dumps(config))
    return run_in_process(capsys, "run", "--no-report")


def run_program(folder: Path, capsys: pytest.CaptureFixture[str], text: str, name: str = "gh") -> tuple[int, str]:
    write_files(folder, {name: text})
    (folder / name).chmod(0o755)
    return run_mode(folder, capsys, {"tools": [f"./{name}"]})


def run_server(
    folder: Path, capsys: pytest.CaptureFixture[str], *, version: str | None = "1.0", **answers: Any
) -> tuple[int, str]:
    about = {"name": "hub"} if version is None else {"name": "hub", "version": version}
    words = json.dumps([about, answers.get("tools", ["list_issues"]), answers.get("error")])
    write_files(folder, {"hub.py": SERVER})
    server = {"command": sys.executable, "args": ["./hub.py", words]}
    return run_mode(folder, capsys, {"mcp_servers": {"hub": server}})


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("#!/bin/sh\n", "gh reports no version: `gh --version` printed nothing and ended with exit code 0"),
        ("#!/bin/sh\necho broken >&2; exit 7\n", "`gh --version` printed 'broken' and ended with exit code 7"),
        ("#!/bin/sh\necho gh version 2.0\n", "asked GitHub for nothing and printed 'gh version 2.0'"),
        ("#!/bin/sh\n[ $1 = --version ] && exec echo gh 2.0\necho no >&2; exit 3\n", "exit code 3 and printed 'no'"),
        ("\x7fELF, cut off", "gh cannot be started: Exec format error"),
    ],
    ids=["empty", "fails", "asks nothing", "fails later", "truncated"],
)
def test_a_program_that_does_not_work_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, reason: str
) -> None:
    code, printed = run_program(tmp_path, capsys, text)

    assert code == 2
    [line] = [line for line in printed.splitlines() if line.startswith("error: ")]
    assert line.startswith("error: mode 'mine': ")
    assert reason in line
    assert [*tmp_path.glob("results/*/rows.jsonl")] == []


@pytest.mark.parametrize("word", ["--version", "version"])
def test_a_program_that_only_reports_its_version_is_a_tool_like_any_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    code, printed = run_program(tmp_path, capsys, f"#!/bin/sh\n[ $1 = {word} ] && echo mine 1.0\n", name="own")

    assert code == 0, printed
    [row] = rows_of(run_in(tmp_path))
    versions = {each["name"]: each["version"] for each in row.extensions["mode"]["tools"]}
    assert versions["own"] == "1.0"


def test_a_program_that_starts_the_real_gh_is_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, printed = run_program(tmp_path, capsys, f'#!/bin/sh\nexec {find_tool("gh", os.environ)} "$@"\n')

    assert code == 0, printed


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ({"version": None}, "'hub' reports no version"),
        ({"tools": []}, "'hub' does not work: it offers no tools"),
        ({"error": "no token"}, "'hub' does not work: list_issues answered 'no token' and asked GitHub for nothing"),
    ],
    ids=["no version", "no tools", "fails"],
)
def test_a_server_that_does_not_work_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], answers: dict[str, Any], reason: str
) -> None:
    code, printed = run_server(tmp_path, capsys, **answers)

    assert code == 2
    [line] = [line for line in printed.splitlines() if line.startswith("error: ")]
    assert line.startswith("error: mode 'mine': ")
    assert reason in line
    assert [*tmp_path.glob("results/*/rows.jsonl")] == []


def test_a_server_that_answers_is_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, printed = run_server(tmp_path, capsys)

    assert code == 0, printed
