"""Scenarios that run on GitHub, their fixtures, modes and checkpoints; the `ghx-bench` command.

What is offered here is imported when it is asked for: the command must start without loading any of it.
"""

from typing import TYPE_CHECKING

from ghx_base.lazy import lazy_exports

if TYPE_CHECKING:  # for type checkers and editors; at run time `__getattr__` does the same, name by name
    from ghx_bench.checking.scenario_rules import Known
    from ghx_bench.loader import load_eval_scenarios, scenario_loader
    from ghx_bench.project.config import EvalConfig
    from ghx_bench.project.config_file import load_eval_config
    from ghx_bench.project.custom_scorers import load_scorers
    from ghx_bench.project.sets import load_scenario_sets
    from ghx_bench.project.starter import write_starter
    from ghx_bench.scenario.binding import BindingError, bind_fixture_variables
    from ghx_bench.scenario.checkpoint_references import bind_references
    from ghx_bench.scenario.condition_base import CustomScorer
    from ghx_bench.scenario.conditions import (
        AllOf,
        AnyOf,
        CheckpointCondition,
        ContainsItem,
        CountEq,
        CountGte,
        Custom,
        Empty,
        FieldContains,
        FieldEquals,
        FieldGte,
        Matches,
        NonEmpty,
        Not,
        describe_condition,
        evaluate_condition,
    )
    from ghx_bench.scenario.eval_scenario import Assertions, Checkpoint, EvalScenario, FixtureRequirements
    from ghx_bench.scenario.expectations import expectation_findings
    from ghx_bench.scenario.manifest import (
        FixtureManifest,
        FixtureResource,
        load_fixture_manifest,
        write_fixture_manifest,
    )

__all__ = [
    "AllOf",
    "AnyOf",
    "Assertions",
    "BindingError",
    "Checkpoint",
    "CheckpointCondition",
    "ContainsItem",
    "CountEq",
    "CountGte",
    "Custom",
    "CustomScorer",
    "Empty",
    "EvalConfig",
    "EvalScenario",
    "FieldContains",
    "FieldEquals",
    "FieldGte",
    "FixtureManifest",
    "FixtureRequirements",
    "FixtureResource",
    "Known",
    "Matches",
    "NonEmpty",
    "Not",
    "bind_fixture_variables",
    "bind_references",
    "describe_condition",
    "evaluate_condition",
    "expectation_findings",
    "load_eval_config",
    "load_eval_scenarios",
    "load_fixture_manifest",
    "load_scenario_sets",
    "load_scorers",
    "scenario_loader",
    "write_fixture_manifest",
    "write_starter",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "checking.scenario_rules": "Known",
        "loader": "load_eval_scenarios scenario_loader",
        "project.config": "EvalConfig",
        "project.config_file": "load_eval_config",
        "project.custom_scorers": "load_scorers",
        "project.sets": "load_scenario_sets",
        "project.starter": "write_starter",
        "scenario.binding": "BindingError bind_fixture_variables",
        "scenario.checkpoint_references": "bind_references",
        "scenario.condition_base": "CustomScorer",
        "scenario.conditions": (
            "AllOf AnyOf CheckpointCondition ContainsItem CountEq CountGte Custom Empty FieldContains FieldEquals "
            "FieldGte Matches NonEmpty Not describe_condition evaluate_condition"
        ),
        "scenario.eval_scenario": "Assertions Checkpoint EvalScenario FixtureRequirements",
        "scenario.expectations": "expectation_findings",
        "scenario.manifest": "FixtureManifest FixtureResource load_fixture_manifest write_fixture_manifest",
    },
)
