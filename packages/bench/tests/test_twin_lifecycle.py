"""The embedded GitHub keeps the rules of lifecycles."""

import pytest
from eval_stage import lifecycle_for, scenario

from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_bench.stages.twin_stage import TwinLifecycle
from ghx_profiler.testing import LifecycleContract

pytestmark = pytest.mark.slow


class TestTwinLifecycle(LifecycleContract):
    def make_lifecycle(self) -> TwinLifecycle:
        return lifecycle_for(self.make_scenario())

    def make_scenario(self) -> EvalScenario:
        fixture = {"repo": "{{fixture_repo}}", "requires": ["issue_for_triage"], "bindings": {}}
        return scenario(prompt="p", fixture=fixture)
