"""Binding: every variable replaced by what the manifest says, nothing else touched, and every gap named."""

import copy
import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ghx_bench import (
    BindingError,
    EvalScenario,
    FixtureManifest,
    Known,
    bind_fixture_variables,
    bind_references,
    evaluate_condition,
    load_eval_scenarios,
)
from ghx_bench.checking.scenario_rules import scenario_errors

MANIFEST = FixtureManifest.model_validate(
    {
        "seedId": "seed-1",
        "createdAt": "2026-01-01T00:00:00.000Z",
        "repo": "octo/world",
        "fixtures": {
            "pr": {
                "type": "pr",
                "number": 7,
                "repo": "octo/pulls",
                "branch": "fix",
                "labels": ["bug", "ui"],
                "metadata": {
                    "ratio": 3.0,
                    "open": True,
                    "nothing": None,
                    "who": {"login": "a.b"},
                    "text": "x {{run_id}}",
                },
                "url": "https://example.com/7",
            }
        },
    }
)


def scenario(
    prompt: str = "p",
    *,
    given: Any = None,
    condition: Any = None,
    bindings: dict[str, str] | None = None,
    requires: tuple[str, ...] = (),
    repo: str = "{{fixture_repo}}",
    fixture: bool = True,
    **more: Any,
) -> EvalScenario:
    needs = {"fixture": {"repo": repo, "requires": list(requires), "bindings": bindings or {}}} if fixture else {}
    return EvalScenario.model_validate(
        {
            "id": "pr-a-001",
            "name": "n",
            "description": "d {{not_touched}}",
            "prompt": prompt,
            "timeoutMs": 1,
            "category": "pr",
            "difficulty": "basic",
            "assertions": {
                "checkpoints": [
                    {
                        "id": "c",
                        "description": "d {{not_touched}}",
                        "task": "pr.view",
                        "input": given or {},
                        "condition": condition or {"type": "non_empty"},
                    }
                ]
            },
            **needs,
            **more,
        }
    )


def bound(*arguments: Any, extra: Any = None, **more: Any) -> EvalScenario:
    return bind_fixture_variables(scenario(*arguments, **more), MANIFEST, extra)


def bound_input(given: Any, bindings: dict[str, str]) -> Any:
    return bound(given=given, bindings=bindings).assertions.checkpoints[0].input


def complaints(
    *arguments: Any, manifest: FixtureManifest | None = MANIFEST, extra: Any = None, **more: Any
) -> list[str]:
    with pytest.raises(BindingError) as caught:
        bind_fixture_variables(scenario(*arguments, **more), manifest, extra)
    return str(caught.value).splitlines()


def test_the_prompt_gets_values_as_text() -> None:
    bindings = {"n": "pr.number", "b": "pr.branch", "r": "pr.metadata.ratio", "o": "pr.metadata.open", "l": "pr.labels"}

    result = bound("#{{n}} {{b}} {{r}} {{o}} {{l}} {{n}}", bindings=bindings)

    assert result.prompt == '#7 fix 3 true ["bug", "ui"] 7'


def test_a_prompt_that_is_one_variable_is_still_text() -> None:
    assert bound("{{n}}", bindings={"n": "pr.number"}).prompt == "7"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("pr.number", 7),
        ("pr.branch", "fix"),
        ("pr.metadata.open", True),
        ("pr.metadata.nothing", None),
        ("pr.metadata.ratio", 3.0),
        ("pr.labels", ["bug", "ui"]),
        ("pr.labels.1", "ui"),
        ("pr.labels.length", 2),
        ("pr.metadata.who", {"login": "a.b"}),
        ("pr.url", "https://example.com/7"),
    ],
)
def test_an_input_that_is_one_variable_keeps_the_type(path: str, value: Any) -> None:
    given = {"whole": "{{v}}", "nested": {"list": [1, ["{{v}}", {"deep": "{{v}}"}]]}}

    result = bound_input(given, {"v": path})

    assert result == {"whole": value, "nested": {"list": [1, [value, {"deep": value}]]}}
    assert type(result["whole"]) is type(value)


