"""Where cells run: here, or on other machines."""

from ghx_bench.profiler.executors.local import LocalExecutor
from ghx_bench.profiler.executors.ray import RayExecutor

__all__ = ["LocalExecutor", "RayExecutor"]
