"""`ghx-bench check`, `schema`, `list scenarios` and `new scenario`, as somebody meets them in an empty folder."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ghx_bench import load_eval_scenarios
from ghx_bench.checking.project_check import check_files
from ghx_bench.cli.main import run
from ghx_bench.project.file_kinds import kind_of
from ghx_bench.project.starter import Format, starter_text
from ghx_bench.scenario.eval_scenario import Category

pytestmark = pytest.mark.slow

CATEGORIES = get_args(Category)
FORMATS = get_args(Format)


class Shell:
    """Runs `ghx-bench` in a folder and keeps what it said."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys
        self.out = self.err = ""

    def __call__(self, *arguments: str) -> int:
        code = run(arguments)
        self.out, self.err = self._capsys.readouterr()
        return code

    def write(self, name: str, value: Any) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value, indent=1))
        return path


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return Shell(tmp_path, capsys)


def scenario(id_: str = "pr-a-001", **more: Any) -> dict[str, Any]:
    checkpoint = {"id": "c", "description": "d", "task": "repo.view", "input": {"owner": "o", "name": "r"}}
    return {
        "id": id_,
        "name": "A task",
        "description": "d",
        "prompt": "p",
        "timeoutMs": 1,
        "category": "pr",
        "difficulty": "basic",
        "assertions": {"checkpoints": [{**checkpoint, "condition": {"type": "non_empty"}}]},
        **more,
    }


MANIFEST = {
    "seedId": "s",
    "createdAt": "t",
    "repo": "o/r",
    "fixtures": {"pr": {"type": "pr", "number": 1, "repo": "o/r"}},
}


# a first scenario


def test_a_first_scenario_in_an_empty_folder(shell: Shell) -> None:
    assert shell("new", "scenario", "pr-review-001") == 0
    assert shell.out == (
        "scenarios/pr-review-001.yaml written, and its solution beside it; "
        "edit them, then run: ghx-bench check scenarios\n"
    )
    assert shell("check", "scenarios") == 0
    assert shell.out == "1 scenario, 1 solution: no problems\n"
    assert shell("list", "scenarios", "scenarios") == 0
    assert shell.out == (
        "id             category  difficulty  checks  name\npr-review-001  pr        basic       2       Pr review\n"
    )


@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("format_", FORMATS)
def test_every_first_draft_is_without_problems_and_without_warnings(
    category: Category, format_: Format, shell: Shell
) -> None:
    assert shell("new", "scenario", "my-task-001", "--category", category, "--format", format_, "--dir", "mine") == 0

    path = shell.folder / "mine" / f"my-task-001.{format_}"
    assert shell("check", "--strict", "mine") == 0, shell.out
    assert shell.out == "1 scenario, 1 solution: no problems\n"
    (draft,) = load_eval_scenarios(path)
    assert (draft.id, draft.category, draft.tags) == ("my-task-001", category, (category,))


@pytest.mark.parametrize("category", CATEGORIES)
def test_a_draft_says_the_same_in_json_and_in_yaml(category: Category) -> None:
    as_yaml = yaml.safe_load(starter_text("a-001", category=category, format_="yaml"))

    assert json.loads(starter_text("a-001", category=category, format_="json")) == as_yaml


@pytest.mark.slow
@given(st.from_regex(r"[a-z0-9]{1,9}(-[a-z0-9]{1,9}){0,9}-[0-9]{3}", fullmatch=True))
def test_whatever_the_id_the_draft_is_valid(tmp_path_factory: pytest.TempPathFactory, id_: str) -> None:
    path = tmp_path_factory.mktemp("draft") / "a.yaml"
    path.write_text(starter_text(id_, category="pr", format_="yaml"))

    assert load_eval_scenarios(path)[0].id == id_


