"""`ghx-bench run` and `resume` with real tools on a real embedded GitHub."""

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from bench_command import fork_ghx_bench, left_in, printed, rows_of, run_in, write_files
from labelling_project import PROJECT
from report_runs import a_row, write_run

from ghx_bench.cli.main import run
from ghx_bench.cli.running.measuring import show_result
from ghx_bench.loader import load_eval_scenarios
from ghx_bench.project.folders import BUILT_IN_SCENARIOS
from ghx_bench.project.sets import load_scenario_sets
from ghx_bench.scenario.allowed_changes import COLLATERAL_CHECKPOINT
from ghx_profiler.records.activity import SessionActivity
from ghx_profiler.store.directory import RunDirectory
from ghx_profiler.suite import SuiteResult

pytestmark = pytest.mark.slow

MODES = {"baseline", "ghx", "ghx-mcp"}
IDS = frozenset(load_scenario_sets(BUILT_IN_SCENARIOS).root["default"])
ONE_CELL = ("--mode", "baseline", "--scenario", "issue-triage-001", "--repetitions", "1", "--skip-warmup")


def test_every_scenario_of_the_default_set_can_be_done_in_every_mode(reference_run: Path) -> None:
    rows = rows_of(run_in(reference_run))

    assert Counter((row.mode, row.scenario_id) for row in rows) == {(mode, id_): 1 for mode in MODES for id_ in IDS}
    failed = {
        str(row.cell): row.error or [each.to_wire() for each in row.checkpoint_details or () if not each.passed]
        for row in rows
        if not row.success
    }
    assert failed == {}
    assert {(row.checkpoint_details or ())[-1].id for row in rows} == {COLLATERAL_CHECKPOINT}


def test_rows_tell_what_was_used_and_what_was_asked_of_github(reference_run: Path) -> None:
    rows = rows_of(run_in(reference_run))

    tools = {mode: Counter[str]() for mode in MODES}
    for row in rows:
        tools[row.mode].update(row.tool_calls.by_category)
        assert (row.known_metrics["api_calls"] or 0) > 0
        assert (row.known_metrics["api_mutations"] or 0) > 0
        assert row.known_metrics["tool_calls_failed"] == 0
        assert row.extensions["stage"]["target"] == "twin"  # type: ignore[index, call-overload]
    assert tools["baseline"]["gh_cli"] > 0
    assert set(tools["baseline"]) <= {"gh_cli", "git", "file_ops", "bash"}
    assert set(tools["ghx"]) == {"ghx"}
    assert set(tools["ghx-mcp"]) == {"mcp"}
    (server,) = {json.dumps(row.extensions["mode"]["mcp_servers"]) for row in rows if row.mode == "ghx-mcp"}  # type: ignore[index, call-overload]
    assert json.loads(server)["ghx"]["name"]
    assert json.loads(server)["ghx"]["version"]


def test_a_run_tells_programs_and_people_what_came_of_it(reference_run: Path) -> None:
    told = json.loads((reference_run / "stdout").read_text())
    events = [json.loads(line) for line in (reference_run / "log.jsonl").read_text().splitlines()]
    directory = reference_run / told["directory"]

    assert (told["total"], told["measured"], told["notMeasured"]) == (24, 24, 0)
    assert set(told["modes"]) == MODES
    assert all(mode["successes"] == 8 and mode["metrics"]["api_calls"]["n"] == 8 for mode in told["modes"].values())
    kinds = Counter(event["event"] for event in events)
    assert kinds["cell_finished"] == 24
    assert kinds["run_finished"] == 1
    assert "report: " in (reference_run / "stderr").read_text()
    assert "control run" in (directory / "report" / "index.html").read_text()
    assert left_in(reference_run) == []


