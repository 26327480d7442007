"""Whether a tool call failed, why, and what shows it."""

from ghx_profiler.failures.fate import Fate, fate_of
from ghx_profiler.failures.kinds import FailureKind, kind_of

__all__ = ["FailureKind", "Fate", "fate_of", "kind_of"]