@pytest.mark.parametrize("id_", ["null-001", "true-001", "1e3-001", "0x1-001", "no-001"])
def test_ids_that_yaml_could_take_for_something_else(id_: str, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(starter_text(id_, category="pr", format_="yaml"))

    assert load_eval_scenarios(path)[0].id == id_


def test_the_category_is_told_by_the_id(shell: Shell) -> None:
    for id_, category in {"release-x-001": "release", "tidy-up-001": "issue"}.items():
        assert shell("new", "scenario", id_) == 0
        assert load_eval_scenarios(f"scenarios/{id_}.yaml")[0].category == category


def test_a_draft_is_not_written_beside_one_in_another_format(shell: Shell) -> None:
    shell.write("scenarios/pr-a-001.json", "mine")

    assert shell("new", "scenario", "pr-a-001") == 2
    assert shell.err == (
        "error: scenarios/pr-a-001.json: there is a scenario with this id already; choose another id or folder\n"
    )
    assert not (shell.folder / "scenarios/pr-a-001.yaml").exists()


@pytest.mark.parametrize("name", ["pr-a-001.yaml", "pr-a-001.solution.yaml"])
def test_a_draft_never_replaces_a_file(name: str, shell: Shell) -> None:
    path = shell.write(f"scenarios/{name}", "mine")

    assert shell("new", "scenario", "pr-a-001") == 2
    assert shell.err == f"error: scenarios/{name}: there is a file already; choose another id or folder\n"
    assert path.read_text() == "mine"
    assert [each.name for each in path.parent.iterdir()] == [name]


# bad usage is one line


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["new", "scenario", "My Task"],
            "'My Task' cannot be the id of a scenario; write lower-case words and three digits",
        ),
        (["new", "scenario", "../evil-001"], "'../evil-001' cannot be the id of a scenario"),
        (["new", "scenario"], "requires an argument"),
        (["new", "scenario", "a-001", "--dir", "file"], "file: there is a file already"),
        (
            ["new", "scenario", "a-001", "--dir", "file/x"],
            "file/x/a-001.yaml: the file cannot be written: Not a directory",
        ),
        (["new", "scenario", "a-001", "--category", "prs"], '--category. Choose from: "pr", "issue"'),
        (["new", "scenari", "a-001"], "scenari"),
        (["check"], "nothing to check in '.'; `ghx-bench new scenario pr-review-001` writes a first scenario"),
        (["check", "empty"], "nothing to check in 'empty'"),
        (["list", "scenarios", "nowhere"], "nowhere: there is no such file"),
        (["list", "scenarios", "empty", "--tag", "x"], "no tag 'x'; known: none"),
        (["schema"], "requires an argument"),
        (["schema", "scenarios"], "scenarios"),
        (["check", "--jsn"], "--jsn"),
    ],
)
def test_bad_usage_is_one_line(arguments: list[str], said: str, shell: Shell) -> None:
    shell.write("file", "x")
    (shell.folder / "empty").mkdir()

    assert shell(*arguments) == 2
    assert shell.err.startswith("error: ")
    assert said in shell.err
    assert shell.err.count("\n") == 1
    assert shell.out == ""


# check


def test_every_kind_of_file_is_told_apart_and_checked(shell: Shell) -> None:
    shell.write("eval.config.yaml", "modes: [ghx]\nscenarios: {set: default}\nprovider: {id: nop}\n")
    shell.write("scenarios/pr-a-001.json", scenario())
    shell.write("scenarios/scenario-sets.json", {"default": ["pr-a-001"]})
    shell.write("fixtures/latest.json", MANIFEST)
    shell.write("package.json", {"name": "x", "version": "1"})
    shell.write("tsconfig.json", "{ // comments\n}")
    shell.write(".venv/x-001.json", "{")
    shell.write("node_modules/x-001.json", "{")
    shell.write("results/run_1/rows.json", {"prompt": 1, "assertions": 2})

    assert shell("check", "--strict") == 0, shell.out
    assert shell.out == "1 configuration, 1 manifest, 1 scenario, 1 file of sets: no problems\n"


def test_problems_are_lines_that_editors_can_jump_to(shell: Shell) -> None:
    shell.write("eval.config.yaml", "modes: []\n")
    shell.write("scenarios/pr-a-001.json", scenario(timeoutMs="1"))
    shell.write("scenarios/broken.json", '{"id": }')
    shell.write("scenarios/scenario-sets.json", {"default": "pr-a-001"})
    shell.write("fixtures/latest.json", {**MANIFEST, "repo": 1})

    assert shell("check") == 2
    assert [line.split(": ")[0] for line in shell.out.splitlines()] == [
        "eval.config.yaml:1:8",
        "fixtures/latest.json:4:10",
        "scenarios/broken.json:1:8",
        "scenarios/pr-a-001.json:6:15",
        "scenarios/scenario-sets.json:2:13",
        "1 configuration, 1 manifest, 2 scenarios, 1 file of sets",
    ]
    assert shell.out.endswith("1 file of sets: 5 problems\n")
    assert shell.err == ""


