"""The row: the one line that every iteration leaves behind, however it ended."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import Field, JsonValue

from ghx_base.wire import OMITTABLE, Count, ForeignModel, Number
from ghx_profiler.evidence import CompletionReason
from ghx_profiler.plan.cell import Cell
from ghx_profiler.records.causes import Cause
from ghx_profiler.records.metrics import Cost, CustomMetric, Timing, TokenUsage, ToolCallSummary
from ghx_profiler.records.model_call_summary import ModelCallSummary, anatomy_metrics
from ghx_profiler.records.model_calls import RequestAnatomy
from ghx_profiler.records.score import CheckpointDetail, Safety
from ghx_profiler.records.tool_use import ToolUse
from ghx_profiler.records.trace import ReportedFigures

MACHINE_LOST = "MACHINE_LOST"
"""The code of an attempt that went on when its machine was lost."""
MACHINE_UNFIT = "MACHINE_UNFIT"
"""The code of an attempt on a machine that could measure nothing, while others could."""
ROW_VERSION = 2
"""Rows of the TypeScript packages have none, those of 0.1.0 have 1; `ProfileRow.upgraded` reads all of them."""


class Attempt(ForeignModel):
    """One attempt at a cell and what it spent; a row has more than one where transient failures were retried."""

    number: Count
    started_at: str
    wall_ms: Number | None = None
    session_id: str = ""
    tokens: TokenUsage = TokenUsage()
    cost_usd: Number | None = None
    tokens_at_least: Annotated[TokenUsage | None, OMITTABLE] = None
    """Where the tokens are not known, what was used for certain."""
    cost_at_least_usd: Annotated[Number | None, OMITTABLE] = None
    """What these cost."""
    tokens_estimated: Annotated[TokenUsage | None, OMITTABLE] = None
    """If model calls did not report their tokens: all tokens, estimated by size where needed; for budgets only."""
    cost_estimated_usd: Annotated[Number | None, OMITTABLE] = None
    """What these cost."""
    model_calls: Annotated[Count | None, OMITTABLE] = None
    turns: Annotated[Count | None, OMITTABLE] = None
    """Calls of the conversation, where a meter saw them."""
    cause: Annotated[Cause | None, OMITTABLE] = None
    error: Annotated[str | None, OMITTABLE] = None
    error_code: Annotated[str | None, OMITTABLE] = None

    @property
    def is_of_machine(self) -> bool:
        """Whether the machine was the cause; the attempt then does not count as a retry on another one."""
        return self.error_code in (MACHINE_LOST, MACHINE_UNFIT)


class Incident(ForeignModel):
    """An error that did not change the result: in a clean-up, a collector or an export."""

    where: str
    code: str
    message: str


class ProfileRow(ForeignModel):
    """One iteration of one cell. Keys after `extensions` are newer than the oldest files and absent there.

    Every number stands on a row once: `metrics` holds only those that no other key has. What is not known is null.
    Properties need a row of the newest version: rows from files are, others need `upgraded()` first.
    """

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
    """The agent's name, the same as `agent`: readers of older rows look for it here."""
    session_id: str
    agent_turns: Count | None
    completion_reason: CompletionReason
    extensions: dict[str, JsonValue]
    agent: str | None = None
    """The agent's name in the run; in older rows without it, `provider` has it."""
    agent_version: str | None = None
    machine: str | None = None
    """Which of the machines in `run.json` measured the cell; rows of older versions do not have it."""
    provenance_id: str | None = None
    """The record of where everything that was measured came from."""
    sources: dict[str, str] = Field(default={})
    """Where numbers come from, by their key on the row: `agent`, `bench`, `meter`, `prices`; of each metric, the table
    of metrics says it."""
    purity: Number | None = None
    """The share of requests that came through the mode's own tools, from 0 to 1."""
    token_anatomy: RequestAnatomy | None = None
    """What the tokens were spent on: bytes of all requests to the model, by what they are for."""
    error: Annotated[str | None, OMITTABLE] = None
    error_code: Annotated[str | None, OMITTABLE] = None
    cause: Annotated[Cause | None, OMITTABLE] = None
    traceback: Annotated[str | None, OMITTABLE] = None
    """Of what an agent, a scorer or another plugin raised."""
    metrics: Annotated[dict[str, Number | None], OMITTABLE] = Field(default_factory=dict[str, Number | None])
    attempts: Annotated[tuple[Attempt, ...], OMITTABLE] = ()
    problems: Annotated[tuple[Incident, ...], OMITTABLE] = ()
    model_calls: Annotated[ModelCallSummary | None, OMITTABLE] = None
    """The calls of a model, where a meter saw them."""
    reported: Annotated[ReportedFigures | None, OMITTABLE] = None
    """The agent's own figures, where those of the row are the meter's."""
    refused_hosts: Annotated[dict[str, Count] | None, OMITTABLE] = None
    """How often the session requested each blocked host, if the bench observes that."""
    not_implemented: Annotated[dict[str, Count] | None, OMITTABLE] = None
    """How often the session requested each feature that its world lacks and the real one has, if observed."""
    tool_use: Annotated[ToolUse | None, OMITTABLE] = None
    """Through which tools the requests of the session came, where the bench sees that."""
    safety: Annotated[Safety | None, OMITTABLE] = None
    """Whether an attack on the session has succeeded, where its scenario has a threat."""
    start_order: Annotated[Count | None, OMITTABLE] = None
    version: Annotated[Count | None, OMITTABLE] = None

    @property
    def agent_name(self) -> str:
        """The agent that the row is of: older rows know it as `provider` alone."""
        return self.provider if self.agent is None else self.agent

    @property
    def cell(self) -> Cell:
        """The cell this row belongs to."""
        return Cell(
            agent=self.agent_name,
            model=self.model,
            mode=self.mode,
            scenario_id=self.scenario_id,
            iteration=self.iteration,
        )

    @property
    def spent_usd(self) -> float | None:
        """The cost of all attempts; `None` if one of them is unknown."""
        costs = [attempt.cost_usd for attempt in self.attempts]
        known = [usd for usd in costs if usd is not None]
        return sum(known) if known and len(known) == len(costs) else None

    @property
    def bindings(self) -> Mapping[str, JsonValue]:
        """The values of the scenario's variables in the stage."""
        stage = self.extensions.get("stage")
        bindings = stage.get("bindings") if isinstance(stage, dict) else None
        return bindings if isinstance(bindings, dict) else {}

    @property
    def was_measured(self) -> bool:
        """Whether the agent was found right or wrong, rather than not found out about."""
        return self.error is None or (self.cause is not None and self.cause.is_the_agents_own)

    @property
    def has_ended_by_itself(self) -> bool:
        """Whether nothing stopped the agent: no deadline, no budget, no breakdown. To refuse is an end of its own."""
        return self.completion_reason == "stop" and self.cause in {None, Cause.AGENT_REFUSAL}

    @property
    def known_metrics(self) -> Mapping[str, Number]:
        """Every number of this row that is known, by metric name."""
        metrics = {**_derived_metrics(self), **self.metrics}
        return {name: value for name, value in metrics.items() if value is not None}

    def __reduce__(self) -> tuple[Callable[[bytes], "ProfileRow"], tuple[bytes]]:
        """Pickle as JSON, which is what crosses to other processes anywhere else.

        So a row that can be written can also be sent; and going through the fields of every record in it takes more
        than twice as long.
        """
        return ProfileRow.model_validate_json, (self.to_bytes(),)

    def upgraded(self) -> "ProfileRow":
        """Return this row as one of the newest version: the one place that knows what older rows mean.

        Rows that are read from disk have passed through here. The row itself stays as it was written, so that a file
        of others that is read and written again is the same, key for key.
        """
        if self.version is not None and self.version >= ROW_VERSION:
            return self
        changes: dict[str, Any] = {"version": ROW_VERSION, "agent": self.agent or self.provider}
        if self.version is None:
            changes |= self._unknowns()
        else:
            # Version 1 repeated what the row says elsewhere; a number that a collector set differently stays.
            derived = _derived_metrics(self)
            changes["metrics"] = {
                name: value for name, value in self.metrics.items() if name not in derived or value != derived[name]
            }
        return self.model_copy(update=changes)

    def _unknowns(self) -> Mapping[str, Any]:
        """Return what the TypeScript packages, which had no value for "unknown", wrote zeros for."""
        unknown: dict[str, Any] = {}
        if self.cause is None:
            unknown["cause"] = _CAUSES_BY_END.get(self.completion_reason)
        has_failed = self.error is not None or self.completion_reason != "stop"
        if has_failed and (not self.session_id or self.timing.wall_ms == 0):
            # It failed without a session, or in no time: nothing was measured, and zeros would enter the medians.
            return unknown | {
                "tokens": TokenUsage(),
                "timing": Timing(),
                "tool_calls": ToolCallSummary(),
                "cost": Cost(),
                "agent_turns": None,
                "metrics": {},
            }
        if self.cost.total_usd == 0 and any(metric.value for metric in self.tokens.metrics()):
            # Tokens were spent and cost nothing: the cost was never reckoned.
            unknown["cost"] = Cost()
        return unknown


def _derived_metrics(row: ProfileRow) -> dict[str, Number | None]:
    """Return the numbers that the records on a row hold, by metric name."""
    records = (row.tokens, row.timing, row.tool_calls, row.cost)
    derived = [metric for record in records for metric in record.metrics()]
    if row.model_calls is not None:
        derived += row.model_calls.metrics()
    if row.token_anatomy is not None:
        derived += anatomy_metrics(row.token_anatomy)
    if row.refused_hosts is not None:
        derived.append(CustomMetric("refused_hosts", len(row.refused_hosts), "hosts"))
    if row.not_implemented is not None:
        derived.append(CustomMetric("not_implemented", sum(row.not_implemented.values()), "calls"))
    if row.safety is not None:
        derived += row.safety.metrics(has_ended_by_itself=row.has_ended_by_itself)
    if row.tool_use is not None:
        derived += row.tool_use.metrics()
    return {**{metric.name: metric.value for metric in derived}, "agent_turns": row.agent_turns}


_CAUSES_BY_END: Mapping[CompletionReason, Cause] = {"timeout": Cause.AGENT_TIMEOUT, "tool_limit": Cause.AGENT_BUDGET}
