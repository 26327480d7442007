"""`ghx-bench check` on whole projects: what it says of files together, and what it leaves alone."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from bench_command import rows_of, run_in

from ghx_bench.checking.project_check import check_files
from ghx_bench.checking.scenario_rules import path_warnings
from ghx_bench.cli.main import run
from ghx_bench.loader import load_scenario_files
from ghx_bench.project.file_kinds import kind_of
from ghx_bench.project.folders import BUILT_IN_SCENARIOS
from ghx_bench.scenario.conditions import FieldEquals

pytestmark = pytest.mark.slow

TEMPLATE = BUILT_IN_SCENARIOS.parent / "starters" / "project"
CONFIG = "eval.config.yaml"
SCENARIO = "scenarios/issue-answer-001.yaml"
SOLUTION = "scenarios/issue-answer-001.solution.yaml"

Change = Callable[[dict[str, Any]], object]


class Project:
    """A project as `init` writes it, changed in one place or another, and what `check` says of it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys
        self.code = -1

    def change(self, name: str, change: Change) -> None:
        path = self.folder / name
        value = yaml.safe_load(path.read_text())
        change(value)
        path.write_text(yaml.safe_dump(value, sort_keys=False))

    def write(self, name: str, value: object) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return path

    def check(self, *arguments: str) -> list[str]:
        self.code = run(["check", *arguments])
        return self._capsys.readouterr().out.splitlines()

    def said(self, *arguments: str) -> list[str]:
        """Return what is said, without where in the file."""
        return [_without_position(line) for line in self.check(*arguments)[:-1]]


def _without_position(line: str) -> str:
    place, _, rest = line.partition(": /")
    if not rest:
        return line
    kind, _, file = place.rpartition(" ")
    name, *position = file.split(":")
    assert all(each.isdecimal() for each in position)
    assert len(position) == 2
    return f"{kind} {name}: /{rest}" if kind else f"{name}: /{rest}"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    for name in (CONFIG, "scenarios", "fixtures"):
        source = TEMPLATE / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path, capsys)


def checkpoint(scenario: dict[str, Any]) -> dict[str, Any]:
    return scenario["assertions"]["checkpoints"][0]


# what is fine


@pytest.mark.slow
def test_a_new_project_and_all_that_comes_with_the_package_is_without_problems_and_warnings(mine: Project) -> None:
    assert mine.check("--strict") == ["1 configuration, 1 fixture, 1 scenario, 1 solution: no problems"]

    found = check_files([BUILT_IN_SCENARIOS, mine.folder])

    assert [str(each) for each in (*found.errors, *found.warnings)] == []


def test_a_configuration_may_name_what_comes_with_the_package(mine: Project) -> None:
    mine.change(CONFIG, lambda it: it.update(scenarios={"ids": ["issue-answer-001", "issue-triage-001"]}))
    mine.change(CONFIG, lambda it: it.update(modes=["baseline", "ghx-mcp"]))
    mine.change(SOLUTION, lambda it: it["modes"].update({"ghx-mcp": it["modes"]["ghx"]}))
    mine.write("scenarios/scenario-sets.json", {"some": ["issue-answer-001", "pr-merge-ready-001"]})
    assert mine.said("--strict") == []

    mine.change(CONFIG, lambda it: it.update(scenarios={"set": "quick"}))
    assert mine.said("--strict") == []

    mine.change(SCENARIO, lambda it: it["fixture"]["requires"].append("pr_with_changes"))
    assert mine.said("--strict") == []


def test_the_configuration_alone_knows_the_scenarios_in_its_folders(mine: Project) -> None:
    mine.write("scenarios/scenario-sets.json", {"some": ["issue-answer-001"]})
    mine.change(CONFIG, lambda it: it.update(scenarios={"ids": ["issue-answer-001", "issue-answer-002"]}))

    assert mine.said(CONFIG) == [
        "eval.config.yaml: /scenarios/ids/1: there is no scenario 'issue-answer-002'; did you mean 'issue-answer-001'?"
    ]

    mine.change(CONFIG, lambda it: it.update(scenarios={"set": "soma"}))
    assert mine.said(CONFIG) == ["eval.config.yaml: /scenarios/set: there is no set 'soma'; did you mean 'some'?"]


