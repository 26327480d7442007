"""The root of every error raised on purpose.

```
GhxBenchError            code, exit_code, and a message that names the thing and the remedy
├── InputError           something a user wrote is wrong: a flag, a file, a name          (exit 2)
│   └── DocumentError    a file cannot be used; carries every problem found in it
└── OperationError       the input was fine, the world was not: a full disk, a lock       (exit 2)
```

Packages grow their own branches under these two. Nothing else is caught on purpose outside the four boundaries:
the cell, a plugin call, a server request and the command line.
"""

from typing import ClassVar


class GhxBenchError(Exception):
    """An error whose message a user can act on; shown as one line, never as a traceback."""

    code: ClassVar[str] = "ERROR"
    exit_code: ClassVar[int] = 2


class InputError(GhxBenchError):
    """Something the user wrote is wrong, and the message says what to write instead."""

    code: ClassVar[str] = "BAD_INPUT"


class OperationError(GhxBenchError):
    """The machine or a service stood in the way, and the message says what to do about it."""

    code: ClassVar[str] = "OPERATION_FAILED"