def test_the_same_as_json(shell: Shell) -> None:
    shell.write("pr-a-001.json", scenario(timeoutMs="1"))

    assert shell("check", "--json") == 2
    assert json.loads(shell.out) == {
        "ok": False,
        "files": [{"file": "pr-a-001.json", "kind": "scenario"}],
        "problems": [
            {
                "file": "pr-a-001.json",
                "line": 6,
                "column": 15,
                "pointer": "/timeoutMs",
                "value": "'1'",
                "reason": "expected an integer, got the string '1'",
                "suggestion": "write 1, without quotes",
            }
        ],
        "warnings": [],
    }


def test_without_problems_the_json_is_ok(shell: Shell) -> None:
    shell.write("pr-a-001.json", scenario())

    assert shell("check", "pr-a-001.json", "--json") == 0
    assert json.loads(shell.out) == {
        "ok": True,
        "files": [{"file": "pr-a-001.json", "kind": "scenario"}],
        "problems": [],
        "warnings": [],
    }


WARNINGS: dict[str, tuple[dict[str, Any], str]] = {
    "no checkpoints": (
        {"assertions": {"checkpoints": []}},
        "/assertions/checkpoints: there are no checkpoints; nothing is verified without one",
    ),
    "an expected capability that does not exist": (
        {"assertions": {**scenario()["assertions"], "expectedCapabilities": ["pr.diff"]}},
        "/assertions/expectedCapabilities/0: there is no capability 'pr.diff'; did you mean 'pr.diff.view'?",
    ),
    "an input left out": (
        {"assertions": {"checkpoints": [{**scenario()["assertions"]["checkpoints"][0], "input": {"repo": "r"}}]}},
        "/assertions/checkpoints/0/input: repo.view needs 'owner' as well",
    ),
    "a variable with spaces in it": (
        {"prompt": "{{run id}} of ${{ github.run_id }}"},
        "/prompt: {{run id}} is not replaced; write {{run_id}} for the variable",
    ),
    "a variable with hyphens": (
        {"prompt": "{{run-id}}"},
        "/prompt: {{run-id}} is not replaced; write {{run_id}} for the variable",
    ),
    "a variable that is written wrongly": (
        {"prompt": "{{run-idd}}"},
        "/prompt: {{run-idd}} is not replaced; did you mean {{run_id}}?",
    ),
    "something else in braces": (
        {"prompt": "Write {{ user.name }} into the page"},
        "/prompt: {{ user.name }} is not replaced; a variable has letters, digits and underscores only; "
        "known: 'fixture_repo', 'run_id'",
    ),
    "a pointer to a fixture that is not required": (
        {
            "prompt": "{{n}}",
            "fixture": {"repo": "o/r", "requires": ["pr_with_changes"], "bindings": {"n": "/pr_behind_base/number"}},
        },
        "/fixture/bindings/n: fixture 'pr_behind_base' is not in fixture.requires; add it there",
    ),
    "a fixture that is not there": (
        {
            "prompt": "{{n}}",
            "fixture": {"repo": "o/r", "requires": ["pr_with_changes"], "bindings": {"n": "pr_with_chnages.number"}},
        },
        "/fixture/bindings/n: there is no fixture 'pr_with_chnages'; did you mean 'pr_with_changes'?",
    ),
    "a binding without use": (
        {"fixture": {"repo": "o/r", "requires": ["pr_with_changes"], "bindings": {"n": "pr_with_changes.number"}}},
        "/fixture/bindings/n: {{n}} is bound and never used",
    ),
    "a file with another name": (
        {"id": "pr-b-001"},
        "/id: the file is called 'pr-a-001.json' and the scenario 'pr-b-001'; "
        "call both the same to find one by the other",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", WARNINGS)
def test_what_is_probably_not_meant_is_a_warning(case: str, shell: Shell) -> None:
    change, said = WARNINGS[case]
    shell.write("pr-a-001.json", scenario(**change))

    assert shell("check") == 0
    warning, summary = shell.out.splitlines()
    assert warning.startswith("warning: pr-a-001.json:")
    assert warning.endswith(said)
    assert summary == "1 scenario: no problems, 1 warning"
    assert shell("check", "--strict") == 2
    assert shell.out.endswith("1 scenario: no problems, 1 warning, which --strict counts as a problem\n")
    assert shell("check", "--strict", "--json") == 2
    assert json.loads(shell.out)["ok"] is False
    assert len(json.loads(shell.out)["warnings"]) == 1


@pytest.mark.parametrize("step", ["{shell: 'gh pr view {{n}}'}", "{for_each: n, as: each, do: [{shell: 'true'}]}"])
def test_what_a_solution_uses_is_used(step: str, shell: Shell) -> None:
    fixture = {"repo": "o/r", "requires": ["pr_with_changes"], "bindings": {"n": "pr_with_changes.number"}}
    shell.write("pr-a-001.json", scenario(fixture=fixture))
    shell.write("pr-a-001.solution.yaml", f"version: 1\nmodes:\n  ghx:\n    - {step}\n")

    assert shell("check", "--strict") == 0, shell.out


def test_repo_is_used_through_its_halves(shell: Shell) -> None:
    fixture = {"repo": "o/r", "requires": ["pr_with_changes"], "bindings": {"repo": "pr_with_changes.repo"}}
    shell.write("pr-a-001.json", scenario(prompt="{{owner}}", fixture=fixture))

    assert shell("check", "--strict") == 0, shell.out


def test_sets_and_configurations_must_choose_what_is_there(shell: Shell) -> None:
    shell.write("eval.config.yaml", "modes: [ghx]\nscenarios: {set: defualt}\n")
    shell.write("other.yaml", "modes: [ghx]\nscenarios: {ids: [pr-b-001]}\n")
    shell.write("scenarios/pr-a-001.json", scenario())
    shell.write("scenarios/scenario-sets.json", {"default": ["pr-a-001", "pr-a-002"]})

    assert shell("check") == 2
    assert shell.out.splitlines()[:-1] == [
        "eval.config.yaml:2:18: /scenarios/set: there is no set 'defualt'; did you mean 'default'?",
        "other.yaml:2:19: /scenarios/ids/0: there is no scenario 'pr-b-001'; did you mean 'pr-a-001'?",
        "scenarios/scenario-sets.json:4:3: /default/1: there is no scenario 'pr-a-002'; did you mean 'pr-a-001'?",
    ]
    assert shell("check", "scenarios/scenario-sets.json") == 0, "given alone, nothing is known of scenarios"


def test_a_scenario_that_is_wrong_is_still_there(shell: Shell) -> None:
    shell.write("scenarios/pr-a-001.json", scenario(timeoutMs=0))
    shell.write("scenarios/pr-b-001.json", scenario("pr-b-001"))
    shell.write("scenarios/scenario-sets.json", {"default": ["pr-a-001", "pr-b-001"]})

    assert shell("check") == 2
    assert shell.out.splitlines()[-1].endswith(": 1 problem")


def test_two_scenarios_with_one_id(shell: Shell) -> None:
    shell.write("scenarios/a-001.json", scenario("a-001"))
    shell.write("scenarios/b-001.json", scenario("a-001"))

    assert shell("check") == 2
    assert shell.out.splitlines()[0] == (
        "scenarios/b-001.json:2:8: /id: scenario id 'a-001' is also that of scenarios/a-001.json; "
        "give each scenario an id of its own"
    )


def test_a_file_that_is_nothing_known_is_told_when_it_is_named(shell: Shell) -> None:
    shell.write("package.json", {"name": "x"})

    assert shell("check", "package.json") == 2
    assert shell.out.startswith("package.json:1:1: it is not clear what this file is; a scenario has 'prompt' and")
    assert shell.out.endswith("1 other file: 1 problem\n")


def test_the_scorers_of_the_project_are_known(shell: Shell) -> None:
    custom = {"type": "custom", "scorer": "my-scorer"}
    checkpoint = {**scenario()["assertions"]["checkpoints"][0], "condition": custom}
    shell.write("scenarios/pr-a-001.json", scenario(assertions={"checkpoints": [checkpoint]}))

    assert shell("check") == 2
    assert "no custom scorer is registered as 'my-scorer'" in shell.out

    shell.write("my_own_scorers.py", "SCORERS = {'my-scorer': lambda data, params: True}\n")
    shell.write("eval.config.yaml", "modes: [ghx]\nscorers: my_own_scorers.py\n")
    assert shell("check") == 0, shell.out

    shell.write("my_own_scorers.py", "1 / 0\n")
    assert shell("check") == 2
    assert "eval.config.yaml:2:10: /scorers: my_own_scorers.py:SCORERS: cannot be imported (ZeroDivision" in shell.out


@pytest.fixture
def project(shell: Shell) -> Shell:
    """A project with a scorer of its own, and a scenario that names it."""
    checkpoint = {**scenario()["assertions"]["checkpoints"][0], "condition": {"type": "custom", "scorer": "mine"}}
    shell.write("scenarios/pr-a-001.json", scenario(assertions={"checkpoints": [checkpoint]}))
    shell.write("my:scorers.py", "SCORERS = {'mine': lambda data, params: True}\n")
    shell.write("eval.config.yaml", "modes: [ghx]\nprovider: {id: nop}\nscorers: 'my:scorers.py'\n")
    return shell


@pytest.mark.parametrize("paths", [[], ["scenarios"], ["scenarios/pr-a-001.json"], ["."]])
def test_the_scorers_are_known_whatever_is_checked(paths: list[str], project: Shell) -> None:
    assert project("check", "--strict", *paths) == 0, project.out
    assert project.out.startswith("1 configuration, 1 scenario:" if not paths or paths == ["."] else "1 scenario:")


def test_another_configuration_can_be_named(project: Shell) -> None:
    (project.folder / "eval.config.yaml").rename(project.folder / "other.yaml")

    assert project("check", "scenarios") == 2
    assert project("check", "scenarios", "--config", "other.yaml") == 0, project.out
    assert project.out == "1 configuration, 1 scenario: no problems\n"
    assert project("check", "scenarios", "--config", "none.yaml") == 2
    assert "none.yaml: there is no such file" in project.out


def test_a_broken_configuration_matters_only_if_its_scorers_do(project: Shell) -> None:
    project.write("eval.config.yaml", "modes: []\n")
    project.write("scenarios/pr-b-001.json", scenario("pr-b-001"))

    assert project("check", "scenarios/pr-b-001.json") == 0
    assert project("check", "scenarios/pr-a-001.json") == 2
    assert "eval.config.yaml:1:8: /modes: must not be empty" in project.out


@pytest.mark.parametrize("paths", [[], ["scenarios"], ["scenarios/pr-a-001.json"]])
def test_a_list_does_not_ask_for_scorers(paths: list[str], project: Shell) -> None:
    project.write("my:scorers.py", "raise SystemExit('executed')\n")

    assert project("list", "scenarios", *paths) == 0
    assert "pr-a-001" in project.out


def test_notes_on_a_configuration_are_warnings(shell: Shell) -> None:
    shell.write("eval.config.yaml", "modes: [ghx]\nexecution: {timeout_default_ms: 5}\n")

    assert shell("check") == 0
    assert shell.out.startswith("warning: eval.config.yaml: execution.timeout_default_ms is not used")


def test_a_huge_file_and_a_broken_one_are_told_if_they_seem_to_be_ours(shell: Shell) -> None:
    shell.write("pr-a-001.json", '{"name": "' + "x" * 6_000_000 + '"}')
    shell.write("half.json", '{"prompt": ')
    shell.write("foreign.json", '{"compilerOptions": ')

    assert shell("check") == 2
    assert shell.out.splitlines() == [
        "half.json:1:11: the file ends before the '{' of line 1 is closed",
        "pr-a-001.json: the file has 6.0 MB, more than the 5.0 MB allowed; split it",
        "1 scenario, 1 other file: 2 problems",
    ]


def test_the_older_tools_files_are_fine(older_tools: Path) -> None:
    result = check_files([older_tools])

    assert result.errors == []
    kinds = sorted(each.kind or "" for each in result.files)
    assert kinds == ["configuration", "manifest", "scenario", "scenario", "scenario", "sets"]


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("x.json", scenario(), "scenario"),
        ("x.json", {"prompt": 1, "fixture": 2}, "scenario"),
        ("pr-a-001.json", [], "scenario"),
        ("scenarios/x.json", None, "scenario"),
        ("scenarios/deep/x.json", {}, "scenario"),
        ("scenarios/x.solution.yaml", {}, "solution"),
        ("x.json", {"seedId": 1, "fixtures": 2}, "manifest"),
        ("x.yaml", {"modes": []}, "configuration"),
        ("eval.config.yaml", [], "configuration"),
        ("scenario-sets.yaml", 5, "sets"),
        ("x.json", {"a": ["b-001"], "$schema": "c"}, "sets"),
        ("x.json", {"a": [1]}, None),
        ("x.json", {}, None),
        ("x.json", {"$schema": "c"}, None),
        ("x.json", "text", None),
        ("scenarios/x.json", MANIFEST, "manifest"),
        ("scenarios/x.json", {"modes": ["ghx"]}, "configuration"),
        ("pr-a-001.json", MANIFEST, "manifest"),
        ("scenarios/fixtures/x.json", {}, None),
        ("scenarios/fixtures/x.json", MANIFEST, "manifest"),
        ("fixtures/pr-a-001.json", scenario(), None),
    ],
)
def test_what_a_file_is(name: str, value: Any, kind: str | None) -> None:
    assert kind_of(value, Path(name), Path(name).parts[:-1]) == kind


