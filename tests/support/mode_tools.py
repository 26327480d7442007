"""Tools of built-in modes from npm, in the cache of the repository: where `ghx-bench doctor --install` puts them."""

import fcntl

import pytest

from ghx_bench.agents.npm import NotInstallableError
from ghx_bench.eval.modes.definitions import Definitions
from ghx_bench.eval.modes.installation import install_tools
from ghx_bench.eval.modes.program_words import TOOLS_FOLDER


def require_tools(*modes: str) -> None:
    """Install what modes need of npm, or skip the test; one process installs, others wait for it."""
    TOOLS_FOLDER.mkdir(parents=True, exist_ok=True)
    with (TOOLS_FOLDER / "tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for mode in modes:
            try:
                install_tools(Definitions().whole(mode), say=lambda _: None)
            except NotInstallableError as error:
                pytest.skip(str(error))
