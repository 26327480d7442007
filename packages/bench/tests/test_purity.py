"""Every request of a session is known to come through a tool of its mode, past them, or from what every mode has."""

import json
import shutil
import sysconfig
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from bench_command import fork_ghx_bench, rows_of, run_in, run_in_process, write_files
from eval_stage import lifecycle_for, scenario
from report_runs import a_row, write_run

from ghx_bench.modes.request_origins import SHELL, RequestOrigins, server_token
from ghx_bench.project.gates import GateTally, judge
from ghx_bench.scoring.purity_analyzer import PurityAnalyzer
from ghx_profiler.agents.tools.toolset import McpServer, ToolSet
from ghx_profiler.evidence import Mode
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.activity import SessionActivity
from ghx_profiler.records.analysis import ListFinding, NumberFinding
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.records.tool_use import ToolUse
from ghx_profiler.records.trace import SessionTrace
from ghx_profiler.reports.wording import describe_purity, percent
from ghx_profiler.store.record import read_record
from ghx_profiler.testing import sample_cell, sample_evidence
from ghx_tools.capabilities.environment import client_from_environment
from ghx_twin.journal import Entry

GH = Path(sysconfig.get_path("scripts"), "gh")
SERVER = {"ghx": McpServer(command="ghx-server")}
GH_AGENT, CURL, GHX_AGENT = "GitHub CLI 2.83.0", "curl/8.5.0", "ghx-bench"


def entry(token_name: str | None = SHELL, user_agent: str | None = GH_AGENT, **changes: Any) -> Entry:
    fields: dict[str, Any] = {
        "at": "2026-01-01T00:00:00.000Z",
        "surface": "rest",
        "actor": "bench-agent",
        "method": "GET",
        "path": "/user",
        "operation": "GET /user",
        "status": 200,
        "failed": False,
        "mutation": False,
        "duration_ms": 1.0,
        "request_bytes": 10,
        "response_bytes": 100,
        "token_name": token_name,
        "user_agent": user_agent,
        **changes,
    }
    return Entry(**fields)


@pytest.mark.parametrize(
    ("tools", "asked", "expected"),
    [
        (ToolSet(mcp_servers=SERVER), entry(server_token("ghx"), GHX_AGENT), ("mcp:ghx", "own")),
        # A server may have any program make its requests.
        (ToolSet(mcp_servers=SERVER), entry(server_token("ghx"), CURL), ("mcp:ghx", "own")),
        (ToolSet(mcp_servers=SERVER), entry(SHELL, GHX_AGENT), ("ghx", "foreign")),
        (ToolSet(mcp_servers=SERVER), entry(None, CURL, actor=None), ("curl", "foreign")),
        (ToolSet(mcp_servers=SERVER), entry(SHELL, "git/2.39", surface="git"), ("git", "neutral")),
        (ToolSet(mcp_servers=SERVER), entry(None, GHX_AGENT, actor=None, is_signed=True), ("ghx", "neutral")),
        (ToolSet(tools=("gh",)), entry(), ("gh", "own")),
        (ToolSet(tools=("gh",)), entry(user_agent=CURL), ("curl", "foreign")),
        (ToolSet(tools=("gh",)), entry(user_agent=None), ("unknown program", "foreign")),
        (ToolSet(tools=("ghx",)), entry(), ("gh", "foreign")),
        (ToolSet(tools=("ghx",)), entry(user_agent=GHX_AGENT), ("ghx", "own")),
        (ToolSet(tools=("gh-axi",)), entry(), ("gh", "own")),
        (ToolSet(tools=("gh-axi",)), entry(user_agent=CURL), ("curl", "foreign")),
        (ToolSet(tools=("mine",)), entry(user_agent="python-requests/2.32"), ("python-requests", "own")),
        (ToolSet(tools=("mine",)), entry(), ("gh", "foreign")),
        (ToolSet(tools=("gh",), mcp_servers=SERVER), entry(), ("gh", "own")),
        (ToolSet(tools=("gh",), mcp_servers=SERVER), entry(server_token("ghx")), ("mcp:ghx", "own")),
    ],
)
def test_a_request_belongs_to_the_tool_that_made_it(tools: ToolSet, asked: Entry, expected: tuple[str, str]) -> None:
    origin = RequestOrigins(tools).origin_of(asked)

    assert (origin.tool, origin.belonging) == expected


