"""Session providers: one module for each agent or protocol; they know no GitHub.

What is offered here is imported when it is asked for: commands that start no agent load none of it.
"""

from typing import TYPE_CHECKING

from ghx_bench._base.lazy import lazy_exports

if TYPE_CHECKING:  # for type checkers and editors; at run time `__getattr__` does the same, name by name
    from ghx_bench.agents.meter import Meter
    from ghx_bench.agents.metered_session import MeteredSession
    from ghx_bench.agents.model_budget import BudgetExhaustedError, ModelBudget
    from ghx_bench.agents.model_recording import BlindSpot, ModelRecorder
    from ghx_bench.agents.model_replay import ReplayUpstream
    from ghx_bench.agents.nop import NopProvider
    from ghx_bench.agents.process import ProcessGroup, process_group, program
    from ghx_bench.agents.reference import ReferenceProvider, Solutions
    from ghx_bench.agents.replay import Recordings, ReplayProvider
    from ghx_bench.agents.solution import McpCall, Solution, SolutionError, SolutionFile, Step, load_solution_file
    from ghx_bench.agents.toolbelt import ToolBelt, tool_belt
    from ghx_bench.agents.toolset import McpServer, Tool, ToolAnswer, ToolSet
    from ghx_bench.agents.upstream import ModelProvider

__all__ = [
    "BlindSpot",
    "BudgetExhaustedError",
    "McpCall",
    "McpServer",
    "Meter",
    "MeteredSession",
    "ModelBudget",
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
        "meter": "Meter",
        "metered_session": "MeteredSession",
        "model_budget": "BudgetExhaustedError ModelBudget",
        "model_recording": "BlindSpot ModelRecorder",
        "model_replay": "ReplayUpstream",
        "nop": "NopProvider",
        "process": "ProcessGroup process_group program",
        "reference": "ReferenceProvider Solutions",
        "replay": "Recordings ReplayProvider",
        "solution": "McpCall Solution SolutionError SolutionFile Step load_solution_file",
        "toolbelt": "ToolBelt tool_belt",
        "toolset": "McpServer Tool ToolAnswer ToolSet",
        "upstream": "ModelProvider",
    },
)
