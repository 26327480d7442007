"""What two tool sets show of the texts of others, and whether their tools only read, side by side."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from ghx_base.wire import Count, WireModel
from ghx_bench.toolsets.exposure.carriers import AUTHORS, Author
from ghx_bench.toolsets.exposure.measurement import Exposure, ModeExposure, ToolExposure
from ghx_bench.toolsets.exposure.sightings import STATES, State
from ghx_bench.toolsets.surface import ModeSurface


class StateChange(WireModel):
    """What happened to one text before and after."""

    carrier: str
    author: Author
    before: State
    after: State

    @property
    def is_more(self) -> bool:
        """Whether more of it reaches the agent than before; of what is cut off or stripped, the canary does not."""
        without = {"cut off", "stripped"}
        is_more = STATES.index(self.after) > STATES.index(self.before)
        return is_more and not {self.before, self.after} <= without


class ToolExposureChange(WireModel):
    """What one tool does otherwise with the texts of others; new without a name before, gone without one after."""

    before: str | None
    after: str | None
    states: tuple[StateChange, ...]

    @property
    def name(self) -> str:
        """What it is called now, or was."""
        return self.after or self.before or ""


class ReadOnlyProof(WireModel):
    """Whether the tools of a mode that say they only read do so, by the journals of both worlds."""

    mode: str
    tools_called: Count
    calls: Count
    read_only: Count
    """Tools and read commands that say they only read."""
    wrote: tuple[str, ...]
    """Those of them that tried to change something."""
    not_called: Count

    @classmethod
    def of(cls, surface: ModeSurface, exposure: ModeExposure) -> "ReadOnlyProof":
        """Return what the journals of both worlds say of a mode."""
        linted = [each.tool for each in surface.lint or () if each.kind == "read-only-writes"]
        return cls(
            mode=surface.name,
            tools_called=len(exposure.tools),
            calls=sum(each.calls for each in exposure.tools),
            read_only=sum(each.says == "reads" for each in exposure.tools),
            wrote=tuple(sorted({*linted, *(each.tool for each in exposure.broken_promises)})),
            not_called=len(exposure.not_called),
        )


def compare_states(
    carriers: Sequence[str], before: ModeExposure | ToolExposure | None, after: ModeExposure | ToolExposure | None
) -> Iterator[StateChange]:
    """Yield the texts with which a mode or a tool does something else than before; `None` shows nothing."""
    for carrier, author in product(carriers, AUTHORS):
        old: State = "not shown" if before is None else before.state(carrier, author)
        new: State = "not shown" if after is None else after.state(carrier, author)
        if old != new:
            yield StateChange(carrier=carrier, author=author, before=old, after=new)


def compare_exposed_tools(exposure: Exposure, renamed: Mapping[str, str]) -> Iterator[ToolExposureChange]:
    """Yield what tools do otherwise; of one that is new or gone, all that it shows."""
    before, after = ({each.tool: each for each in mode.tools} for mode in exposure.modes)
    names = {name: renamed.get(name, name) for name in before}
    pairs: list[tuple[ToolExposure | None, ToolExposure | None]] = [
        (each, after.get(names[name])) for name, each in before.items()
    ]
    pairs += [(None, each) for name, each in after.items() if name not in set(names.values())]
    for old, new in pairs:
        if states := tuple(compare_states(exposure.carriers, old, new)):
            yield ToolExposureChange(
                before=None if old is None else old.tool, after=None if new is None else new.tool, states=states
            )