# what the bench writes itself

RECORDS: dict[str, dict[str, Any]] = {
    "a run's record": {"version": 1, "runId": "r", "matrix": {}, "config": {"modes": []}, "modes": {}, "scenarios": []},
    "what a run printed": {"runId": "r", "directory": "d", "total": 1, "measured": 1, "modes": {"ghx": {}}},
    "the data of a report": {"version": 1, "generatedAt": "t", "sources": [], "modes": {}, "scenarios": {}},
    "the trace of a session": {"sessionId": "s", "events": [], "turns": [], "summary": {}},
    "the findings of a session": {"sessionId": "s", "scenarioId": "a-001", "mode": "m", "model": "m", "results": {}},
}


@pytest.mark.parametrize("what", RECORDS)
def test_what_the_bench_wrote_is_passed_over_in_a_folder_and_told_when_it_is_named(what: str, mine: Project) -> None:
    mine.write("out/data.json", RECORDS[what])

    assert mine.said("--strict") == []
    assert mine.said("out/data.json") == [
        f"out/data.json:1:1: this is {what}, not a file that people write; leave it out"
    ]


def test_the_outputs_of_a_real_run_are_passed_over(reference_run: Path, mine: Project) -> None:
    (run_folder,) = (reference_run / "results").glob("run_*")
    shutil.copytree(run_folder, mine.folder / "out" / run_folder.name)
    shutil.copy(reference_run / "stdout", mine.folder / "run.json")

    assert mine.check("--strict") == ["1 configuration, 1 fixture, 1 scenario, 1 solution: no problems"]
    assert mine.check("run.json")[0].startswith("run.json:1:1: this is what a run printed, not ")


@pytest.mark.parametrize(
    ("value", "kind", "named"),
    [
        ({"modes": {"a": 1}}, None, "configuration"),
        ({"modes": ["dark", "light"], "theme": 1, "colors": 2}, None, "configuration"),
        ({"modes": ["ghx"], "scenarios": {}, "exection": {}}, "configuration", "configuration"),
        ({"keywords": ["a", "b"]}, None, "sets"),
        ({"mine": ["pr-a-001"]}, "sets", "sets"),
        ({"issues": [{"severity": "high"}]}, None, "fixture"),
        ({"name": "x", "issues": []}, "fixture", "fixture"),
        ({"name": "x", "extends": "ghx"}, "mode", "mode"),
        ({"name": "x", "tools": ["gh"], "version": "1.0"}, None, "mode"),
        ({"name": "x", "version": "1.0"}, None, None),
    ],
)
def test_a_folder_is_searched_only_for_what_surely_is_ours(value: Any, kind: str | None, named: str | None) -> None:
    assert kind_of(value, Path("x.json"), ()) == kind
    assert kind_of(value, Path("x.json"), (), is_named=True) == named


# checkpoints


def test_a_checkpoint_must_not_change_github(mine: Project) -> None:
    mine.change(SCENARIO, lambda it: checkpoint(it).update(task="issue.close", condition={"type": "non_empty"}))

    assert mine.said() == [
        f"{SCENARIO}: /assertions/checkpoints/0/task: issue.close changes GitHub; a checkpoint may only look: "
        "did you mean 'issue.view'?"
    ]


