"""Toolsets: the capabilities that a server offers, and the names of their tools."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ghx_base.errors import InputError
from ghx_base.problems import did_you_mean, shortened
from ghx_tools.capabilities.entries import Entry
from ghx_tools.capabilities.index import ENTRIES

TOOLSETS: tuple[str, ...] = tuple(dict.fromkeys(entry.domain for entry in ENTRIES.values()))
"""The groups that tools come in: the domains of the capabilities."""

_GITHUB_NAMES = MappingProxyType(
    {"actions": "workflow", "issues": "issue", "projects": "project_v2", "pull_requests": "pr", "repos": "repo"}
)  # what GitHub's own server calls them

CHAIN = "chain"
"""The name of the tool that calls several others."""


class UnknownToolsetError(InputError):
    """A toolset was named that does not exist."""

    code = "UNKNOWN_TOOLSET"

    def __init__(self, name: str) -> None:
        super().__init__(f"no toolset {shortened(name)}; {did_you_mean(name, [*TOOLSETS, *_GITHUB_NAMES])}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The capabilities that are offered, by the names of their tools."""

    tools: Mapping[str, Entry]

    def entry(self, name: str) -> Entry | None:
        """Return the capability with this tool name or id."""
        return self.tools.get(tool_name(name))


def select(toolsets: Iterable[str] = (), *, read_only: bool = False) -> Selection:
    """Return the capabilities of some toolsets, of all if none is named; with `read_only`, only reading ones."""
    selection = tuple(_GITHUB_NAMES.get(name, name) for name in toolsets) or TOOLSETS
    for name in selection:
        if name not in TOOLSETS:
            raise UnknownToolsetError(name)
    chosen = (
        entry for entry in ENTRIES.values() if entry.domain in selection and (entry.effect == "reads" or not read_only)
    )
    return Selection(tools=MappingProxyType({tool_name(entry.id): entry for entry in chosen}))


def tool_name(id_: str) -> str:
    """Return the name of the tool of a capability."""
    # Clients take no points in the names of tools.
    return id_.replace(".", "_")
