"""Several scorers as one."""

from collections.abc import Mapping
from typing import Generic

from ghx_bench._base.errors import InputError
from ghx_bench.profiler.causes import describe_error
from ghx_bench.profiler.contracts import Scorer
from ghx_bench.profiler.evidence import Evidence
from ghx_bench.profiler.scenario import S_contra
from ghx_bench.profiler.score import CheckpointDetail, PartialScoreError, Score


class CompositeScorer(Generic[S_contra]):
    """Asks several scorers, one after the other; the task is done if all of them say so.

    The checkpoints of a scorer are named `name/id`; a scorer that has none is itself one, named `name`.

    If a scorer raises, the others are asked all the same, and then `PartialScoreError` is raised with the checkpoints
    they gave: the success of the session is unknown, even where another scorer said no. Were that counted as failed, a
    broken scorer could lose passed sessions only, and a mode would look worse for the scorer's sake.
    """

    def __init__(self, scorers: Mapping[str, Scorer[S_contra]]) -> None:
        if not scorers:
            raise InputError("no scorers to combine; give at least one, by name")
        for name in scorers:
            if not name or "/" in name:
                raise InputError(f"{name!r} cannot name a scorer: give it a name without '/'")
        self._scorers = dict(scorers)

    async def score(self, evidence: Evidence[S_contra]) -> Score:
        """Combine what all scorers say."""
        scores: list[Score] = []
        checkpoints: list[CheckpointDetail] = []
        failures: dict[str, Exception] = {}
        for name, scorer in self._scorers.items():
            try:
                score = await scorer.score(evidence)
            except Exception as error:  # noqa: BLE001 - plugin call: one scorer must not hide the others
                failures[name] = error
                if isinstance(error, PartialScoreError):
                    checkpoints.extend(_named(name, error.checkpoints))
            else:
                scores.append(score)
                checkpoints.extend(_checkpoints_of(score, name))
        if failures:
            raise _partial(failures, tuple(checkpoints)) from next(iter(failures.values()))
        return Score(
            success=all(score.success for score in scores),
            checkpoints=tuple(checkpoints),
            output_valid=all(score.output_valid for score in scores),
        )


def _checkpoints_of(score: Score, name: str) -> tuple[CheckpointDetail, ...]:
    if not score.checkpoints:
        return (CheckpointDetail(id=name, description=f"{name} says the task is done", passed=score.success),)
    return _named(name, score.checkpoints)


def _named(name: str, checkpoints: tuple[CheckpointDetail, ...]) -> tuple[CheckpointDetail, ...]:
    return tuple(each.model_copy(update={"id": f"{name}/{each.id}"}) for each in checkpoints)


def _partial(failures: Mapping[str, Exception], known: tuple[CheckpointDetail, ...]) -> PartialScoreError:
    reasons = "; ".join(f"{name}: {describe_error(error)}" for name, error in failures.items())
    return PartialScoreError(f"could not score {reasons}", checkpoints=known)