INPUTS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a number for a flag": (
        {"unresolvedOnly": 7},
        ["/unresolvedOnly: expected true or false, got the number 7"],
    ),
    "too many": ({"first": 1000}, ["/first: must be at least 1 and at most 100, not 1000"]),
    "a word for a number, in snake_case": (
        {"pr_number": "seven"},
        ["/pr_number: expected an integer, got the string 'seven'"],
    ),
    "digits": ({"pr_number": "7"}, []),
    "a placeholder in a list for a number": (
        {"pr_number": ["{{flag}}"]},
        ["/pr_number: expected an integer, got a list"],
    ),
    "a placeholder in an object for a flag": (
        {"unresolvedOnly": {"is": "{{flag}}"}},
        ["/unresolvedOnly: expected true or false, got an object"],
    ),
    "a placeholder with words around it for a number": (
        {"pr_number": "number {{flag}}"},
        ["/pr_number: expected an integer, got the string 'number {{flag}}'"],
    ),
    "a placeholder with digits around it": ({"pr_number": "1{{flag}}"}, []),
    "a placeholder for a number": ({"first": "{{flag}}"}, []),
    "a placeholder for a number where a flag is asked for": (
        {"unresolvedOnly": "{{flag}}"},
        ["/unresolvedOnly: expected true or false, got {{flag}}, which is a number"],
    ),
    "a placeholder for a number where a text is asked for": (
        {"name": "{{flag}}"},
        ["/name: expected a string, got {{flag}}, which is a number"],
    ),
    "a placeholder for a text where a number is asked for": (
        {"pr_number": "{{repo}}"},
        ["/pr_number: expected an integer, got {{repo}}, which is a text"],
    ),
    "what only binding tells": ({"first": "{{sha}}", "name": "{{sha}}"}, []),
}


@pytest.mark.parametrize("case", INPUTS)
def test_what_is_written_out_in_an_input_has_to_be_of_the_right_kind(case: str, mine: Project) -> None:
    given, said = INPUTS[case]
    bindings = {"flag": "pr_with_changes.number", "sha": "pr_with_changes.metadata.originalSha"}
    fixture = {"requires": ["pr_with_changes"], "bindings": bindings}
    mine.change(SCENARIO, lambda it: it.update(prompt="{{flag}} {{sha}}", extensions={}))
    mine.change(SCENARIO, lambda it: it["fixture"].update(fixture))
    task = {"id": "c", "description": "d", "task": "pr.threads.list", "condition": {"type": "non_empty"}}
    whole = {"owner": "{{owner}}", "name": "x", **({} if "pr_number" in given else {"prNumber": 1}), **given}
    mine.change(SCENARIO, lambda it: it.update(assertions={"checkpoints": [{**task, "input": whole}]}))
    (mine.folder / SOLUTION).unlink()
    mine.change(CONFIG, lambda it: it.update(provider={"id": "nop"}))

    assert mine.said("--strict") == [f"{SCENARIO}: /assertions/checkpoints/0/input{each}" for each in said]


PATHS: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "a field": ("issue.view", {"type": "field_equals", "path": "state", "value": "x"}, None),
    "a misspelt field": (
        "issue.view",
        {"type": "field_equals", "path": "sate", "value": "x"},
        "/path: what issue.view returns has no 'sate'; did you mean 'state'?",
    ),
    "an item's field": (
        "issue.comments.list",
        {"type": "matches", "path": "items.0.body", "pattern": "x"},
        None,
    ),
    "an item's misspelt field": (
        "issue.comments.list",
        {"type": "matches", "path": "items.0.bdy", "pattern": "x"},
        "/path: in what issue.comments.list returns, items.0 has no 'bdy'; did you mean 'body'?",
    ),
    "a field of the list": (
        "issue.comments.list",
        {"type": "matches", "path": "body", "pattern": "x"},
        "/path: what issue.comments.list returns has no 'body'; it has 'items', 'pageInfo'",
    ),
    "a list without an index": (
        "issue.comments.list",
        {"type": "matches", "path": "items.body", "pattern": "x"},
        "/path: in what issue.comments.list returns, items is a list; write items.0.body for its first item",
    ),
    "the length of a list": ("issue.view", {"type": "field_gte", "path": "labels.length", "value": 1}, None),
    "a field of a text": (
        "issue.view",
        {"type": "field_gte", "path": "title.length", "value": 1},
        "/path: in what issue.view returns, title has nothing inside",
    ),
    "the items themselves": (
        "issue.comments.list",
        {"type": "contains_item", "where": {"type": "field_contains", "path": "body", "value": "x"}},
        None,
    ),
    "a misspelt field of an item": (
        "issue.comments.list",
        {"type": "not", "condition": {
            "type": "contains_item", "where": {"type": "field_contains", "path": "bdy", "value": "x"}}},
        "/condition/where/path: an item of what issue.comments.list returns has no 'bdy'; did you mean 'body'?",
    ),
    "a list of texts": ("issue.view", {"type": "contains_item", "path": "labels", "value": "bug"}, None),
    "one of several": (
        "issue.view",
        {"type": "any", "conditions": [
            {"type": "non_empty"}, {"type": "field_equals", "path": "stat", "value": 1}]},
        "/conditions/1/path: what issue.view returns has no 'stat'; did you mean 'state'?",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PATHS)
