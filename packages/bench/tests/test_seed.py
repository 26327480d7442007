"""The two documents this package began with, sentence by sentence: each has an id, and a test that names it.

`EVAL` is the reference of `EvalScenario`, `BASE` the design of `BaseScenario` as far as it speaks of consumers.
"""

import copy
import importlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import pytest
import yaml
from pydantic import TypeAdapter, ValidationError

import ghx_bench
from ghx_base.errors import DocumentError
from ghx_bench import (
    CheckpointCondition,
    EvalScenario,
    FixtureManifest,
    bind_fixture_variables,
    evaluate_condition,
    load_eval_scenarios,
    load_scenario_sets,
    scenario_loader,
)
from ghx_profiler import BaseScenario, ScenarioSets
from ghx_profiler.config import ScenarioChoice
from ghx_profiler.plan.selection import select_scenarios

REQUIREMENTS = {
    "EVAL-01": "A scenario is a prompt, fixture requirements, and checkpoints that determine pass or fail.",
    "EVAL-02": "The type and its validation are imported from the package itself.",
    "EVAL-03": "`id` is required: lower-case words and a number of three digits, joined by hyphens.",
    "EVAL-04": "`name`, `description` and `prompt` are required texts.",
    "EVAL-05": "`timeoutMs` is required: a number, the most milliseconds the agent may take.",
    "EVAL-06": "`allowedRetries` are additional attempts after the first; 0 unless given.",
    "EVAL-07": "`tags` are arbitrary strings to filter and group by; none unless given.",
    "EVAL-08": "`category` is required: pr, issue, workflow, release or repo.",
    "EVAL-09": "`difficulty` is required: basic, intermediate or advanced.",
    "EVAL-10": "`fixture` is omitted when the scenario needs none.",
    "EVAL-11": "`assertions` are required, and evaluated after the session.",
    "EVAL-12": "`fixture.repo` is required: the repository, as owner/repo.",
    "EVAL-13": "`fixture.requires` is required: names of fixtures that are keys in the manifest.",
    "EVAL-14": "`fixture.bindings` is required: variable names to manifest paths, for `{{variable}}` substitution.",
    "EVAL-15": "`fixture.reseedPerIteration` is true or false; false unless given.",
    "EVAL-16": "`assertions.checkpoints` is required: a list, in order.",
    "EVAL-17": "`assertions.expectedToolSequence` is optional, ordered, informational and not enforced.",
    "EVAL-18": "`assertions.expectedCapabilities` is optional, informational and not enforced.",
    "EVAL-19": "A checkpoint's `id` is required and unique within its scenario.",
    "EVAL-20": "A checkpoint's `description` is required, and for people.",
    "EVAL-21": "A checkpoint's `task` is required and names a capability, such as pr.commits.list.",
    "EVAL-22": "A checkpoint's `input` is required: an object of whatever the capability takes.",
    "EVAL-23": "A checkpoint's `condition` is required, and must be satisfied by the task's result.",
    "EVAL-24": "There are seven types of conditions.",
    "EVAL-25": "`EvalScenario` extends `BaseScenario` by category, difficulty, fixture and assertions.",
    "EVAL-26": "The base fields are compatible with the profiler's generic scenario.",
    "EVAL-27": "Parsed JSON is validated at run time into a scenario.",
    "BASE-01": "A consumer extends the base by fields of its own; all are read-only.",
    "BASE-02": "`extensions` carry data that is passed through.",
    "BASE-03": "Resolving template variables is the consumer's responsibility.",
    "BASE-04": "Scenarios are filtered by tags.",
    "BASE-05": "Extra fields are reached by narrowing the type.",
    "BASE-06": "Sets are a simple map from names to ids; a set name is resolved to ids, then the files are loaded.",
    "BASE-07": "The loader is given ids and returns scenarios, asynchronously.",
    "BASE-08": "The loader loads the consumer's own formats: JSON, YAML.",
    "BASE-09": "The loader validates against the extended schema.",
    "BASE-10": "The runner calls the loader once.",
    "BASE-11": "Scenarios named one by one override the set.",
}

COVERED: set[str] = set()

Test = TypeVar("Test", bound=Callable[..., Any])


def covers(*ids: str) -> Callable[[Test], Test]:
    """Report which sentences a test is about."""
    assert set(ids) <= REQUIREMENTS.keys()
    COVERED.update(ids)
    return lambda test: test


