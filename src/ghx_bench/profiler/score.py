"""What a scorer and a judge say of a session."""

from typing import Annotated, ClassVar

from pydantic import JsonValue

from ghx_bench._base.wire import OMITTABLE, ForeignModel, Number
from ghx_bench.profiler.causes import Cause, MeasurementError


class CheckpointDetail(ForeignModel):
    """One check: what was expected, what was there, and whether it held."""

    id: str
    description: str
    passed: bool
    actual: Annotated[JsonValue, OMITTABLE] = None
    expected: Annotated[JsonValue, OMITTABLE] = None
    error: Annotated[str | None, OMITTABLE] = None


class Score(ForeignModel):
    """A scorer's verdict on one session."""

    success: bool
    checkpoints: tuple[CheckpointDetail, ...] = ()
    output_valid: bool = True

    @classmethod
    def of(cls, checkpoints: tuple[CheckpointDetail, ...], *, output_valid: bool = True) -> "Score":
        """Return the verdict that all of these checks have to hold."""
        return cls(success=all(each.passed for each in checkpoints), checkpoints=checkpoints, output_valid=output_valid)


class PartialScoreError(MeasurementError):
    """Some scorers could not find out; `checkpoints` holds what the others found, for the row."""

    code: ClassVar[str] = "PARTIAL_SCORE"
    cause: Cause = Cause.SCORER

    def __init__(self, message: str, *, checkpoints: tuple[CheckpointDetail, ...]) -> None:
        super().__init__(message)
        self.checkpoints = checkpoints


class Judgement(ForeignModel):
    """A judge's opinion on one session against a rubric, with its reason."""

    passed: bool
    reason: str
    grade: Number | None = None
