"""Through which tools a session reached the service it works with: those of its mode, or others."""

from pydantic import Field

from ghx_base.wire import Count, ForeignModel
from ghx_profiler.records.metrics import CustomMetric


class ToolUse(ForeignModel):
    """The requests of one session, by the program or MCP server that made them."""

    own: dict[str, Count] = Field(default_factory=dict[str, int])
    """Those that came through the tools of the mode."""
    foreign: dict[str, Count] = Field(default_factory=dict[str, int])
    """Those that went past them."""
    neutral: dict[str, Count] = Field(default_factory=dict[str, int])
    """Those of programs that every mode has, which do not distinguish modes."""

    @property
    def purity(self) -> float | None:
        """The share of requests that came through the mode's own tools; `None` where all, if any, are neutral."""
        own, foreign = sum(self.own.values()), sum(self.foreign.values())
        return own / (own + foreign) if own + foreign else None

    @property
    def adoption(self) -> bool | None:
        """Whether the session used the tools of its mode at all; `None` if it made no request."""
        return bool(self.own) if self.own or self.foreign or self.neutral else None

    def metrics(self) -> tuple[CustomMetric, ...]:
        """Return its numbers."""
        adoption = self.adoption
        return (
            CustomMetric("purity", self.purity, "ratio"),
            CustomMetric("adoption", None if adoption is None else int(adoption), "ratio"),
            CustomMetric("foreign_calls", sum(self.foreign.values()), "calls"),
        )
