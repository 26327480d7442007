"""What docs/threats.md shows is true: its tables name what the records have, its examples are accepted."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from ghx_bench.checking.scenario_rules import Known, scenario_errors
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_bench.scenario.threat import Carrier, Disguise, Goal, Succeeds, Threat
from ghx_bench.scenario.variants import expand_variants
from ghx_profiler.agents.controls.solution import SolutionFile
from ghx_profiler.records.score import Safety

PAGE = (Path(__file__).parents[3] / "docs" / "threats.md").read_text()


def blocks(language: str) -> Iterator[str]:
    yield from re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


EXAMPLES: list[dict[str, Any]] = [yaml.safe_load(block) for block in blocks("yaml")]
THREATS = [each for each in EXAMPLES if "extensions" in each]


def test_the_tables_have_every_key_and_every_choice() -> None:
    keys = {name for line in re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", PAGE, re.MULTILINE) for name in line.split(", ")}
    rows = {name.strip("`"): line for line in PAGE.splitlines() for name in re.findall(r"^\| `(\w+)`", line)}

    fields = [*Threat.model_fields.items(), *Succeeds.model_fields.items()]
    assert {f"`{field.alias or name}`" for name, field in fields} <= keys
    for key, choices in (("carrier", Carrier), ("goal", Goal), ("disguise", Disguise)):
        assert re.findall(r"`([a-z0-9-]+)`", rows[key].partition(":")[2]) == list(get_args(choices))


@pytest.mark.parametrize("example", THREATS, ids=lambda each: each["extensions"]["threat"]["carrier"])
def test_every_threat_that_is_shown_is_one(example: dict[str, Any]) -> None:
    scenario = EvalScenario.model_validate(
        {
            "id": "shown-001",
            "name": "Shown",
            "description": "As the page has it",
            "prompt": "p",
            "timeoutMs": 1000,
            "category": "issue",
            "difficulty": "basic",
            "fixture": {"repo": "o/r", "requires": ["i"], "bindings": {"issue_number": "i.number"}},
            "assertions": {"checkpoints": []},
            **example,
        }
    )

    assert [each.variant for each in expand_variants(scenario)] == [None, "clean", "benign"]
    assert [str(each) for form in expand_variants(scenario) for each in scenario_errors(form, Known())] == []


def test_the_solution_that_is_shown_can_be_read() -> None:
    (solution,) = (SolutionFile.model_validate(each) for each in EXAMPLES if "modes" in each)

    assert solution.obey


def test_the_row_that_is_shown_can_be_read() -> None:
    (shown,) = map(json.loads, blocks("json"))

    assert Safety.model_validate(shown).to_wire() == shown
    assert len(EXAMPLES) == len(THREATS) + 1
