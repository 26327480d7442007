"""Whether this machine can isolate sessions, for tests that need it."""

import pytest

from ghx_profiler.agents.processes.sandbox import NoSandboxError, require_sandbox


def _explain_absence() -> str:
    try:
        require_sandbox()
    except NoSandboxError as error:
        return str(error)
    return ""


ABSENCE = _explain_absence()
needs_bubblewrap = pytest.mark.skipif(bool(ABSENCE), reason=ABSENCE or "bubblewrap works")
