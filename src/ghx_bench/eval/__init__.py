"""Scenarios that run on GitHub, their fixtures, modes and checkpoints; the `ghx-bench` command.

What is offered here is imported when it is asked for: the command must start without loading any of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for type checkers and editors; at run time `__getattr__` does the same, name by name
    from ghx_bench.eval.binding import BindingError, bind_fixture_variables
    from ghx_bench.eval.conditions import CheckpointCondition
    from ghx_bench.eval.config import EvalConfig, load_eval_config
    from ghx_bench.eval.evaluation import CustomScorer, describe_condition, evaluate_condition
    from ghx_bench.eval.examination import Known
    from ghx_bench.eval.expectations import expectation_findings
    from ghx_bench.eval.loader import load_eval_scenarios, scenario_loader
    from ghx_bench.eval.manifest import (
        FixtureManifest,
        FixtureResource,
        load_fixture_manifest,
        write_fixture_manifest,
    )
    from ghx_bench.eval.references import bind_references
    from ghx_bench.eval.scenario import Assertions, Checkpoint, EvalScenario, FixtureRequirements
    from ghx_bench.eval.scorers import load_scorers
    from ghx_bench.eval.sets import load_scenario_sets

__all__ = [
    "Assertions",
    "BindingError",
    "Checkpoint",
    "CheckpointCondition",
    "CustomScorer",
    "EvalConfig",
    "EvalScenario",
    "FixtureManifest",
    "FixtureRequirements",
    "FixtureResource",
    "Known",
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
]

_HOMES = {
    "binding": "BindingError bind_fixture_variables",
    "conditions": "CheckpointCondition",
    "config": "EvalConfig load_eval_config",
    "evaluation": "CustomScorer describe_condition evaluate_condition",
    "examination": "Known",
    "expectations": "expectation_findings",
    "loader": "load_eval_scenarios scenario_loader",
    "manifest": "FixtureManifest FixtureResource load_fixture_manifest write_fixture_manifest",
    "references": "bind_references",
    "scenario": "Assertions Checkpoint EvalScenario FixtureRequirements",
    "scorers": "load_scorers",
    "sets": "load_scenario_sets",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
