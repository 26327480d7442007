"""What each mode gave its agents: what they were told, their tools and MCP servers, each with its version."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from ghx_bench.profiler.reports.document import Block, Note, Quote, Table, Warning  # noqa: A004 - the report's word
from ghx_bench.profiler.reports.inventory import Facts
from ghx_bench.profiler.reports.material import Material
from ghx_bench.profiler.reports.reading import parts_of
from ghx_bench.profiler.reports.sources import Source
from ghx_bench.profiler.store.record import ModeDetails

_LONGEST_IN_TABLE = 400
_LONGEST_FACT = 300
_NOT_RECORDED = "not recorded"
_TOOLS, _SERVERS = "tools", "mcp_servers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """What one mode of one run gave its agents; `facts` are several where rows of the mode differ in them."""

    mode: str
    details: ModeDetails | None
    """What the run wrote down before its first cell; older runs, and rows alone, have nothing of that."""
    facts: tuple[Facts, ...]

    @property
    def instructions(self) -> str | None:
        """What the agent was told beside the prompt; `None` where it was nothing, or nobody knows."""
        return None if self.details is None else self.details.instructions

    def to_wire(self) -> dict[str, JsonValue]:
        """Return it as JSON."""
        return {
            "recorded": self.details is not None,
            "instructions": self.instructions,
            "facts": [dict(each) for each in self.facts],
        }


def equipment_of(material: Material) -> tuple[Equipment, ...]:
    """Return what every mode gave its agents, as far as the run or its rows tell."""
    return tuple(_equipment(material, mode) for mode in material.modes)


def _equipment(material: Material, mode: str) -> Equipment:
    name, label = parts_of(mode) if material.is_before_and_after else (mode, "")
    sources = [source for source in material.sources if label in {"", source.label}]
    details = next(filter(None, (_details(source, name) for source in sources)), None)
    facts = [each for source in sources for each in material.inventories[source.label].facts_of(name)]
    if not facts and details is not None and details.facts:
        facts = [details.facts]
    return Equipment(mode=mode, details=details, facts=tuple(facts))


def _details(source: Source, mode: str) -> ModeDetails | None:
    return None if source.record is None else source.record.mode_details.get(mode)


def equipment(material: Material) -> Iterator[Block]:
    """Show what the modes are."""
    known = equipment_of(material)
    if not any(each.details or each.facts for each in known):
        if known:
            yield Note("What the modes gave their agents was not recorded.")
        return
    others = tuple(dict.fromkeys(name for each in known for name in _others(each.facts)))
    yield Table(
        caption="Modes: what each gave its agents",
        headers=("mode", "tools", "MCP servers", *others, "instructions"),
        rows=tuple(_line(each, others) for each in known),
        is_text=True,
    )
    for each in known:
        if each.instructions is not None and not _fits(each.instructions):
            yield Quote(title=f"Instructions of {each.mode}", text=each.instructions)
    if differing := [each.mode for each in known if len(each.facts) > 1]:
        yield Warning(f"Not all rows of a mode had the same tools: {', '.join(differing)}.")


def _line(each: Equipment, others: Sequence[str]) -> tuple[str, ...]:
    return (
        each.mode,
        _told(each, _TOOLS),
        _told(each, _SERVERS),
        *(_told(each, name) for name in others),
        _instructions(each),
    )


def _others(facts: Sequence[Facts]) -> Iterator[str]:
    yield from (name for each in facts for name in each if name not in {_TOOLS, _SERVERS})


def _told(each: Equipment, name: str) -> str:
    """Say what is known of one fact; more than one thing where rows differ."""
    values = dict.fromkeys(fact_in_words(facts[name]) for facts in each.facts if name in facts)
    if values:
        return "; or: ".join(values)
    return "none" if each.details is not None or each.facts else _NOT_RECORDED


def _instructions(each: Equipment) -> str:
    text = each.instructions
    if text is None:
        return "none" if each.details is not None else _NOT_RECORDED
    return text if _fits(text) else f"{len(text):,} characters, below"


def _fits(text: str) -> bool:
    return len(text) <= _LONGEST_IN_TABLE and "\n" not in text.strip()


def fact_in_words(value: JsonValue) -> str:
    """Write a fact about a mode: programs with their versions, servers under their names, anything else as it is."""
    match value:
        case list():
            words = ", ".join(map(_named, value))
        case dict():
            words = _named(value) if "name" in value else ", ".join(f"{key}: {_named(it)}" for key, it in value.items())
        case _:
            words = _named(value)
    return words if len(words) <= _LONGEST_FACT else f"{words[:_LONGEST_FACT]}…"


def _named(value: JsonValue) -> str:
    """Write a name with its version."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and isinstance(name := value.get("name"), str):
        version = value.get("version")
        return name if version is None else f"{name} {version}"
    return json.dumps(value, ensure_ascii=False)
