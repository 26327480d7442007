"""Did we get worse? Runs of an agent that slips beside those of one that does not, in words, JUnit and exit codes."""

import json
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from bench_command import fork_ghx_bench, printed, run_in_process, write_files
from nightly import mostly_nightly
from once import once
from report_runs import a_row, write_run

from ghx_bench.cli.main import run
from ghx_bench.cli.running.measuring import show_result
from ghx_bench.cli.running.run import write_report
from ghx_bench.cli.verdicts.baseline_comparison import why_incomparable
from ghx_bench.cli.verdicts.judging import Judging
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.reports.data.sources import open_run
from ghx_profiler.store.record import read_record
from ghx_profiler.suite import SuiteResult

pytestmark = pytest.mark.slow

AGENT = '''
import json, re, ssl, urllib.request
from collections import Counter
from contextlib import asynccontextmanager
from anyio import to_thread
from ghx_profiler import Answer, TraceRecorder

class Agent:
    """Closes the issue that it is asked to close, but for the first `slip` repetitions in each mode."""

    name = "closer"

    def __init__(self, slip=0):
        self.slip, self.seen = slip, Counter()

    @asynccontextmanager
    async def session(self, request):
        self.seen[request.mode.name] += 1
        yield Session(request, slips=self.seen[request.mode.name] <= self.slip)

class Session:
    def __init__(self, request, slips):
        self.request, self.slips, self.recorder = request, slips, TraceRecorder()

    async def prompt(self, text):
        self.recorder.begin_turn()
        if not self.slips:
            await to_thread.run_sync(self.close, *re.search(r"#(\\d+) in (\\S+)", text).groups())
        return Answer(text="Done.")

    def close(self, number, repo):
        own = self.request.environment
        request = urllib.request.Request(
            f"{own['GITHUB_API_URL']}/repos/{repo}/issues/{number}",
            json.dumps({"state": "closed"}).encode(),
            {"Authorization": f"Bearer {own['GITHUB_TOKEN']}"},
            method="PATCH",
        )
        proxy = urllib.request.ProxyHandler({"https": own["HTTPS_PROXY"]})
        tls = urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=own["SSL_CERT_FILE"]))
        urllib.request.build_opener(proxy, tls).open(request).close()

    async def trace(self):
        return self.recorder.trace()
'''
SCENARIO = """
id: issue-close-001
name: Close an issue
description: The agent closes an issue.
category: issue
difficulty: basic
prompt: "Close issue #{{issue_number}} in {{repo}} now."
timeoutMs: 60000
allowedRetries: 0
fixture:
  repo: "{{fixture_repo}}"
  requires: [issue_for_triage]
  bindings: {issue_number: issue_for_triage.number, repo: issue_for_triage.repo}
assertions:
  checkpoints:
    - id: closed
      description: The issue is closed
      task: issue.view
      input: {owner: "{{owner}}", name: "{{repo_name}}", issueNumber: "{{issue_number}}"}
      condition: {type: field_equals, path: state, value: CLOSED}
"""
CONFIG = """
modes: [baseline, ghx, ghx-mcp]
provider: {id: "./agent.py:Agent", options: {slip: SLIP}}
execution: {repetitions: 10, warmup: false, max_concurrency: 1}
"""
FILES = {
    "agent.py": AGENT,
    "scenarios/issue-close-001.yaml": SCENARIO,
    "eval.config.yaml": CONFIG.replace("SLIP", "0"),
    "drop.yaml": CONFIG.replace("SLIP", "3"),
}
TWO_MODES = ("--mode", "baseline", "--mode", "ghx")


@pytest.fixture(autouse=True)
def is_no_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what is judged here out of the pipeline that these tests may run in."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


def make_baseline(folder: Path) -> None:
    """Make a run over three modes that solves everything, and bless it."""
    done = fork_ghx_bench(write_files(folder, FILES), "run", "--no-report", "--json")
    assert printed(done)["notMeasured"] == 0
    assert fork_ghx_bench(folder, "bless", "latest").returncode == 0


@pytest.fixture
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return once(tmp_path_factory, "blessed", make_baseline)


