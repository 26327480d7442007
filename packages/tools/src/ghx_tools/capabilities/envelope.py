"""The envelope of a call: its data or its error, and facts about the call."""

from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from ghx_tools.capabilities.errors import CapabilityError, ErrorCode

Route = Literal["graphql", "rest"]
Reason = Literal["INPUT_VALIDATION", "OUTPUT_VALIDATION", "CARD_PREFERRED", "CARD_FALLBACK", "DEFAULT_POLICY"]


class _Part(BaseModel):
    """Frozen, snake_case, nothing unknown."""

    # Built when first used: `ghx` starts again for every call, and most calls use few of these.
    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Failure(_Part):
    """Why there is no data; `retryable` if the same call may succeed later."""

    code: ErrorCode
    message: str
    retryable: bool
    details: dict[str, JsonValue] | None = None

    @classmethod
    def of(cls, error: CapabilityError) -> "Failure":
        """Return an error as a value."""
        details = cast("dict[str, JsonValue]", error.details) or None
        return cls(code=error.error_code, message=str(error), retryable=error.retryable, details=details)


class Timings(_Part):
    """How long the call took, waiting for rate limits included."""

    total_ms: Annotated[float, Field(ge=0)]


class Pagination(_Part):
    """Whether a list goes on: give `end_cursor` as `after` to read on."""

    has_next_page: bool
    end_cursor: str | None


class Meta(_Part):
    """Which capability was called, on which route, why that one, and how long it took."""

    capability_id: str
    route_used: Route | None = None
    reason: Reason | None = None
    timings: Timings | None = None
    pagination: Pagination | None = None


class Envelope(_Part):
    """`data` if `ok`, else `error`; never both."""

    ok: bool
    data: JsonValue = None
    error: Failure | None = None
    meta: Meta

    def to_wire(self) -> dict[str, Any]:
        """Return the whole envelope as JSON; parts without a value are left out."""
        written = self.model_dump(mode="json", exclude_none=True, exclude={"data"})
        return {"ok": self.ok, "data": self.data, **written} if self.ok else written

    def to_compact(self) -> dict[str, Any]:
        """Return the part of the envelope that agents need, as JSON: the data, or code and message of the error."""
        if self.error is not None:
            return {"ok": False, "error": {"code": self.error.code.value, "message": self.error.message}}
        return {"ok": True, "data": self.data}