def test_an_input_with_more_than_a_variable_is_text() -> None:
    assert bound_input({"a": "#{{v}}", "b": "{{v}} ", "c": "{{v}}{{v}}"}, {"v": "pr.number"}) == {
        "a": "#7",
        "b": "7 ",
        "c": "77",
    }


def test_keys_of_inputs_are_left_alone() -> None:
    assert bound_input({"{{v}}": 1}, {"v": "pr.number"}) == {"{{v}}": 1}


def test_what_is_filled_in_is_not_looked_at_again() -> None:
    assert bound("{{v}}", bindings={"v": "pr.metadata.text"}).prompt == "x {{run_id}}"


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"type": "field_equals", "path": "a", "value": "{{n}}"}, {"value": 7}),
        ({"type": "field_equals", "path": "a", "value": "#{{n}}"}, {"value": "#7"}),
        ({"type": "field_contains", "path": "a", "value": "{{n}}"}, {"value": "7"}),
        ({"type": "field_gte", "path": "a", "value": "{{n}}"}, {"value": 7}),
        ({"type": "count_eq", "value": "{{n}}"}, {"value": 7}),
        ({"type": "count_gte", "value": "{{n}}"}, {"value": 7}),
        ({"type": "contains_item", "value": {"number": "{{n}}"}}, {"value": {"number": 7}}),
        ({"type": "matches", "path": "a", "pattern": "^#{{n}} {{who}}$"}, {"pattern": r"^#7 a\.b$"}),
        ({"type": "custom", "scorer": "s", "params": {"n": ["{{n}}"]}}, {"params": {"n": [7]}}),
        (
            {"type": "not", "condition": {"type": "count_eq", "value": "{{n}}"}},
            {"condition": {"type": "count_eq", "value": 7}},
        ),
        (
            {"type": "any", "conditions": [{"type": "empty"}, {"type": "count_eq", "value": "{{n}}"}]},
            {"conditions": [{"type": "empty"}, {"type": "count_eq", "value": 7}]},
        ),
        (
            {"type": "contains_item", "where": {"type": "field_equals", "path": "n", "value": "{{n}}"}},
            {"where": {"type": "field_equals", "path": "n", "value": 7}},
        ),
    ],
)
def test_conditions_are_bound_too(condition: dict[str, Any], expected: dict[str, Any]) -> None:
    bindings = {"n": "pr.number", "who": "pr.metadata.who.login"}

    result = bound(condition=condition, bindings=bindings).assertions.checkpoints[0].condition

    assert result.to_wire() == {**condition, **expected}


def test_what_is_filled_into_a_pattern_means_itself() -> None:
    condition = {"type": "matches", "path": "a", "pattern": "^{{who}}$"}

    checkpoint = bound(condition=condition, bindings={"who": "pr.metadata.who.login"}).assertions.checkpoints[0]

    assert evaluate_condition(checkpoint.condition, {"a": "a.b"})
    assert not evaluate_condition(checkpoint.condition, {"a": "axb"})


def test_a_repo_binding_gives_owner_and_name() -> None:
    result = bound("{{owner}} {{repo_name}} {{repo}}", bindings={"repo": "pr.repo"})

    assert result.prompt == "octo pulls octo/pulls"


def test_without_a_repo_binding_they_come_from_the_repository_of_the_fixture() -> None:
    assert bound("{{owner}} {{repo_name}} {{repo}}").prompt == "octo world octo/world"


def test_a_binding_of_its_own_goes_before_what_is_derived() -> None:
    assert bound("{{owner}} {{repo_name}}", bindings={"repo": "pr.repo", "owner": "pr.branch"}).prompt == "fix pulls"


def test_the_fixtures_repository_is_bound_and_is_the_configured_one() -> None:
    assert bound("{{fixture_repo}}").prompt == "octo/world"
    configured = bound("{{fixture_repo}} {{owner}}", extra={"fixture_repo": "me/mine"})
    assert configured.prompt == "me/mine me"
    assert configured.fixture is not None
    assert configured.fixture.repo == "me/mine"


def test_the_run_id_is_what_the_runner_says() -> None:
    assert bound("{{run_id}}", extra={"run_id": "run_9"}).prompt == "run_9"
    assert complaints("{{run_id}}", fixture=False) == [
        "scenario pr-a-001: /prompt: nothing is bound to {{run_id}}; the runner gives it; known: 'fixture_repo'"
    ]


