"""A plain function as a scorer, for checks that need nothing but the answer."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ghx_base.errors import InputError
from ghx_profiler.evidence import Evidence
from ghx_profiler.records.score import CheckpointDetail, Score


@dataclass(frozen=True, slots=True)
class AnswerScorer:
    """The task is done if `check` is true of the text of the answer: `AnswerScorer(lambda text: "42" in text)`.

    An agent that was stopped before it answered has not done the task.
    """

    check: Callable[[str], bool]
    id: str = "answer"
    description: str = "the answer is right"

    async def score(self, evidence: Evidence[Any]) -> Score:
        """Ask the check."""
        answer = evidence.answer
        if answer is None:
            missing = CheckpointDetail(
                id=self.id, description=self.description, passed=False, error="the agent gave no answer"
            )
            return Score.of((missing,))
        passed = _verdict(self.check(answer.text), self.id)
        detail = CheckpointDetail(id=self.id, description=self.description, passed=passed, actual=answer.text)
        return Score.of((detail,))


def _verdict(result: object, name: str) -> bool:
    """Return the result of a check; it must be `True` or `False`."""
    # Nothing else counts: a forgotten `await` or `return` would be a verdict by accident.
    if inspect.iscoroutine(result):
        result.close()
    if not isinstance(result, bool):
        raise InputError(f"check {name!r} returned {type(result).__name__}; make it return True or False")
    return result
