"""Loading: which files are scenarios, which of them are asked for, and what the runner is given."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ghx_base.errors import DocumentError
from ghx_bench import Known, load_eval_scenarios, load_scenario_sets, scenario_loader
from ghx_profiler.config import ScenarioChoice
from ghx_profiler.errors import UnknownNameError
from ghx_profiler.plan.selection import select_scenarios


def scenario(id_: str, **more: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "name": id_,
        "description": "d",
        "prompt": "p",
        "timeoutMs": 1,
        "category": "pr",
        "difficulty": "basic",
        "assertions": {"checkpoints": []},
        **more,
    }


def write(folder: Path, name: str, value: Any) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def ids(paths: Any, **filters: Any) -> list[str]:
    return [each.id for each in load_eval_scenarios(paths, **filters)]


def test_json_and_yaml_are_the_same(tmp_path: Path) -> None:
    value = scenario("pr-a-001", tags=["x"], extensions={"rubric": "be kind", "n": 1.5, "none": None})
    as_json = write(tmp_path, "a.json", value)
    as_yaml = write(tmp_path, "b.yaml", yaml.safe_dump(value))

    assert load_eval_scenarios(as_json) == load_eval_scenarios(as_yaml)
    assert load_eval_scenarios(as_yaml)[0].to_wire() == value


def test_a_folder_is_read_with_those_below_it_in_order_of_names(tmp_path: Path) -> None:
    write(tmp_path, "b.json", scenario("b-001"))
    write(tmp_path, "a.yml", yaml.safe_dump(scenario("a-001")))
    write(tmp_path, "pr/c.yaml", yaml.safe_dump(scenario("c-001")))

    assert ids(tmp_path) == ["a-001", "b-001", "c-001"]
    assert ids(str(tmp_path)) == ["a-001", "b-001", "c-001"]


@pytest.mark.parametrize(
    "name",
    [
        "a-001.solution.yaml",
        "scenario.schema.json",
        "eval.config.yaml",
        "scenario-sets.json",
        "scenario-sets.yaml",
        "fixtures/pr.yaml",
        "fixtures/deep/pr.json",
        ".hidden.json",
        ".git/x.json",
        "_drafts/x.json",
        "_draft.json",
        "notes.txt",
        "readme.md",
    ],
)
def test_what_is_no_scenario_is_left_alone(name: str, tmp_path: Path) -> None:
    write(tmp_path, "a.json", scenario("a-001"))
    write(tmp_path, name, "this is [ no scenario")

    assert ids(tmp_path) == ["a-001"]


def test_a_file_that_is_named_is_taken_whatever_its_name(tmp_path: Path) -> None:
    path = write(tmp_path, "_draft.solution.json", scenario("a-001"))

    assert ids(path) == ["a-001"]
    assert ids([path, path, tmp_path / ".." / tmp_path.name / path.name]) == ["a-001"]


def test_a_folder_that_leads_to_itself_is_read_once(tmp_path: Path) -> None:
    write(tmp_path, "a.json", scenario("a-001"))
    (tmp_path / "again").symlink_to(tmp_path)

    assert ids(tmp_path) == ["a-001"]


def test_links_to_folders_are_followed_and_each_is_read_once(tmp_path: Path) -> None:
    write(tmp_path, "elsewhere/b.json", scenario("b-001"))
    folder = tmp_path / "scenarios"
    write(folder, "a.json", scenario("a-001"))
    (folder / "linked").symlink_to(tmp_path / "elsewhere")
    (folder / "twice").symlink_to(tmp_path / "elsewhere")
    (folder / "linked" / "back").symlink_to(folder)

    assert ids(folder) == ["a-001", "b-001"]


def test_a_link_that_leads_nowhere_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.json").symlink_to("gone.json")

    with pytest.raises(DocumentError) as caught:
        load_eval_scenarios(tmp_path)

    assert str(caught.value) == (
        f"{tmp_path / 'a.json'}: this link leads to 'gone.json', which is not there; "
        "remove it, or let it lead to a file"
    )


def test_a_folder_that_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.json", scenario("a-001"))
    (tmp_path / "secret").mkdir()
    scan = os.scandir

    def refusing(path: Any) -> Any:
        if Path(path).name == "secret":
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(DocumentError) as caught:
        load_eval_scenarios(tmp_path)

    assert str(caught.value) == f"{tmp_path / 'secret'}: the folder cannot be read: Permission denied"


def test_an_empty_folder_has_no_scenarios(tmp_path: Path) -> None:
    assert ids(tmp_path) == []


def test_filters_narrow_and_combine(tmp_path: Path) -> None:
    write(tmp_path, "a.json", scenario("a-001", tags=["x", "y"], category="pr", difficulty="basic"))
    write(tmp_path, "b.json", scenario("b-001", tags=["y"], category="issue", difficulty="advanced"))
    write(tmp_path, "c.json", scenario("c-001", category="issue"))

    assert ids(tmp_path, tags="y") == ["a-001", "b-001"]
    assert ids(tmp_path, tags=["x"]) == ["a-001"]
    assert ids(tmp_path, category="issue") == ["b-001", "c-001"]
    assert ids(tmp_path, category=["issue", "pr"], difficulty="basic") == ["a-001", "c-001"]
    assert ids(tmp_path, tags=["y"], difficulty=["advanced"]) == ["b-001"]


def test_nothing_said_is_everything_and_an_empty_list_is_nothing(tmp_path: Path) -> None:
    write(tmp_path, "a.json", scenario("a-001", tags=["x"]))

    assert ids(tmp_path, tags=None, category=None, difficulty=None, ids=None) == ["a-001"]
    for choice in ("ids", "tags", "category", "difficulty"):
        assert ids(tmp_path, **{choice: []}) == []


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"tags": "pull"}, "no tag 'pull'; did you mean 'pulls'? known: pulls"),
        ({"category": "prs"}, "no category 'prs'; did you mean 'pr'? known: issue, pr, release, repo, workflow"),
        ({"difficulty": "hard"}, "no difficulty 'hard'; known: advanced, basic, intermediate"),
        ({"ids": ["x", "a-001", "y"]}, "no scenarios 'x', 'y'; known: 'a-001', 'b-001'"),
        ({"ids": ["a-001", "a-002"]}, "no scenario 'a-002'; did you mean 'a-001'? known: a-001, b-001"),
    ],
)
def test_a_name_nobody_has_is_an_error_with_those_that_are_there(
    filters: dict[str, Any], said: str, tmp_path: Path
) -> None:
    write(tmp_path, "a.json", scenario("a-001", tags=["pulls"]))
    write(tmp_path, "b.json", scenario("b-001"))

    with pytest.raises(UnknownNameError) as caught:
        load_eval_scenarios(tmp_path, **filters)

    assert str(caught.value) == said


def test_ids_decide_the_order(tmp_path: Path) -> None:
    for name in "abc":
        write(tmp_path, f"{name}.json", scenario(f"{name}-001"))

    assert ids(tmp_path, ids=["c-001", "a-001"]) == ["c-001", "a-001"]


def test_who_asks_for_ids_is_not_held_up_by_other_files(tmp_path: Path) -> None:
    write(tmp_path, "a.json", scenario("a-001"))
    write(tmp_path, "b.json", scenario("b-001", timeoutMs="soon"))
    write(tmp_path, "c.json", "{ this is not json")

    assert ids(tmp_path, ids=["a-001"]) == ["a-001"]
    with pytest.raises(DocumentError, match=r"b\.json.*expected an integer"):
        load_eval_scenarios(tmp_path, ids=["b-001"])


def test_an_id_that_may_be_in_a_broken_file_is_told_with_the_break(tmp_path: Path) -> None:
    write(tmp_path, "a.json", scenario("a-001"))
    write(tmp_path, "c.json", "{ this is not json")

    with pytest.raises(DocumentError, match=r"c\.json:1:3"):
        load_eval_scenarios(tmp_path, ids=["a-001", "c-001"])


def test_what_exists_elsewhere_can_be_told(tmp_path: Path) -> None:
    checkpoint = {
        "id": "c",
        "description": "d",
        "task": "gitlab.mr",
        "input": {"x": "{{mine}}"},
        "condition": {"type": "custom", "scorer": "s"},
    }
    path = write(tmp_path, "a.json", scenario("a-001", assertions={"checkpoints": [checkpoint]}))
    known = Known(capabilities=["gitlab.mr"], scorers=lambda: ["s"], variables=["mine"])

    assert [each.id for each in load_eval_scenarios(path, known=known)] == ["a-001"]
    with pytest.raises(DocumentError) as caught:
        load_eval_scenarios(path)
    assert [problem.pointer.rpartition("/")[2] for problem in caught.value.problems] == ["task", "x", "scorer"]


def test_old_spellings_of_inputs_are_fine(tmp_path: Path) -> None:
    checkpoint = {"id": "c", "description": "d", "task": "pr.view", "condition": {"type": "empty"}}
    given = {"owner": "o", "repo": "r", "pr_number": 1}
    path = write(tmp_path, "a.json", scenario("a-001", assertions={"checkpoints": [{**checkpoint, "input": given}]}))

    assert ids(path) == ["a-001"]


def test_what_is_expected_may_be_unknown_because_it_is_never_enforced(tmp_path: Path) -> None:
    assertions = {"checkpoints": [], "expectedCapabilities": ["pr.diff"], "expectedToolSequence": ["bash:git*"]}
    path = write(tmp_path, "a.json", scenario("a-001", assertions=assertions))

    assert ids(path) == ["a-001"]


@pytest.mark.anyio
async def test_the_loader_brings_the_runner_what_it_asks_for(tmp_path: Path) -> None:
    for name in "abc":
        write(tmp_path, f"{name}.json", scenario(f"{name}-001", tags=[name]))
    write(tmp_path, "scenario-sets.json", {"default": ["b-001", "a-001"], "none": []})
    load, sets = scenario_loader(tmp_path), load_scenario_sets(tmp_path)

    assert [each.id for each in await load(["c-001", "b-001"])] == ["c-001", "b-001"]
    assert await load([]) == ()
    chosen = await select_scenarios(ScenarioChoice(set="default"), load, sets)
    assert [each.id for each in chosen] == ["b-001", "a-001"]
    narrowed = await select_scenarios(ScenarioChoice(set="default", tags=("a",)), load, sets)
    assert [each.id for each in narrowed] == ["a-001"]
    with pytest.raises(UnknownNameError, match="no scenario 'd-001'"):
        await select_scenarios(ScenarioChoice(ids=("d-001",)), load, sets)


def test_sets_are_read_from_a_file_or_from_a_folder(tmp_path: Path) -> None:
    path = write(tmp_path, "scenario-sets.yaml", "$schema: sets.schema.json\nquick: [a-001]\nempty: []\n")

    for place in (path, tmp_path):
        sets = load_scenario_sets(place)
        assert sets.names() == ("empty", "quick")
        assert sets.get("quick") == ("a-001",)


def test_a_folder_without_sets_says_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        load_scenario_sets(tmp_path)

    assert str(caught.value) == (
        f'{tmp_path}: there is no scenario-sets.json in this folder; write one: {{"default": ["pr-review-001"]}}'
    )


def test_the_files_of_the_older_tools_load_and_round_trip(older_tools: Path) -> None:
    folder = older_tools / "scenarios"

    scenarios = {each.id: each for each in load_eval_scenarios(folder)}

    files = {path.stem: json.loads(path.read_text()) for path in folder.glob("*-001.json")}
    assert {id_: each.to_wire() for id_, each in scenarios.items()} == files
    sets = load_scenario_sets(folder)
    assert sets.model_dump(mode="json") == json.loads((folder / "scenario-sets.json").read_text())
    assert {id_ for name in sets.names() for id_ in sets.get(name) or ()} == set(scenarios)


@pytest.mark.nightly
def test_the_benchmark_runs(tmp_path: Path) -> None:
    program = Path(__file__).parents[3] / "benchmarks" / "loading.py"
    command = [sys.executable, program, "--quick", "--files", "200", "--json"]

    measured = json.loads(subprocess.check_output(command, text=True, cwd=tmp_path))

    assert measured["figures"][0]["what"] == "load 2 JSON files"