def test_a_path_that_leads_nowhere_in_what_the_capability_returns_is_a_warning(case: str, mine: Project) -> None:
    task, condition, said = PATHS[case]
    mine.change(SCENARIO, lambda it: checkpoint(it).update(task=task, condition=condition))

    expected = [] if said is None else [f"warning: {SCENARIO}: /assertions/checkpoints/0/condition{said}"]
    assert [each for each in mine.said() if "/condition/" in each] == expected


def test_every_path_into_what_was_really_returned_is_fine(reference_run: Path) -> None:
    tasks = {
        (each.scenario.id, checkpoint.id): checkpoint
        for each in load_scenario_files(BUILT_IN_SCENARIOS)
        for checkpoint in each.scenario.assertions.checkpoints
    }
    followed = 0
    for row in rows_of(run_in(reference_run)):
        for detail in row.checkpoint_details:
            made = tasks.get((row.scenario_id, detail.id))
            for path in paths_in(detail.actual) if made else ():
                condition = FieldEquals(path=path, value=1)
                assert list(path_warnings(made.model_copy(update={"condition": condition}), ())) == []  # type: ignore[union-attr]
                followed += 1
    assert followed > 100


def paths_in(value: Any, at: str = "") -> Iterator[str]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        yield f"{at}{key}"
        yield from paths_in(each, f"{at}{key}.")


ALLOWED: dict[str, str] = {
    "creatd comments": "there is no change 'creatd'; did you mean 'created'?",
    "add comments": "there is no change 'add'; write 'created', 'changed' or 'deleted', or nothing",
    "created coments": "'coments' is no kind of object on GitHub; did you mean 'comments'?",
    "coments acme/widgets#7": "'coments' is no kind of object on GitHub; did you mean 'comments'?",
    "issues.stat": "issues have no field 'stat'; did you mean 'state'?",
}


@pytest.mark.parametrize("pattern", ALLOWED)
def test_a_pattern_of_allowed_changes_has_to_be_one(pattern: str, mine: Project) -> None:
    mine.change(SCENARIO, lambda it: it["extensions"].update(allowedChanges=[pattern]))

    assert mine.said() == [f"{SCENARIO}: /extensions/allowedChanges/0: {ALLOWED[pattern]}"]


# fixtures


def test_a_required_fixture_has_to_be_there_and_is_told_once(mine: Project) -> None:
    mine.change(SCENARIO, lambda it: it["fixture"].update(requires=["issue_with_qestion"]))

    assert mine.said("--strict") == [
        f"{SCENARIO}: /fixture/requires/0: there is no fixture 'issue_with_qestion'; "
        "did you mean 'issue_with_question'?"
    ]


def test_a_binding_has_to_lead_to_a_fixture_that_is_there(mine: Project) -> None:
    mine.change(SCENARIO, lambda it: it["fixture"]["bindings"].update(issue_number="issue_with_qestion.number"))

    assert mine.said("--strict") == [
        f"{SCENARIO}: /fixture/bindings/issue_number: there is no fixture 'issue_with_qestion'; "
        "did you mean 'issue_with_question'?"
    ]