@pytest.mark.parametrize(
    ("modes", "says"),
    mostly_nightly(
        [
            ((), "Worse: 21 of 30 solved instead of 30 (-30 points; 95 % interval "),
            (TWO_MODES, "Worse: 14 of 20 solved instead of 20 (-30 points; 95 % interval "),
        ],
        keep=1,
    ),
)
def test_a_drop_is_called_worse_in_the_terminal_in_junit_and_by_the_exit_code(
    modes: tuple[str, ...], says: str, project: Path, tmp_path: Path
) -> None:
    junit, summary = tmp_path / "junit.xml", tmp_path / "summary.md"
    gates = ("--fail-on", "worse", "--fail-on", "unreliable", "--junit", str(junit))
    given = ("--config", "drop.yaml", "--no-report", "--against", "main", "--output-dir", str(tmp_path / "runs"))

    done = fork_ghx_bench(project, "run", *given, *modes, *gates, extra={"GITHUB_STEP_SUMMARY": str(summary)})

    assert done.returncode == 1, done.stderr
    assert any(line.startswith(says) for line in done.stdout.splitlines())
    assert f"gate failed: worse: {says}" in done.stderr
    assert summary.read_text().startswith(f"## {says[:20]}")
    cases = {str(case.get("name")): case for case in ElementTree.parse(junit).iter("testcase")}
    assert str(cases["worse"][0].get("message")).startswith(says)
    assert list(cases["unreliable"]) == []
    assert "The issue is closed (expected state" in str(cases["issue-close-001"][0].get("message"))

    (made,) = (tmp_path / "runs").iterdir()
    compared = fork_ghx_bench(project, "compare", "main", str(made), "--fail-on", "worse")
    assert compared.returncode == 1
    verdict, changed, *_ = compared.stdout.splitlines()
    assert verdict.startswith(says)
    assert changed == f"Changed: agent option slip 0 -> 3{'; mode ghx-mcp removed' if modes else ''}; nothing else."


def test_identical_runs_pass(project: Path, tmp_path: Path) -> None:
    gates = ("--fail-on", "worse", "--fail-on", "unreliable", "--fail-on", "wrong")
    given = ("--no-report", "--against", "main", "--output-dir", str(tmp_path / "runs"), "--json")

    told = printed(fork_ghx_bench(project, "run", *TWO_MODES, *given, *gates))

    assert [gate["failed"] for gate in told["gates"]] == [False, False, False]
    assert "20 of 20 solved, as before" in told["comparison"]["headline"]


