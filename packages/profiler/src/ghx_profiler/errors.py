"""What stops a run, as opposed to a cell (for that see `causes`).

```
InputError
├── BadMatrixError               nothing to run, a name given twice, a name that cannot be a file
├── UnknownNameError             an unknown set, scenario, tag, agent or mode; lists what is known
├── ScenarioMismatchError        the loader returned other scenarios than requested
├── NotPicklableError            something that is to be sent to another process cannot be
├── ClusterError                 the machines that are to measure cannot be reached, or not be used
├── RunMismatchError             a run was resumed with another plan than it was started with
└── MergeError                   runs are not the shards of one, or not all of them
OperationError
├── RunLockedError               another process is working on this run
├── RunDirectoryError            the run directory cannot be read or written
├── BadRowsError                 a rows file is damaged elsewhere than in its last line
├── MachinesLostError            all machines that measured cells are gone                (exit 3)
├── ScopeError                   a run or mode could not be prepared                      (exit 3)
└── CanaryError                  a warm-up could not be measured                          (exit 3)
```
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import ClassVar

from ghx_base.errors import InputError, OperationError


class BadMatrixError(InputError):
    """The run has no cells, or cells that cannot be distinguished or stored."""

    code: ClassVar[str] = "BAD_MATRIX"


class UnknownNameError(InputError):
    """A set, scenario, tag, agent or mode was named that there is not."""

    code: ClassVar[str] = "UNKNOWN_NAME"

    def __init__(self, kind: str, name: str, *, known: Iterable[str]) -> None:
        names = sorted(known)
        near = get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        super().__init__(f"no {kind} {name!r}; {hint}known: {', '.join(names) or 'none'}")


class ScenarioMismatchError(InputError):
    """The loader returned other scenarios than requested."""

    code: ClassVar[str] = "SCENARIO_MISMATCH"


class NotPicklableError(InputError):
    """Workers are other processes, and something that they are built from cannot be sent to them."""

    code: ClassVar[str] = "NOT_PICKLABLE"


class ClusterError(InputError):
    """A cluster was named that cannot be reached, has no machine for cells, or has one with other versions."""

    code: ClassVar[str] = "BAD_CLUSTER"


class RunMismatchError(InputError):
    """A run was resumed with another plan than it was started with."""

    code: ClassVar[str] = "RUN_MISMATCH"


class MergeError(InputError):
    """Runs that are to be merged are not the shards of one run, or not all of them."""

    code: ClassVar[str] = "CANNOT_MERGE"


class RunLockedError(OperationError):
    """Another process is working on this run."""

    code: ClassVar[str] = "RUN_LOCKED"


class RunDirectoryError(OperationError):
    """The run directory cannot be read or written."""

    code: ClassVar[str] = "RUN_DIRECTORY"


class BadRowsError(OperationError):
    """A rows file is damaged elsewhere than in its last, torn line."""

    code: ClassVar[str] = "BAD_ROWS"


class MachinesLostError(OperationError):
    """No machine is left to measure cells; those that have no row are run when the run is resumed."""

    code: ClassVar[str] = "MACHINES_LOST"
    exit_code: ClassVar[int] = 3


class ScopeError(OperationError):
    """The run, or one of its modes, could not be prepared; no cell was started."""

    code: ClassVar[str] = "SCOPE_FAILED"
    exit_code: ClassVar[int] = 3


class CanaryError(OperationError):
    """A warm-up could not be measured; no cell was started."""

    code: ClassVar[str] = "CANARY_FAILED"
    exit_code: ClassVar[int] = 3
