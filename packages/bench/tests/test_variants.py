"""Variants of scenarios: what they change, how they are named, and what is wrong with some."""

import json
from pathlib import Path
from typing import Any

import pytest

from ghx_base.errors import DocumentError, GhxBenchError
from ghx_bench import EvalScenario, load_eval_scenarios
from ghx_bench.catalogue import Catalogue
from ghx_bench.checking.project_check import check_files
from ghx_bench.project.config import EvalConfig
from ghx_bench.scenario.variants import expand_variants
from ghx_profiler.config import ScenarioChoice
from ghx_profiler.plan.selection import select_scenarios
from ghx_profiler.scenario import scenario_of, variant_of

LARGE = {
    "description": "many issues",
    "timeoutMs": 9000,
    "fixture": {"requires": ["many"], "bindings": {"issue_number": "many.number"}},
    "extensions": {"allowedChanges": ["labels"]},
}
VAGUE = {"prompt": "Close #{{issue_number}}, would you?"}
TWO = {"large": LARGE, "vague": VAGUE}


def a_scenario(id_: str = "issue-close-001", variants: Any = None, **changes: Any) -> dict[str, Any]:
    checkpoint = {
        "id": "closed",
        "description": "It is closed",
        "task": "issue.view",
        "input": {"owner": "{{owner}}", "name": "{{repo_name}}", "issueNumber": "{{issue_number}}"},
        "condition": {"type": "non_empty"},
    }
    extensions = {"allowedChanges": ["issues.state"], "mine": 1}
    return {
        "id": id_,
        "name": "Close an issue",
        "description": "A task on GitHub",
        "prompt": "Close issue #{{issue_number}}.",
        "timeoutMs": 1000,
        "category": "issue",
        "difficulty": "basic",
        "fixture": {"repo": "{{fixture_repo}}", "requires": ["one"], "bindings": {"issue_number": "one.number"}},
        "assertions": {"checkpoints": [checkpoint]},
        "extensions": extensions if variants is None else {**extensions, "variants": variants},
        **changes,
    }


