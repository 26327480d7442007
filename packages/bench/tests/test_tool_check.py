"""Before the first cell, every tool of a mode reports its version and answers a question, or the run does not start."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from bench_command import rows_of, run_in, run_in_process, write_files
from nightly import mostly_nightly

from ghx_bench.fixtures.embedded import DEFAULT_REPO, embedded_world
from ghx_bench.modes.definitions import ModeDefinition
from ghx_bench.modes.program_path import BrokenToolError, find_tool, version_of
from ghx_bench.modes.resolver import open_modes
from ghx_bench.stages import tool_check
from ghx_bench.stages.tool_check import check_tools
from ghx_twin.server.loopback import served

pytestmark = pytest.mark.process

SERVER = """
import json, os, sys, urllib.request

ABOUT, TOOLS, BEHAVIOUR, LOG = json.loads(sys.argv[1])

def ask(address):
    headers = {"Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}"}
    return urllib.request.urlopen(urllib.request.Request(address, headers=headers)).read().decode()

def answer():
    if BEHAVIOUR.get("ask"):
        try:
            ask(BEHAVIOUR["ask"].replace("API", os.environ["GITHUB_API_URL"]))
        except OSError:
            pass
    return {"content": [{"type": "text", "text": BEHAVIOUR.get("text", "")}], "isError": "failed" in BEHAVIOUR}

for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if asked["method"] == "initialize":
        version = asked["params"]["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": ABOUT}
    elif asked["method"] == "tools/list":
        result = {"tools": [{"inputSchema": {"type": "object"}, **each} for each in TOOLS]}
    else:
        with open(LOG, "a") as log:
            print(json.dumps([asked["params"]["name"], os.environ["NO_PROXY"]]), file=log)
        if "hangs" in BEHAVIOUR:
            continue
        result = answer()
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
ASKS = {"ask": "API/user"}


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


def describe_server(
    folder: Path,
    *,
    version: str | None = "1.0",
    tools: Sequence[str | dict[str, Any]] = ("list_issues",),
    behaviour: dict[str, Any] | None = None,
) -> dict[str, Any]:
    about = {"name": "hub"} if version is None else {"name": "hub", "version": version}
    described = [{"name": each} if isinstance(each, str) else each for each in tools]
    words = json.dumps([about, described, ASKS if behaviour is None else behaviour, str(folder / "calls.log")])
    write_files(folder, {"hub.py": SERVER})
    return {"mcp_servers": {"hub": {"command": sys.executable, "args": [str(folder / "hub.py"), words]}}}


def calls_in(folder: Path) -> list[list[str]]:
    """Return the tools that the check called, each with the hosts that the server reached without the proxy."""
    log = folder / "calls.log"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


async def check(mode: dict[str, Any], **options: Any) -> None:
    definition = ModeDefinition.model_validate({"name": "mine", **mode})
    async with open_modes([definition], environ=os.environ) as modes:
        resolved = await modes.resolve("mine")
        with embedded_world() as world:
            async with served() as server:
                server.add(world)
                await check_tools(resolved, server, world, DEFAULT_REPO, **options)


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "reason"),
    mostly_nightly(
        [
            ("#!/bin/sh\n", "gh reports no version: `gh --version` printed nothing and ended with exit code 0"),
            ("#!/bin/sh\necho broken >&2; exit 7\n", "`gh --version` printed 'broken' and ended with exit code 7"),
            ("#!/bin/sh\necho gh version 2.0\n", "printed 'gh version 2.0' and asked GitHub for nothing"),
            (
                "#!/bin/sh\n[ $1 = --version ] && exec echo gh 2.0\necho no >&2; exit 3\n",
                "exit code 3 and printed 'no'",
            ),
            ("\x7fELF, cut off", "gh cannot be started: Exec format error"),
        ],
        keep=2,
    ),
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
    ("server", "reason"),
    mostly_nightly(
        [
            ({"version": None}, "'hub' reports no version"),
            ({"tools": []}, "'hub' does not work: it offers no tools"),
            (
                {"behaviour": {"failed": True, "text": "no token"}},
                "'hub' does not work: list_issues failed with 'no token' and asked GitHub for nothing",
            ),
        ],
        keep=1,
    ),
    ids=["no version", "no tools", "fails"],
)
def test_a_server_that_does_not_work_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], server: dict[str, Any], reason: str
) -> None:
    code, printed = run_mode(tmp_path, capsys, describe_server(tmp_path, **server))

    assert code == 2
    [line] = [line for line in printed.splitlines() if line.startswith("error: ")]
    assert line.startswith("error: mode 'mine': ")
    assert reason in line
    assert [*tmp_path.glob("results/*/rows.jsonl")] == []


