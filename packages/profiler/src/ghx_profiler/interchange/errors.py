"""What stops an export or an import.

```
InputError
├── BadImportError          a third-party file has no row, or an unreadable one
├── BadTrajectoryError      a document is not an ATIF trajectory
└── NothingToExportError    the run holds no session
OperationError
└── ExportDirectoryError    the export cannot be written to the requested folder
```
"""

from typing import ClassVar

from ghx_base.errors import InputError, OperationError


class BadImportError(InputError):
    """A third-party file has no row, or an unreadable one."""

    code: ClassVar[str] = "BAD_IMPORT"


class BadTrajectoryError(InputError):
    """A document is not an ATIF trajectory of a supported version."""

    code: ClassVar[str] = "BAD_TRAJECTORY"


class NothingToExportError(InputError):
    """The run holds no session."""

    code: ClassVar[str] = "NOTHING_TO_EXPORT"


class ExportDirectoryError(OperationError):
    """The export cannot be written to the requested folder."""

    code: ClassVar[str] = "EXPORT_DIRECTORY"