def test_extra_variables_keep_their_type_and_go_before_bindings() -> None:
    result = bound("{{n}}", given={"n": "{{n}}"}, bindings={"n": "nowhere.number"}, extra={"n": 9})

    assert result.prompt == "9"
    assert result.assertions.checkpoints[0].input == {"n": 9}


def test_a_scenario_without_fixtures_needs_no_manifest() -> None:
    unbound = scenario("{{run_id}}", fixture=False)

    assert bind_fixture_variables(unbound, None, {"run_id": "r"}).prompt == "r"


def test_a_fixture_that_requires_and_binds_nothing_needs_no_manifest() -> None:
    unbound = scenario("{{owner}} {{fixture_repo}}")

    assert bind_fixture_variables(unbound, None, {"fixture_repo": "me/mine"}).prompt == "me me/mine"
    assert bind_fixture_variables(scenario("{{repo}}", repo="a/b"), None).prompt == "a/b"
    assert complaints("p", manifest=None) == [
        "scenario pr-a-001: /fixture/repo: nothing is bound to {{fixture_repo}}; "
        "it is the configured repository, or that of the manifest; known: none"
    ]


@pytest.mark.parametrize("text", ["{{n}}", "a {{n}}"])
def test_null_is_no_text(text: str) -> None:
    bindings = {"n": "pr.metadata.nothing"}
    said = "{{n}} is null, which cannot be put into a text"

    assert complaints(text, bindings=bindings) == [f"scenario pr-a-001: /prompt: {said}"]
    condition = {"type": "field_contains", "path": "a", "value": text}
    assert complaints(condition=condition, bindings=bindings) == [
        f"scenario pr-a-001: /assertions/checkpoints/0/condition/value: {said}"
    ]


@pytest.mark.parametrize("text", ["{{v}}", "{{v}} {{checkpoints.c}}", "{{checkpoints.c}}{{v}}"])
def test_what_a_value_contains_is_never_taken_for_a_reference(text: str) -> None:
    value = "{{checkpoints.c}} {{owner}}"
    condition = {"type": "all", "conditions": [{"type": "field_contains", "path": "a", "value": text}]}

    (checkpoint,) = bound(given={"a": [text]}, condition=condition, extra={"v": value}).assertions.checkpoints
    result = bind_references(pickle.loads(pickle.dumps(checkpoint)), {"c": 3})

    expected = text.replace("{{checkpoints.c}}", "3").replace("{{v}}", value)
    assert result.input == {"a": [expected]}
    assert result.condition.to_wire()["conditions"] == [{"type": "field_contains", "path": "a", "value": expected}]
    assert "origin" not in json.dumps(checkpoint.to_wire())


def test_references_to_earlier_checkpoints_stay_for_the_scorer() -> None:
    given = {"a": "{{checkpoints.c.number}}", "b": "{{n}} {{checkpoints.c.items.0.id}}"}
    condition = {"type": "count_eq", "value": "{{checkpoints.c.items.length}}"}

    checkpoint = bound(given=given, condition=condition, bindings={"n": "pr.number"}).assertions.checkpoints[0]

    assert checkpoint.input == {"a": "{{checkpoints.c.number}}", "b": "7 {{checkpoints.c.items.0.id}}"}
    assert checkpoint.condition.to_wire() == condition


@pytest.mark.parametrize("text", ["${{ github.ref }}", "${{n}}", "{{pr-number}}", "{n}", "{{}}", "{{a.b}}", "}}{{"])
def test_what_is_no_placeholder_is_text(text: str) -> None:
    assert bound(text, given={"a": text}, bindings={"n": "pr.number"}).prompt == text


def test_the_scenario_given_is_not_changed() -> None:
    unbound = scenario("{{n}}", given={"a": ["{{n}}"]}, bindings={"n": "pr.number"}, extensions={"x": "{{n}}"})
    before = copy.deepcopy(unbound.to_wire())

    result = bind_fixture_variables(unbound, MANIFEST)

    assert unbound.to_wire() == before
    assert result.to_wire() != before
    assert result.description == unbound.description
    assert result.extensions == {"x": "{{n}}"}
    assert result.assertions.checkpoints[0].description == "d {{not_touched}}"