def test_sessions_and_their_export_have_the_prompt_and_the_instructions_as_they_were_sent(
    reference_run: Path, tmp_path: Path
) -> None:
    directory = run_in(reference_run)

    done = fork_ghx_bench(tmp_path, "export", str(directory), "--format", "atif", "--output-dir", "there")

    assert done.returncode == 0, done.stderr
    files = sorted((tmp_path / "there").rglob("*.json"))
    assert len(files) == 24
    for file in files:
        told = {step["source"]: step["message"] for step in json.loads(file.read_bytes())["steps"][:2]}
        trace = json.loads((directory / "sessions" / file.relative_to(tmp_path / "there")).read_bytes())
        assert told == {"system": trace["instructions"], "user": trace["prompt"]}
        assert "{{" not in told["user"]


def test_what_a_scenario_expects_of_the_way_is_a_finding_wherever_findings_are(reference_run: Path) -> None:
    directory = run_in(reference_run)

    shown = fork_ghx_bench(reference_run, "show", str(directory), "ghx/issue-triage-001/0").stdout
    summary = json.loads((directory / "report" / "data" / "summary.json").read_text())["findings"]["expectations"]

    assert "  finding of expectations: " in shown
    assert " of 4 expected capabilities" in shown
    assert set(summary["capabilities_used"]) == {"ghx", "ghx-mcp"}
    assert 0 < summary["capabilities_used"]["ghx"]["mean"] <= 1
    expecting = [
        each for each in load_eval_scenarios(BUILT_IN_SCENARIOS, ids=IDS) if each.assertions.expected_capabilities
    ]
    assert summary["capabilities_used"]["ghx"]["n"] == len(expecting) > 0


def test_what_each_session_changed_and_asked_of_github_is_kept_beside_it(reference_run: Path) -> None:
    directory = RunDirectory(run_in(reference_run))

    for row in rows_of(directory.path):
        activity = SessionActivity.model_validate_json(directory.activity(row.cell).read_bytes())
        asked = [each for each in activity.requests if each.surface != "proxy"]
        assert activity.session_id == row.session_id
        assert len(asked) == row.known_metrics["api_calls"]
        assert sum(each.changed for each in asked) == row.known_metrics["api_mutations"]
        assert activity.changes
        assert (activity.changes_left_out, activity.requests_left_out) == (0, 0)
        page = next(directory.report.glob(f"sessions/*/{row.mode}/{row.scenario_id}/0.html")).read_text()
        assert activity.changes[0].name in page
    shown = fork_ghx_bench(reference_run, "show", str(directory.path), "ghx/issue-triage-001/0").stdout
    assert "  created comments ghx-bench/fixtures#" in shown
    assert re.search(r"^  \d+ requests, 0 failed$", shown, re.MULTILINE)


def test_an_agent_that_does_nothing_fails_every_scenario(tmp_path: Path) -> None:
    flags = ("--agent", "nop", "--mode", "baseline", "--repetitions", "1", "--max-concurrency", "4", "--no-report")
    told = printed(fork_ghx_bench(tmp_path, "run", *flags, "--json"))

    assert (told["measured"], told["modes"]["baseline"]["successes"]) == (len(IDS), 0)
    for row in rows_of(run_in(tmp_path)):
        passed = {each.id: each.passed for each in row.checkpoint_details or ()}
        assert not all(passed.values())
        assert passed[COLLATERAL_CHECKPOINT], "who does nothing does no damage"
    assert not (run_in(tmp_path) / "report").exists()


def test_two_models_are_kept_apart(tmp_path: Path) -> None:
    done = fork_ghx_bench(tmp_path, "run", *ONE_CELL, "--model", "a/one", "--model", "a/two", "--no-report", "--json")

    assert printed(done)["measured"] == 2
    rows = rows_of(run_in(tmp_path))
    assert {row.model for row in rows} == {"a/one", "a/two"}
    directory = RunDirectory(run_in(tmp_path))
    sessions = {directory.session(row.cell).read_text() for row in rows}
    assert len(sessions) == 2


