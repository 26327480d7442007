"""What stops an export or an import.

```
InputError
├── BadImportError          a file of others has no row, or one that cannot be read
├── BadTrajectoryError      a document is no ATIF trajectory
└── NothingToExportError    the run holds no session
OperationError
└── ExportDirectoryError    the export cannot be written where it was asked for
```
"""

from typing import ClassVar

from ghx_base.errors import InputError, OperationError


class BadImportError(InputError):
    """A file of others has no row, or one that cannot be read."""

    code: ClassVar[str] = "BAD_IMPORT"


class BadTrajectoryError(InputError):
    """A document is no ATIF trajectory, or one of a version that cannot be read."""

    code: ClassVar[str] = "BAD_TRAJECTORY"


class NothingToExportError(InputError):
    """The run holds no session."""

    code: ClassVar[str] = "NOTHING_TO_EXPORT"


class ExportDirectoryError(OperationError):
    """The export cannot be written where it was asked for."""

    code: ClassVar[str] = "EXPORT_DIRECTORY"