def test_a_variable_that_is_not_bound_names_itself_its_place_and_those_that_are() -> None:
    given = {"a": ["x", {"b": "{{numbr}}"}]}

    assert complaints("{{own}}", given=given, bindings={"number": "pr.number"}) == [
        "scenario pr-a-001: /prompt: nothing is bound to {{own}}; did you mean {{owner}}? "
        "known: 'fixture_repo', 'number', 'owner', 'repo', 'repo_name'",
        "scenario pr-a-001: /assertions/checkpoints/0/input/a/1/b: nothing is bound to {{numbr}}; "
        "did you mean {{number}}? known: 'fixture_repo', 'number', 'owner', 'repo', 'repo_name'",
    ]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("prr.number", "the manifest has no fixture 'prr'; did you mean 'pr'?"),
        ("issue.number", "the manifest has no fixture 'issue'; it has 'pr'"),
        ("pr.numbr", "'pr' has no 'numbr' in the manifest; did you mean 'number'?"),
        (
            "pr.metadata.zzz",
            "'pr.metadata' has no 'zzz' in the manifest; it has 'ratio', 'open', 'nothing', 'who', 'text'",
        ),
        ("pr.labels.2", "'pr.labels' has no '2' in the manifest"),
        ("pr.number.x", "'pr.number' has no 'x' in the manifest"),
    ],
)
def test_a_binding_that_leads_nowhere_is_told_once_with_what_is_there(path: str, said: str) -> None:
    told = complaints("{{n}} {{n}}", given={"a": "{{n}}"}, bindings={"n": path})

    assert told == [f"scenario pr-a-001: /fixture/bindings/n: {said}"]


def test_a_fixture_that_is_required_and_not_there_is_told() -> None:
    assert complaints(requires=("pr", "prs", "release")) == [
        "scenario pr-a-001: /fixture/requires/1: the manifest has no fixture 'prs'; did you mean 'pr'?",
        "scenario pr-a-001: /fixture/requires/2: the manifest has no fixture 'release'; it has 'pr'",
    ]


def test_without_a_manifest_only_that_is_told() -> None:
    assert complaints("{{n}} {{owner}}", bindings={"n": "pr.number"}, manifest=None) == [
        "scenario pr-a-001: /fixture: the scenario needs fixtures, and there is no manifest; seed them first"
    ]


@pytest.mark.parametrize("repo", ["{{fixture_repo}}", "{{branch}}", "x/{{repo}}"])
def test_the_repository_is_checked_after_binding(repo: str) -> None:
    (told,) = complaints(repo=repo, bindings={"branch": "pr.branch", "repo": "pr.repo"}, extra={"fixture_repo": "me"})

    assert told.startswith("scenario pr-a-001: /fixture/repo: '")
    assert told.endswith("' is not the name of a repository; it has the form owner/repo")


def test_a_repo_binding_that_is_no_repository_is_told_once() -> None:
    assert complaints("{{owner}}", bindings={"repo": "pr.number"}, repo="a/b") == [
        "scenario pr-a-001: /fixture/bindings/repo: 7 is not the name of a repository; it has the form owner/repo"
    ]


def test_a_value_of_the_wrong_type_is_told_where_it_is_used() -> None:
    condition = {"type": "all", "conditions": [{"type": "count_eq", "value": "{{b}}"}]}

    assert complaints(condition=condition, bindings={"b": "pr.branch"}) == [
        "scenario pr-a-001: /assertions/checkpoints/0/condition/conditions/0/value: "
        "after binding, expected an integer, got the string 'fix'"
    ]


def test_the_prompt_cannot_know_what_checkpoints_return() -> None:
    assert complaints("{{checkpoints.c.number}}") == [
        "scenario pr-a-001: /prompt: {{checkpoints.c.number}} cannot be known yet; "
        "checkpoints are made after the session"
    ]


