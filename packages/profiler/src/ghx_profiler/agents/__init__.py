"""Session providers: one module for each agent or protocol; they know no GitHub.

What is offered here is imported when it is asked for: commands that start no agent load none of it.
"""

from typing import TYPE_CHECKING

from ghx_base.lazy import lazy_exports

if TYPE_CHECKING:  # for type checkers and editors; at run time `__getattr__` does the same, name by name
    from ghx_profiler.agents.controls.nop import NopProvider as NopProvider
    from ghx_profiler.agents.controls.reference import ReferenceProvider as ReferenceProvider
    from ghx_profiler.agents.controls.reference import Solutions as Solutions
    from ghx_profiler.agents.controls.replay import Recordings as Recordings
    from ghx_profiler.agents.controls.replay import ReplayProvider as ReplayProvider
    from ghx_profiler.agents.controls.solution import McpCall as McpCall
    from ghx_profiler.agents.controls.solution import Solution as Solution
    from ghx_profiler.agents.controls.solution import SolutionError as SolutionError
    from ghx_profiler.agents.controls.solution import SolutionFile as SolutionFile
    from ghx_profiler.agents.controls.solution import Step as Step
    from ghx_profiler.agents.controls.solution import load_solution_file as load_solution_file
    from ghx_profiler.agents.drivers.python_function import AgentTask as AgentTask
    from ghx_profiler.agents.drivers.python_function import BlockingToolBelt as BlockingToolBelt
    from ghx_profiler.agents.drivers.python_function import ModelEndpoint as ModelEndpoint
    from ghx_profiler.agents.metering.meter import Meter as Meter
    from ghx_profiler.agents.metering.metered_session import MeteredSession as MeteredSession
    from ghx_profiler.agents.metering.model_budget import Budget as Budget
    from ghx_profiler.agents.metering.model_budget import BudgetExhaustedError as BudgetExhaustedError
    from ghx_profiler.agents.metering.model_provider import ModelProvider as ModelProvider
    from ghx_profiler.agents.metering.model_recording import BlindSpot as BlindSpot
    from ghx_profiler.agents.metering.model_recording import ModelRecorder as ModelRecorder
    from ghx_profiler.agents.metering.model_replay import ReplayUpstream as ReplayUpstream
    from ghx_profiler.agents.processes.process import ProcessGroup as ProcessGroup
    from ghx_profiler.agents.processes.process import process_group as process_group
    from ghx_profiler.agents.processes.process import program as program
    from ghx_profiler.agents.tools.toolbelt import ToolBelt as ToolBelt
    from ghx_profiler.agents.tools.toolbelt import tool_belt as tool_belt
    from ghx_profiler.agents.tools.toolset import McpServer as McpServer
    from ghx_profiler.agents.tools.toolset import Tool as Tool
    from ghx_profiler.agents.tools.toolset import ToolAnswer as ToolAnswer
    from ghx_profiler.agents.tools.toolset import ToolSet as ToolSet

__getattr__, __dir__ = lazy_exports(__name__)