@pytest.mark.parametrize(
    ("entries", "purity", "adoption"),
    [
        ([], None, None),
        ([entry(surface="git")], None, False),
        ([entry(), entry(surface="git")], 1.0, True),
        ([entry(user_agent=CURL)], 0.0, False),
        ([entry(), entry(), entry(), entry(user_agent=CURL)], 0.75, True),
    ],
)
def test_purity_is_the_share_of_requests_without_git_and_adoption_whether_there_was_one(
    entries: list[Entry], purity: float | None, adoption: bool | None
) -> None:
    use = RequestOrigins(ToolSet(tools=("gh",))).measure(entries)

    assert use is not None
    assert (use.purity, use.adoption) == (purity, adoption)


PROMPTED_AT = datetime(2026, 1, 1, 0, 0, 5, 400, tzinfo=UTC)
AT_START = entry(server_token("ghx"), GHX_AGENT)
LATER = entry(server_token("ghx"), GHX_AGENT, at="2026-01-01T00:00:05.000Z")


def trace_of(*calls: str) -> SessionTrace:
    recorder = TraceRecorder()
    for name in calls:
        recorder.tool_call(name, {"command": "gh issue list"}, "ok", success=True)
    return recorder.trace()


@pytest.mark.parametrize(
    ("trace", "entries", "expected"),
    [
        # The server asks for something when it is started, and the agent goes past it.
        (trace_of("bash"), [AT_START, LATER, entry()], (0.0, False)),
        (trace_of("ghx_issue_list", "bash"), [AT_START, LATER, entry()], (0.5, True)),
        (trace_of("mcp__ghx__issue_list"), [AT_START, LATER], (1.0, True)),
        (trace_of("bash"), [AT_START], (None, False)),
        (trace_of("Read", "TodoWrite", "bash"), [AT_START, LATER, entry()], (0.0, False)),
        # Agents that name tools without their server, or have one tool that calls them all.
        (trace_of("issue_list", "bash"), [AT_START, LATER, entry()], (0.5, True)),
        (trace_of("call_mcp_tool"), [AT_START, LATER], (1.0, True)),
        # Of an agent that tells no calls, only the time tells the outcome of the start.
        (trace_of(), [AT_START, LATER], (1.0, True)),
        (None, [AT_START], (None, False)),
    ],
)
def test_what_a_server_asks_for_when_it_is_started_is_no_use_of_its_tools(
    trace: SessionTrace | None, entries: list[Entry], expected: tuple[float | None, bool]
) -> None:
    use = RequestOrigins(ToolSet(mcp_servers=SERVER)).in_session(trace, PROMPTED_AT).measure(entries)

    assert use is not None
    assert (use.purity, use.adoption) == expected


@pytest.mark.parametrize(
    ("own", "foreign", "told"), [(999, 1, "> 99 %"), (1, 999, "< 1 %"), (2, 1, "67 %"), (5, 0, "100 %"), (0, 5, "0 %")]
)
def test_a_share_that_is_not_whole_reads_so_wherever_it_is_told(own: int, foreign: int, told: str) -> None:
    use = ToolUse(own={"gh": own} if own else {}, foreign={"curl": foreign} if foreign else {})

    assert describe_purity(use).partition(",")[0] == told == percent(use.purity)


def test_a_mode_without_tools_has_none_to_keep_to() -> None:
    assert RequestOrigins(ToolSet()).measure([entry()]) is None


@pytest.mark.anyio
async def test_each_server_has_a_token_of_its_own_that_sees_the_same_and_is_secret() -> None:
    task = scenario(extensions={"targets": ["twin"], "tokenScopes": ["repo"]})
    lifecycle = lifecycle_for(task)
    servers = {"one": McpServer(command="a"), "two": McpServer(command="b", environment={"T": "${GITHUB_TOKEN}"})}
    mode = Mode(name="mine", settings=ToolSet(mcp_servers=servers).settings())
    async with lifecycle.run(Path("run")), lifecycle.cell(sample_cell(), task, mode) as stage:
        environments = {name: {**stage.environment, **own} for name, own in stage.server_environments.items()}
        everybody = [dict(stage.environment), *environments.values()]
        tokens = [each["GITHUB_TOKEN"] for each in everybody]
        seen: list[tuple[bytes, str]] = []
        for each in everybody:
            async with client_from_environment(each) as client:
                answer = await client.get("/user")
                seen.append((answer.body, answer.headers["x-oauth-scopes"]))
        use = stage.measure_tool_use(None, None)
        started = servers["two"].in_session(environments["two"]).environment

    assert set(environments) == {"one", "two"}
    assert len(set(tokens)) == 3
    assert stage.secrets >= set(tokens)
    assert seen == [seen[0]] * 3
    assert all(each["GH_TOKEN"] == each["GITHUB_TOKEN"] for each in everybody)
    # Nothing that one of them is given holds the token of another, in base64 neither.
    assert started["T"] == tokens[2]
    assert not any(tokens[0] in value for value in started.values())
    assert {name for name in stage.environment if everybody[1][name] != everybody[0][name]} == {
        "GH_TOKEN",
        "GITHUB_TOKEN",
        *(name for name, value in stage.environment.items() if value.startswith("Authorization: Basic ")),
    }
    assert use == ToolUse(own={"mcp:one": 1, "mcp:two": 1}, foreign={"ghx": 1}, neutral={})


