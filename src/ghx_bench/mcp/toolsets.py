"""Which capabilities a server offers, and what they are called there."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ghx_bench._base.errors import InputError
from ghx_bench._base.problems import did_you_mean, shortened
from ghx_bench.capabilities.entries import Entry
from ghx_bench.capabilities.index import ENTRIES

TOOLSETS: tuple[str, ...] = tuple(dict.fromkeys(entry.domain for entry in ENTRIES.values()))
"""The groups that tools come in: the domains of the capabilities."""

CHAIN = "chain"
"""The tool that calls several others."""


class UnknownToolsetError(InputError):
    """A toolset was named that does not exist."""

    code = "UNKNOWN_TOOLSET"

    def __init__(self, name: str) -> None:
        super().__init__(f"no toolset {shortened(name)}; {did_you_mean(name, TOOLSETS)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The capabilities that are offered, by the names of their tools."""

    tools: Mapping[str, Entry]

    @property
    def only_reads(self) -> bool:
        """Whether nothing that is offered changes GitHub."""
        return all(entry.effect == "reads" for entry in self.tools.values())

    def entry(self, name: str) -> Entry | None:
        """Return the capability that is meant: by the name of its tool, or by its id."""
        return self.tools.get(tool_name(name))


def select(toolsets: Iterable[str] = (), *, read_only: bool = False) -> Selection:
    """Choose the capabilities of some toolsets, of all if none is named; those that only read, if told so."""
    wanted = tuple(toolsets) or TOOLSETS
    for name in wanted:
        if name not in TOOLSETS:
            raise UnknownToolsetError(name)
    chosen = (
        entry for entry in ENTRIES.values() if entry.domain in wanted and (entry.effect == "reads" or not read_only)
    )
    return Selection(tools=MappingProxyType({tool_name(entry.id): entry for entry in chosen}))


def tool_name(id_: str) -> str:
    """Return what a capability is called as a tool; clients take no points in names."""
    return id_.replace(".", "_")
