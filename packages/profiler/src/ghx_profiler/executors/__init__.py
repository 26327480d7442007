"""Where cells run: here, or on other machines."""

from ghx_profiler.executors.local import LocalExecutor
from ghx_profiler.executors.ray import RayExecutor

__all__ = ["LocalExecutor", "RayExecutor"]
