"""`ghx-bench run` and `resume` with real tools on a real embedded GitHub."""

import json
import os
import signal
from collections import Counter
from pathlib import Path

import pytest
from bench_command import ghx_bench, left_in, printed, rows_of, run_in, start, wait_for_rows, write_files

from ghx_bench.eval.catalogue import BUILT_IN
from ghx_bench.eval.cli.main import run
from ghx_bench.eval.collateral import CHECKPOINT_ID
from ghx_bench.eval.loader import load_eval_scenarios
from ghx_bench.profiler.store.directory import RunDirectory

MODES = {"baseline", "ghx", "ghx-mcp"}
IDS = {scenario.id for scenario in load_eval_scenarios(BUILT_IN)}
ONE_CELL = ("--mode", "baseline", "--scenario", "issue-triage-001", "--repetitions", "1", "--skip-warmup")


def test_every_built_in_scenario_can_be_done_in_every_mode(reference_run: Path) -> None:
    rows = rows_of(run_in(reference_run))

    assert Counter((row.mode, row.scenario_id) for row in rows) == {(mode, id_): 1 for mode in MODES for id_ in IDS}
    failed = {
        str(row.cell): row.error or [each.to_wire() for each in row.checkpoint_details or () if not each.passed]
        for row in rows
        if not row.success
    }
    assert failed == {}
    assert {(row.checkpoint_details or ())[-1].id for row in rows} == {CHECKPOINT_ID}


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
    assert "Control run: " in (directory / "report" / "index.html").read_text()
    assert left_in(reference_run) == []


def test_an_agent_that_does_nothing_fails_every_scenario(tmp_path: Path) -> None:
    flags = ("--agent", "nop", "--mode", "baseline", "--repetitions", "1", "--max-concurrency", "4", "--no-report")
    told = printed(ghx_bench(tmp_path, "run", *flags, "--json"))

    assert (told["measured"], told["modes"]["baseline"]["successes"]) == (8, 0)
    for row in rows_of(run_in(tmp_path)):
        passed = {each.id: each.passed for each in row.checkpoint_details or ()}
        assert not all(passed.values())
        assert passed[CHECKPOINT_ID], "who does nothing does no damage"
    assert not (run_in(tmp_path) / "report").exists()


def test_a_killed_run_is_resumed_where_it_was(tmp_path: Path) -> None:
    flags = ("--mode", "baseline", "--scenario-set", "quick", "--repetitions", "3", "--skip-warmup")
    process = start(tmp_path, "run", *flags)
    wait_for_rows(tmp_path, process, 2)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    before = [row.cell for row in rows_of(run_in(tmp_path))]

    done = ghx_bench(tmp_path, "resume", str(run_in(tmp_path)))

    assert done.returncode == 0, done.stderr
    after = Counter(row.cell for row in rows_of(run_in(tmp_path)))
    assert 2 <= len(before) < 6
    assert (len(after), set(after.values())) == (6, {1})
    assert "6 cells measured" in done.stdout
    assert (run_in(tmp_path) / "report" / "index.html").is_file()


