"""What stops a report.

```
InputError
└── NothingToReportError     no run and no rows were named, or they hold no row
    └── NoRunError           a folder that was named as a run holds no run.json
OperationError
└── ReportDirectoryError     the report cannot be written to the requested folder
```
"""

from pathlib import Path
from typing import ClassVar

from ghx_base.errors import InputError, OperationError


class NothingToReportError(InputError):
    """There is nothing to report on."""

    code: ClassVar[str] = "NOTHING_TO_REPORT"


class NoRunError(NothingToReportError):
    """A folder is not a run."""

    code: ClassVar[str] = "NO_RUN"


class ReportDirectoryError(OperationError):
    """The report cannot be written to the requested folder."""

    code: ClassVar[str] = "REPORT_DIRECTORY"


def unwritable(path: Path, error: OSError) -> ReportDirectoryError:
    """Return a one-line error for a report that cannot be written."""
    return ReportDirectoryError(f"{path}: {error.strerror or error}; choose another folder with --output-dir")
