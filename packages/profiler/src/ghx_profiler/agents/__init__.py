"""Session providers: one module for each agent or protocol; they know no GitHub.

What is offered here is imported when it is asked for: commands that start no agent load none of it.
"""

from typing import TYPE_CHECKING

from ghx_base.lazy import lazy_exports

if TYPE_CHECKING:  # for type checkers and editors; at run time `__getattr__` does the same, name by name
    from ghx_profiler.agents.controls.nop import NopProvider
    from ghx_profiler.agents.controls.reference import ReferenceProvider, Solutions
    from ghx_profiler.agents.controls.replay import Recordings, ReplayProvider
    from ghx_profiler.agents.controls.solution import (
        McpCall,
        Solution,
        SolutionError,
        SolutionFile,
        Step,
        load_solution_file,
    )
    from ghx_profiler.agents.drivers.python_function import AgentTask, BlockingToolBelt, ModelEndpoint
    from ghx_profiler.agents.metering.meter import Meter
    from ghx_profiler.agents.metering.metered_session import MeteredSession
    from ghx_profiler.agents.metering.model_budget import Budget, BudgetExhaustedError
    from ghx_profiler.agents.metering.model_recording import BlindSpot, ModelRecorder
    from ghx_profiler.agents.metering.model_replay import ReplayUpstream
    from ghx_profiler.agents.metering.upstream import ModelProvider
    from ghx_profiler.agents.processes.process import ProcessGroup, process_group, program
    from ghx_profiler.agents.tools.toolbelt import ToolBelt, tool_belt
    from ghx_profiler.agents.tools.toolset import McpServer, Tool, ToolAnswer, ToolSet

__all__ = [
    "AgentTask",
    "BlindSpot",
    "BlockingToolBelt",
    "Budget",
    "BudgetExhaustedError",
    "McpCall",
    "McpServer",
    "Meter",
    "MeteredSession",
    "ModelEndpoint",
    "ModelProvider",
    "ModelRecorder",
    "NopProvider",
    "ProcessGroup",
    "Recordings",
    "ReferenceProvider",
    "ReplayProvider",
    "ReplayUpstream",
    "Solution",
    "SolutionError",
    "SolutionFile",
    "Solutions",
    "Step",
    "Tool",
    "ToolAnswer",
    "ToolBelt",
    "ToolSet",
    "load_solution_file",
    "process_group",
    "program",
    "tool_belt",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "drivers.python_function": "AgentTask BlockingToolBelt ModelEndpoint",
        "metering.meter": "Meter",
        "metering.metered_session": "MeteredSession",
        "metering.model_budget": "Budget BudgetExhaustedError",
        "metering.model_recording": "BlindSpot ModelRecorder",
        "metering.model_replay": "ReplayUpstream",
        "controls.nop": "NopProvider",
        "processes.process": "ProcessGroup process_group program",
        "controls.reference": "ReferenceProvider Solutions",
        "controls.replay": "Recordings ReplayProvider",
        "controls.solution": "McpCall Solution SolutionError SolutionFile Step load_solution_file",
        "tools.toolbelt": "ToolBelt tool_belt",
        "tools.toolset": "McpServer Tool ToolAnswer ToolSet",
        "metering.upstream": "ModelProvider",
    },
)
