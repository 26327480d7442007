"""What people read of a run: results at a glance in the terminal, and reports as files.

The names below are found when they are asked for (PEP 562): a run that only prints its last lines loads no charts.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # charts and numpy cost start-up time: the modules behind these names load with the first use
    from ghx_bench.profiler.reports.errors import NothingToReportError, ReportDirectoryError
    from ghx_bench.profiler.reports.report import ReportResult, generate_report

__all__ = ["NothingToReportError", "ReportDirectoryError", "ReportResult", "generate_report"]

_HOMES = {
    "NothingToReportError": "errors",
    "ReportDirectoryError": "errors",
    "ReportResult": "report",
    "generate_report": "report",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