CHECKPOINT = {
    "id": "commit-pushed",
    "description": "A commit was pushed",
    "task": "pr.commits.list",
    "input": {"owner": "{{owner}}", "name": "{{repo_name}}", "prNumber": "{{pr_number}}"},
    "condition": {"type": "count_gte", "value": 2},
}
SCENARIO: dict[str, Any] = {
    "id": "pr-fix-mixed-threads-001",
    "name": "Fix",
    "description": "Fixes what reviewers asked for.",
    "prompt": "Fix #{{pr_number}} in {{repo}}.",
    "timeoutMs": 180000,
    "category": "pr",
    "difficulty": "intermediate",
    "fixture": {
        "repo": "{{fixture_repo}}",
        "requires": ["pr"],
        "bindings": {"pr_number": "pr.number", "repo": "pr.repo"},
    },
    "assertions": {"checkpoints": [CHECKPOINT]},
}
MANIFEST = FixtureManifest.model_validate(
    {
        "seedId": "s",
        "createdAt": "t",
        "repo": "octo/world",
        "fixtures": {"pr": {"type": "pr", "number": 7, "repo": "octo/world"}},
    }
)


def changed(pointer: str, *value: Any) -> dict[str, Any]:
    """The scenario with the value at a JSON pointer replaced, or removed where none is given."""
    scenario = copy.deepcopy(SCENARIO)
    part: Any = scenario
    *way, last = pointer[1:].split("/")
    for step in way:
        part = part[int(step) if isinstance(part, list) else step]
    if value:
        part[last] = value[0]
    else:
        del part[last]
    return scenario


def read(pointer: str, *value: Any) -> EvalScenario:
    return EvalScenario.model_validate(changed(pointer, *value))


def refused(pointer: str, *value: Any) -> bool:
    try:
        read(pointer, *value)
    except ValidationError:
        return True
    return False


@covers("EVAL-01", "EVAL-27")
def test_parsed_json_becomes_a_scenario_with_prompt_fixture_and_checkpoints() -> None:
    scenario = EvalScenario.model_validate(json.loads(json.dumps(SCENARIO)))

    assert scenario.prompt == "Fix #{{pr_number}} in {{repo}}."
    assert scenario.fixture is not None
    assert scenario.fixture.requires == ("pr",)
    (checkpoint,) = scenario.assertions.checkpoints
    assert evaluate_condition(checkpoint.condition, {"items": [1, 2]})
    assert not evaluate_condition(checkpoint.condition, {"items": [1]})
    assert scenario.to_wire() == SCENARIO
    with pytest.raises(ValidationError):
        EvalScenario.model_validate(json.loads("{}"))


@covers("EVAL-02")
def test_the_package_offers_the_type_which_is_its_own_validation() -> None:
    offered = vars(importlib.import_module("ghx_bench"))["EvalScenario"]

    assert "EvalScenario" in ghx_bench.__all__
    assert isinstance(offered.model_validate(SCENARIO), offered)
    with pytest.raises(ValidationError):
        offered.model_validate({**SCENARIO, "category": "nothing"})


@covers("EVAL-03")
@pytest.mark.parametrize("id_", ["pr-fix-mixed-threads-001", "a-000", "1-2-999", "0a-b1-123", "001-002"])
def test_an_id_that_fits(id_: str) -> None:
    assert read("/id", id_).id == id_


@covers("EVAL-03")
@pytest.mark.parametrize(
    "id_",
    [
        "",
        "001",
        "-001",
        "a001",
        "a-01",
        "a-0001",
        "A-001",
        "a_b-001",
        "a--001",
        "a b-001",
        "a-001 ",
        "a-001\n",
        "é-001",
    ],
)
def test_an_id_that_does_not_fit(id_: str) -> None:
    assert refused("/id", id_)


@covers("EVAL-03", "EVAL-04", "EVAL-05", "EVAL-08", "EVAL-09", "EVAL-11")
@pytest.mark.parametrize(
    "key", ["id", "name", "description", "prompt", "timeoutMs", "category", "difficulty", "assertions"]
)
def test_a_scenario_needs(key: str) -> None:
    assert refused(f"/{key}")


@covers("EVAL-04")
@pytest.mark.parametrize("key", ["name", "description", "prompt"])
def test_a_text_says_something(key: str) -> None:
    assert refused(f"/{key}", "")
    assert refused(f"/{key}", 7)
    assert refused(f"/{key}", None)
    assert getattr(read(f"/{key}", " x "), key) == " x "


@covers("EVAL-05")
def test_the_timeout_is_a_positive_integer() -> None:
    assert read("/timeoutMs", 1).timeout_ms == 1
    assert all(refused("/timeoutMs", value) for value in (0, -1, 1.5, "120000", True, None))