def test_a_project_has_modes_and_scorers_of_its_own(tmp_path: Path) -> None:
    write_files(tmp_path, PROJECT)
    (tmp_path / "bin" / "tag").chmod(0o755)

    told = printed(fork_ghx_bench(tmp_path, "run", "--category", "issue", "--json"))

    assert {name: mode["successes"] for name, mode in told["modes"].items()} == {"tagger": 1, "told": 1}
    assert (tmp_path / "loads").read_text().splitlines() == ["loaded"], "a file of the user's is executed once"
    tools = {row.mode: row.extensions["mode"]["tools"] for row in rows_of(run_in(tmp_path))}  # type: ignore[index, call-overload]
    assert [tool["name"] for tool in tools["tagger"]] == ["gh", "tag", "git"]  # type: ignore[index, union-attr]
    assert (tmp_path / "reports" / told["runId"] / "index.html").is_file()


def test_a_plan_is_shown_and_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    flags = ["run", "--dry-run", "--mode", "baseline", "--mode", "ghx", "--scenario-set", "quick", "--repetitions", "3"]

    assert run(flags) == 0
    words = capsys.readouterr().out
    assert run([*flags, "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)

    assert words.startswith("12 cells, up to 1 at a time, interleaved, on twin with the agent reference:\n")
    assert "  scenarios    issue-triage-001, pr-reply-threads-001\n" in words
    assert run([*flags, "--scenario", "issue-triage-001"]) == 0
    assert "note: scenarios.set 'quick' is not used" in capsys.readouterr().err
    assert plan["cells"] == 12
    assert plan["fixtures"] == ["issue_for_triage", "pr_with_mixed_threads"]
    assert plan["config"]["execution"]["repetitions"] == 3
    assert list(tmp_path.iterdir()) == []


SCENARIO = PROJECT["scenarios/mine-001.yaml"]
CONFIG = "modes: [baseline]\nscenario_dirs: [scenarios]\n"
BAD_INPUT: dict[str, tuple[dict[str, str], list[str], str]] = {
    "unknown mode": ({}, ["--mode", "basline"], "no mode 'basline'; did you mean 'baseline'?"),
    "unknown agent": ({}, ["--agent", "refrence"], "no agent 'refrence'; did you mean 'reference'?"),
    "unknown scenario": ({}, ["--scenario", "issue-triage-002"], "no scenario 'issue-triage-002'; did you mean"),
    "unknown set": ({}, ["--scenario-set", "quik"], "no scenario set 'quik'; did you mean 'quick'?"),
    "an unknown set beside scenarios": (
        {},
        ["--scenario", "issue-triage-001", "--scenario-set", "nope"],
        "no scenario set 'nope'; known: default, full, issue, pr, quick",
    ),
    "unknown tag": ({}, ["--tag", "colour"], "no tag 'colour'; known: api-only"),
    "unknown category": ({}, ["--category", "prs"], "no category 'prs'; did you mean 'pr'?"),
    "unknown difficulty": ({}, ["--difficulty", "hard"], "no difficulty 'hard'; known: advanced, basic"),
    "nothing of that kind": ({}, ["--category", "release"], "is of category release"),
    "no configuration": ({}, ["--config", "nowhere.yaml"], "nowhere.yaml: there is no such file"),
    "bad YAML": ({"eval.config.yaml": "modes: [baseline\n"}, [], "eval.config.yaml:1:8: "),
    "a wrong key": ({"eval.config.yaml": f"{CONFIG}agent: nop\n"}, [], "eval.config.yaml:3:1: /agent: unknown key"),
    "a folder that is not there": (
        {"eval.config.yaml": CONFIG},
        [],
        "eval.config.yaml:2:17: /scenario_dirs/0: there is no folder",
    ),
    "a scenario that is wrong": (
        {"eval.config.yaml": CONFIG, "scenarios/mine-001.yaml": "id: mine-001\n"},
        [],
        "scenarios/mine-001.yaml:1:1: ",
    ),
    "an unknown fixture": (
        {
            **PROJECT,
            "scenarios/mine-001.yaml": PROJECT["scenarios/mine-001.yaml"].replace(
                "issue_for_triage", "issue_for_trige"
            ),
        },
        [],
        "scenarios/mine-001.yaml: /fixture/requires/0: there is no fixture 'issue_for_trige'; did you mean",
    ),
    "an unknown scorer": (
        {**PROJECT, "scorers.py": "SCORERS = {}\n"},
        [],
        "no custom scorer is registered as 'has_label'",
    ),
    "no solution for a mode": (
        {**PROJECT, "eval.config.yaml": CONFIG.replace("baseline", "ghx") + "scorers: scorers.py\n"},
        [],
        "scenarios/mine-001.solution.yaml: the reference agent finds no solution for mode ghx; write one there",
    ),
    "a solution that is wrong": (
        {**PROJECT, "scenarios/mine-001.solution.yaml": "version: 1\nmodes: {told: [{shel: ls}]}\n"},
        ["--mode", "told"],
        "scenarios/mine-001.solution.yaml:2:17: /modes/told/0/shel: unknown key 'shel'; did you mean 'shell'?",
    ),
    "no run to replay": ({}, ["--agent", "replay"], "replay: name the run whose sessions are to be"),
    "a tool that is not there": (
        {"eval.config.yaml": "modes: [{name: mine, tools: [no-such-tool]}]\n"},
        ["--agent", "nop"],
        "mode 'mine': no-such-tool: not found on this machine",
    ),
    "no repetitions": ({}, ["--repetitions", "0"], "--repetitions: "),
    "half a repetition": (
        {},
        ["--repetitions", "1.5"],
        "Invalid value for --repetitions: expected a whole number, got '1.5'",
    ),
    "a repetition in words": ({}, ["--repetitions", "two"], "expected a whole number, got 'two'"),
    "an unknown gate": ({}, ["--fail-on", "wrng"], "--fail-on: there is no gate 'wrng'; did you mean 'wrong'?"),
    "a run to replay that is none": ({}, ["--replay", "nowhere"], "replay: nowhere is not the folder"),
    "an empty folder for results": ({}, ["--output-dir", ""], "error: --output-dir: must not be empty"),
    "an empty set": ({}, ["--scenario-set", ""], "error: --scenario-set: must not be empty"),
    "an unknown target": ({}, ["--target", "gitlab"], "--target"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_one_line_and_exit_code_2(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files, flags, says = BAD_INPUT[case]
    monkeypatch.chdir(write_files(tmp_path, files))
    if "--mode" not in flags and not files:
        flags = [*flags, "--mode", "baseline"]  # the others would be looked for on this machine first

    code = run(["run", *flags])

    out, err = capsys.readouterr()
    complaint = [line for line in err.splitlines() if not line.startswith("note: ")]
    assert code == 2, err
    assert out == ""
    assert says in complaint[0]
    assert complaint[0].startswith("error: ")
    assert "Traceback" not in err
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["resume", "nowhere"], "nowhere"),
        (["resume"], "requires an argument"),
        (["show", "nowhere"], "nowhere is not the directory of a run"),
    ],
)
def test_a_run_that_is_not_there_is_told_in_one_line(
    arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run(arguments) == 2
    err = capsys.readouterr().err
    assert says in err
    assert len(err.splitlines()) == 1


NOP_CELL = ("--agent", "nop", *ONE_CELL, "--no-report")


def test_a_run_ends_with_1_where_a_gate_failed_and_says_by_what(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run(["run", *NOP_CELL, "--fail-on", "right", "--fail-on", "success<0.5"]) == 1

    err = capsys.readouterr().err.splitlines()
    assert err[-1] == "gate failed: success<0.5: baseline succeeds in 0 of 1 measured cells (0)"
    assert sum(line.startswith("gate failed: ") for line in err) == 1
    directory = str(run_in(tmp_path))
    assert run(["resume", directory, "--no-report"]) == 1, "the gates of the run are those of whoever resumes it"
    capsys.readouterr()
    assert run(["resume", directory, "--no-report", "--fail-on", "right", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["gates"] == [
        {"gate": "right", "failed": False, "reason": None, "openQuestion": None}
    ]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this machine has no full disk to write to")
def test_a_log_that_cannot_be_written_costs_nothing_but_itself(tmp_path: Path) -> None:
    done = fork_ghx_bench(
        tmp_path, "run", "--agent", "nop", *ONE_CELL, "--no-report", "--json", "--log-json", "/dev/full"
    )

    assert printed(done)["measured"] == 1
    assert "note: /dev/full: the log is not complete: " in done.stderr
    assert "defect" not in done.stderr


def test_a_report_that_cannot_be_written_does_not_hide_the_result(
    reference_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(run_in(reference_run), tmp_path / "copy", ignore=shutil.ignore_patterns("report"))
    (tmp_path / "copy" / "report").write_text("in the way")

    assert run(["resume", "copy", "--json"]) == 2

    out, err = capsys.readouterr()
    assert json.loads(out)["measured"] == 24
    assert err.splitlines()[-1].startswith("error: copy/report: ")
    assert "defect" not in err


def test_a_table_too_wide_for_the_terminal_loses_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    write_run(tmp_path, [a_row("a-mode-with-a-long-name")])

    show_result(SuiteResult(run_id="r", directory=tmp_path, total=1, measured=1), as_json=False)

    header, line, *_ = capsys.readouterr().out.splitlines()
    assert header.split()[:2] == ["mode", "success"]
    assert line.startswith("a-mode-with-a-long-name  ")
    assert "…" not in header + line


def test_a_solution_that_fails_blames_the_bench_and_no_agent(tmp_path: Path) -> None:
    broken = PROJECT["scenarios/mine-001.solution.yaml"].replace("--add-label performance", "--add-label nothing")
    write_files(tmp_path, {**PROJECT, "scenarios/mine-001.solution.yaml": broken})

    done = fork_ghx_bench(tmp_path, "run", "--mode", "told", "--no-report")

    assert done.returncode == 3
    assert "1 could not be measured" in done.stdout
    (row,) = rows_of(run_in(tmp_path))
    assert (row.success, row.error_code) == (None, "SOLUTION_FAILED")
    assert "step 1 (gh issue edit" in (row.error or "")


@pytest.mark.parametrize("flags", [(), ("--dry-run",)])
def test_a_run_says_what_check_warns_of(
    flags: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["init", "."]) == 0
    [file] = [each for each in (tmp_path / "scenarios").iterdir() if "solution" not in each.name]
    file.write_text(file.read_text().replace("path: state", "path: sate"))
    capsys.readouterr()

    run(["run", "--agent", "nop", "--mode", "baseline", "--repetitions", "1", "--skip-warmup", "--no-report", *flags])

    warnings = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: ")]
    assert len(warnings) == 1
    assert "what issue.view returns has no 'sate'; did you mean 'state'?" in warnings[0]
    assert "scenarios/issue-answer-001.yaml:" in warnings[0]


def test_a_binding_that_leads_nowhere_leaves_no_run_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["init", "."]) == 0
    [file] = [each for each in (tmp_path / "scenarios").iterdir() if "solution" not in each.name]
    file.write_text(
        file.read_text().replace("issue_number: issue_with_question.number", "issue_number: nowhere.number")
    )

    assert run(["run", "--agent", "nop", "--mode", "baseline", "--repetitions", "1"]) == 2

    assert "the manifest has no fixture 'nowhere'" in capsys.readouterr().err
    assert list((tmp_path / "results").iterdir()) == []
