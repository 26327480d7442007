"""Tools of built-in modes: those from npm, where `ghx-bench doctor --install` puts them, and what all of them show."""

import fcntl
from typing import Any

import pytest

from ghx_bench.modes.definitions import Definitions
from ghx_bench.modes.installation import install_tools
from ghx_bench.modes.program_words import TOOLS_FOLDER
from ghx_profiler.agents.npm import NotInstallableError

CARRIERS_OF_ALL = {"issue-title", "issue-body", "html-comment", "zero-width", "pr-title", "file-content", "diff"}
"""Where text of outsiders stands that every built-in tool set shows."""


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


def shown_by_outsiders(mode: dict[str, Any]) -> set[str]:
    """Return where the text of outsiders stands that some tool of an exposed mode shows."""
    states = [state for tool in mode["tools"] for state in tool["states"].items()]
    return {carrier for carrier, by_author in states if by_author.get("outsider") == "shown"}
