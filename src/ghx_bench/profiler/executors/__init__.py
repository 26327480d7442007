"""Where cells run: here, or on other machines."""

from ghx_bench.profiler.executors.local import LocalExecutor

__all__ = ["LocalExecutor"]
