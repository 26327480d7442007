"""What stops a report.

```
InputError
└── NothingToReportError     no run and no rows were named, or they hold no row
OperationError
└── ReportDirectoryError     the report cannot be written where it was asked for
```
"""

from pathlib import Path
from typing import ClassVar

from ghx_bench._base.errors import InputError, OperationError


class NothingToReportError(InputError):
    """There is nothing to report on."""

    code: ClassVar[str] = "NOTHING_TO_REPORT"


class ReportDirectoryError(OperationError):
    """The report cannot be written where it was asked for."""

    code: ClassVar[str] = "REPORT_DIRECTORY"


def unwritable(path: Path, error: OSError) -> ReportDirectoryError:
    """Say in one line why a report cannot be written."""
    return ReportDirectoryError(f"{path}: {error.strerror or error}; choose another folder with --output-dir")
