"""Rows of the AXI benchmark (`results.jsonl`): one JSON object for each session."""

from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StrictBool, StrictStr, ValidationError

from ghx_base.wire import Count, Number
from ghx_profiler.interchange.errors import BadImportError
from ghx_profiler.interchange.import_run import ImportedSession
from ghx_profiler.records.metrics import TokenUsage, ToolCallSummary

_Amount = Annotated[Number, Field(ge=0)]
_Name = Annotated[StrictStr, Field(min_length=1)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Usage(_Part):
    input_tokens: Count | None = None
    input_tokens_cached: Count | None = None
    input_tokens_uncached: Count | None = None
    output_tokens: Count | None = None
    reasoning_tokens: Count | None = None
    total_cost_usd: _Amount | None = None
    wall_clock_seconds: _Amount | None = None
    turn_count: Count | None = None
    command_count: Count | None = None
    error_count: Count | None = None

    @property
    def tokens(self) -> TokenUsage:
        cached, uncached = self.input_tokens_cached, self.input_tokens_uncached
        if uncached is None and cached is None:
            uncached = self.input_tokens
        return TokenUsage.of(
            input=uncached, output=self.output_tokens, reasoning=self.reasoning_tokens, cache_read=cached
        )

    @property
    def commands(self) -> ToolCallSummary:
        # The published rows count no command, also where an agent took many turns, and each turn but the last calls
        # something: there, 0 is what was not counted.
        if not self.command_count and (self.turn_count is None or self.turn_count > 1):
            return ToolCallSummary()
        return ToolCallSummary(total=self.command_count, failed=self.error_count)


class _Grade(_Part):
    task_success: StrictBool
    details: StrictStr | None = None


class _Row(_Part):
    condition: _Name
    task: _Name
    run: Annotated[Count, Field(ge=1)]
    grade: _Grade
    model: _Name | None = None
    timestamp: AwareDatetime | None = None
    usage: _Usage = _Usage()
    agent_output: StrictStr | None = None


def read_axi(file: Path) -> Iterator[ImportedSession]:
    """Yield the sessions of a file, in its order."""
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.isspace():
                yield _session_of(_parse(file, number, line.removeprefix(BOM_UTF8)), number)


def _parse(file: Path, number: int, line: bytes) -> _Row:
    try:
        return _Row.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise BadImportError(
            f"{file}:{number}: this is no row of the AXI benchmark ({where + ': ' if where else ''}{first['msg']}); "
            "mend or remove that line"
        ) from None


def _session_of(row: _Row, line: int) -> ImportedSession:
    usage = row.usage
    return ImportedSession(
        line=line,
        mode=row.condition,
        scenario_id=row.task,
        repetition=row.run - 1,
        success=row.grade.task_success,
        model=row.model,
        # Conditions were run side by side, and began within half a second of each other if this is when they ended.
        ended_at=row.timestamp,
        wall_ms=None if usage.wall_clock_seconds is None else round(1000 * usage.wall_clock_seconds, 3),
        tokens=usage.tokens,
        cost_usd=usage.total_cost_usd,
        turns=usage.turn_count,
        tool_calls=usage.commands,
        grade=row.grade.details,
        answer=row.agent_output,
    )