@pytest.mark.anyio
async def test_the_record_of_requests_agrees_with_what_is_counted() -> None:
    task = scenario()
    lifecycle = lifecycle_for(task)
    mode = Mode(name="mine", settings=ToolSet(mcp_servers=SERVER).settings())
    async with lifecycle.run(Path("run")), lifecycle.cell(sample_cell(), task, mode) as stage:
        async with client_from_environment({**stage.environment, **stage.server_environments["ghx"]}) as client:
            await client.get("/user")
        use = stage.measure_tool_use(trace_of("bash"), None)
        activity = stage.observe() if stage.observe is not None else None

    assert use == ToolUse(own={}, foreign={}, neutral={"mcp:ghx": 1})
    assert activity is not None
    assert [(each.tool, each.belonging) for each in activity.requests] == [("mcp:ghx", "neutral")]


CONFIG = """
modes: [baseline, ghx, ghx-mcp]
scenario_dirs: [scenarios]
scenarios: {ids: [mine-001]}
execution: {repetitions: 1, warmup: false, retries: 0}
"""
SCENARIO = """
id: mine-001
name: Say it
description: A task on an issue
category: issue
difficulty: basic
prompt: "Comment on #{{number}} in {{repo}}."
timeoutMs: 60000
fixture:
  repo: "{{fixture_repo}}"
  requires: [issue_for_triage]
  bindings: {number: issue_for_triage.number}
assertions:
  checkpoints:
    - id: said
      description: Somebody said something
      task: issue.comments.list
      input: {owner: "{{owner}}", name: "{{repo_name}}", issueNumber: "{{number}}"}
      condition: {type: non_empty}
"""
# Where the path of the mode lacks gh, its agent calls it by its whole name, with the token of its shell.
SOLUTION = f"""
version: 1
modes:
  baseline:
    - shell: gh issue comment {{{{number}}}} --repo {{{{repo}}}} --body Hello
    - shell: git ls-remote https://github.com/{{{{repo}}}}
    - shell: gh issue view {{{{number}}}} --repo {{{{repo}}}} --json bogus
      expect_failure: true
  ghx:
    - shell: {GH} issue comment {{{{number}}}} --repo {{{{repo}}}} --body Hello
  ghx-mcp:
    - mcp:
        tool: issue_comments_list
        arguments: {{owner: "{{{{owner}}}}", name: "{{{{repo_name}}}}", issueNumber: "{{{{number}}}}"}}
    - shell: {GH} issue comment {{{{number}}}} --repo {{{{repo}}}} --body Hello
    - shell: gh issue list
      expect_failure: true
    - mcp: {{tool: issue_vew, arguments: {{}}}}
      expect_failure: true
answer: Done.
"""


