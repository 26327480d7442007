"""`ghx-bench show`, `doctor` and `init`, as somebody meets them."""

import json
import shutil
import tracemalloc
from pathlib import Path

import pytest
from bench_command import fork_ghx_bench, printed, run_in
from report_runs import a_row, write_run

from ghx_base.files.locks import hold_lock
from ghx_bench.cli.main import run
from ghx_profiler.machine import MachineRecord
from ghx_profiler.plan.shards import Shard
from ghx_profiler.records.trace import SessionTrace, TextOutputEvent, ToolCallEvent
from ghx_profiler.store.directory import RunDirectory


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_run_is_shown_cell_by_cell(reference_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", str(run_in(reference_run))]) == 0

    first, *lines = capsys.readouterr().out.splitlines()
    assert first.endswith(": reference, complete, 24 of 24 cells")
    assert len(lines) == 24
    assert sorted(lines) == lines
    shown = next(line for line in lines if line.startswith("ghx-mcp/issue-triage-001/0"))
    assert "passed" in shown
    assert "5/5 checkpoints" in shown
    assert "4 tool calls" in shown


def test_a_run_that_nobody_works_on_any_more_is_not_running(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(here / "run", [a_row("baseline")])
    record = RunDirectory(here / "run").record
    record.write_text(json.dumps({**json.loads(record.read_text()), "status": "running"}))

    def status() -> str:
        assert run(["show", "run"]) == 0
        return capsys.readouterr().out.split(", ")[1]

    assert status() == "stopped"
    with hold_lock(RunDirectory(here / "run").lock):
        assert status() == "running"
    assert status() == "stopped"


def test_a_cell_that_is_planned_and_not_measured_yet_is_not_denied(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(here / "run", [a_row("baseline", iteration=0), a_row("ghx", iteration=1)])
    cell = f"baseline/{a_row().scenario_id}"

    def refusal(name: str) -> str:
        assert run(["show", "run", name]) == 2
        return capsys.readouterr().err

    def change(**values: object) -> None:
        place = RunDirectory(here / "run").record
        record = json.loads(place.read_text())
        matrix = {**record["matrix"], **({"shard": shard} if (shard := values.pop("shard", None)) else {})}
        place.write_text(json.dumps({**record, **values, "matrix": matrix}))

    assert f"cell {cell}/1 has no row in this run; `ghx-bench resume run` measures it" in refusal(f"{cell}/1")
    assert f"has no cell '{cell}/9'" in refusal(f"{cell}/9")
    change(status="running")
    with hold_lock(RunDirectory(here / "run").lock):
        assert "the run goes on" in refusal(f"{cell}/1")
    owner = Shard(1, 3).find_owner(a_row().scenario_id, 1)
    change(status="complete", shard=str(owner))
    assert "`ghx-bench resume run` measures it" in refusal(f"{cell}/1")
    other = Shard(owner.number % 3 + 1, 3)
    change(shard=str(other))
    assert f"shard {owner} measures it, and this run is shard {other}" in refusal(f"{cell}/1")


def test_of_several_machines_a_cell_says_which_measured_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [a_row("baseline", machine="vm"), a_row("ghx", machine="vm #2")]
    vm = MachineRecord(system="Linux", release="6.1", architecture="x86_64", processors=2)
    machines = {"vm": vm, "vm #2": vm.model_copy(update={"processors": 96})}
    write_run(here / "one", rows[:1], machines={"vm": vm})
    write_run(here / "several", rows, machines=machines)

    def shown(name: str, mode: str) -> str:
        assert run(["show", name, f"{mode}/{rows[0].scenario_id}/0"]) == 0
        return capsys.readouterr().out

    assert "measured on" not in shown("one", "baseline")
    assert "  measured on vm: Linux 6.1, 2 x x86_64\n" in shown("several", "baseline")
    assert "  measured on vm #2: Linux 6.1, 96 x x86_64\n" in shown("several", "ghx")


def test_a_run_is_shown_as_json(reference_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", str(run_in(reference_run)), "--json"]) == 0

    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 24
    assert {row["mode"] for row in rows} == {"baseline", "ghx", "ghx-mcp"}


@pytest.mark.parametrize(
    "name", ["baseline/issue-triage-001/0", "none/baseline/issue-triage-001/0", "baseline/issue-triage-001"]
)
def test_a_cell_is_shown_with_its_checkpoints_and_its_conversation(
    name: str, reference_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["show", str(run_in(reference_run)), name]) == 0

    out = capsys.readouterr().out
    assert out.startswith("none/baseline/issue-triage-001/0: passed\n  5/5 checkpoints, ")
    assert ", 4 tool calls\n" in out
    assert "  [x] labelled: " in out
    assert "  [x] no-collateral-damage: " in out
    assert "-- turn 1\n" in out
    assert "gh issue edit" in out
    assert "says: It is labelled" in out


def test_a_cell_is_shown_as_json(reference_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", str(run_in(reference_run)), "ghx/issue-triage-001/0", "--json"]) == 0

    told = json.loads(capsys.readouterr().out)
    assert told["row"]["success"] is True
    assert told["trace"]["sessionId"] == told["row"]["sessionId"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("ghx/issue-triage-01/0", "has no cell 'ghx/issue-triage-01/0'; did you mean 'ghx/issue-triage-001/0'?"),
        ("issue-triage-001/0", "'issue-triage-001/0' names 3 cells; say which: baseline/issue-triage-001/0, ghx-mcp/"),
        ("issue-triage-001", "'issue-triage-001' names 3 cells; say which: baseline/issue-triage-001/0, ghx-mcp/"),
        ("../../etc/passwd", "has no cell '../../etc/passwd'"),
    ],
)
def test_a_cell_that_is_not_there_is_told_in_one_line(
    name: str, says: str, reference_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["show", str(run_in(reference_run)), name]) == 2

    err = capsys.readouterr().err
    assert says in err
    assert len(err.splitlines()) == 1


def test_wrong_and_unmeasured_cells_say_why(
    reference_run: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(run_in(reference_run), here / "copy")
    rows = [json.loads(line) for line in (here / "copy" / "rows.jsonl").read_text().splitlines()]
    wrong, unmeasured = rows[:2]
    detail = {**wrong["checkpointDetails"][0], "passed": False, "actual": {"state": "OPEN"}, "expected": "state == 1"}
    wrong |= {"success": False, "checkpointsPassed": 0, "checkpointDetails": [detail]}
    unmeasured |= {"success": None, "error": "GitHub was away", "errorCode": "X", "cause": "environment"}
    (here / "copy" / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    assert run(["show", "copy"]) == 0
    out = capsys.readouterr().out
    assert f"    not met: {detail['description']}\n" in out
    assert "not measured" in out
    assert "    GitHub was away\n" in out
    cell = f"{wrong['mode']}/{wrong['scenarioId']}/0"
    assert run(["show", "copy", cell]) == 0
    assert '      expected state == 1; got {"state": "OPEN"}\n' in capsys.readouterr().out


def test_what_an_agent_wrote_cannot_rewrite_the_screen(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = a_row("baseline", error="timed out\x1b[2J\nfor real", completionReason="timeout")
    write_run(here / "run", [row])
    spoken = TextOutputEvent(content="done\x1b]0;owned\x07\n\tnext line\n\n")
    stopped = ToolCallEvent(name="bash", input={"command": "sleep 9"}, output=None)
    trace = SessionTrace(session_id="s", events=(spoken, stopped))
    RunDirectory(here / "run").session(row.cell).write_bytes(trace.to_bytes())

    assert run(["show", "run"]) == 0
    assert run(["show", "run", f"baseline/{row.scenario_id}/0"]) == 0

    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "says: done\\x1b]0;owned\\x07\n        next line\ncalls bash" in out
    assert out.endswith("  -> (nothing)\n")


def test_the_doctor_finds_what_the_embedded_run_needs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--json"]) == 0

    found = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert {name for name, each in found.items() if each["state"] == "ok"} >= {"python", "git", "bash", "gh", "ghx"}
    assert found["configuration"]["remedy"] == "ghx-bench init writes one"
    assert here


def test_the_doctor_says_what_is_missing_and_how_to_get_it(tmp_path: Path) -> None:
    done = fork_ghx_bench(tmp_path, "doctor", "--target", "github", extra={"PATH": str(tmp_path)})

    assert done.returncode == 1
    lines = {line.split()[1]: line for line in done.stdout.splitlines()}
    assert lines["git"].startswith("MISSING git")
    assert "install git" in lines["git"]
    assert "set GITHUB_TOKEN" in lines["token"]
    assert "fixtures.author_token_env" in lines["second"]


def test_the_doctor_looks_for_both_identities(tmp_path: Path) -> None:
    config = "modes: [baseline]\nfixtures: {repo: o/r, author_token_env: AUTHOR}\n"
    (tmp_path / "eval.config.yaml").write_text(config)
    secrets = {"GITHUB_TOKEN": "ghp_one", "AUTHOR": "ghp_other", "GHX_UNIX_SOCKET": str(tmp_path / "nobody")}

    done = fork_ghx_bench(tmp_path, "doctor", "--target", "github", extra=secrets)
    same = fork_ghx_bench(tmp_path, "doctor", "--target", "github", extra={**secrets, "AUTHOR": "ghp_one"})

    assert done.returncode == 1
    told = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "ok second identity AUTHOR is set" in told
    assert any(line.startswith("MISSING repository o/r: cannot reach GitHub") for line in told)
    assert "ghp_" not in done.stdout + same.stdout
    assert same.returncode == 1
    assert "is the agent's own token" in same.stdout
    assert "repository" not in same.stdout


def test_the_doctor_reads_the_configuration(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "eval.config.yaml").write_text("mods: [baseline]\n")

    assert run(["doctor"]) == 1
    assert "eval.config.yaml:1:1: /mods: unknown key" in capsys.readouterr().out


def test_the_doctor_looks_for_what_the_modes_of_a_project_need(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mode = "{name: mine, extends: ghx, tools: [./bin/mine, no-such-tool], mcp_servers: {m: {command: no-server}}}"
    (here / "eval.config.yaml").write_text(f"modes: [baseline, {mode}]\n")

    assert run(["doctor", "--json"]) == 1

    found = json.loads(capsys.readouterr().out)
    missing = [(each["name"], Path(each["found"]).name) for each in found if each["state"] == "missing"]
    assert missing == [
        ("mode mine", "mine: not found"),
        ("mode mine", "no-such-tool: not found"),
        ("mode mine", "no-server: not found"),
    ]
    (here / "eval.config.yaml").write_text("modes: [basline]\n")
    assert run(["doctor"]) == 1
    assert "no mode 'basline'; did you mean 'baseline'?" in capsys.readouterr().out


def test_a_new_project_runs_at_once(tmp_path: Path) -> None:
    written = fork_ghx_bench(tmp_path, "init", "mine")
    checked = fork_ghx_bench(tmp_path / "mine", "check", "--strict")
    told = printed(fork_ghx_bench(tmp_path / "mine", "run", "--repetitions", "1", "--no-report", "--json"))

    assert written.stdout.endswith("Run it: cd mine && ghx-bench run\n")
    assert checked.returncode == 0, checked.stdout
    assert {name: mode["successes"] for name, mode in told["modes"].items()} == {"baseline": 1, "ghx": 1, "mine": 1}


def test_nothing_is_written_over(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "eval.config.yaml").write_text("mine\n")

    assert run(["init"]) == 2
    assert "eval.config.yaml is there already; nothing was written" in capsys.readouterr().err
    assert [each.name for each in here.iterdir()] == ["eval.config.yaml"]


def test_a_place_that_cannot_be_written_to_is_told_in_one_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "file").write_text("")

    assert run(["init", "file/project"]) == 2
    assert "file/project/eval.config.yaml cannot be written: " in capsys.readouterr().err


def test_half_a_project_is_taken_away_again(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "scenarios").write_text("in the way of the folder")

    assert run(["init"]) == 2
    assert "cannot be written: " in capsys.readouterr().err
    assert list(here.rglob("*.yaml")) == []


@pytest.mark.parametrize("field", ["description", "expected", "id"])
def test_no_field_of_a_row_reaches_the_terminal_with_its_escapes(
    field: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    detail = {"id": "seen", "description": "is seen", "passed": False, "expected": "1", "actual": 2}
    row = a_row("baseline", success=False, checkpointDetails=[{**detail, field: "red\x1b[31m\x9b2J"}])
    write_run(here / "run", [row])
    call = ToolCallEvent(name="bash\x1b]0;owned\x07", input={}, output="")
    trace = SessionTrace(session_id="s", events=(call,))
    RunDirectory(here / "run").session(row.cell).write_bytes(trace.to_bytes())

    assert run(["show", "run"]) == 0
    assert run(["show", "run", f"baseline/{row.scenario_id}/0"]) == 0

    out = capsys.readouterr().out
    assert not {"\x1b", "\x9b", "\x07"} & set(out)
    assert "red\\x1b[31m\\x9b2J" in out
    assert "calls bash\\x1b]0;owned\\x07: {}" in out


@pytest.mark.parametrize("arguments", [[], ["--json"], ["baseline/issue-triage-001/0"]])
def test_two_rows_of_one_cell_are_shown_once_or_refused_in_one_line(
    arguments: list[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = a_row("baseline", scenario="issue-triage-001")
    write_run(here / "run", [row])
    rows = RunDirectory(here / "run").rows
    line = rows.read_bytes()
    assert run(["show", "run", *arguments]) == 0
    shown = capsys.readouterr().out

    rows.write_bytes(line * 2)
    assert run(["show", "run", *arguments]) == 0
    assert capsys.readouterr().out == shown

    rows.write_bytes(line + line.replace(b'"success":true', b'"success":false'))
    assert run(["show", "run", *arguments]) != 0
    err = capsys.readouterr().err
    assert "rows.jsonl:2: contradicts line 1" in err
    assert len(err.splitlines()) == 1


@pytest.mark.slow
def test_a_long_run_is_shown_without_holding_its_rows(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(here / "run", [a_row("baseline", iteration=0)])
    rows = RunDirectory(here / "run").rows
    first = json.loads(rows.read_text())
    rows.write_text("".join(json.dumps({**first, "iteration": each}) + "\n" for each in range(2_000)))

    tracemalloc.start()
    assert run(["show", "run"]) == 0
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(capsys.readouterr().out.splitlines()) == 2_001
    assert peak < 2_000 * 2_000
