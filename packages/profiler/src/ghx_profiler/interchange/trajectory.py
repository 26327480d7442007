"""The parts of an ATIF document (Agent Trajectory Interchange Format, up to 1.8) that describe a session."""

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from ghx_base.wire import Count, JsonObject, Number

SCHEMA_VERSION = "ATIF-v1.8"

OURS = "ghx_bench"
"""The key in every `extra` below which this package keeps what ATIF has no field for."""

JSON_CONTENT = "application/json"
"""The `content_type` of a result whose text is JSON."""

SEPARATOR = "\n\n"
"""The separator between consecutive texts of one step."""


class _Part(BaseModel):
    """A part of the document; unknown fields are ignored, and `extra` holds third-party data."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="ignore")

    extra: JsonObject | None = None

    @property
    def fields(self) -> JsonObject:
        """The fields outside the format."""
        return self.extra or {}

    @property
    def ours(self) -> JsonObject:
        """What this package itself put there."""
        own = self.fields.get(OURS)
        return own if isinstance(own, dict) else {}


class ContentPart(_Part):
    """A piece of a message; only text is read."""

    type: str
    text: str | None = None


Content = str | tuple[ContentPart, ...]


def text_of(content: Content | None) -> str | None:
    """Return the text of a message or result; pictures and sounds are left out."""
    if content is None or isinstance(content, str):
        return content
    return SEPARATOR.join(part.text for part in content if part.text is not None)


class AtifToolCall(_Part):
    """One call of a tool."""

    tool_call_id: str
    function_name: str
    arguments: JsonObject


class AtifResult(_Part):
    """The result of a call, or an unrequested message of the environment."""

    source_call_id: str | None = None
    content: Content | None = None


class AtifObservation(_Part):
    """Everything the environment answered in one step."""

    results: tuple[AtifResult, ...]


class AtifMetrics(_Part):
    """Tokens and money of one step; prompt tokens include those that a cache served."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    cached_tokens: Count | None = None
    cost_usd: Number | None = None


class AtifFinalMetrics(_Part):
    """Tokens and money of the whole session."""

    total_prompt_tokens: Count | None = None
    total_completion_tokens: Count | None = None
    total_cached_tokens: Count | None = None
    total_cost_usd: Number | None = None


class AtifStep(_Part):
    """What one side of the conversation did before the other had its turn again."""

    step_id: int
    source: Literal["system", "user", "agent"]
    message: Content
    timestamp: str | None = None
    reasoning_content: str | None = None
    tool_calls: tuple[AtifToolCall, ...] | None = None
    observation: AtifObservation | None = None
    metrics: AtifMetrics | None = None
    is_copied_context: bool | None = None
    llm_call_count: Count | None = None

    @property
    def results(self) -> tuple[AtifResult, ...]:
        """What the environment answered."""
        return () if self.observation is None else self.observation.results


class AtifTrajectory(_Part):
    """A whole document."""

    schema_version: str = Field(pattern=r"^ATIF-v1\.\d+$")
    session_id: str | None = None
    trajectory_id: str | None = None
    steps: tuple[AtifStep, ...] = Field(min_length=1)
    final_metrics: AtifFinalMetrics | None = None


def without_none(**fields: JsonValue) -> JsonObject:
    """Return the fields with a value; ATIF leaves out unknown ones."""
    return {name: value for name, value in fields.items() if value is not None}
