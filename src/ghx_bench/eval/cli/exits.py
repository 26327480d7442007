"""How `ghx-bench` ends where no other command of ours does."""

from collections.abc import Sequence

from ghx_bench._base.commandline import FAILED
from ghx_bench.eval.project.gates import Verdict

NOT_ALL_MEASURED = 3


def exit_code(*, unmeasured: int, gates: Sequence[Verdict] = ()) -> int:
    """Return how a run ends: what was not measured goes before what gates say, since they have not seen it."""
    if unmeasured:
        return NOT_ALL_MEASURED
    return FAILED if any(each.failed for each in gates) else 0