def test_a_server_that_answers_is_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, printed = run_mode(tmp_path, capsys, describe_server(tmp_path))

    assert code == 0, printed


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    mostly_nightly(
        [
            ({"text": "all is well"}, "list_issues answered 'all is well' and asked GitHub for nothing"),
            ({"ask": "https://example.com/"}, "last request: CONNECT example.com:443, status 403"),
            ({"ask": "API/repos/no/where"}, "got no answer from GitHub (last request: "),
            ({**ASKS, "failed": True, "text": "out of order"}, "list_issues failed with 'out of order'."),
        ],
        keep=1,
    ),
    ids=["asks nothing", "asks another host", "asks for what is not there", "fails"],
)
@pytest.mark.anyio
async def test_a_server_must_answer_with_the_help_of_github(
    tmp_path: Path, behaviour: dict[str, Any], reason: str
) -> None:
    with pytest.raises(BrokenToolError) as caught:
        await check(describe_server(tmp_path, behaviour=behaviour))

    assert reason in str(caught.value)


@pytest.mark.anyio
async def test_a_server_of_which_one_tool_of_several_works_is_accepted(tmp_path: Path) -> None:
    other = {"name": "get_user", "annotations": {"readOnlyHint": True}}
    await check(describe_server(tmp_path, tools=["list_issues", other]))

    assert [name for name, _ in calls_in(tmp_path)] == ["get_user"]


@pytest.mark.anyio
async def test_a_call_has_a_limit_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_check, "_CALL_LIMIT_S", 0.2)

    with pytest.raises(BrokenToolError, match=r"list_issues did not answer within 0\.2 s"):
        await check(describe_server(tmp_path, behaviour={"hangs": True}))


@pytest.mark.anyio
async def test_the_check_reaches_the_hosts_that_sessions_reach(tmp_path: Path) -> None:
    await check(describe_server(tmp_path), reachable_hosts=["hub.example.com"])

    [(_, without_proxy)] = calls_in(tmp_path)
    assert "hub.example.com" in without_proxy.split(",")


DESTROYING: tuple[dict[str, Any] | str, ...] = (
    {"name": "delete_view", "annotations": {"destructiveHint": True}},
    {"name": "view_or_so", "annotations": {"destructiveHint": True}},
    {"name": "list_and_log", "annotations": {"readOnlyHint": False}},
    {"name": "get_it", "annotations": {"readOnlyHint": True, "destructiveHint": True}},
    "mark_all_notifications_read",
    "delete_list",
    "clear_search_history",
    "create_view",
    "get_or_create_label",
    "hub_delete_view",
    "issues.list.delete",
    "createView",
    "viewsDelete",
)
READING = (
    "list_issues",
    "hub_list_issues",
    "github.get_me",
    "gh-search",
    "mcp__hub__show_repo",
    "getIssue",
    "read_file",
)


@pytest.mark.anyio
async def test_no_tool_is_called_that_may_change_anything(tmp_path: Path) -> None:
    await check(describe_server(tmp_path, tools=DESTROYING, behaviour={}))  # of which none can be asked

    assert calls_in(tmp_path) == []


@pytest.mark.parametrize("name", mostly_nightly(READING, keep=2))
@pytest.mark.anyio
async def test_a_tool_without_annotations_is_called_if_its_name_begins_with_a_verb_of_reading(
    tmp_path: Path, name: str
) -> None:
    await check(describe_server(tmp_path, tools=[*DESTROYING, name]))

    assert [called for called, _ in calls_in(tmp_path)] == [name]


# -- programs that work


@pytest.mark.parametrize(
    ("script", "version"),
    [
        ("[ $1 = -V ] && echo own 3.3a && exit; echo unknown option $1 >&2; exit 1", "3.3a"),
        ("[ $1 = -v ] && echo OWN 6.00 of 20 April 2009 && exit; echo usage: own [-4] >&2; exit 1", "6.00"),
        ("echo own_9.2p1, lib 3.0 >&2; exit 255", "9.2p1"),
        ("echo noisy build 20240101", "20240101"),
        ("echo own 1.4; echo 'usage: own [-4]'; exit 2", "1.4"),
        ("echo 'WARNING: Python 3.8 is old' >&2; echo own 7", "7"),
    ],
    ids=["-V", "-v", "standard error", "no dot", "another exit code", "warning"],
)
@pytest.mark.anyio
async def test_a_program_may_report_its_version_in_its_own_way(tmp_path: Path, script: str, version: str) -> None:
    (program := tmp_path / "own").write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)

    assert await version_of(program, {"PATH": "/usr/bin:/bin"}) == version