def rows_of(*, right: int, of: int = 15, wall_ms: int = 30_000, run_id: str, **changes: Any) -> list[ProfileRow]:
    return [
        a_row(
            mode,
            iteration=number,
            runId=run_id,
            success=number < right,
            timing={"wallMs": wall_ms + 10 * number, "segments": []},
            **changes,
        )
        for mode in ("baseline", "ghx")
        for number in range(of)
    ]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with runs: `good`, `same`, `bad` and `slow`, and `tiny` with a row for each mode."""
    monkeypatch.chdir(tmp_path)
    made: dict[str, dict[str, int]] = {
        "good": {"right": 15},
        "same": {"right": 15},
        "bad": {"right": 9},
        "slow": {"right": 15, "wall_ms": 60_000},
        "tiny": {"right": 1, "of": 1},
    }
    for day, (name, shape) in enumerate(made.items(), start=1):
        rows = rows_of(run_id=name, **shape)
        write_run(tmp_path / name, rows, run_id=name, created_at=f"2026-03-0{day}T16:00:00Z")
    return tmp_path


GATES = (
    "worse",
    "not-equivalent",
    "inconclusive",
    "unreliable",
    "wrong",
    "right",
    "success<0.7",
    "success<0.6",
    "worse:wall time",
    "worse:latency_wall_ms",
    "not-equivalent:wall time",
    "worse:tool calls",
)


@pytest.mark.parametrize(
    ("after", "failing"),
    [
        ("same", ["right"]),
        ("bad", ["worse", "not-equivalent", "wrong", "right", "success<0.7"]),
        ("slow", ["right", "worse:wall time", "worse:latency_wall_ms", "not-equivalent:wall time"]),
        ("tiny", ["not-equivalent", "inconclusive", "right", "not-equivalent:wall time"]),
    ],
)
def test_one_grammar_of_gates_for_stored_runs(
    after: str, failing: list[str], runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [word for gate in GATES for word in ("--fail-on", gate)]

    code = run(["compare", "good", after, "--json", *asked])

    captured = capsys.readouterr()
    gates = json.loads(captured.out)["gates"]
    assert [each["gate"] for each in gates] == list(GATES)
    assert [each["gate"] for each in gates if each["failed"]] == failing
    assert code == 1
    assert captured.err.count("gate failed: ") == len(failing)
    # A gate that passed on nothing says so.
    assert ("note: gate 'worse' passed, but: " in captured.err) == (after == "tiny")


@pytest.mark.parametrize(("after", "code"), [("bad", 1), ("same", 0)])
def test_a_report_ends_by_the_same_gates(after: str, code: int, runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("report", "good", after, "--format", "data", "--fail-on", "worse")

    assert run_in_process(capsys, *words)[0] == code
    assert run_in_process(capsys, "report", after, "--format", "data", "--fail-on", "wrong")[0] == code


def test_arms_that_go_opposite_ways_are_named_although_the_gate_passes(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, winner in (("first", "baseline"), ("second", "ghx")):
        rows = [row.model_copy(update={"success": row.mode == winner}) for row in rows_of(right=15, run_id=name)]
        write_run(runs / name, rows, run_id=name)

    code, said = run_in_process(capsys, "compare", "first", "second", "--fail-on", "worse")

    assert code == 0
    assert "15 of 30 solved, as before" in said
    assert "\nSingle arms went apart: baseline 0 of 15 instead of 15; ghx 15 of 15 instead of 0.\n" in said
    assert run_in_process(capsys, "compare", "first", "second", "--fail-on", "success<0.7")[0] == 1


def test_runs_have_the_labels_that_they_are_given(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = ("--label", "old=good", "--label", "new=bad")

    code, said = run_in_process(capsys, "compare", "good", "bad", *labels, "--json")

    told = json.loads(said)["comparison"]
    assert code == 0
    assert (told["before"]["label"], told["after"]["label"]) == ("old", "new")
    assert told["arms"] == [
        {
            "arm": arm,
            "before": {"solved": 15, "rows": 15},
            "after": {"solved": 9, "rows": 15},
            "verdict": told["arms"][0]["verdict"],
        }
        for arm in ("baseline", "ghx")
    ]


def test_a_scenario_in_quarantine_is_left_out_of_the_comparison(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, right in {"steady": 15, "shaky": 0}.items():
        rows = [*rows_of(right=15, run_id=name), *rows_of(right=right, run_id=name, scenarioId="flaky-001")]
        write_run(runs / name, rows, run_id=name, created_at="2026-03-09T16:00:00Z")
    compare = ("compare", "steady", "shaky", "--fail-on", "worse")
    assert run_in_process(capsys, *compare)[0] == 1

    entry = "{scenario: flaky-001, owner: ann, until: 9999-12-31}"
    write_files(runs, {"eval.config.yaml": f"modes: [baseline, ghx]\nquarantine: [{entry}]\n"})
    code, said = run_in_process(capsys, *compare)

    assert code == 0
    assert said.startswith("Equivalent: 30 of 30 solved, as before.\n")
    assert "in quarantine, and not counted by gates: flaky-001 (ann, until 9999-12-31)" in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["compare", "good", "good"], "named 2 times; a run cannot be compared with itself"),
        (["compare", "good", "absent"], "absent: not a run directory"),
        (["compare", "good", "bad", "--fail-on", "wors"], "--fail-on: there is no gate 'wors'; did you mean 'worse'?"),
        (["compare", "good", "bad", "--fail-on", "worse:tokns"], "--fail-on: there is no metric 'tokns'"),
        (["compare", "good", "bad", "--label", "x=slow"], "--label: slow is neither of the two runs"),
        (["report", "good", "--fail-on", "worse"], "--fail-on: 'worse' needs a baseline; name the run to compare with"),
        (["run", "--fail-on", "worse"], "--fail-on: 'worse' needs a baseline; name a run, or a blessed one, with"),
        (
            ["run", "--against", "good", "--mode", "ghx-mcp"],
            "--against: this run cannot be compared with good: they have no mode in common, there baseline, ghx, here",
        ),
        (["run", "--against", "good", "--mode", "nonesuch"], "no mode 'nonesuch'"),
        (["run", "--against", "good", "--fail-on", "worse:tokns"], "--fail-on: there is no metric 'tokns'"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    words: list[str], says: str, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = run_in_process(capsys, *words)

    assert code == 2
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    assert says in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "says"),
    [
        (".", ". is a folder; name a file"),
        ("good", "good is a folder; name a file"),
        ("good/rows.jsonl/new/f", "good/rows.jsonl/new/f cannot be written: {runs}/good/rows.jsonl is no folder; "),
        (f"{'n' * 300}", f"{'n' * 300} cannot be written: File name too long; "),
    ],
)
@pytest.mark.parametrize("words", [["run"], ["run", "--dry-run"], ["compare", "good", "bad"]])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(
    words: list[str], place: str, says: str, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for flag in ("--junit", "--markdown"):
        code, said = run_in_process(capsys, *words, flag, place)

        assert code == 2
        assert said.startswith(f"error: {flag}: {says.format(runs=runs)}")
        assert said.count("\n") == 1
        assert not (runs / "results").exists()


def test_runs_that_share_no_mode_are_not_compared(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(runs / "other", [a_row("mcp", runId="other")], run_id="other")

    code, said = run_in_process(capsys, "compare", "good", "other")

    assert (code, said) == (2, "error: other: has no mode in common with good; name runs of the same modes\n")


@pytest.fixture
def odd_runs(runs: Path) -> Path:
    """Return the folder with runs that hardly any other can be compared with."""
    made: dict[str, list[ProfileRow]] = {
        "models": [a_row("ghx", runId="models", provider="reference", model=name) for name in ("m1", "m2")],
        "agents": [a_row("ghx", runId="agents", provider=name) for name in ("careful", "hasty")],
        "proof": [a_row("ghx", runId="proof", provider="nop")],
        "empty": [],
        "flaky": [a_row("ghx", runId="flaky", provider="reference", model="none", scenarioId="issue-triage-001")],
    }
    for name, rows in made.items():
        write_run(runs / name, rows, run_id=name)
    return runs


QUARANTINE = "quarantine: [{scenario: issue-triage-001, owner: ann, until: 9999-12-31}]\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("against", "config", "reason"),
    mostly_nightly(
        [
            ("models", "", "they have no model in common, there m1, m2, here none; name a run of the same models"),
            (
                "agents",
                "",
                "they have no agent in common, there careful, hasty, here reference; name a run of the same",
            ),
            ("good", "", "no agent under test was measured there in the same mode, with the same model; "),
            ("empty", "", "the earlier run has no rows; name one that measured something"),
            ("flaky", QUARANTINE, "all its scenarios are in quarantine; run others as well"),
        ],
        keep=2,
    ),
)
def test_a_run_that_its_baseline_does_not_fit_is_refused_before_the_first_cell(
    against: str, config: str, reason: str, odd_runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(odd_runs, {"eval.config.yaml": f"modes: [ghx]\nscenarios: {{ids: [issue-triage-001]}}\n{config}"})
    words = ("run", "--agent", "reference", "--against", against)
    says = f"error: --against: this run cannot be compared with {against}: {reason}"

    for dry in ((), ("--dry-run",)):
        code, said = run_in_process(capsys, *words, *dry)

        assert code == 2
        assert said.splitlines()[-1].startswith(says)
        assert not (odd_runs / "results").exists()


def test_what_is_in_quarantine_of_a_baseline_is_not_compared(
    odd_runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenarios = "scenarios: {ids: [issue-triage-001, issue-to-pr-001]}"
    write_files(odd_runs, {"eval.config.yaml": f"modes: [ghx]\n{scenarios}\n{QUARANTINE}"})

    _, said = run_in_process(capsys, "run", "--agent", "reference", "--against", "flaky", "--dry-run")

    assert "flaky: all scenarios of the earlier run are in quarantine; name another run" in said


def test_runs_of_one_model_each_can_be_compared(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of(right=9, run_id="other", model="vendor/model-2")
    write_run(runs / "other", rows, run_id="other", created_at="2026-03-09T16:00:00Z")
    record = read_record(runs / "other" / "run.json")

    assert why_incomparable(open_run(runs / "good"), record.matrix, controls=(), aside=()) is None
    assert run_in_process(capsys, "compare", "good", "other", "--fail-on", "worse")[0] == 1


def test_a_baseline_that_turns_out_not_to_fit_leaves_table_report_files_and_other_gates(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, agents in {"ours": ("careful", "hasty"), "theirs": ("slow", "quick")}.items():
        rows = [a_row(runId=name, provider=agent, iteration=number) for agent in agents for number in range(2)]
        write_run(runs / name, rows, run_id=name)
    result = SuiteResult(run_id="ours", directory=runs / "ours", total=4, measured=4)
    gates, junit = ("success<0.5", "worse", "right"), runs / "junit.xml"
    judging = Judging(fail_on=gates, against=runs / "theirs", junit=junit)

    code = show_result(result, as_json=True, judging=judging, report=partial(write_report, None))

    captured = capsys.readouterr()
    reason = "they have no agent in common, there slow, quick, here careful, hasty; name a run of the same agents"
    told = {each["gate"]: each["reason"] for each in json.loads(captured.out)["gates"]}
    assert code == 2
    assert captured.err.endswith(f"error: {runs}/ours: cannot be compared with {runs}/theirs: {reason}\n")
    assert told["success<0.5"] is None
    assert told["worse"].startswith("could not be judged: ")
    assert told["right"].startswith("4 of 4 measured cells are right")
    assert (runs / "ours" / "report" / "index.html").exists()
    assert "could not be judged" in junit.read_text()
    assert show_result(result, as_json=False, judging=judging) == 2
    assert "careful / ghx" in capsys.readouterr().out