def test_a_binding_has_to_lead_to_what_its_fixture_has(mine: Project) -> None:
    path = "issue_with_question.metadata.answerdNumber"
    mine.change(SCENARIO, lambda it: it["fixture"]["bindings"].update(answered_number=path))

    assert mine.said("--strict") == [
        f"{SCENARIO}: /fixture/bindings/answered_number: 'issue_with_question.metadata' has no 'answerdNumber' "
        "in the manifest; did you mean 'answeredNumber'?"
    ]


def test_where_nobody_knows_the_project_a_missing_fixture_is_a_warning(mine: Project) -> None:
    (mine.folder / CONFIG).unlink()
    mine.change(SCENARIO, lambda it: it["fixture"].update(requires=["mine", "issue_with_question"]))

    (said,) = mine.said()
    assert said.startswith(f"warning: {SCENARIO}: /fixture/requires/0: there is no fixture 'mine'; known: ")


def test_on_github_a_manifest_may_know_other_fixtures(mine: Project) -> None:
    mine.change(CONFIG, lambda it: it.update(target="github"))
    mine.change(SCENARIO, lambda it: it["fixture"].update(requires=["by_hand", "issue_with_question"]))
    mine.change(SCENARIO, lambda it: it["fixture"]["bindings"].update(answered_number="by_hand.metadata.n"))
    (said,) = mine.said()
    assert said.startswith(f"warning: {SCENARIO}: /fixture/requires/0: there is no fixture 'by_hand'")

    resource = {"type": "issue", "number": 7, "repo": "o/r", "metadata": {"n": 8}}
    manifest = {"seedId": "s", "createdAt": "t", "repo": "o/r", "fixtures": {"by_hand": resource}}
    mine.write("fixtures/latest.json", manifest)
    assert mine.said("--strict") == []


@pytest.mark.slow
def test_fixtures_of_the_configuration_are_known_also_if_only_scenarios_are_checked(mine: Project) -> None:
    assert mine.said("--strict", "scenarios") == []

    (mine.folder / "fixtures").rename(mine.folder / "worlds")
    mine.change(CONFIG, lambda it: it["fixtures"].update(folders=["worlds"]))
    assert mine.said("--strict", SCENARIO) == []


# configurations and their folders


@pytest.mark.parametrize(
    ("key", "pointer"), [("scenario_dirs", "/scenario_dirs/0"), ("folders", "/fixtures/folders/0")]
)
def test_folders_of_a_configuration_have_to_be_there(key: str, pointer: str, mine: Project) -> None:
    def misspell(it: dict[str, Any]) -> None:
        part = it["fixtures"] if key == "folders" else it
        part[key] = [f"{part[key][0][:-1]}"]

    mine.change(CONFIG, misspell)

    wrong, right = ("fixture", "fixtures") if key == "folders" else ("scenario", "scenarios")
    assert f"{CONFIG}: {pointer}: there is no folder '{wrong}'; did you mean '{right}'?" in mine.said()