@pytest.mark.parametrize(
    "script",
    [
        "echo unknown flag: $1, see line 2.1 >&2; exit 1",
        "echo 'usage: own [-4] [-6] FILE 1' >&2; exit 64",
        "echo connection to 127.0.0.1 refused; exit 1",
        "echo Traceback: line 3 >&2; exit 1",
        "echo no number",
    ],
)
@pytest.mark.anyio
async def test_a_complaint_is_no_version(tmp_path: Path, script: str) -> None:
    (program := tmp_path / "own").write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)

    with pytest.raises(BrokenToolError, match="own reports no version"):
        await version_of(program, {"PATH": "/usr/bin:/bin"})


@pytest.mark.anyio
async def test_a_program_gets_the_variables_of_its_mode_when_it_is_asked_for_its_version(tmp_path: Path) -> None:
    write_files(tmp_path, {"own": '#!/bin/sh\n[ "$OWN_KEY" ] || { echo no OWN_KEY >&2; exit 1; }\necho own $OWN_KEY\n'})
    (tmp_path / "own").chmod(0o755)
    definitions = [
        ModeDefinition(name=name, tools=(str(tmp_path / "own"),), environment={"OWN_KEY": version})
        for name, version in (("a", "1.1"), ("b", "2.2"))
    ]

    async with open_modes(definitions, environ=os.environ) as modes:
        facts = [(await modes.resolve(name)).facts["tools"] for name in "ab"]

    assert [each[0] for each in facts] == [{"name": "own", "version": "1.1"}, {"name": "own", "version": "2.2"}]  # type: ignore[index]


@pytest.mark.parametrize("allowed", mostly_nightly(["issue", "pr", "api"], keep=1))
@pytest.mark.anyio
async def test_a_gh_that_allows_few_commands_is_accepted(tmp_path: Path, allowed: str) -> None:
    real = find_tool("gh", os.environ)
    write_files(tmp_path, {"gh": f'#!/bin/sh\ncase $1 in {allowed}|--version) exec {real} "$@";; *) exit 3;; esac\n'})
    (tmp_path / "gh").chmod(0o755)

    await check({"tools": [str(tmp_path / "gh")]})


def test_a_mode_can_opt_out_of_the_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_files(tmp_path, {"own": "#!/bin/sh\n"})
    (tmp_path / "own").chmod(0o755)
    server = describe_server(tmp_path, version=None, tools=[])

    code, printed = run_mode(tmp_path, capsys, {"tools": ["./own"], **server, "check_tools": False})

    assert code == 0, printed
    assert "note: mode 'mine': tools not checked (`check_tools: false`)\n" in printed
    record = json.loads((run_in(tmp_path) / "run.json").read_bytes())
    facts = record["modeDetails"]["mine"]["facts"]
    assert facts["tool_check"] == "tools not checked"
    assert {"name": "own", "version": None} in facts["tools"]


# -- on github.com


@pytest.mark.parametrize("behaviour", [{"text": "fine"}, {"failed": True, "text": "404 Not Found"}])
@pytest.mark.anyio
async def test_on_github_a_server_that_gives_no_answer_on_the_emulator_is_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], behaviour: dict[str, Any]
) -> None:
    await check(describe_server(tmp_path, behaviour=behaviour), is_live=True)

    printed = capsys.readouterr().err
    assert printed.startswith("note: mode 'mine': MCP server 'hub' gave no answer on the embedded GitHub, ")
    assert behaviour["text"] in printed


@pytest.mark.anyio
async def test_on_github_a_server_without_tools_is_refused_all_the_same(tmp_path: Path) -> None:
    with pytest.raises(BrokenToolError, match="it offers no tools"):
        await check(describe_server(tmp_path, tools=[]), is_live=True)


@pytest.mark.anyio
async def test_on_github_a_gh_that_refuses_other_repositories_is_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(tmp_path, {"gh": "#!/bin/sh\n[ $1 = --version ] && exec echo gh 2.0\necho no; exit 1\n"})
    (tmp_path / "gh").chmod(0o755)

    await check({"tools": [str(tmp_path / "gh")]}, is_live=True)

    assert "gh gave no answer on the embedded GitHub" in capsys.readouterr().err