def test_an_interrupted_run_cleans_up_and_says_how_to_go_on(tmp_path: Path) -> None:
    flags = ("--mode", "baseline", "--scenario-set", "quick", "--repetitions", "20", "--max-concurrency", "2")
    process = start(tmp_path, "run", *flags, "--skip-warmup")
    wait_for_rows(tmp_path, process, 1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()

    directory = run_in(tmp_path).relative_to(tmp_path)
    assert process.returncode == 130, errors
    assert f"go on with: ghx-bench resume {directory}" in errors
    assert "Traceback" not in errors
    assert left_in(tmp_path) == []
    assert 1 <= len(rows_of(run_in(tmp_path))) < 40


def test_two_models_are_kept_apart(tmp_path: Path) -> None:
    done = ghx_bench(tmp_path, "run", *ONE_CELL, "--model", "a/one", "--model", "a/two", "--no-report", "--json")

    assert printed(done)["measured"] == 2
    rows = rows_of(run_in(tmp_path))
    assert {row.model for row in rows} == {"a/one", "a/two"}
    directory = RunDirectory(run_in(tmp_path))
    sessions = {directory.session(row.cell).read_text() for row in rows}
    assert len(sessions) == 2


PROJECT = {
    "eval.config.yaml": """
modes:
  - name: tagger
    extends: baseline
    tools: [./bin/tag]
    environment: {TAG: performance}
    instructions: Use `tag` to label issues.
  - modes/told.yaml
scenarios: {ids: [mine-001]}
scorers: scorers.py
execution: {repetitions: 1, warmup: false}
output: {reports_dir: reports}
""",
    "modes/told.yaml": "name: told\nextends: baseline\ninstructions: Use `gh`.\n",
    "bin/tag": '#!/bin/sh\nexec gh issue edit "$2" --repo "$1" --add-label "$TAG"\n',
    "scorers.py": """
def has_label(data, params):
    print("looked at", data["number"])
    return params["label"] in data["labels"]

SCORERS = {"has_label": has_label}
""",
    "scenarios/mine-001.yaml": """
id: mine-001
name: Label it
description: A task with a scorer of its own
category: issue
difficulty: basic
prompt: "Label #{{number}} in {{repo}}."
timeoutMs: 60000
fixture:
  repo: "{{fixture_repo}}"
  requires: [issue_for_triage]
  bindings: {number: issue_for_triage.number}
assertions:
  checkpoints:
    - id: labelled
      description: It has the label
      task: issue.view
      input: {owner: "{{owner}}", name: "{{repo_name}}", issueNumber: "{{number}}"}
      condition: {type: custom, scorer: has_label, params: {label: performance}}
extensions:
  allowedChanges: ["created issue_labels {{repo}}#{{number}} *"]
""",
    "scenarios/mine-001.solution.yaml": """
version: 1
modes:
  baseline:
    - shell: gh issue edit {{number}} --repo {{repo}} --add-label performance
  tagger:
    - shell: tag {{repo}} {{number}}
""",
}


def test_a_project_has_modes_and_scorers_of_its_own(tmp_path: Path) -> None:
    write_files(tmp_path, PROJECT)
    (tmp_path / "bin" / "tag").chmod(0o755)

    told = printed(ghx_bench(tmp_path, "run", "--json"))

    assert {name: mode["successes"] for name, mode in told["modes"].items()} == {"tagger": 1, "told": 1}
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
    "unknown tag": ({}, ["--tag", "colour"], "no tag 'colour'; known: api-only"),
    "unknown category": ({}, ["--category", "prs"], "no category 'prs'; did you mean 'pr'?"),
    "unknown difficulty": ({}, ["--difficulty", "hard"], "no difficulty 'hard'; known: advanced, basic"),
    "nothing of that kind": ({}, ["--category", "release"], "is of category release"),
    "no configuration": ({}, ["--config", "nowhere.yaml"], "nowhere.yaml: there is no such file"),
    "bad YAML": ({"eval.config.yaml": "modes: [baseline\n"}, [], "eval.config.yaml:1:8: "),
    "a wrong key": ({"eval.config.yaml": f"{CONFIG}agent: nop\n"}, [], "eval.config.yaml:3:1: /agent: unknown key"),
    "a folder that is not there": ({"eval.config.yaml": CONFIG}, [], "scenarios: there is no such file"),
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
    "no run to replay": ({}, ["--agent", "replay"], "provider.options.run: name the run whose sessions are to be"),
    "a tool that is not there": (
        {"eval.config.yaml": "modes: [{name: mine, tools: [no-such-tool]}]\n"},
        ["--agent", "nop"],
        "mode 'mine': no-such-tool: not found on this machine",
    ),
    "no repetitions": ({}, ["--repetitions", "0"], "--repetitions: "),
    "half a repetition": ({}, ["--repetitions", "1.5"], "--repetitions"),
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


def test_a_solution_that_fails_blames_the_bench_and_no_agent(tmp_path: Path) -> None:
    broken = PROJECT["scenarios/mine-001.solution.yaml"].replace("--add-label performance", "--add-label nothing")
    write_files(tmp_path, {**PROJECT, "scenarios/mine-001.solution.yaml": broken})

    done = ghx_bench(tmp_path, "run", "--mode", "told", "--no-report")

    assert done.returncode == 3
    assert "1 could not be measured" in done.stdout
    (row,) = rows_of(run_in(tmp_path))
    assert (row.success, row.error_code) == (None, "SOLUTION_FAILED")
    assert "step 1 (gh issue edit" in (row.error or "")
