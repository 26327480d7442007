"""`ghx-bench list`: scenarios, sets, modes, agents and fixtures, of a project and of none."""

import json
from pathlib import Path
from typing import Any

import pytest
from bench_command import write_files

from ghx_bench.cli.listing import in_columns
from ghx_bench.cli.main import run
from ghx_bench.project.folders import BUILT_IN_SCENARIOS

LISTS = ("scenarios", "sets", "modes", "agents", "fixtures")
SCENARIO = """
id: mine-001
name: Look at it
description: A task of the project's own
category: repo
difficulty: basic
tags: [mine]
prompt: Look.
timeoutMs: 1000
assertions:
  checkpoints:
    - id: there
      description: It is there
      task: repo.view
      input: {owner: o, name: r}
      condition: {type: custom, scorer: of_nobody}
"""
PROJECT = {
    "eval.config.yaml": """
modes:
  - baseline
  - {name: mine, extends: baseline, tools: [./bin/tag], mcp_servers: {tags: {command: tag-server}}}
  - modes/told.yaml
scenarios: {set: smoke}
provider: {id: nop}
""",
    "modes/told.yaml": "name: told\nextends: ghx-mcp\nshell: false\n",
    "scenarios/mine-001.yaml": SCENARIO,
    "scenarios/scenario-sets.json": '{"smoke": ["mine-001", "issue-triage-001"]}',
    "fixtures/mine.yaml": "name: mine\ndescription: Mine.\nissues:\n  - {id: a, title: A, body: A.}\n",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(write_files(tmp_path, PROJECT))
    return tmp_path


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run(["list", *arguments, "--json"]) == 0
    return {each.get("id") or each["name"]: each for each in json.loads(capsys.readouterr().out)}


def lines(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert run(["list", *arguments]) == 0
    return capsys.readouterr().out.splitlines()


def test_a_list_of_nothing_in_particular_is_that_of_scenarios(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lines(capsys) == lines(capsys, "scenarios")
    assert lines(capsys, "--tag", "mine") == [
        "id        category  difficulty  checks  name        tags  from",
        "mine-001  repo      basic       1       Look at it  mine  scenarios/mine-001.yaml",
    ]
    assert listed(capsys)["issue-triage-001"]["builtIn"] is True
    assert lines(capsys, str(project / "scenarios"))[1].startswith("mine-001")


def test_sets_say_how_many_scenarios_they_have_and_where_they_are_from(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    built_in = json.loads((BUILT_IN_SCENARIOS / "scenario-sets.json").read_text())["default"]
    sets = listed(capsys, "sets")

    assert sets["smoke"] == {
        "name": "smoke",
        "scenarios": ["mine-001", "issue-triage-001"],
        "chosen": True,
        "builtIn": False,
        "file": "scenarios/scenario-sets.json",
    }
    assert (sets["default"]["scenarios"], sets["default"]["file"]) == (["mine-001"], "scenarios")
    assert (sets["quick"]["builtIn"], sets["quick"]["chosen"]) == (True, False)
    smoke = next(line for line in lines(capsys, "sets") if line.startswith("smoke"))
    assert smoke.split() == ["smoke", "2", "yes", "scenarios/scenario-sets.json", "mine-001,", "issue-triage-001"]
    (project / "scenarios" / "mine-001.yaml").unlink()
    (project / "scenarios" / "scenario-sets.json").unlink()
    (project / "scenarios").rmdir()
    (project / "eval.config.yaml").unlink()
    assert lines(capsys, "sets")[1].endswith(f", {len(built_in) - 3} more")


def test_modes_say_what_they_are_made_of(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    modes = listed(capsys, "modes")

    assert [name for name, each in modes.items() if each["chosen"]] == ["baseline", "mine", "told"]
    assert {name: each["file"] for name, each in modes.items() if not each["builtIn"]} == {
        "mine": "eval.config.yaml",
        "told": "modes/told.yaml",
    }
    assert (modes["mine"]["extends"], modes["mine"]["mcpServers"]) == ("baseline", ["tags"])
    assert [Path(tool).name for tool in modes["mine"]["tools"]] == ["gh", "tag"]
    assert (modes["told"]["shell"], modes["told"]["mcpServers"]) == (False, ["ghx"])
    assert modes["told"]["instructions"] == modes["ghx-mcp"]["instructions"]
    told = next(line for line in lines(capsys, "modes") if line.startswith("mine "))
    assert told.split() == ["mine", "baseline", "gh,", "tag", "tags", "no", "yes", "no", "yes", "eval.config.yaml"]
    axi = next(line for line in lines(capsys, "modes") if line.startswith("gh-axi "))
    assert axi.split() == ["gh-axi", "gh-axi", "0.1.35", "no", "yes", "no", "built", "in"]
    assert (modes["npm-mcp"]["packages"], modes["npm-mcp"]["installed"]) == (
        {"@modelcontextprotocol/server-github": "2025.4.8"},
        False,
    )
    assert project


def test_agents_are_listed_and_the_projects_own_choice_is_told(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agents = listed(capsys, "agents")

    assert {"reference", "nop", "replay"} <= set(agents)
    assert [name for name, each in agents.items() if each["chosen"]] == ["nop"]
    controls = {name for name, each in agents.items() if each["control"]}
    assert controls == {"reference", "nop", "gullible", "prying", "replay"}
    assert all(each["description"] for each in agents.values())
    assert project


def test_fixtures_are_listed_alike_by_both_commands(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fixtures = listed(capsys, "fixtures")

    assert fixtures["mine"] == {
        "name": "mine",
        "description": "Mine.",
        "issues": 1,
        "pulls": 0,
        "branches": 0,
        "forks": 0,
        "runs": 0,
        "world": False,
        "builtIn": False,
        "file": "fixtures/mine.yaml",
    }
    assert fixtures["pr_with_changes"]["builtIn"] is True
    shown = lines(capsys, "fixtures")
    assert any(line.split() == ["mine", "1", "issue", "fixtures/mine.yaml", "Mine."] for line in shown)
    assert run(["fixture", "list"]) == 0
    assert capsys.readouterr().out.splitlines() == shown
    assert project


@pytest.mark.parametrize("what", LISTS)
def test_another_project_can_be_named(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(tmp_path / "elsewhere", PROJECT)
    monkeypatch.chdir(tmp_path)
    mine = {"scenarios": "mine-001", "sets": "smoke", "modes": "mine", "fixtures": "mine"}

    here, there = listed(capsys, what), listed(capsys, what, "--config", "elsewhere/eval.config.yaml")

    assert here
    assert here != there
    assert what not in mine or mine[what] in set(there) - set(here)


BAD = {
    "a typo": (["sett"], "error: sett: there is no such file; did you mean 'sets'?"),
    "anything": (["nowhere"], "besides files, `ghx-bench list` knows scenarios, sets, modes, agents, fixtures"),
    "an unknown tag": (["--tag", "colour"], "error: no tag 'colour'; known: "),
    "an unknown category": (["--category", "prs"], "Did you mean"),
    "too much": (["sets", "quick"], "quick"),
    "no configuration": (["modes", "--config", "no.yaml"], "error: no.yaml: there is no such file"),
    "a wrong configuration": (["agents", "--config", "wrong.yaml"], "error: wrong.yaml:1:1: /mods: unknown key"),
    "a mode of nobody": (["modes", "--config", "stray.yaml"], "no mode 'nobody'; known: "),
    "a wrong fixture": (["fixtures", "--config", "bad/eval.config.yaml"], "error: bad/fixtures/one.yaml"),
    "a wrong sets file": (["sets", "--config", "bad/eval.config.yaml"], "error: bad/scenarios/scenario-sets.json"),
}
WRONG = {
    "wrong.yaml": "mods: [baseline]\n",
    "stray.yaml": "modes: [{name: a, extends: nobody}]\n",
    "bad/eval.config.yaml": "modes: [baseline]\n",
    "bad/fixtures/one.yaml": "name: one\ndescription: One.\nisues: []\n",
    "bad/scenarios/scenario-sets.json": '{"default": "mine-001"}',
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_listed_is_told_in_one_line(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(write_files(tmp_path, WRONG))
    arguments, says = BAD[case]

    assert run(["list", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert len(err.splitlines()) == 1


def test_a_column_that_nobody_fills_is_left_out_and_no_line_is_broken() -> None:
    assert in_columns(("name", "extends", "from"), [("a", "", "b\x1b[2J\nc"), ("long", "", "")]) == (
        "name  from\na     b\\x1b[2J\\nc\nlong"
    )
