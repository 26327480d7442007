"""Variants from the command line to the report: run, shown, resumed, judged, packed and compared by their ids."""

import json
from pathlib import Path

import pytest
from bench_command import fork_ghx_bench, printed, rows_of, run_in, write_files

SCENARIO = """
id: mine-001
name: Label it
description: A task with variants
category: issue
difficulty: basic
prompt: "Label #{{number}} in {{repo}} as performance."
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
      condition: {type: contains_item, path: labels, value: performance}
extensions:
  targets: [twin]
  allowedChanges: ["created issue_labels {{repo}}#{{number}} *"]
  variants:
    vague: {prompt: "Make #{{number}} easier to find."}
    strict: {description: nothing may be changed, extensions: {allowedChanges: []}}
    reader: {extensions: {tokenScopes: []}}
"""
PROJECT = {
    "eval.config.yaml": "modes: [baseline]\nexecution: {repetitions: 1, warmup: false}\n",
    "scenarios/mine-001.yaml": SCENARIO,
    "scenarios/mine-001.solution.yaml": """
version: 1
modes:
  baseline:
    - shell: gh issue edit {{number}} --repo {{repo}} --add-label performance || true
answer: Done.
""",
}
pytestmark = pytest.mark.process

FORMS = ["mine-001", "mine-001@vague", "mine-001@strict", "mine-001@reader"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_files(tmp_path_factory.mktemp("project"), PROJECT)
    done = fork_ghx_bench(folder, "run", "--scenario", "mine-001@*", "--junit", "junit.xml")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.nightly
def test_each_form_is_a_cell_of_its_own_with_the_solution_of_the_scenario(project: Path) -> None:
    outcomes = {row.scenario_id: row.success for row in rows_of(run_in(project))}
    record = json.loads((run_in(project) / "run.json").read_text())

    assert outcomes == dict(zip(FORMS, [True, True, False, False], strict=True))
    assert record["matrix"]["scenarioIds"] == FORMS
    assert [each["id"] for each in record["scenarios"]] == FORMS
    assert all("variants" not in each["extensions"] for each in record["scenarios"])
    solutions = [name for name in record["provenance"][0]["ingredients"] if name.startswith("solution")]
    assert solutions == ["solution of mine-001"]
    assert 'name="mine-001@strict"' in (project / "junit.xml").read_text()


def test_a_cell_of_a_variant_is_shown_by_its_name(project: Path) -> None:
    shown = fork_ghx_bench(project, "show", str(run_in(project)), "baseline/mine-001@strict/0").stdout

    assert "mine-001@strict/0: wrong" in shown
    assert "no-collateral-damage" in shown


def test_a_run_with_variants_is_resumed_packed_and_compared(project: Path, tmp_path: Path) -> None:
    run, pack = run_in(project), tmp_path / "run.pack.zip"

    assert fork_ghx_bench(project, "resume", str(run)).returncode == 0
    assert fork_ghx_bench(project, "pack", str(run), "--output", str(pack)).returncode == 0
    write_files(tmp_path, PROJECT)
    assert fork_ghx_bench(tmp_path, "run", "--scenario", "mine-001@*").returncode == 0
    compared = fork_ghx_bench(tmp_path, "compare", str(pack), str(run_in(tmp_path)))
    assert compared.returncode == 0, compared.stderr
    assert "2 of 4 solved, as before" in compared.stdout


def test_lists_name_the_variants_and_an_unknown_one_is_refused(project: Path) -> None:
    (listed,) = printed(fork_ghx_bench(project, "list", "scenarios", "scenarios", "--json"))
    refused = fork_ghx_bench(project, "run", "--scenario", "mine-001@huge")

    assert listed["variants"] == ["vague", "strict", "reader"]
    assert refused.returncode == 2
    assert "no variant 'huge'; it has 'vague', 'strict', 'reader'" in refused.stderr
    assert "id: mine-001" in fork_ghx_bench(project, "scenario", "show", "mine-001@vague").stdout
    assert "version: 1" in fork_ghx_bench(project, "scenario", "show", "mine-001@vague", "--solution").stdout


@pytest.mark.nightly
def test_a_variant_can_be_in_quarantine(project: Path, tmp_path: Path) -> None:
    entry = {"scenario": "mine-001@strict", "owner": "@octocat", "until": "2999-12-31"}
    other = {**entry, "scenario": "issue-count-open-001@large"}
    config = {"modes": ["baseline"], "execution": {"repetitions": 1, "warmup": False}, "quarantine": [entry, other]}
    write_files(tmp_path, {**PROJECT, "eval.config.yaml": json.dumps(config)})
    words = ("--scenario", "mine-001", "--scenario", "mine-001@strict", "--fail-on", "wrong")

    assert fork_ghx_bench(tmp_path, "check").returncode == 0
    assert fork_ghx_bench(tmp_path, "run", *words).returncode == 0
    config["quarantine"] = [{**entry, "scenario": "mine-001@huge"}]
    write_files(tmp_path, {"eval.config.yaml": json.dumps(config)})
    assert "no scenario 'mine-001@huge' to be quarantined" in fork_ghx_bench(tmp_path, "check").stdout
