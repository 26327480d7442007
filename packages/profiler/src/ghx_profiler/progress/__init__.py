"""Observers that show a run as it goes on: on a terminal, as plain lines, as a JSON log."""

from ghx_profiler.progress.choice import Display, choose_observer
from ghx_profiler.progress.jsonlog import JsonLog
from ghx_profiler.progress.lines import LineLog

__all__ = ["Display", "JsonLog", "LineLog", "choose_observer"]