@covers("EVAL-06")
def test_retries_are_not_negative_and_none_unless_given() -> None:
    assert EvalScenario.model_validate(SCENARIO).allowed_retries == 0
    assert read("/allowedRetries", 2).allowed_retries == 2
    assert all(refused("/allowedRetries", value) for value in (-1, 0.5, "1", True, None))


@covers("EVAL-07")
def test_tags_are_strings_and_none_unless_given() -> None:
    assert EvalScenario.model_validate(SCENARIO).tags == ()
    assert read("/tags", ["api-only", "Pull Request"]).tags == ("api-only", "Pull Request")
    assert all(refused("/tags", value) for value in ("pr", [1], None))


@covers("EVAL-08")
def test_there_are_five_categories() -> None:
    for category in ("pr", "issue", "workflow", "release", "repo"):
        assert read("/category", category).category == category
    assert all(refused("/category", value) for value in ("PR", "project", "", None))


@covers("EVAL-09")
def test_there_are_three_difficulties() -> None:
    for difficulty in ("basic", "intermediate", "advanced"):
        assert read("/difficulty", difficulty).difficulty == difficulty
    assert all(refused("/difficulty", value) for value in ("hard", "Basic", "", None))


@covers("EVAL-10")
def test_a_scenario_may_need_no_fixtures() -> None:
    scenario = read("/fixture")

    assert scenario.fixture is None
    assert "fixture" not in scenario.to_wire()


@covers("EVAL-12", "EVAL-13", "EVAL-14")
@pytest.mark.parametrize("key", ["repo", "requires", "bindings"])
def test_a_fixture_needs(key: str) -> None:
    assert refused(f"/fixture/{key}")


@covers("EVAL-12")
def test_the_repository_is_owner_and_repo_once_it_is_bound() -> None:
    bound = bind_fixture_variables(EvalScenario.model_validate(SCENARIO), MANIFEST)

    assert bound.fixture is not None
    assert bound.fixture.repo == "octo/world"
    with pytest.raises(ghx_bench.BindingError, match="form owner/repo"):
        bind_fixture_variables(read("/fixture/repo", "octo"), MANIFEST)


@covers("EVAL-13")
def test_required_fixtures_are_keys_in_the_manifest() -> None:
    with pytest.raises(ghx_bench.BindingError, match="the manifest has no fixture 'nobody'"):
        bind_fixture_variables(read("/fixture/requires", ["pr", "nobody"]), MANIFEST)


@covers("EVAL-14", "BASE-03")
def test_bindings_lead_from_variables_into_the_manifest() -> None:
    bound = bind_fixture_variables(EvalScenario.model_validate(SCENARIO), MANIFEST)

    assert bound.prompt == "Fix #7 in octo/world."
    assert bound.assertions.checkpoints[0].input == {"owner": "octo", "name": "world", "prNumber": 7}
    assert all(refused("/fixture/bindings", value) for value in ({"a": 1}, ["a"], {"not a name": "pr.number"}))


@covers("EVAL-15")
def test_reseeding_is_off_unless_asked_for() -> None:
    fixture = EvalScenario.model_validate(SCENARIO).fixture
    assert fixture is not None
    assert fixture.reseed_per_iteration is False
    assert fixture.seed_per_iteration is False
    asked = read("/fixture/reseedPerIteration", True).fixture
    assert asked is not None
    assert asked.reseed_per_iteration
    assert all(refused("/fixture/reseedPerIteration", value) for value in ("true", 1, None))


@covers("EVAL-16")
def test_checkpoints_are_a_list_in_order() -> None:
    several = [{**CHECKPOINT, "id": id_} for id_ in ("c", "a", "b")]

    assert [each.id for each in read("/assertions/checkpoints", several).assertions.checkpoints] == ["c", "a", "b"]
    assert refused("/assertions/checkpoints")
    assert refused("/assertions/checkpoints", {})


@covers("EVAL-17", "EVAL-18")
def test_expectations_are_optional_lists_and_become_findings() -> None:
    plain = EvalScenario.model_validate(SCENARIO).assertions
    assert (plain.expected_tool_sequence, plain.expected_capabilities) == (None, None)
    scenario = EvalScenario.model_validate(
        {
            **SCENARIO,
            "assertions": {
                **SCENARIO["assertions"],
                "expectedToolSequence": ["pr.view", "bash:git*"],
                "expectedCapabilities": ["pr.view", "not.even.there"],
            },
        }
    )

    findings = ghx_bench.expectation_findings(scenario, ["x"], ["pr.view"]).to_wire()["findings"]

    assert findings["tool_sequence_followed"]["value"] == 0
    assert findings["capabilities_not_used"]["values"] == ["not.even.there"]
    assert refused("/assertions/expectedToolSequence", "pr.view")
    assert refused("/assertions/expectedCapabilities", [1])


