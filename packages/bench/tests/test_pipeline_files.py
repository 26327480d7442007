"""What pipelines read of a run: JUnit XML, a summary in Markdown, annotations; and scenarios that do not count."""

from collections.abc import Iterable
from datetime import date
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
from bench_command import run_in_process, write_files
from report_runs import a_row, write_run

from ghx_base.errors import InputError
from ghx_bench.cli.verdicts.judging import Judgement, Judging, RunJudge
from ghx_bench.project.config import EvalConfig
from ghx_bench.project.gates import QuarantineEntry
from ghx_profiler.records.row import ProfileRow

UNMET = [
    {"id": "replied", "description": "Every thread has a reply", "passed": False, "expected": 3, "actual": 1},
    {"id": "unresolved", "description": "No thread was resolved", "passed": True},
]
ROWS = [
    a_row("baseline", iteration=0),
    a_row("baseline", iteration=1),
    a_row("ghx", iteration=0),
    a_row("ghx", iteration=1, success=False, checkpointDetails=UNMET, checkpointsPassed=1),
    a_row("mcp", iteration=0),
    a_row("mcp", iteration=1, success=None, error="HTTP 503 \x1b[2J<&>\ud800\uffff", cause="environment", sessionId=""),
]
FLAKY = QuarantineEntry(scenario="pr-reply-001", owner="@ann", until=date(2026, 12, 1), reason="search lags")

SUITE = {"id", "package", "name", "timestamp", "hostname", "tests", "failures", "errors", "skipped", "time"}
"""What the schema of Ant's JUnit task requires of a suite, and `skipped`, which that of Jenkins knows besides."""


@pytest.fixture(autouse=True)
def is_no_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what is judged here out of the pipeline that these tests may run in."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


def judge(folder: Path, rows: Iterable[ProfileRow] = ROWS, **judging: object) -> Judgement:
    """Judge a run of these rows, and write what was asked for."""
    rows = list(rows)
    judged = RunJudge(write_run(folder / "run", (row for row in rows if row.session_id)), Judging(**judging))  # pyright: ignore[reportArgumentType]
    for row in rows:
        judged.add(row)
    judgement = judged.conclude()
    judgement.publish()
    return judgement


def require_schema(root: Element) -> None:
    """Check what both schemas that are in use ask for: Ant's, which is the stricter one, and Jenkins's."""
    assert (root.tag, root.attrib) == ("testsuites", {})
    for number, suite in enumerate(root):
        assert (suite.tag, suite.attrib.keys(), suite.get("id")) == ("testsuite", SUITE, str(number))
        tags = [child.tag for child in suite]
        assert tags == ["properties", *["testcase"] * (len(tags) - 3), "system-out", "system-err"]
        cases = suite.findall("testcase")
        for attribute, tag in {"failures": "failure", "errors": "error", "skipped": "skipped"}.items():
            assert suite.get(attribute) == str(sum(case.find(tag) is not None for case in cases))
        assert suite.get("tests") == str(len(cases))
        for case in cases:
            assert case.attrib.keys() == {"name", "classname", "time"}
            # One at the most: Ant's schema has a choice here.
            assert [child.tag for child in case] in ([], ["failure"], ["error"], ["skipped"])
            for child in case:
                assert child.attrib.keys() <= {"type", "message"}
                assert "type" in child.attrib or child.tag == "skipped"


def read_junit(path: Path) -> dict[str, Element]:
    """Return the cases of a file by arm and scenario, or by gate."""
    root = ElementTree.fromstring(path.read_bytes())
    require_schema(root)
    return {f"{case.get('classname')} {case.get('name')}": case for case in root.iter("testcase")}


def test_junit_has_a_case_for_each_scenario_in_each_arm_and_for_each_gate(tmp_path: Path) -> None:
    judge(tmp_path, junit=tmp_path / "junit.xml", fail_on=("wrong", "success<0.5"))

    cases = read_junit(tmp_path / "junit.xml")

    assert list(cases) == [
        "baseline pr-reply-001",
        "ghx pr-reply-001",
        "mcp pr-reply-001",
        "gates wrong",
        "gates success<0.5",
    ]
    assert [[child.tag for child in case] for case in cases.values()] == [[], ["failure"], ["error"], ["failure"], []]
    failure = cases["ghx pr-reply-001"][0]
    assert failure.get("message") == ("1 of 2 wrong: ghx/pr-reply-001/1: Every thread has a reply (expected 3, got 1)")
    assert cases["mcp pr-reply-001"][0].get("message") == (
        "1 of 2 could not be measured: mcp/pr-reply-001/1: HTTP 503 \ufffd[2J<&>\ufffd\ufffd"
    )
    assert cases["gates wrong"][0].text == "1 of 5 measured cells is wrong: ghx/pr-reply-001/1"


def test_controls_that_are_hoped_to_fail_are_no_failed_cases(tmp_path: Path) -> None:
    rows = [a_row(provider=agent, success=agent == "reference") for agent in ("nop", "reference")]

    judge(tmp_path, rows, junit=tmp_path / "junit.xml")

    assert [case.get("classname") for case in read_junit(tmp_path / "junit.xml").values()] == ["reference / ghx"]


