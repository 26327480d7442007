"""The row: the one line that every iteration leaves behind, however it ended."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, JsonValue

from ghx_bench._base.wire import OMITTABLE, Count, ForeignModel, Number
from ghx_bench.profiler.causes import Cause
from ghx_bench.profiler.cell import Cell
from ghx_bench.profiler.evidence import CompletionReason
from ghx_bench.profiler.metrics import Cost, Timing, TokenUsage, ToolCallSummary
from ghx_bench.profiler.score import CheckpointDetail

ROW_VERSION = 1


class Attempt(ForeignModel):
    """One attempt at a cell and what it spent; a row has more than one where transient failures were retried."""

    number: Count
    started_at: str
    wall_ms: Number | None = None
    session_id: str = ""
    tokens: TokenUsage = TokenUsage()
    cost_usd: Number | None = None
    cause: Annotated[Cause | None, OMITTABLE] = None
    error: Annotated[str | None, OMITTABLE] = None
    error_code: Annotated[str | None, OMITTABLE] = None


class Incident(ForeignModel):
    """Something that went wrong beside the result, and did not change it: a clean-up, a collector, an export."""

    where: str
    code: str
    message: str


class ProfileRow(ForeignModel):
    """One iteration of one cell. Keys after `extensions` are newer than the oldest files and absent there."""

    run_id: str
    scenario_id: str
    mode: str
    model: str
    iteration: Count
    started_at: str
    completed_at: str
    tokens: TokenUsage
    timing: Timing
    tool_calls: ToolCallSummary
    cost: Cost
    success: bool | None
    checkpoints_passed: Count | None
    checkpoints_total: Count | None
    checkpoint_details: tuple[CheckpointDetail, ...]
    output_valid: bool | None
    provider: str
    session_id: str
    agent_turns: Count | None
    completion_reason: CompletionReason
    extensions: dict[str, JsonValue]
    error: Annotated[str | None, OMITTABLE] = None
    error_code: Annotated[str | None, OMITTABLE] = None
    cause: Annotated[Cause | None, OMITTABLE] = None
    metrics: Annotated[dict[str, Number | None], OMITTABLE] = Field(default_factory=dict[str, Number | None])
    attempts: Annotated[tuple[Attempt, ...], OMITTABLE] = ()
    problems: Annotated[tuple[Incident, ...], OMITTABLE] = ()
    start_order: Annotated[Count | None, OMITTABLE] = None
    version: Annotated[Count | None, OMITTABLE] = None

    @property
    def cell(self) -> Cell:
        """The cell this row belongs to."""
        return Cell(model=self.model, mode=self.mode, scenario_id=self.scenario_id, iteration=self.iteration)

    @property
    def known_cause(self) -> Cause | None:
        """Who stopped the cell: as recorded or, in older files without causes, as far as its end tells."""
        return self.cause or _CAUSES_BY_END.get(self.completion_reason)

    @property
    def was_measured(self) -> bool:
        """Whether the agent was found right or wrong, rather than not found out about."""
        cause = self.known_cause
        return self.error is None or (cause is not None and cause.is_the_agents_own)

    @property
    def known_metrics(self) -> Mapping[str, Number]:
        """Every number of this row that is known, by metric name.

        Old files wrote zeros for iterations that never had a session; those numbers are unknown, not zero.
        """
        if self._has_made_up_numbers:
            return {}
        recorded = (self.tokens, self.timing, self.tool_calls, self.cost)
        derived = {metric.name: metric.value for record in recorded for metric in record.metrics()}
        told = {**derived, "agent_turns": self.agent_turns, **self.metrics}
        return {name: value for name, value in told.items() if value is not None}

    @property
    def _has_made_up_numbers(self) -> bool:
        """Whether it failed without a session, or in no time, in a file that had no way to say "unknown"."""
        has_failed = self.error is not None or self.completion_reason != "stop"
        return self.version is None and has_failed and (not self.session_id or self.timing.wall_ms == 0)


_CAUSES_BY_END: Mapping[CompletionReason, Cause] = {"timeout": Cause.AGENT_TIMEOUT, "tool_limit": Cause.AGENT_BUDGET}