@covers("EVAL-19", "EVAL-20", "EVAL-21", "EVAL-22", "EVAL-23")
@pytest.mark.parametrize("key", ["id", "description", "task", "input", "condition"])
def test_a_checkpoint_needs(key: str) -> None:
    assert refused(f"/assertions/checkpoints/0/{key}")


@covers("EVAL-19", "EVAL-20", "EVAL-21")
@pytest.mark.parametrize("key", ["id", "description", "task"])
def test_the_texts_of_a_checkpoint_say_something(key: str) -> None:
    assert refused(f"/assertions/checkpoints/0/{key}", "")
    assert refused(f"/assertions/checkpoints/0/{key}", 1)


@covers("EVAL-19")
def test_the_id_of_a_checkpoint_is_unique_within_its_scenario() -> None:
    assert refused("/assertions/checkpoints", [CHECKPOINT, {**CHECKPOINT, "description": "another"}])


@covers("EVAL-21")
def test_the_task_names_a_capability(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(changed("/assertions/checkpoints/0/task", "pr.commits.lst")))

    with pytest.raises(DocumentError, match=r"did you mean 'pr\.commits\.list'"):
        load_eval_scenarios(path)


@covers("EVAL-22")
def test_the_input_is_any_object() -> None:
    given = {"a": None, "b": [1, 2.5, {"c": True}], "": "x"}

    assert read("/assertions/checkpoints/0/input", given).assertions.checkpoints[0].input == given
    assert refused("/assertions/checkpoints/0/input", [])
    assert refused("/assertions/checkpoints/0/input", None)


SEVEN: dict[str, dict[str, Any]] = {
    "non_empty": {},
    "empty": {},
    "count_gte": {"value": 1},
    "count_eq": {"value": 1},
    "field_equals": {"path": "a", "value": "x"},
    "field_contains": {"path": "a", "value": "x"},
    "custom": {"scorer": "mine"},
}


@covers("EVAL-23", "EVAL-24")
@pytest.mark.parametrize("kind", SEVEN)
def test_each_of_the_seven_conditions_is_read_and_written(kind: str) -> None:
    condition = {"type": kind, **SEVEN[kind]}

    read_condition = read("/assertions/checkpoints/0/condition", condition).assertions.checkpoints[0].condition

    assert read_condition.type == kind
    assert read_condition.to_wire() == condition
    for key in SEVEN[kind]:
        assert refused("/assertions/checkpoints/0/condition", {k: v for k, v in condition.items() if k != key})
    assert refused("/assertions/checkpoints/0/condition", {**condition, "other": 1})


@covers("EVAL-24")
def test_the_seven_and_what_authors_missed_are_all_there_is() -> None:
    classes = get_args(get_args(CheckpointCondition)[0])
    kinds = {each.model_fields["type"].default for each in classes}

    assert kinds == {*SEVEN, "field_gte", "contains_item", "matches", "all", "any", "not"}
    with pytest.raises(ValidationError):
        TypeAdapter(CheckpointCondition).validate_python({"type": "exists"})


@covers("EVAL-25")
def test_a_scenario_is_a_base_scenario_and_four_fields() -> None:
    assert issubclass(EvalScenario, BaseScenario)
    added = EvalScenario.model_fields.keys() - BaseScenario.model_fields.keys()
    assert added == {"category", "difficulty", "fixture", "assertions", "schema_url"}
    assert EvalScenario.model_fields["schema_url"].alias == "$schema"


@covers("EVAL-26")
def test_the_base_of_a_scenario_is_a_scenario_of_the_profiler() -> None:
    keys = ("id", "name", "description", "prompt", "timeoutMs")
    base = BaseScenario.model_validate({key: SCENARIO[key] for key in keys})

    scenario = EvalScenario.model_validate(SCENARIO)

    assert all(getattr(scenario, name) == getattr(base, name) for name in BaseScenario.model_fields)