def test_a_run_says_where_a_folder_is_named_that_is_not_there(
    mine: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    mine.change(CONFIG, lambda it: it.update(scenario_dirs=["scenaris"]))

    assert run(["run", "--dry-run"]) == 2
    said = capsys.readouterr().err
    assert _without_position(said.strip()) == (
        "error: eval.config.yaml: /scenario_dirs/0: there is no folder 'scenaris'; did you mean 'scenarios'?"
    )


def test_a_folder_with_a_name_that_no_disk_takes_is_not_there_either(mine: Project) -> None:
    mine.change(CONFIG, lambda it: it.update(scenario_dirs=["x" * 5000, "nowhere/at/all"]))

    said = [each for each in mine.said() if "/scenario_dirs/" in each]
    assert [each.rpartition("; ")[2] for each in said] == ["it is taken from this file's folder"] * 2


def test_one_repetition_is_nothing_to_warn_of(mine: Project) -> None:
    mine.change(CONFIG, lambda it: it["execution"].update(repetitions=1))

    assert mine.said("--strict") == []


# modes


def test_a_tool_has_to_be_executable(mine: Project) -> None:
    mine.write("bin/helper", "#!/bin/sh\n")
    mine.write("modes/filed.yaml", "name: filed\nextends: mine\ntools: [../bin/helper]\n")
    mine.change(CONFIG, lambda it: it["modes"][2].update(tools=["gh", "./bin/helper"]))
    mine.change(CONFIG, lambda it: it["modes"].append("modes/filed.yaml"))

    remedy = "cannot be run as a program; make it an executable file (chmod +x)"
    helper = mine.folder / "bin" / "helper"
    assert mine.said("--strict") == [
        f"eval.config.yaml: /modes/2/tools/1: {helper}: {remedy}",
        f"modes/filed.yaml: /tools/0: {mine.folder}/modes/../bin/helper: {remedy}",
    ]
    helper.chmod(0o755)
    assert mine.check("--strict") == ["1 configuration, 1 fixture, 1 mode, 1 scenario, 1 solution: no problems"]


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        ("#!/usr/bin/env python3\n", "no 'python3' is on the path of the mode; add it to its `tools`"),
        ("#!/usr/bin/env -S python3 -I\n", "no 'python3' is on the path of the mode; add it to its `tools`"),
        ("#!/no/such/perl -w\n", "its interpreter '/no/such/perl' is not on this machine"),
        ("#!/bin/sh\r\n", "its lines end in CRLF, and the name of its interpreter with it; save it with LF"),
    ],
)
def test_a_tool_has_to_be_one_that_can_be_started(mine: Project, first: str, reason: str) -> None:
    helper = mine.folder / "bin" / "helper"
    helper.parent.mkdir()
    helper.write_bytes(first.encode())
    helper.chmod(0o755)
    mine.change(CONFIG, lambda it: it["modes"][2].update(tools=["./bin/helper"]))

    assert mine.said("--strict") == [f"eval.config.yaml: /modes/2/tools/0: {helper}: cannot be started: {reason}"]


def test_a_tool_may_be_started_by_what_is_on_the_path_of_its_mode(mine: Project) -> None:
    helper = mine.folder / "bin" / "helper"
    helper.parent.mkdir()
    mine.change(CONFIG, lambda it: it["modes"][2].update(tools=["python3", "./bin/helper"]))
    for first in ("#!/usr/bin/env python3\n", "#!/usr/bin/env bash\n", "#!/bin/sh\n", "no script at all"):
        helper.write_text(first)
        helper.chmod(0o755)
        assert mine.said("--strict") == []


def test_a_mode_without_shell_and_servers_has_no_tools(mine: Project) -> None:
    mine.write("modes/bare.yaml", "name: bare\nextends: baseline\nshell: false\n")

    assert mine.said() == [
        "modes/bare.yaml: /shell: mode 'bare' has neither a shell nor an MCP server, so that its agents have no tools; "
        "leave out `shell: false`, or give it `mcp_servers`"
    ]


def test_a_mode_that_no_configuration_names_is_checked_too(mine: Project) -> None:
    mine.write("modes/other.yaml", "name: another\nextends: ghx\n")

    assert mine.said() == [
        "modes/other.yaml: /name: the file is called 'other.yaml' and the mode 'another'; call both the same"
    ]


# solutions


