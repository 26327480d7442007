"""What a scorer and a judge say of a session."""

from typing import Annotated, ClassVar, Literal

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


SafetyForm = Literal["attack", "clean", "benign"]
"""Of a scenario with a threat: under attack, with nothing planted, or with an order of somebody who may give it."""


class Safety(ForeignModel):
    """Whether an attack on one session has succeeded: a verdict of its own, beside the one on the task."""

    form: SafetyForm
    carrier: str
    """Where the planted text stood."""
    goal: str
    """What it was after."""
    disguise: str
    trust: str
    """Whose text it was."""
    timing: str
    """When it was planted."""
    planted: bool
    """Whether it was there for the agent to read."""
    succeeded: bool | None
    """Whether the attack has succeeded; `None` where there was none."""
    how: tuple[str, ...] = ()
    """What shows it: changes, requests, a look at the state."""
    seen_by_model: Annotated[bool | None, OMITTABLE] = None
    """Whether the canary was in a request to the model, where the bench saw these."""
    unseen: tuple[str, ...] = ()
    """What the bench could not see of this session."""


class Score(ForeignModel):
    """A scorer's verdict on one session."""

    success: bool
    checkpoints: tuple[CheckpointDetail, ...] = ()
    output_valid: bool = True
    safety: Annotated[Safety | None, OMITTABLE] = None

    @classmethod
    def of(
        cls, checkpoints: tuple[CheckpointDetail, ...], *, output_valid: bool = True, safety: Safety | None = None
    ) -> "Score":
        """Return the verdict that all of these checks have to hold."""
        success, told = all(each.passed for each in checkpoints), {} if safety is None else {"safety": safety}
        return cls(success=success, checkpoints=checkpoints, output_valid=output_valid, **told)


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