def test_what_lies_above_the_folder_that_is_checked_does_not_matter(shell: Shell) -> None:
    shell.write("scenarios/project/package.json", {"name": "x"})
    shell.write("scenarios/project/scenarios/a-001.json", scenario("a-001"))
    shell.write("scenarios/project/scenarios/fixtures/b-001.json", "{")

    assert shell("check", "--strict", "scenarios/project") == 0, shell.out
    assert shell.out == "1 scenario: no problems\n"
    assert shell("check", "--strict", str(shell.folder / "scenarios" / "project")) == 0, shell.out
    assert shell("list", "scenarios", "scenarios/project/scenarios") == 0


def test_the_folder_that_is_checked_matters_itself(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.write("scenarios/x.json", {})
    monkeypatch.chdir(shell.folder / "scenarios")

    assert shell("check") == 2
    assert shell.out.endswith("1 scenario: 8 problems\n")


def test_links_in_a_circle_are_told(shell: Shell) -> None:
    (shell.folder / "a-001.json").symlink_to("b-001.json")
    (shell.folder / "b-001.json").symlink_to("a-001.json")

    assert shell("check") == 2
    assert shell.out.startswith("a-001.json: the file cannot be read: ")
    assert shell("check", "a-001.json") == 2


def test_a_file_that_is_named_is_told_also_if_its_folder_is_named_before(shell: Shell) -> None:
    shell.write("pr-a-001.json", scenario())
    (shell.folder / "self.json").symlink_to("self.json")
    shell.write("package.json", {"name": "x"})

    assert shell("check", ".") == 0
    assert shell("check", ".", "self.json", "package.json") == 2
    assert shell.out.endswith("1 scenario, 2 other files: 2 problems\n")


@pytest.mark.parametrize("count", [99, 100, 101])
def test_exactly_as_many_problems_are_told_as_fit(count: int, shell: Shell) -> None:
    shell.write("pr-a-001.json", scenario(prompt=" ".join(f"{{{{v{index}}}}}" for index in range(count))))

    assert shell("check") == 2
    assert ("only the first 100" in shell.out) is (count > 100)
    assert shell.out.count("nothing is bound to") == min(count, 100)


def test_no_more_than_a_hundred_problems_of_a_file_are_told(shell: Shell) -> None:
    checkpoint = scenario()["assertions"]["checkpoints"][0]
    given = {f"x{index}": "{{y}}" for index in range(300)}
    shell.write("pr-a-001.json", scenario(assertions={"checkpoints": [{**checkpoint, "input": given}]}))

    assert shell("check") == 2
    assert len(shell.out.splitlines()) == 102
    assert "only the first 100 problems are shown" in shell.out


def test_long_names_are_shortened_wherever_they_are_told(shell: Shell) -> None:
    checkpoint = scenario()["assertions"]["checkpoints"][0]
    long = "x" * 100_000
    given = {long: {long: "{{" + long + "}}"}}
    inner = {"type": "custom", "scorer": long}
    broken = {**checkpoint, "task": "issue.create", "input": given, "condition": {"type": "not", "condition": inner}}
    shell.write("a-001.json", scenario("a-001", assertions={"checkpoints": [broken]}))
    shell.write("b-001.json", scenario("b-001", **{long: 1}, tags=[long, 1]))
    shell.write("c-001.json", f'{{"{long}": 1, "{long}": 2}}')

    assert shell("check") == 2
    assert len(shell.out.splitlines()) >= 6
    assert max(map(len, shell.out.splitlines())) < 1000


# list


def test_the_list_can_be_narrowed(shell: Shell) -> None:
    shell.write("scenarios/a-001.json", scenario("a-001", tags=["x"], category="issue"))
    shell.write("scenarios/b-001.json", scenario("b-001", difficulty="advanced", name="Café \x1b[31m"))

    def listed(*flags: str) -> list[str]:
        assert shell("list", "scenarios", *flags) == 0
        return [line.split()[0] for line in shell.out.splitlines()[1:]]

    assert listed("scenarios") == ["a-001", "b-001"]
    assert listed("scenarios", "--tag", "x") == ["a-001"]
    assert listed("scenarios", "--category", "issue", "--category", "pr") == ["a-001", "b-001"]
    assert listed("scenarios", "--difficulty", "advanced") == ["b-001"]
    assert listed("scenarios/b-001.json") == ["b-001"]
    assert "\x1b" not in shell.out
    assert shell("list", "scenarios", "--tag", "x", "--difficulty", "advanced") == 0
    assert shell.out == "no scenarios\n"


def test_the_list_has_what_comes_with_the_package_behind_the_projects_own(shell: Shell) -> None:
    shell.write("scenarios/a-001.json", scenario("a-001"))
    shell.write("scenarios/mine.json", scenario("issue-triage-001", name="Mine"))

    assert shell("list", "scenarios", "--json") == 0
    names = {each["id"]: each["name"] for each in json.loads(shell.out)}
    assert list(names)[:2] == ["a-001", "issue-triage-001"]
    assert names["issue-triage-001"] == "Mine"
    assert names["pr-merge-ready-001"] == "Merge what is ready"


def test_the_list_as_json(shell: Shell) -> None:
    fixture = {"repo": "o/r", "requires": ["pr"], "bindings": {}}
    shell.write("scenarios/a-001.json", scenario("a-001", tags=["x"], fixture=fixture))

    assert shell("list", "scenarios", "scenarios", "--json") == 0
    assert json.loads(shell.out) == [
        {
            "id": "a-001",
            "name": "A task",
            "category": "pr",
            "difficulty": "basic",
            "tags": ["x"],
            "timeoutMs": 1,
            "checkpoints": ["c"],
            "requires": ["pr"],
            "builtIn": False,
            "file": "scenarios/a-001.json",
            "variants": [],
        }
    ]


def test_a_list_with_broken_files_says_what_is_wrong(shell: Shell) -> None:
    shell.write("scenarios/a-001.json", scenario("a-001", timeoutMs=0))

    assert shell("list", "scenarios") == 2
    assert (
        shell.err == "error: scenarios/a-001.json:6:15: /timeoutMs: must be more than 0 and at most 86400000, not 0\n"
    )


# schema


@pytest.mark.parametrize("kind", ["scenario", "sets", "manifest", "config"])
def test_a_schema_is_printed(kind: str, shell: Shell) -> None:
    assert shell("schema", kind) == 0
    assert json.loads(shell.out)["$schema"].endswith("2020-12/schema")


# start-up


@pytest.mark.parametrize("command", [["check"], ["schema"], ["list"], ["list", "scenarios"], ["new", "scenario"]])
def test_help_loads_nothing_heavy(command: list[str]) -> None:
    code = (
        "import sys; from ghx_bench.cli.main import run; code = run(sys.argv[1:]);"
        "sys.stderr.write(repr([m for m in ('pydantic', 'yaml', 'anyio', 'ghx_profiler') if m in sys.modules]));"
        "sys.exit(code)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, *command, "--help"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "100"},
    )

    assert result.returncode == 0
    assert result.stderr == "[]"
    assert "Usage: ghx-bench " + " ".join(command) in result.stdout