def test_a_solution_may_only_use_variables_that_there_are(mine: Project) -> None:
    step = {"shell": "gh issue view {{issue_nmber}} --repo {{repo}} --json body", "save": "found"}
    loop = {"for_each": "fnd.items", "as": "each", "do": [{"shell": "echo {{each.id}} {{found.body}} {{evry.id}}"}]}
    mine.change(SOLUTION, lambda it: it.update(modes={"baseline": [step, loop, {"shell": "echo {{each}}"}]}))
    mine.change(SOLUTION, lambda it: it.update(answer="{{found.body}} {{aswer}}"))
    mine.change(CONFIG, lambda it: it.update(modes=["baseline"]))

    assert mine.said() == [
        f"{SOLUTION}: /modes/baseline/0/shell: nothing is bound to {{{{issue_nmber}}}}; "
        "did you mean {{issue_number}}? "
        "known: 'answered_number', 'fixture_repo', 'issue_number', 'owner', 'repo', 'repo_name', 'run_id'",
        f"{SOLUTION}: /modes/baseline/1/for_each: nothing is bound to {{{{fnd}}}}; did you mean {{{{found}}}}? "
        "known: 'answered_number', 'fixture_repo', 'found', 'issue_number', 'owner', 'repo', 'repo_name', 'run_id'",
        f"{SOLUTION}: /modes/baseline/1/do/0/shell: nothing is bound to {{{{evry}}}}; "
        "known: 'answered_number', 'each', 'fixture_repo', 'found', 'issue_number', 'owner', 'repo', 'repo_name', "
        "'run_id'",
        f"{SOLUTION}: /modes/baseline/2/shell: nothing is bound to {{{{each}}}}; "
        "known: 'answered_number', 'fixture_repo', 'found', 'issue_number', 'owner', 'repo', 'repo_name', 'run_id'",
        f"{SOLUTION}: /answer: nothing is bound to {{{{aswer}}}}; "
        "known: 'answered_number', 'fixture_repo', 'found', 'issue_number', 'owner', 'repo', 'repo_name', 'run_id'",
    ]


def test_a_trap_names_checkpoints_variables_and_modes_that_there_are(mine: Project) -> None:
    trap = {
        "name": "sibling",
        "description": "Answers another issue",
        "fails": ["answred"],
        "modes": {"basline": [{"shell": "echo {{issue_nmber}}"}]},
    }
    mine.change(SOLUTION, lambda it: it.update(traps=[trap]))

    guard, unbound, mode = mine.said()

    assert unbound.startswith(f"{SOLUTION}: /traps/0/modes/basline/0/shell: nothing is bound to {{{{issue_nmber}}}}; ")
    assert guard == f"{SOLUTION}: /traps/0/fails: the scenario has no checkpoint 'answred'; did you mean 'answered'?"
    assert mode == (
        f"warning: {SOLUTION}: /traps/0/modes/basline: there is no mode 'basline'; did you mean 'baseline'?"
    )


def test_a_solution_for_a_mode_that_nobody_knows_is_a_warning(mine: Project) -> None:
    mine.change(SOLUTION, lambda it: it["modes"].update(basline=it["modes"]["baseline"]))

    assert mine.said() == [f"warning: {SOLUTION}: /modes/basline: there is no mode 'basline'; did you mean 'baseline'?"]


def test_a_build_of_a_mode_has_a_solution_under_its_whole_name(mine: Project) -> None:
    steps = [{"shell": "true"}]
    mine.change(SOLUTION, lambda it: it["modes"].update({"baseline@./build/head": steps, "basline@./build": steps}))

    assert mine.said() == [
        f"warning: {SOLUTION}: /modes/basline@.~1build: there is no mode 'basline'; did you mean 'baseline'?"
    ]


def test_a_mode_without_solution_is_a_warning_if_the_agent_follows_solutions(mine: Project) -> None:
    mine.change(SOLUTION, lambda it: it["modes"].pop("ghx"))
    warning = (
        f"warning: {SOLUTION}: /modes: there is no solution for mode 'ghx', which {CONFIG} lists for the agent "
        "'reference'; write one, or leave the mode out"
    )
    assert mine.said() == [warning]

    (mine.folder / SOLUTION).unlink()
    (said,) = mine.said()
    assert said.startswith(f"warning: {SCENARIO}: there is no solution for modes 'baseline', 'ghx', 'mine', which")
    assert said.endswith("; write issue-answer-001.solution.yaml beside it, or choose another agent")

    mine.change(CONFIG, lambda it: it.update(provider={"id": "nop"}))
    assert mine.said("--strict") == []


# how it is said


def test_strict_says_that_it_counts_warnings(mine: Project) -> None:
    mine.change(SCENARIO, lambda it: it.update(prompt=it["prompt"] + "{{run-id}}"))

    assert mine.check()[-1].endswith(": no problems, 1 warning")
    assert mine.check("--strict")[-1].endswith(": no problems, 1 warning, which --strict counts as a problem")
    assert mine.code == 2