def write(folder: Path, *scenarios: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for each in scenarios:
        (folder / f"{each['id']}.json").write_text(json.dumps(each))
    return folder


def catalogue(*folders: Path) -> Catalogue:
    return Catalogue(EvalConfig(modes=("baseline",), scenario_dirs=folders, target="github"))


@pytest.mark.parametrize(
    ("id_", "base", "variant"),
    [
        ("a-001", "a-001", None),
        ("a-001@large", "a-001", "large"),
        ("user@host@large", "user@host", "large"),
        ("@large", "@large", None),
        ("a-001@", "a-001@", None),
    ],
)
def test_an_id_says_its_scenario_and_its_variant(id_: str, base: str, variant: str | None) -> None:
    assert (scenario_of(id_), variant_of(id_)) == (base, variant)


def test_each_key_of_a_variant_replaces_that_of_the_scenario_and_the_rest_stays() -> None:
    plain, large, vague = expand_variants(EvalScenario.model_validate(a_scenario(variants=TWO)))

    assert [each.id for each in (plain, large, vague)] == ["issue-close-001", "issue-close-001@large", vague.id]
    assert (vague.base_id, vague.variant) == ("issue-close-001", "vague")
    assert plain == EvalScenario.model_validate(a_scenario())
    assert (large.prompt, large.timeout_ms) == (plain.prompt, 9000)
    assert large.fixture is not None
    assert plain.fixture is not None
    assert large.fixture.requires == ("many",)
    assert large.fixture.repo == plain.fixture.repo
    assert large.extensions == {"allowedChanges": ["labels"], "mine": 1}
    assert large.known_extensions.allowed_changes == ("labels",)
    assert "many issues" in large.description
    assert vague.prompt == VAGUE["prompt"]
    assert vague.fixture == plain.fixture
    assert vague.extensions == plain.extensions


def test_a_form_is_a_record_that_can_be_written_and_read() -> None:
    for form in expand_variants(EvalScenario.model_validate(a_scenario(variants=TWO))):
        assert EvalScenario.model_validate(form.to_wire()) == form
        assert expand_variants(form) == (form,)


def test_a_scenario_without_variants_is_its_only_form_and_written_as_before() -> None:
    scenario = EvalScenario.model_validate(a_scenario())

    assert expand_variants(scenario) == (scenario,)
    assert expand_variants(scenario)[0].to_bytes() == scenario.to_bytes()


def test_a_variant_may_bring_fixtures_to_a_scenario_without_any() -> None:
    written = a_scenario(variants={"forked": {"fixture": {"requires": ["fork"]}}})
    del written["fixture"]

    forked = expand_variants(EvalScenario.model_validate(written))[1]

    assert forked.fixture is not None
    assert (forked.fixture.repo, forked.fixture.requires) == ("{{fixture_repo}}", ("fork",))


MISTAKES: list[tuple[Any, str, str]] = [
    ({"Large": VAGUE}, "/extensions/variants/Large", "cannot be the name of a variant"),
    ({"a@b": VAGUE}, "/extensions/variants/a@b", "cannot be the name of a variant"),
    ({"clean": VAGUE}, "/extensions/variants/clean", "threat"),
    ({"benign": VAGUE}, "/extensions/variants/benign", "threat"),
    ({"same": {}}, "/extensions/variants/same", "changes nothing"),
    ({"same": {"description": "d", "timeoutMs": 1000}}, "/extensions/variants/same", "changes nothing"),
    ({"x": {"promt": "p"}}, "/extensions/variants/x/promt", "did you mean 'prompt'?"),
    ({"x": {"timeoutMs": 0}}, "/extensions/variants/x/timeoutMs", "more than 0"),
    ({"x": {"fixture": {"binding": {}}}}, "/extensions/variants/x/fixture/binding", "did you mean 'bindings'?"),
    ({"x": {"fixture": {"bindings": {"a-b": "x.y"}}}}, "/extensions/variants/x/fixture/bindings/a-b", "variable"),
    ({"x": {"prompt": "{{nobody}}"}}, "/extensions/variants/x/prompt", "nobody"),
    ({"x": {"extensions": {"targets": ["moon"]}}}, "/extensions/variants/x/extensions/targets/0", "no target"),
    ({"x": {"extensions": {"faults": [{"status": 502}]}}}, "/extensions/variants/x/extensions/faults", "embedded"),
    (["large"], "/extensions/variants", "expected an object"),
]


@pytest.mark.parametrize(("variants", "pointer", "words"), MISTAKES)
def test_what_is_wrong_with_a_variant_is_said_where_it_stands(
    tmp_path: Path, variants: Any, pointer: str, words: str
) -> None:
    with pytest.raises(DocumentError) as refused:
        load_eval_scenarios(write(tmp_path, a_scenario(variants=variants)))

    (problem,) = refused.value.problems
    assert problem.pointer == pointer
    assert words in str(problem)


def test_what_a_variant_breaks_in_the_scenario_is_said_with_its_name(tmp_path: Path) -> None:
    unbound: Any = {"x": {"fixture": {"bindings": {}}}}

    with pytest.raises(DocumentError) as refused:
        load_eval_scenarios(write(tmp_path, a_scenario(variants=unbound)))

    assert {each.pointer.split("/")[1] for each in refused.value.problems} == {"prompt", "assertions"}
    assert all("(in issue-close-001@x)" in each.reason for each in refused.value.problems)


def test_a_file_cannot_be_a_variant(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as refused:
        load_eval_scenarios(write(tmp_path, a_scenario("issue-close-001@large")))

    assert refused.value.problems[0].pointer == "/id"


def ids_of(folder: Path, *ids: str) -> list[str]:
    return [each.id for each in catalogue(folder).take(ids)]


def test_variants_are_chosen_by_name_or_all_together(tmp_path: Path) -> None:
    folder = write(tmp_path, a_scenario(variants=TWO), a_scenario("issue-close-002"))
    forms = ["issue-close-001", "issue-close-001@large", "issue-close-001@vague"]

    assert ids_of(folder, "issue-close-001") == forms[:1]
    assert ids_of(folder, "issue-close-001@vague", "issue-close-001") == [forms[2], forms[0]]
    assert ids_of(folder, "issue-close-002@*", "issue-close-001@*") == ["issue-close-002", *forms]
    assert [each.id for each in load_eval_scenarios(folder, ids="issue-close-001@*")] == forms


def test_an_unknown_variant_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    folder = write(tmp_path, a_scenario(variants=TWO))

    with pytest.raises(GhxBenchError, match=r"no variant 'huge'; it has 'large', 'vague'"):
        ids_of(folder, "issue-close-001@huge")
    with pytest.raises(GhxBenchError, match="issue-open-001"):
        ids_of(folder, "issue-open-001@huge")


@pytest.mark.anyio
async def test_a_choice_of_all_forms_brings_each_once(tmp_path: Path) -> None:
    folder = write(tmp_path, a_scenario(variants=TWO))
    choice = ScenarioChoice(ids=("issue-close-001@vague", "issue-close-001@*"))

    chosen = await select_scenarios(choice, catalogue(folder).load)

    assert [each.variant for each in chosen] == ["vague", None, "large"]


def test_the_solution_of_a_scenario_serves_its_variants(tmp_path: Path) -> None:
    folder = write(tmp_path, a_scenario(variants=TWO))
    (folder / "issue-close-001.solution.yaml").write_text("version: 1\nmodes: {baseline: []}\nanswer: Done.\n")
    chosen = catalogue(folder)

    chosen.take(["issue-close-001@*"])

    assert list(chosen.solution_files()) == ["issue-close-001"]
    assert chosen.solution_path("issue-close-001@large") == folder / "issue-close-001.solution.yaml"


def test_sets_and_configurations_may_name_variants(tmp_path: Path) -> None:
    scenarios = write(tmp_path / "scenarios", a_scenario(variants=TWO))
    sets = {"good": ["issue-close-001@large", "issue-close-001@*"], "bad": ["issue-close-001@huge", "x-001@*"]}
    (scenarios / "scenario-sets.json").write_text(json.dumps(sets))
    config = {"modes": ["baseline"], "scenario_dirs": ["scenarios"], "scenarios": {"ids": ["issue-close-001@vagu"]}}
    (tmp_path / "eval.config.json").write_text(json.dumps(config))

    errors = [each for each in check_files([tmp_path]).errors if "fixture" not in each.reason]

    assert [each.pointer for each in errors] == ["/scenarios/ids/0", "/bad/0", "/bad/1"]
    assert errors[0].suggestion == "did you mean 'issue-close-001@vague'?"
