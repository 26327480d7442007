"""What our commands share: an exit code, and one line on standard error for whatever a user can cause."""

import atexit
import errno
import gc
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from ghx_base.errors import GhxBenchError
from ghx_base.version import VERSION

if TYPE_CHECKING:  # `ghx` ends like the others, and starts faster than this can be imported
    from cyclopts import App

DEBUG = "GHX_BENCH_DEBUG"
"""Set to anything, this variable shows the traceback of an error."""

FAILED = 1
BAD_USAGE = 2
INTERRUPTED = 130

_OBJECTS_BETWEEN_COLLECTIONS = 200_000

# What writing ends in where the disk is full, a quota or a limit is reached, or the stream cannot be written to.
_UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})


def command_line(name: str, purpose: str) -> "App":
    """Return an empty command line with the settings that all of ours share."""
    from cyclopts import App, Parameter  # noqa: PLC0415 - see above

    return App(
        name=name,
        help=purpose,
        version=VERSION,
        help_format="plaintext",  # the default loads a Markdown parser, a quarter of the time `--help` takes
        exit_on_error=False,
        print_error=False,
        suppress_keyboard_interrupt=False,
        default_parameter=Parameter(negative_iterable=(), show_default=False),
        result_action="return_value",
    )


def run_command_line(app: "App", arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code."""
    from cyclopts import CycloptsError  # noqa: PLC0415 - see above

    def run() -> int | None:
        try:
            return app(arguments)
        except CycloptsError as error:
            chain = " ".join((app.name[0], *(error.command_chain or ())))
            return complain(f"{error} (see `{chain} --help`)", BAD_USAGE)

    return run_to_exit_code(run)


def run_to_exit_code(run: Callable[[], int | None]) -> int:
    """Run a command and return its exit code; whatever a user can cause becomes one line on standard error."""
    _replace_closed_streams()
    try:
        code = run() or 0
        if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison] - it is, where it was closed
            sys.stdout.flush()
        return code  # noqa: TRY300 - what was written late may still fail
    except GhxBenchError as error:
        if os.environ.get(DEBUG):
            raise
        return complain(str(error), error.exit_code)
    except KeyboardInterrupt:
        return complain("interrupted", INTERRUPTED)
    except BrokenPipeError:
        _drop_output()  # the reader is gone, as in `| head`
        return FAILED
    except Exception as error:
        if (known := _explain_system(error)) is not None:
            return complain(*known)
        if os.environ.get(DEBUG):
            raise
        return complain(f"{type(error).__name__}: {error} (this is a defect; {DEBUG}=1 shows where)", BAD_USAGE)


def _explain_system(error: Exception) -> tuple[str, int] | None:
    """Return what the system refused, in words, with the exit code; `None` for anything else."""
    if isinstance(error, MemoryError):
        return "there is not enough memory for this; allow more (ulimit -v), or ask for less", FAILED
    if isinstance(error, FileNotFoundError) and _is_folder_gone():
        return "the current folder has been removed; go to another one", BAD_USAGE
    if isinstance(error, OSError) and error.errno in _UNWRITABLE and error.filename is None:
        _drop_output()
        return f"cannot write what came of it: {error.strerror}", FAILED
    return None


def _replace_closed_streams() -> None:
    """Open /dev/null in place of standard streams that were closed, as `2>&-` does.

    Otherwise the next file that is opened gets the number of the missing stream, and what a library or a program that
    we start writes to standard error goes into it: into the rows of a run.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest that is free: this one
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison] - it is, where it was closed
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - stays open to the end


def _is_folder_gone() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 - `ghx` loads no pathlib for this
    except FileNotFoundError:
        return True
    return False


def _drop_output() -> None:
    """Send what is still buffered for standard output to /dev/null, or the interpreter complains again as it exits."""
    with suppress(OSError, ValueError):  # it has no descriptor, or is closed
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def complain(message: str, exit_code: int) -> int:
    """Print on standard error what is wrong, and return the exit code."""
    print(f"error: {message}", file=sys.stderr)  # noqa: T201 - the command line
    return exit_code


def entry_point(app: "App") -> Callable[[Sequence[str] | None], NoReturn]:
    """Return the function that a console script calls: run the command line and end the process with its exit code."""

    def main(arguments: Sequence[str] | None = None) -> NoReturn:
        run_and_exit(lambda: run_command_line(app, sys.argv[1:] if arguments is None else arguments))

    return main


def run_and_exit(run: Callable[[], int]) -> NoReturn:
    """Run a command and end the process with its exit code, without interpreter shutdown.

    Threads are waited for, and whatever is registered with `atexit` is called, as in any Python program. An error that
    is to show its traceback, or a fork of this process that exits, ends as usual.
    """
    import threading  # noqa: PLC0415 - `ghx`, which ends otherwise, may not need it

    # A command loads 200,000 objects, none of them garbage: looking for some every 700 takes a tenth of a short one.
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    code = run()
    # As the interpreter does, by the same functions. A handler of `atexit` that exits would skip those that were
    # registered before it: by a coverage tool, a debugger, a site's own start-up.
    with suppress(KeyboardInterrupt):  # the second one does not wait for threads
        threading._shutdown()  # noqa: SLF001 # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue] - see above
    atexit._run_exitfuncs()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - see above
    exit_at_once(code)


def exit_at_once(code: int) -> NoReturn:
    """Flush the standard streams and end the process; nothing else is waited for or called."""
    # Not by `sys.exit`: interpreter shutdown takes another tenth of a short command, and nothing depends on it.
    try:
        for stream in filter(None, (sys.stdout, sys.stderr)):  # one that was closed from the start is not there
            stream.flush()
    except BrokenPipeError:
        code = code or FAILED  # the reader of our output is gone, and no message would reach it
    except OSError as error:
        code = complain(f"cannot write what came of it: {error.strerror}", FAILED)
    os._exit(code)
