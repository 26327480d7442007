"""Scenarios that run on GitHub, their fixtures, modes and checkpoints; the `ghx-bench` command.

Names are imported on first use: the command must start without loading any of them.
"""

from typing import TYPE_CHECKING

from ghx_base.lazy import lazy_exports

if TYPE_CHECKING:  # for type checkers and editors; at run time `__getattr__` does the same, name by name
    from ghx_bench.checking.scenario_rules import Known as Known
    from ghx_bench.loader import load_eval_scenarios as load_eval_scenarios
    from ghx_bench.loader import scenario_loader as scenario_loader
    from ghx_bench.project.config import EvalConfig as EvalConfig
    from ghx_bench.project.config_file import load_eval_config as load_eval_config
    from ghx_bench.project.custom_scorers import load_scorers as load_scorers
    from ghx_bench.project.sets import load_scenario_sets as load_scenario_sets
    from ghx_bench.project.starter import write_starter as write_starter
    from ghx_bench.scenario.binding import BindingError as BindingError
    from ghx_bench.scenario.binding import bind_fixture_variables as bind_fixture_variables
    from ghx_bench.scenario.checkpoint_references import bind_references as bind_references
    from ghx_bench.scenario.condition_base import CustomScorer as CustomScorer
    from ghx_bench.scenario.conditions import AllOf as AllOf
    from ghx_bench.scenario.conditions import AnyOf as AnyOf
    from ghx_bench.scenario.conditions import CheckpointCondition as CheckpointCondition
    from ghx_bench.scenario.conditions import ContainsItem as ContainsItem
    from ghx_bench.scenario.conditions import CountEq as CountEq
    from ghx_bench.scenario.conditions import CountGte as CountGte
    from ghx_bench.scenario.conditions import Custom as Custom
    from ghx_bench.scenario.conditions import Empty as Empty
    from ghx_bench.scenario.conditions import FieldContains as FieldContains
    from ghx_bench.scenario.conditions import FieldEquals as FieldEquals
    from ghx_bench.scenario.conditions import FieldGte as FieldGte
    from ghx_bench.scenario.conditions import Matches as Matches
    from ghx_bench.scenario.conditions import NonEmpty as NonEmpty
    from ghx_bench.scenario.conditions import Not as Not
    from ghx_bench.scenario.conditions import describe_condition as describe_condition
    from ghx_bench.scenario.conditions import evaluate_condition as evaluate_condition
    from ghx_bench.scenario.eval_scenario import Assertions as Assertions
    from ghx_bench.scenario.eval_scenario import Checkpoint as Checkpoint
    from ghx_bench.scenario.eval_scenario import EvalScenario as EvalScenario
    from ghx_bench.scenario.eval_scenario import FixtureRequirements as FixtureRequirements
    from ghx_bench.scenario.expectations import expectation_findings as expectation_findings
    from ghx_bench.scenario.manifest import FixtureManifest as FixtureManifest
    from ghx_bench.scenario.manifest import FixtureResource as FixtureResource
    from ghx_bench.scenario.manifest import load_fixture_manifest as load_fixture_manifest
    from ghx_bench.scenario.manifest import write_fixture_manifest as write_fixture_manifest

__getattr__, __dir__ = lazy_exports(__name__)
