"""What people read of a run: results at a glance in the terminal, and reports as files.

The names below are loaded on first use (PEP 562): a run that only prints its last lines loads no charts.
"""

from typing import TYPE_CHECKING

from ghx_base.lazy import lazy_exports

if TYPE_CHECKING:  # charts and numpy cost start-up time: the modules behind these names load with the first use
    from ghx_profiler.reports.errors import NothingToReportError as NothingToReportError
    from ghx_profiler.reports.errors import ReportDirectoryError as ReportDirectoryError
    from ghx_profiler.reports.report import ReportResult as ReportResult
    from ghx_profiler.reports.report import generate_report as generate_report

__getattr__, __dir__ = lazy_exports(__name__, extra="report")