@pytest.fixture(scope="module")
def leaky(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run in which two of three sessions leave the tools of their mode."""
    folder = tmp_path_factory.mktemp("leaky")
    files = {
        "eval.config.yaml": CONFIG,
        "scenarios/mine-001.yaml": SCENARIO,
        "scenarios/mine-001.solution.yaml": SOLUTION,
    }
    write_files(folder, files)
    done = fork_ghx_bench(folder, "run", "--fail-on", "impure")
    assert done.returncode == 1, done.stderr
    (folder / "stderr").write_text(done.stderr)
    return folder


@pytest.mark.process
def test_a_session_that_leaves_the_tools_of_its_mode_is_found_with_its_calls(leaky: Path) -> None:
    run = run_in(leaky)
    rows = {row.mode: row for row in rows_of(run)}

    assert {mode: row.success for mode, row in rows.items()} == {"baseline": True, "ghx": True, "ghx-mcp": True}
    assert {mode: row.purity for mode, row in rows.items()} == {"baseline": 1.0, "ghx": 0.0, "ghx-mcp": 1 / 3}
    assert {mode: row.known_metrics["adoption"] for mode, row in rows.items()} == {
        "baseline": 1,
        "ghx": 0,
        "ghx-mcp": 1,
    }
    assert rows["baseline"].tool_use == ToolUse(own={"gh": 2}, foreign={}, neutral={"git": 2})
    assert rows["ghx-mcp"].tool_use == ToolUse(own={"mcp:ghx": 1}, foreign={"gh": 2}, neutral={})
    (file,) = (run / "activity").glob("**/ghx-mcp/**/*.json")
    requests = SessionActivity.model_validate_json(file.read_bytes()).requests
    assert [(each.tool, each.belonging, each.changed) for each in requests] == [
        ("mcp:ghx", "own", False),
        ("gh", "foreign", False),
        ("gh", "foreign", True),
    ]
    (file,) = (run / "analysis").glob("**/ghx-mcp/**/*.json")
    found = json.loads(file.read_text())["results"]
    # That there is no `gh` where it was looked for is no leak, and tells what the agent wanted.
    assert [line.split()[:3] for line in found["purity"]["findings"]["commands"]["values"]] == [
        [str(GH), "issue", "comment"]
    ]
    assert [row[:2] for row in found["desire_paths"]["findings"]["paths"]["rows"]] == [
        ["program", "gh"],
        ["tool", "issue_vew"],
    ]


@pytest.mark.process
def test_a_run_that_leaked_says_so_first_and_in_its_summary(leaky: Path) -> None:
    run = run_in(leaky)
    report = (run / "report" / "report.md").read_text()
    page = (run / "report" / "index.html").read_text()
    summary = json.loads((run / "report" / "data" / "summary.json").read_text())

    warning = "ghx-mcp is not pure: in 1 of 1 session, 2 of 3 requests went past the tools of the mode"
    assert warning in report.partition("\n## ")[0]
    assert warning in page
    assert "baseline is not pure" not in report
    told = {each["mode"]: each for each in summary["purity"]}
    assert {mode: each["purity"] for mode, each in told.items()} == {"baseline": 1.0, "ghx": 0.0, "ghx-mcp": 1 / 3}
    assert [told[mode]["adoptingSessions"] for mode in ("baseline", "ghx", "ghx-mcp")] == [1, 0, 1]
    assert told["ghx-mcp"]["foreignTools"] == {"gh": 2}
    assert [cell["scenario"] for cell in told["ghx-mcp"]["impureCells"]] == ["mine-001"]
    made_up = {(each["mode"], each["kind"], each["name"]): each for each in summary["desirePaths"]}
    assert set(made_up) == {
        ("baseline", "field", "bogus"),
        ("ghx-mcp", "program", "gh"),
        ("ghx-mcp", "tool", "issue_vew"),
    }
    assert made_up["ghx-mcp", "tool", "issue_vew"]["suggested"] == "issue_view"
    assert made_up["baseline", "field", "bogus"]["cells"][0]["mode"] == "baseline"
    assert "(sessions/none/ghx-mcp/mine-001/0.html)" in report
    session = (run / "report" / "sessions" / "none" / "ghx-mcp" / "mine-001" / "0.html").read_text()
    assert "past the mode&#x27;s tools: gh (2)" in session or "past the mode's tools: gh (2)" in session


@pytest.mark.process
def test_impure_is_a_gate_of_every_command_that_judges(
    leaky: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "gate failed: impure: 2 of 3 cells asked GitHub past the tools of their mode: ghx/mine-001/0 (by gh)"
    run = str(run_in(leaky))
    earlier = str(shutil.copytree(run, tmp_path / "earlier"))
    for file in ("run.json", "rows.jsonl"):  # two runs of one id are taken for the same
        path = Path(earlier, file)
        path.write_text(path.read_text().replace(Path(run).name, "run_20260101T000000_000000"))
    monkeypatch.chdir(leaky)

    assert words in (leaky / "stderr").read_text()
    for command in (["report", run], ["compare", earlier, run], ["resume", run]):
        code, printed = run_in_process(capsys, *command, "--fail-on", "impure")
        assert (code, words in printed) == (1, True), printed
    code, printed = run_in_process(capsys, "show", run, "ghx-mcp/mine-001/0")
    assert code == 0
    assert "purity: 33 %, past the mode's tools: gh (2)" in printed


@pytest.mark.process
def test_sessions_of_which_nobody_saw_the_requests_are_judged_by_their_calls(
    leaky: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(run_in(leaky), run)
    lines = [json.loads(line) for line in (run / "rows.jsonl").read_text().splitlines()]
    for line in lines:
        del line["toolUse"]
        line["purity"] = None
    (run / "rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    code, printed = run_in_process(capsys, "analyze", str(run), "--json")

    assert code == 0
    told = {each["mode"]: each for each in json.loads(printed)["sessions"]}
    assert {mode: each["findings"]["foreign_calls"] for mode, each in told.items()} == {
        "baseline": 0,
        "ghx": 1,
        "ghx-mcp": 1,
    }
    assert f"past the mode's tools: {GH} issue comment" in told["ghx-mcp"]["summaries"]["purity"]


def test_the_reference_agent_keeps_to_the_tools_of_every_mode(reference_run: Path) -> None:
    rows = rows_of(run_in(reference_run))

    assert {row.mode for row in rows} == {"baseline", "ghx", "ghx-mcp"}
    assert [f"{row.mode} {row.scenario_id}: {row.tool_use}" for row in rows if row.purity != 1.0] == []


def session(*commands: str) -> TraceRecorder:
    recorder = TraceRecorder()
    for command in commands:
        recorder.tool_call("bash", {"command": command}, "ok", success=True)
    return recorder


@pytest.mark.parametrize(
    ("mode", "commands", "foreign"),
    [
        (Mode(name="ghx-mcp"), ["cd x && gh pr list | head", "git push", "ls"], ["cd x && gh pr list | head"]),
        (Mode(name="baseline"), ["gh pr list", "ghx run pr.list"], ["ghx run pr.list"]),
        (
            Mode(name="ghx"),
            ["curl -s https://api.github.com/user", "curl localhost"],
            ["curl -s https://api.github.com/user"],
        ),
        (
            Mode(name="x", facts={"tools": [{"name": "git"}], "mcp_servers": {"hub": None}}),
            ["gh pr list"],
            ["gh pr list"],
        ),
        (Mode(name="x", facts={"tools": [{"name": "gh"}, {"name": "git"}]}), ["gh pr list"], []),
        # As `gh-axi` tells of itself: gh makes its requests, and is not for the agent.
        (
            Mode(name="x", facts={"tools": [{"name": "gh-axi"}, {"name": "gh"}, {"name": "git"}]}),
            ["gh-axi pr list", "/usr/bin/gh pr list"],
            ["/usr/bin/gh pr list"],
        ),
    ],
)
def test_calls_of_other_programs_are_told_by_the_trace_alone(
    mode: Mode, commands: list[str], foreign: list[str]
) -> None:
    evidence = sample_evidence(mode=mode, trace=session(*commands).trace())

    findings = PurityAnalyzer().analyze(evidence).findings

    assert findings["commands"] == ListFinding(values=tuple(foreign))


def test_of_a_mode_whose_tools_are_not_recorded_nothing_is_said() -> None:
    findings = (
        PurityAnalyzer().analyze(sample_evidence(mode=Mode(name="x"), trace=session("gh pr list").trace())).findings
    )

    assert findings["foreign_calls"] == NumberFinding(value=None, unit="calls")


def test_rows_that_do_not_tell_are_left_out(tmp_path: Path) -> None:
    used = {"own": {"gh": 3}, "foreign": {"curl": 1}, "neutral": {}}
    rows = [a_row("a"), a_row("a", iteration=1, toolUse=used), a_row("b")]
    tally = GateTally.of(read_record(write_run(tmp_path / "run", rows) / "run.json"))
    for row in rows:
        tally.add(row)

    (result,) = judge(["impure"], tally)

    assert "purity" not in rows[0].known_metrics
    assert result.reason == "1 of 1 cells asked GitHub past the tools of their mode: a/pr-reply-001/1 (by curl)"


def test_a_gate_on_purity_says_where_nothing_is_known(tmp_path: Path) -> None:
    rows: list[ProfileRow] = [a_row("a")]
    tally = GateTally.of(read_record(write_run(tmp_path / "run", rows) / "run.json"))
    tally.add(rows[0])

    (result,) = judge(["impure"], tally)

    assert not result.failed
    assert result.open_question == "no row tells through which tools its requests came"


def test_a_control_that_pries_fails_no_gate_on_purity(tmp_path: Path) -> None:
    rows = [a_row("a", provider="prying", toolUse={"own": {}, "foreign": {"curl": 1}, "neutral": {}})]
    tally = GateTally.of(read_record(write_run(tmp_path / "run", rows) / "run.json"))
    tally.add(rows[0])

    assert not judge(["impure"], tally)[0].failed
