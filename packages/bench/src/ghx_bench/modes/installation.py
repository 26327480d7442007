"""Third-party tools of modes: whether they are installed, and how to install them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ghx_bench.modes.definitions import ModeDefinition
from ghx_bench.modes.presets import GITHUB_SERVER
from ghx_bench.modes.program_path import GHX, MissingToolError, find_program
from ghx_bench.modes.program_words import TOOLS_FOLDER, name_of, package_of
from ghx_profiler.agents.npm import install_package

_OF_THE_BENCH = frozenset({GHX, "gh"})
_GITHUB_RELEASES = "https://github.com/github/github-mcp-server/releases"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignTool:
    """A third-party program or server."""

    name: str
    version: str | None
    """Of a package of npm, which is pinned; other programs are asked when they are run."""
    place: Path | None
    """Where it is; `None` where it is not installed."""


def foreign_tools(mode: ModeDefinition, environ: Mapping[str, str]) -> Iterator[ForeignTool]:
    """Yield the third-party tools of a mode; a server at a URL does not count."""
    commands = (server.command for server in mode.mcp_servers.values() if server.command is not None)
    for word in (*mode.tools, *commands):
        package = package_of(word)
        if package is not None:
            place = package.folder_in(TOOLS_FOLDER)
            folder = place if place.is_dir() else None
            yield ForeignTool(name=package.name, version=package.version, place=folder)
        # Our own server is started with our own interpreter.
        elif name_of(word) not in _OF_THE_BENCH and not name_of(word).startswith("python"):
            folder = None
            with suppress(MissingToolError):  # a package that is not built
                program = find_program(word, environ)
                folder = None if program is None else program.words[-1]
            yield ForeignTool(name=name_of(word), version=None, place=folder)


def how_to_get(mode: ModeDefinition) -> str:
    """Return what to do for the tools of a mode to be there."""
    if mode.packages:
        return f"ghx-bench doctor --install {mode.name}"
    if any(server.command == GITHUB_SERVER for server in mode.mcp_servers.values()):
        return f"put the program {GITHUB_SERVER} on your path ({_GITHUB_RELEASES}), or name it: {mode.name}@./PATH"
    return "install it"


def install_tools(mode: ModeDefinition, *, say: Callable[[str], None]) -> list[Path]:
    """Fetch the packages of npm that a mode is made of into the project, and return their folders."""
    return [install_package(package, TOOLS_FOLDER, name=mode.name, report=say) for package in mode.packages]
