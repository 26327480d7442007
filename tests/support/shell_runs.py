"""A command in bash with an environment of its own, as the shell tool of a session runs it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ghx_profiler.agents.tools.toolbelt import ShellResult, open_shell, read_result


async def run_in_shell(
    command: str, *, environment: Mapping[str, str], directory: Path | None = None, options: Sequence[str] = ()
) -> ShellResult:
    async with open_shell(command, environment=environment, directory=directory, options=options) as process:
        return await read_result(process)