def test_everything_that_is_in_the_way_is_told_together() -> None:
    told = complaints("{{x1}}", given={"a": "{{x2}}"}, bindings={"n": "pr.zzz"}, requires=("nobody",))

    assert [line.split(": ")[1] for line in told] == [
        "/fixture/requires/0",
        "/fixture/bindings/n",
        "/prompt",
        "/assertions/checkpoints/0/input/a",
    ]


def test_the_scenarios_of_the_older_tools_are_bound(older_tools: Path) -> None:
    resource = {"type": "x", "number": 5, "repo": "octo/pulls", "metadata": {"headBranch": "h", "baseBranch": "b"}}
    names = ("pr_with_mixed_threads", "issue_for_triage", "issue_with_branch")
    manifest = FixtureManifest.model_validate({**MANIFEST.to_wire(), "fixtures": dict.fromkeys(names, resource)})

    for unbound in load_eval_scenarios(older_tools / "scenarios"):
        result = bind_fixture_variables(unbound, manifest)

        assert "{{" not in json.dumps(result.to_wire())
        assert "#5" in result.prompt
        for checkpoint in result.assertions.checkpoints:
            assert checkpoint.input["owner"] == "octo"
            assert checkpoint.input["name"] == "pulls"
            assert 5 in checkpoint.input.values()


TEXTS = st.text(st.sampled_from("ab {}$n."), max_size=12)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=10,
)


def has_placeholder(value: Any) -> bool:
    match value:
        case str():
            return any(f"{{{{{name}}}}}" in value for name in ("a", "b", "n")) or ("{{" in value and "}}" in value)
        case dict():
            return any(map(has_placeholder, value.values()))
        case list():
            return any(map(has_placeholder, value))
        case _:
            return False


@given(st.dictionaries(TEXTS, PLAIN, max_size=4))
def test_what_has_no_placeholder_is_never_touched(given: dict[str, Any]) -> None:
    kept = {key: value for key, value in given.items() if not has_placeholder(value)}

    assert json.dumps(bound_input(kept, {"n": "pr.number"})) == json.dumps(kept)


@given(PLAIN, PLAIN)
def test_a_value_arrives_with_its_type_however_deep_it_is_put(value: Any, beside: Any) -> None:
    kept = None if has_placeholder(beside) else beside
    given = {"a": "{{v}}", "b": [kept, {"c": ["{{v}}"]}]}

    result = bound(given=given, extra={"v": value}).assertions.checkpoints[0].input

    assert json.dumps(result) == json.dumps({"a": value, "b": [kept, {"c": [value]}]})


@given(st.lists(st.sampled_from(["{{n}}", "{{b}}", "x", " ", "{", "}", "$"]), max_size=8))
def test_text_around_placeholders_stays(pieces: list[str]) -> None:
    text = "".join(pieces)
    assume("{{{" not in text and "}}}" not in text)  # which two of three braces are meant is told by another test

    result = bound(text or "p", bindings={"n": "pr.number", "b": "pr.branch"}).prompt

    expected = re.sub(r"(?<!\$)\{\{(n|b)\}\}", lambda match: {"n": "7", "b": "fix"}[match[1]], text)
    assert result == (expected or "p")


def test_of_three_braces_the_inner_two_count() -> None:
    assert bound("{{{n}}}", bindings={"n": "pr.number"}).prompt == "{7}"


INNER = st.text(st.sampled_from("ab_-. 0\n"), min_size=1, max_size=8)


@given(st.lists(st.tuples(st.sampled_from(["", "x", "$"]), INNER), min_size=1, max_size=3))
def test_whatever_is_in_braces_is_bound_or_told(pieces: list[tuple[str, str]]) -> None:
    text = " ".join(f"{before}{{{{{inner}}}}}" for before, inner in pieces)
    is_variable = [re.fullmatch(r"\s*[A-Za-z0-9_]+\s*", inner) is not None for _, inner in pieces]
    known = Known(variables=[inner.strip() for (_, inner), fine in zip(pieces, is_variable, strict=True) if fine])
    wrong = sum(not fine and before != "$" for (before, _), fine in zip(pieces, is_variable, strict=True))

    findings = list(scenario_errors(scenario(given={"owner": text}), known))

    assert len(findings) == wrong
    assert all(each.reason.endswith("is not replaced") for each in findings)
