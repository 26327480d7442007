"""What analyzers find in a session, in five shapes that any report can show."""

from typing import Annotated, Literal

from pydantic import Field

from ghx_base.wire import OMITTABLE, ForeignModel, Number, TaggedModel


class NumberFinding(TaggedModel):
    """A quantity."""

    type: Literal["number"] = "number"  # pyright: ignore[reportIncompatibleVariableOverride] - narrowed, and frozen
    value: Number | None
    unit: str = ""


class StringFinding(TaggedModel):
    """A word or a sentence."""

    type: Literal["string"] = "string"  # pyright: ignore[reportIncompatibleVariableOverride] - narrowed, and frozen
    value: str | None


class ListFinding(TaggedModel):
    """Several words or sentences."""

    type: Literal["list"] = "list"  # pyright: ignore[reportIncompatibleVariableOverride] - narrowed, and frozen
    values: tuple[str, ...] = ()


class TableFinding(TaggedModel):
    """Rows under headers."""

    type: Literal["table"] = "table"  # pyright: ignore[reportIncompatibleVariableOverride] - narrowed, and frozen
    headers: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


class RatioFinding(TaggedModel):
    """A share of a whole, from 0 to 1."""

    type: Literal["ratio"] = "ratio"  # pyright: ignore[reportIncompatibleVariableOverride] - narrowed, and frozen
    value: Number | None
    label: str = ""


Finding = Annotated[
    NumberFinding | StringFinding | ListFinding | TableFinding | RatioFinding, Field(discriminator="type")
]


class AnalysisResult(ForeignModel):
    """What one analyzer found in one session."""

    analyzer: str
    findings: dict[str, Finding]
    summary: str = ""


class SessionAnalysisBundle(ForeignModel):
    """What all analyzers found in one session."""

    session_id: str
    scenario_id: str
    mode: str
    model: str
    results: dict[str, AnalysisResult]
    agent: Annotated[str | None, OMITTABLE] = None
