"""`ghx-bench init`: a project that runs at once."""

import shlex
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ghx_base.errors import FlagError, InputError, OperationError

PROJECT = Path(__file__).parents[1] / "starters" / "project"
"""The files that are copied."""


def init(directory: Path = Path(), /, *, mcp: str | None = None, agent: str | None = None) -> int:
    """Write a project that runs at once: a configuration, a scenario with its solution, a fixture, a mode of its own.

    Parameters
    ----------
    directory
        The folder to write it to; files that are there already are left alone, and nothing is written then.
    mcp
        The command that starts an MCP server of yours, with its arguments, which becomes a mode beside `baseline`. It
        is started on the embedded GitHub first: nothing is written for one that does not start.
    agent
        With --mcp: the agent that the project compares them with.
    """
    files = {directory / path.relative_to(PROJECT): path.read_bytes() for path in sorted(PROJECT.rglob("*.yaml"))}
    taken = next((target for target in files if target.exists()), None)
    if taken is not None:
        raise InputError(f"{taken} is there already; nothing was written, choose another folder")
    place = "" if directory == Path() else f"cd {shlex.quote(str(directory))} && "
    if mcp is not None:
        return _init_server(directory, files, mcp, agent, place)
    if agent is not None:
        raise FlagError("--agent", "is for a project round a server of yours; name that with --mcp")
    _write(files)
    print(f"\nRun it: {place}ghx-bench run")
    return 0


def _init_server(directory: Path, files: Mapping[Path, bytes], command: str, agent: str | None, place: str) -> int:
    from ghx_bench.cli.own_server import (
        describe_server,
        plan_next_run,
        prove_server,
        write_config,
    )
    from ghx_bench.project.folders import CONFIG_FILE

    following, mode, config = plan_next_run(agent), describe_server(command, directory), directory / CONFIG_FILE
    proved = prove_server(mode.resolve_paths(config), PROJECT)
    _write({**files, config: write_config(mode, following).encode()})
    print(f"\n{proved.identity} starts on the embedded GitHub, as it would in a session; it is the mode {mode.name}.")
    print(f"It shows {proved.surface}.")
    print(f"\nMore without a model: {place}ghx-bench surface {mode.name}, or ghx-bench expose {mode.name}")
    install = f"ghx-bench doctor --install {following.to_install} && " if following.to_install else ""
    print(f"Compare it with gh: {place}{install}ghx-bench run{following.flags}")
    print(f"That is {following.cost}.")
    return 0


def _write(files: Mapping[Path, bytes]) -> None:
    """Write the files, or none of them, and tell their names."""
    for target, content in files.items():
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        except OSError as error:
            # Half a project would be in the way of the next attempt.
            for file in files:
                with suppress(OSError):
                    file.unlink(missing_ok=True)
            raise OperationError(f"{target} cannot be written: {error.strerror}; no file of it was left") from error
    print("\n".join(map(str, files)))