def test_a_scenario_in_quarantine_is_shown_and_does_not_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"junit": tmp_path / "junit.xml", "markdown": tmp_path / "summary.md"}
    rows = [*ROWS, a_row("ghx", scenario="pr-merge-001")]

    judged = judge(tmp_path, rows, **files, fail_on=("wrong", "success<1"), quarantine=(FLAKY,))

    assert [each.failed for each in judged.gates] == [False, False]
    cases = read_junit(files["junit"])
    assert [child.tag for child in cases["ghx pr-reply-001"]] == ["skipped"]
    assert cases["ghx pr-reply-001"][0].get("message") == (
        "in quarantine: pr-reply-001 (@ann, until 2026-12-01: search lags); 1 of 2 right"
    )
    assert "ghx 1 of 2 right" in files["markdown"].read_text()
    assert "in quarantine, and not counted by gates: pr-reply-001 (@ann" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("today", "known", "says"),
    [
        (date(2026, 12, 1), {"pr-reply-001"}, None),
        (
            date(2026, 12, 3),
            {"pr-reply-001"},
            "quarantine: the quarantine of pr-reply-001 ended 2 days ago, on 2026-12-01 (owner: @ann); "
            "mend the scenario and take it out, or set a later day",
        ),
        (
            date(2026, 12, 1),
            {"pr-reply-002"},
            "quarantine: there is no scenario 'pr-reply-001' to be quarantined; did you mean 'pr-reply-002'?",
        ),
    ],
)
def test_a_gate_refuses_a_quarantine_that_has_ended_or_names_nothing(
    today: date, known: set[str], says: str | None
) -> None:
    judging = Judging(fail_on=("wrong",), quarantine=(FLAKY,))
    if says is None:
        judging.require_sense(known_scenarios=known, today=today)
        return

    with pytest.raises(InputError) as raised:
        judging.require_sense(known_scenarios=known, today=today)

    assert str(raised.value) == says


def test_check_says_where_a_quarantine_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (
        "modes: [baseline]",
        "quarantine:",
        "  - {scenario: issue-triage-001, owner: ann, until: 2026-01-01}",
        "  - {scenario: issue-triag-001, owner: ann, until: 9999-01-01}",
        "  - {scenario: issue-to-pr-001, owner: ann, until: 9999-01-01}",
    )
    monkeypatch.chdir(write_files(tmp_path, {"eval.config.yaml": "\n".join(lines)}))

    code, said = run_in_process(capsys, "check")

    assert code == 2
    expired, unknown, count = said.splitlines()
    assert expired.startswith("eval.config.yaml:3:5: /quarantine/0: the quarantine of issue-triage-001 ended ")
    assert unknown == (
        "eval.config.yaml:4:5: /quarantine/1: there is no scenario 'issue-triag-001' to be quarantined; "
        "did you mean 'issue-triage-001'?"
    )
    assert count == "1 configuration: 2 problems"
    assert run_in_process(capsys, "run", "--fail-on", "wrong")[0] == 2


@pytest.mark.parametrize(
    "entry",
    [
        {"scenario": "a-001", "owner": "ann"},
        {"scenario": "a-001", "until": "2026-12-01"},
        {"scenario": "a-001", "owner": "ann", "until": 20261201},
        {"scenario": "a-001", "owner": "ann", "until": "soon"},
        {"scenario": "a-001", "owner": "", "until": "2026-12-01"},
    ],
)
def test_a_quarantine_has_an_owner_and_a_last_day(entry: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="quarantine"):
        EvalConfig.model_validate({"modes": ["baseline"], "quarantine": [entry]})


@pytest.mark.parametrize("until", ["soon", "tomorrow", "2026-13-01", ""])
def test_what_is_no_day_is_told_so(until: str) -> None:
    entry = {"scenario": "a-001", "owner": "ann", "until": until}

    with pytest.raises(ValueError, match="expected a day"):
        EvalConfig.model_validate({"modes": ["baseline"], "quarantine": [entry]})


def test_the_summary_counts_scenarios_whatever_arms_they_fail_in(tmp_path: Path) -> None:
    rows = [a_row(mode, scenarioId=name, success=False) for mode in ("baseline", "ghx") for name in ("a-001", "b-001")]

    assert "<summary>2 scenarios with failures, by arm</summary>" in judge(tmp_path / "run", rows).summary


def test_the_summary_goes_to_its_file_and_to_the_step_of_a_runner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, own = tmp_path / "step.md", tmp_path / "new" / "own.md"
    step.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))

    judge(tmp_path, markdown=own, fail_on=("wrong",))

    text = own.read_text()
    assert step.read_text() == f"before\n{text}"
    lines = text.splitlines()
    assert lines[0] == "## opencode, 5 measured cells: 1 of 1 gate failed"
    assert "| wrong | failed: 1 of 5 measured cells is wrong: ghx/pr-reply-001/1 |" in lines
    assert "| ghx | 1 of 2 |" in lines
    # What an agent or a service wrote is text, whatever it looks like.
    assert "\x1b" not in text
    assert "\\<\\&\\>" in text


def test_failed_gates_are_annotations_on_a_runner_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = a_row("a%b", success=False)
    judge(tmp_path, [row], fail_on=("wrong", "success<0.5", "right"))
    assert "::" not in capsys.readouterr().err

    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    judge(tmp_path, [row], fail_on=("wrong", "success<0.5", "right"))

    captured = capsys.readouterr()
    assert captured.out == ""
    assert [line for line in captured.err.splitlines() if line.startswith("::")] == [
        "::error title=ghx-bench%3A wrong::1 of 1 measured cells is wrong: a%25b/pr-reply-001/0",
        "::error title=ghx-bench%3A success<0.5::a%25b succeeds in 0 of 1 measured cells (0)",
    ]