@covers("BASE-01")
def test_nothing_in_a_scenario_can_be_assigned() -> None:
    scenario = EvalScenario.model_validate(SCENARIO)

    for part in (scenario, scenario.fixture, scenario.assertions, scenario.assertions.checkpoints[0]):
        assert part is not None
        for name in type(part).model_fields:
            with pytest.raises(ValidationError, match="frozen"):
                setattr(part, name, None)
    assert isinstance(scenario.tags, tuple)
    assert isinstance(scenario.assertions.checkpoints, tuple)


@covers("BASE-02")
def test_extensions_are_passed_through() -> None:
    data = {"rubric": "be kind", "allowedChanges": [{"type": "comment"}], "targets": ["twin"], "n": 1.5, "none": None}

    scenario = read("/extensions", data)

    assert scenario.extensions == data
    assert scenario.to_wire()["extensions"] == data


def write(folder: Path, *ids: str) -> None:
    for number, id_ in enumerate(ids):
        value = {**SCENARIO, "id": id_, "tags": [f"tag{number}"]}
        text = json.dumps(value) if number % 2 else yaml.safe_dump(value)
        (folder / f"{id_}.{'json' if number % 2 else 'yaml'}").write_text(text)


@covers("BASE-04")
def test_tags_filter(tmp_path: Path) -> None:
    write(tmp_path, "a-001", "b-001", "c-001")

    assert [each.id for each in load_eval_scenarios(tmp_path, tags=["tag0", "tag2"])] == ["a-001", "c-001"]


@covers("BASE-05")
def test_who_gets_a_base_scenario_can_see_that_it_is_more() -> None:
    scenario: BaseScenario = EvalScenario.model_validate(SCENARIO)

    match scenario:
        case EvalScenario(category=category):
            assert category == "pr"
        case _:
            pytest.fail("the runner lost the type")


@covers("BASE-08")
@pytest.mark.anyio
@pytest.mark.parametrize(("suffix", "dump"), [("json", json.dumps), ("yaml", yaml.safe_dump), ("yml", yaml.safe_dump)])
async def test_the_loader_reads(suffix: str, dump: Callable[[object], str], tmp_path: Path) -> None:
    (tmp_path / f"a.{suffix}").write_text(dump(SCENARIO))

    (loaded,) = await scenario_loader(tmp_path)([SCENARIO["id"]])

    assert loaded.to_wire() == SCENARIO


@covers("BASE-09")
@pytest.mark.anyio
@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/category", "nothing"),
        ("/difficulty", 1),
        ("/fixture/bindings", []),
        ("/assertions/checkpoints", {}),
        ("/assertions/checkpoints/0/task", "not.there"),
        ("/assertions/checkpoints/0/condition", {"type": "not_there"}),
    ],
)
async def test_the_loader_refuses_what_only_the_extended_schema_knows(pointer: str, value: Any, tmp_path: Path) -> None:
    broken = changed(pointer, value)
    (tmp_path / "a.json").write_text(json.dumps(broken))

    BaseScenario.model_validate({key: broken[key] for key in ("id", "name", "description", "prompt", "timeoutMs")})
    with pytest.raises(DocumentError) as caught:
        await scenario_loader(tmp_path)([SCENARIO["id"]])

    assert all(problem.pointer.startswith(pointer) for problem in caught.value.problems)


@covers("BASE-06", "BASE-07", "BASE-10", "BASE-11")
@pytest.mark.anyio
async def test_the_runner_resolves_a_set_and_calls_the_loader_once_with_its_ids(tmp_path: Path) -> None:
    write(tmp_path, "a-001", "b-001", "c-001")
    (tmp_path / "scenario-sets.json").write_text(json.dumps({"default": ["a-001", "b-001"], "quick": ["a-001"]}))
    load, sets = scenario_loader(tmp_path), load_scenario_sets(tmp_path)
    asked: list[Sequence[str]] = []

    async def counting(ids: Sequence[str]) -> Sequence[EvalScenario]:
        asked.append(ids)
        return await load(ids)

    by_set = await select_scenarios(ScenarioChoice(set="default"), counting, sets)
    one_by_one = await select_scenarios(ScenarioChoice(set="default", ids=("c-001",)), counting, sets)

    assert [each.id for each in by_set] == ["a-001", "b-001"]
    assert [each.id for each in one_by_one] == ["c-001"]
    assert [list(ids) for ids in asked] == [["a-001", "b-001"], ["c-001"]]
    assert all(type(each) is EvalScenario for each in (*by_set, *one_by_one))
    assert isinstance(sets, ScenarioSets)


def test_every_sentence_has_a_test_that_names_it() -> None:
    assert REQUIREMENTS.keys() == COVERED
