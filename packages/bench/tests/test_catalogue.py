"""Which scenarios a run may choose from: the project's own, those of the package, and what belongs to them."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ghx_base.documents import DocumentError
from ghx_base.errors import GhxBenchError, InputError
from ghx_bench.catalogue import Catalogue
from ghx_bench.checking.solution_rules import solution_errors
from ghx_bench.fixtures.library import load_fixtures
from ghx_bench.loader import load_scenario_files
from ghx_bench.modes.definitions import BUILT_IN as BUILT_IN_MODES
from ghx_bench.project.config import EvalConfig
from ghx_bench.project.config_file import project_config
from ghx_bench.project.custom_scorers import scorers_named_in
from ghx_bench.project.folders import BUILT_IN_SCENARIOS
from ghx_bench.scenario.binding import variable_names
from ghx_profiler.errors import BadMatrixError, UnknownNameError
from ghx_profiler.testing import ScenarioLoaderContract

DEFAULT_MODES = ("baseline", "ghx", "ghx-mcp")


def a_scenario(id_: str, **changes: Any) -> dict[str, Any]:
    checkpoint = {
        "id": "there",
        "description": "The repository is there",
        "task": "repo.view",
        "input": {"owner": "o", "name": "r"},
        "condition": {"type": "non_empty"},
    }
    return {
        "id": id_,
        "name": "A task",
        "description": "A task on GitHub",
        "prompt": "Do something.",
        "timeoutMs": 1000,
        "category": "repo",
        "difficulty": "basic",
        "assertions": {"checkpoints": [checkpoint]},
        **changes,
    }


def write(folder: Path, *scenarios: dict[str, Any], sets: dict[str, list[str]] | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for each in scenarios:
        (folder / f"{each['id']}.json").write_text(json.dumps(each))
    if sets is not None:
        (folder / "scenario-sets.json").write_text(json.dumps(sets))
    return folder


def catalogue(*folders: Path, **settings: Any) -> Catalogue:
    return Catalogue(EvalConfig(modes=("baseline",), scenario_dirs=folders, **settings))


def names(scenarios: Sequence[Any]) -> dict[str, str]:
    return {each.id: each.name for each in scenarios}


def test_own_scenarios_stand_beside_built_in_ones_and_in_for_those_of_the_same_id(tmp_path: Path) -> None:
    own = write(tmp_path, a_scenario("mine-001", name="Mine"), a_scenario("issue-triage-001", name="Mine too"))
    offered = catalogue(own)

    loaded = names(offered.take(["pr-merge-ready-001", "issue-triage-001", "mine-001"]))

    assert loaded == {
        "pr-merge-ready-001": "Merge what is ready",
        "issue-triage-001": "Mine too",
        "mine-001": "Mine",
    }
    assert [each.scenario.id for each in offered.every()][:2] == ["issue-triage-001", "mine-001"]
    assert len({each.scenario.id for each in offered.every()}) == len(offered.every())


def test_scenarios_that_nobody_asked_for_are_not_in_the_way(tmp_path: Path) -> None:
    own = write(tmp_path, a_scenario("mine-001"), {"id": "broken-001"})

    assert names(catalogue(own).take(["mine-001"])) == {"mine-001": "A task"}
    with pytest.raises(DocumentError, match=r"broken-001\.json"):
        catalogue(own).take(["broken-001"])


def test_an_unknown_scenario_is_refused_and_all_that_exist_are_named(tmp_path: Path) -> None:
    own = write(tmp_path, a_scenario("mine-001"))

    with pytest.raises(UnknownNameError, match=r"no scenario 'mine-002'; did you mean 'mine-001'\? .*pr-merge-ready"):
        catalogue(own).take(["issue-triage-001", "mine-002"])


def test_without_scenarios_of_its_own_a_project_has_the_built_in_sets() -> None:
    sets = catalogue().sets

    assert {"default", "quick"} <= set(sets.names())
    assert set(sets.get("quick") or ()) < set(sets.get("default") or ())


def test_the_default_set_of_a_project_is_all_that_it_has(tmp_path: Path) -> None:
    one, other = write(tmp_path / "one", a_scenario("a-001")), write(tmp_path / "other", a_scenario("b-001"))

    assert catalogue(one, other).sets.get("default") == ("a-001", "b-001")
    assert catalogue(one, other).sets.get("quick") == catalogue().sets.get("quick")


def test_sets_of_a_project_stand_in_for_built_in_ones_and_may_name_built_in_scenarios(tmp_path: Path) -> None:
    sets = {"default": ["b-001", "issue-triage-001"], "mine": ["a-001"]}
    own = write(tmp_path, a_scenario("a-001"), a_scenario("b-001"), sets=sets)
    offered = catalogue(own)

    assert offered.sets.get("default") == ("b-001", "issue-triage-001")
    assert offered.sets.get("mine") == ("a-001",)
    assert list(names(offered.take(offered.sets.get("default") or ()))) == ["b-001", "issue-triage-001"]


def test_sets_without_a_default_leave_it_to_be_all_scenarios(tmp_path: Path) -> None:
    own = write(tmp_path, a_scenario("a-001"), a_scenario("b-001"), sets={"mine": ["a-001"]})

    assert catalogue(own).sets.get("default") == ("a-001", "b-001")


def test_scenarios_are_chosen_by_category_and_difficulty() -> None:
    def chosen(*category: str, difficulty: Sequence[str] = (), **settings: Any) -> set[str]:
        offered = catalogue(**settings)
        return set(offered.narrowed(category=category, difficulty=difficulty).config.scenarios.ids)

    assert chosen("repo") == {"repo-release-notes-001"}
    assert chosen("repo", "pr", difficulty=["intermediate"]) == {
        "repo-release-notes-001",
        "pr-merge-ready-001",
        "pr-reply-threads-001",
    }
    assert chosen("issue", scenarios={"set": "quick"}) == {"issue-triage-001"}
    assert chosen("issue", scenarios={"ids": ["issue-to-pr-001", "pr-merge-ready-001"]}) == {"issue-to-pr-001"}
    assert chosen() == set(), "nothing was asked for, and nothing is changed"


@pytest.mark.parametrize(
    ("category", "difficulty", "settings", "error", "reason"),
    [
        (["prs"], [], {}, UnknownNameError, "no category 'prs'; did you mean 'pr'?"),
        ([], ["hard"], {}, UnknownNameError, "no difficulty 'hard'; known: advanced, basic, intermediate"),
        (["release"], [], {}, BadMatrixError, "is of category release"),
        (["repo"], ["basic", "advanced"], {}, BadMatrixError, "is of category repo and difficulty basic or advanced"),
        (["pr"], [], {"scenarios": {"set": "quik"}}, UnknownNameError, "no scenario set 'quik'; did you mean 'quick'?"),
    ],
)
def test_a_choice_of_nothing_is_refused(
    category: list[str], difficulty: list[str], settings: dict[str, Any], error: type[GhxBenchError], reason: str
) -> None:
    with pytest.raises(error) as raised:
        catalogue(**settings).narrowed(category=category, difficulty=difficulty)

    assert reason in str(raised.value)


def test_a_fixture_that_nobody_can_make_is_refused_with_the_file_that_asks_for_it(tmp_path: Path) -> None:
    fixture = {"repo": "{{fixture_repo}}", "requires": ["issue_for_triage", "issue_for_triag"], "bindings": {}}
    own = write(tmp_path, a_scenario("mine-001", fixture=fixture))

    with pytest.raises(DocumentError) as raised:
        catalogue(own).take(["mine-001"])

    assert str(raised.value) == (
        f"{own / 'mine-001.json'}: /fixture/requires/1: there is no fixture 'issue_for_triag'; "
        "did you mean 'issue_for_triage'?"
    )


def test_a_fixture_may_be_in_a_folder_of_the_project(tmp_path: Path) -> None:
    fixture = {"repo": "{{fixture_repo}}", "requires": ["my_issue"], "bindings": {}}
    own = write(tmp_path / "scenarios", a_scenario("mine-001", fixture=fixture))
    issue = "version: 1\nname: my_issue\ndescription: Mine.\nissues:\n  - {id: mine, title: Mine, body: Mine.}\n"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "my_issue.yaml").write_text(issue)

    with pytest.raises(DocumentError, match=r"there is no fixture 'my_issue'; name a folder with it in fixtures\.fol"):
        catalogue(own).take(["mine-001"])
    assert catalogue(own, fixtures={"folders": [tmp_path / "mine"]}).take(["mine-001"])


def test_on_github_a_manifest_may_know_fixtures_that_we_do_not(tmp_path: Path) -> None:
    fixture = {"repo": "{{fixture_repo}}", "requires": ["made_by_hand"], "bindings": {}}
    own = write(tmp_path, a_scenario("mine-001", fixture=fixture))

    assert catalogue(own, target="github").take(["mine-001"])


def test_a_scenario_may_be_for_one_kind_of_github_only(tmp_path: Path) -> None:
    own = write(tmp_path, a_scenario("mine-001", extensions={"targets": ["twin"]}))

    assert catalogue(own).take(["mine-001"])
    with pytest.raises(InputError, match="scenario mine-001 can be run on twin only; leave it out, or choose"):
        catalogue(own, target="github").take(["mine-001"])


@pytest.mark.parametrize(
    ("targets", "complaint"),
    [
        ("twin", "/extensions/targets: expected a list of targets, got the string 'twin'; write [twin]"),
        ([], "/extensions/targets: expected a list of targets"),
        (["twin", "githbu"], "/extensions/targets/1: there is no target 'githbu'; did you mean 'github'?"),
        ([7], "/extensions/targets/0: there is no target 7"),
    ],
)
def test_a_target_that_nobody_knows_is_refused(targets: object, complaint: str, tmp_path: Path) -> None:
    own = write(tmp_path, a_scenario("mine-001", extensions={"targets": targets}))

    with pytest.raises(DocumentError) as raised:
        catalogue(own).take(["mine-001"])

    assert complaint in str(raised.value)


def test_a_scenario_is_independent_or_not_and_nothing_between(tmp_path: Path) -> None:
    own = write(tmp_path, a_scenario("mine-001", extensions={"independent": "yes"}))

    with pytest.raises(DocumentError, match="/extensions/independent: expected true or false, got the string 'yes'"):
        catalogue(own).take(["mine-001"])


def solution(folder: Path, id_: str, *modes: str) -> None:
    steps = {mode: [{"shell": f"echo {mode}"}] for mode in modes}
    (folder / f"{id_}.solution.yaml").write_text(json.dumps({"version": 1, "modes": steps}))


def test_a_mode_without_a_solution_of_its_own_takes_that_of_the_mode_it_extends(tmp_path: Path) -> None:
    own = write(tmp_path, a_scenario("mine-001"), a_scenario("bare-001"))
    solution(own, "mine-001", "baseline", "better")
    offered = catalogue(own)
    offered.take(["mine-001", "bare-001"])

    files = offered.solution_files()
    found = files["mine-001"].solution_for("best", "better", "baseline")
    assert found is not None
    assert found.steps[0].shell == "echo better"
    assert files["mine-001"].solution_for("other") is None
    assert "bare-001" not in files
    assert offered.solution_path("bare-001") == own / "bare-001.solution.yaml"


def test_scenarios_name_the_custom_scorers_that_they_need(tmp_path: Path) -> None:
    condition = {"type": "any", "conditions": [{"type": "custom", "scorer": "is_mine"}, {"type": "empty"}]}
    with_scorer = a_scenario("mine-001")
    with_scorer["assertions"]["checkpoints"][0]["condition"] = condition
    own = write(tmp_path / "scenarios", with_scorer)
    (tmp_path / "scorers.py").write_text("SCORERS = {'is_mine': lambda data, params: True, 'other': print}\n")

    scenarios = catalogue(own, scorers=tmp_path / "scorers.py").take(["mine-001"])

    assert scorers_named_in(scenarios) == {"is_mine"}
    with pytest.raises(DocumentError, match="no custom scorer is registered as 'is_mine'"):
        catalogue(own).take(["mine-001"])


BUILT_IN = load_scenario_files(BUILT_IN_SCENARIOS)


@cache
def solutions_of_library() -> Mapping[str, Any]:
    offered = catalogue()
    offered.take([each.scenario.id for each in BUILT_IN])
    return offered.solution_files()


@pytest.mark.slow
@pytest.mark.parametrize("loaded", BUILT_IN, ids=lambda each: each.scenario.id)
def test_a_built_in_scenario_is_complete(loaded: Any) -> None:
    scenario = loaded.scenario
    solutions = solutions_of_library()[scenario.id]

    assert loaded.path.stem == scenario.id
    assert scenario.fixture is not None
    assert set(scenario.fixture.requires) <= set(load_fixtures().names)
    assert scenario.extensions["allowedChanges"] is not None, "what else the agent changes would not be seen"
    assert scenario.assertions.expected_capabilities
    for mode in DEFAULT_MODES:
        found = solutions.solution_for(mode)
        assert found is not None, mode
        assert found.needs_servers() == bool(BUILT_IN_MODES[mode].mcp_servers)
    assert list(solution_errors(solutions, variable_names(scenario))) == []


def test_the_folders_of_a_project_are_found_beside_its_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "scenarios", a_scenario("mine-001"))
    (tmp_path / "fixtures").mkdir()
    (tmp_path / "eval.config.yaml").write_text("modes: [baseline]\n")
    (tmp_path / "other.yaml").write_text("modes: [baseline]\nscenario_dirs: []\nfixtures: {folders: []}\n")

    beside = project_config(tmp_path / "eval.config.yaml")
    told = project_config(tmp_path / "other.yaml")
    monkeypatch.chdir(tmp_path)
    here = project_config()
    (tmp_path / "eval.config.yaml").unlink()
    bare = project_config()

    assert beside.scenario_dirs == (tmp_path / "scenarios",)
    assert beside.fixtures.folders == (tmp_path / "fixtures",)
    assert (told.scenario_dirs, told.fixtures.folders) == ((), ())
    assert (here.modes, here.scenario_dirs) == (("baseline",), (Path("scenarios"),))
    assert (bare.modes, bare.scenario_dirs, bare.fixtures.folders) == (
        DEFAULT_MODES,
        (Path("scenarios"),),
        (Path("fixtures"),),
    )


class TestCatalogueLoads(ScenarioLoaderContract):
    def make_loader(self) -> Any:
        return catalogue().load

    def known_ids(self) -> list[str]:
        return ["issue-find-and-close-001", "pr-merge-ready-001"]
