"""`docs/scenarios.md` is true: its tables are those of the records, and its examples are what it says they are.

`GHX_BENCH_WRITE_DOCS=1 pytest packages/bench/tests/test_scenario_docs.py` writes the tables again.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from pydantic import BaseModel, TypeAdapter

from ghx_bench import (
    Assertions,
    Checkpoint,
    CheckpointCondition,
    EvalConfig,
    EvalScenario,
    FixtureManifest,
    FixtureRequirements,
    FixtureResource,
    Known,
    evaluate_condition,
    load_eval_scenarios,
)
from ghx_bench.checking.scenario_rules import scenario_errors
from ghx_bench.cli.main import run
from ghx_bench.loader import read_scenario_files
from ghx_bench.project.folders import BUILT_IN_SCENARIOS
from ghx_bench.scenario.allowed_changes import KINDS
from ghx_bench.scenario.extensions import Workspace
from ghx_bench.scenario.scenario_changes import Variant
from ghx_bench.scenario.session_answer import SessionAnswer
from ghx_profiler import ScenarioSets

PAGE = Path(__file__).parents[3] / "docs" / "scenarios.md"
TEXT = PAGE.read_text()
CONDITION: TypeAdapter[Any] = TypeAdapter(CheckpointCondition)
RECORDS = {
    each.__name__: each
    for each in (
        EvalScenario,
        FixtureRequirements,
        Assertions,
        Checkpoint,
        SessionAnswer,
        Workspace,
        Variant,
        FixtureManifest,
        FixtureResource,
    )
}


WORDS = {
    "string": ("a text", "texts"),
    "integer": ("an integer", "integers"),
    "number": ("a number", "numbers"),
    "boolean": ("`true` or `false`", ""),
    "object": ("an object", "objects"),
}


def kind_of(schema: dict[str, Any], *, plural: bool = False) -> str:
    """Say in a few words what a key takes."""
    choices = [each for each in schema.get("anyOf", []) if each.get("type") != "null"]
    if choices == [{"type": "integer"}, {"type": "number"}]:
        return WORDS["number"][plural]
    if choices:
        return " or ".join(map(kind_of, choices))
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    if "oneOf" in schema:
        return "a condition"
    if schema.get("type") == "array":
        return f"a list of {kind_of(schema['items'], plural=True)}"
    return WORDS[schema.get("type", "object")][plural]


def field_table(model: type[BaseModel]) -> str:
    schema = model.model_json_schema(by_alias=True)
    rows = ["| key | value | | meaning |", "|---|---|---|---|"]
    for key, part in schema["properties"].items():
        default = json.dumps(part["default"]) if part.get("default") not in (None, {}) else ""
        need = (
            "required" if key in schema.get("required", ()) else f"`{default}` unless given" if default else "optional"
        )
        description = part.get("description") or schema["$defs"][part["$ref"].rpartition("/")[2]]["description"]
        rows.append(f"| `{key}` | {kind_of(part)} | {need} | {escaped(description)} |")
    return "\n".join(rows)


def escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("{{", "`{{").replace("}}", "}}`")


def condition_table() -> str:
    rows = ["| type | keys | true if |", "|---|---|---|"]
    for each in get_args(get_args(CheckpointCondition)[0]):
        fields = [(name, field) for name, field in each.model_fields.items() if name != "type"]
        keys = ", ".join(f"`{name}`" if field.is_required() else f"`{name}` (optional)" for name, field in fields)
        first = (each.__doc__ or "").split("\n\n")[0].replace("\n", " ")
        rows.append(f"| `{each.model_fields['type'].default}` | {keys} | {first} |")
    return "\n".join(rows)


def generated() -> str:
    text = TEXT
    for name, model in RECORDS.items():
        text = put(text, f"fields of {name}", field_table(model))
    return put(text, "conditions", condition_table())


def put(text: str, name: str, table: str) -> str:
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    assert len(pattern.findall(text)) == 1, name
    return pattern.sub(lambda match: f"{match[1]}\n{table}\n\n{match[2]}", text)


def test_the_tables_are_those_of_the_records() -> None:
    if os.environ.get("GHX_BENCH_WRITE_DOCS"):
        PAGE.write_text(generated())

    assert PAGE.read_text() == generated()


def blocks(language: str) -> Iterator[str]:
    yield from re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def examples() -> Iterator[Any]:
    yield from map(json.loads, blocks("json"))
    yield from (value for text in blocks("yaml") if (value := yaml.safe_load(text)) is not None)


def scenario_with(part: dict[str, Any]) -> EvalScenario:
    """Return the scenario of the page with another part, and all variables that examples use."""
    names = ("issue_number", "pr_number", "fork", "head_branch")
    fixture = {"repo": "o/r", "requires": ["i"], "bindings": dict.fromkeys(names, "i.number")}
    base = next(each for each in examples() if "prompt" in each) | {"prompt": "p", "fixture": fixture}
    return EvalScenario.model_validate({**base, **part})


def use(example: Any, folder: Path) -> str:
    """Use an example for what it is, and say what that was."""
    if "prompt" in example:
        (folder / "a.yaml").write_text(yaml.safe_dump(example))
        load_eval_scenarios(folder)
        return "scenario"
    if "task" in example:
        example = {"checkpoints": [example]}
    if "checkpoints" in example or "extensions" in example:
        part = {"assertions": example} if "checkpoints" in example else example
        assert list(scenario_errors(scenario_with(part), Known())) == []
        return "extensions" if part is example else "checkpoints"
    if "type" in example:
        CONDITION.validate_python(example)
        return "condition"
    if "modes" in example:
        EvalConfig.model_validate(example)
        return "configuration"
    if "seedId" in example:
        FixtureManifest.model_validate(example)
        return "manifest"
    ScenarioSets.model_validate(example)
    return "sets"


def test_the_kinds_of_allowed_changes_are_those_that_patterns_can_name() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("<!-- kinds of allowedChanges -->")[2].partition("<!-- end")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE)

    assert {kind: set(re.findall(r"`(\w+)`", fields)) for kind, fields in rows} == {
        name: set(kind.fields) for name, kind in KINDS.items()
    }


def test_every_example_is_what_the_page_says(tmp_path: Path) -> None:
    used = [use(example, tmp_path) for example in examples()]

    once = {"checkpoints", "condition", "configuration", "manifest", "scenario", "sets"}
    assert sorted(used) == sorted([*once, "checkpoints", "extensions", "extensions", "extensions", "extensions"])


def test_the_variants_that_are_shown_are_those_of_the_scenario() -> None:
    shown = next(each["extensions"]["variants"] for each in examples() if "variants" in each.get("extensions", {}))
    ids = ("issue-count-open-001", "issue-label-by-rules-001")
    written = read_scenario_files(BUILT_IN_SCENARIOS, ids=ids)
    counting, labelling = (written[id_].scenario.known_extensions.variants for id_ in ids)

    assert shown["large"] == counting["large"].to_wire()
    assert shown["terse"]["prompt"] == counting["terse"].prompt
    assert shown["narrow-token"]["extensions"] == labelling["narrow-token"].extensions


CELL = re.compile(r"\| `(\{.*?\})` \| `(.*?)` \| (true|false) \|")
ROWS = [CELL.fullmatch(line) for line in TEXT.splitlines() if line.endswith(("| true |", "| false |"))]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0] if row else "unreadable")
def test_a_row_of_the_table_of_conditions_is_true(row: re.Match[str] | None) -> None:
    assert row, "a row that cannot be read"
    condition, output, verdict = (each.replace("\\|", "|") for each in row.groups())

    assert evaluate_condition(CONDITION.validate_python(json.loads(condition)), json.loads(output)) is (
        verdict == "true"
    )


def test_every_condition_is_in_the_table_and_explained() -> None:
    shown = {json.loads(row[1].replace("\\|", "|"))["type"] for row in ROWS if row}
    kinds = {each.model_fields["type"].default for each in get_args(get_args(CheckpointCondition)[0])}
    explained = {
        kind for line in re.findall(r"^(`.*`)\n: ", TEXT, re.MULTILINE) for kind in re.findall(r"`(\w+)`", line)
    }

    assert shown == kinds - {"custom"}
    assert explained == kinds


def test_the_commands_say_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for block in blocks("console"):
        for command, shown in re.findall(r"^\$ ghx-bench (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            words, _, redirected = command.partition(" > ")

            assert run(words.split()) == 0
            said = capsys.readouterr().out
            assert (shown == "" and json.loads(said)) if redirected else without_times(said) == without_times(shown)


def without_times(text: str) -> str:
    return re.sub(r"\d+\.\d s\b", "SECONDS", text)


def test_the_scorer_of_the_page_decides_the_condition_of_the_page() -> None:
    space: dict[str, Any] = {}
    exec(next(blocks("python")), space)
    condition = CONDITION.validate_python(next(each for each in examples() if each.get("type") == "custom"))

    both = {"items": [{"body": "src/a.py is fine"}, {"body": "src/b.py is not"}]}
    assert evaluate_condition(condition, both, scorers=space["SCORERS"])
    assert not evaluate_condition(condition, {"items": both["items"][:1]}, scorers=space["SCORERS"])


def test_the_complaints_are_those_that_are_made() -> None:
    table = yaml.safe_load((Path(__file__).parent / "malformed_scenarios.yaml").read_text())
    made = {line for case in table for line in case["said"]}
    (shown,) = (each for each in blocks("text") if not each.startswith("scenario "))  # that is a proof: test_proof.py

    assert set(shown.splitlines()) <= made
