"""The root of every error raised on purpose.

```
GhxBenchError            code, exit_code, and a message that names the thing and the remedy
├── InputError           something a user wrote is wrong: a flag, a file, a name          (exit 2)
│   ├── DocumentError    a file cannot be used; carries every problem found in it
│   └── FlagError        a flag of a command has a value that cannot be used
└── OperationError       the input was fine, the world was not: a full disk, a lock       (exit 2)
```

Packages grow their own branches under these two. Nothing else is caught on purpose outside the four boundaries:
the cell, a plugin call, a server request and the command line.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import ClassVar, cast

from ghx_base.problems import Problem, one_line


class GhxBenchError(Exception):
    """An error whose message a user can act on; shown as one line, never as a traceback."""

    code: ClassVar[str] = "ERROR"
    exit_code: ClassVar[int] = 2


@contextmanager
def ungrouped() -> Generator[None]:
    """Raise an error of ours, or the only one there is, itself where concurrent tasks raised it in a group."""
    try:
        yield
    except BaseExceptionGroup as group:
        leaves = _leaves(group.subgroup(GhxBenchError) or group)
        if len(leaves) > 1 and not isinstance(leaves[0], GhxBenchError):
            raise
        raise leaves[0] from None


def _leaves(error: BaseException) -> list[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    members = cast("BaseExceptionGroup[BaseException]", error).exceptions
    return [leaf for member in members for leaf in _leaves(member)]


class InputError(GhxBenchError):
    """Invalid user input; the message has the fix."""

    code: ClassVar[str] = "BAD_INPUT"


class DocumentError(InputError):
    """A file cannot be used; the message has one line for each problem found in it."""

    code: ClassVar[str] = "BAD_DOCUMENT"

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)

    def __reduce__(self) -> tuple[type["DocumentError"], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)


class FlagError(InputError):
    """A flag of a command has a value that cannot be used."""

    code: ClassVar[str] = "BAD_FLAG"

    def __init__(self, flag: str, reason: str) -> None:
        super().__init__(one_line(f"{flag}: {reason}"))
        self.flag, self.reason = flag, reason

    def __reduce__(self) -> tuple[type["FlagError"], tuple[str, str]]:
        return type(self), (self.flag, self.reason)


class OperationError(GhxBenchError):
    """A failure of the machine or a service; the message has the fix."""

    code: ClassVar[str] = "OPERATION_FAILED"
