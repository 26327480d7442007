"""Plain functions as scorers, and several scorers as one."""

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghx_bench._base.errors import InputError
from ghx_bench.profiler.causes import Cause, cause_of, error_code
from ghx_bench.profiler.cell import Cell
from ghx_bench.profiler.evidence import Answer, Evidence, Mode, Stage
from ghx_bench.profiler.scenario import BaseScenario
from ghx_bench.profiler.score import CheckpointDetail, PartialScoreError, Score
from ghx_bench.profiler.scorers import AnswerScorer, CompositeScorer, PredicateScorer

pytestmark = pytest.mark.anyio


def evidence(answer: str | None = "42") -> Evidence[BaseScenario]:
    scenario = BaseScenario(id="s-001", name="S", description="S", prompt="Do it.", timeout_ms=1_000)
    return Evidence(
        cell=Cell(model="m", mode="baseline", scenario_id="s-001", iteration=0),
        scenario=scenario,
        mode=Mode(name="baseline"),
        stage=Stage(scenario=scenario),
        completion_reason="timeout" if answer is None else "stop",
        answer=None if answer is None else Answer(text=answer),
    )


def checkpoint(name: str, *, passed: bool = True) -> CheckpointDetail:
    return CheckpointDetail(id=name, description=name, passed=passed)


@dataclass
class Says:
    """Gives the score it was told to give, or raises what it was told to raise."""

    verdict: Score | BaseException
    asked: int = 0

    async def score(self, evidence: Evidence[Any]) -> Score:
        self.asked += 1
        if isinstance(self.verdict, BaseException):
            raise self.verdict
        return self.verdict


def passes(*names: str) -> Says:
    return Says(Score.of(tuple(map(checkpoint, names))))


def fails(name: str) -> Says:
    return Says(Score.of((checkpoint(name, passed=False),)))


def ids(checkpoints: tuple[CheckpointDetail, ...]) -> list[str]:
    return [each.id for each in checkpoints]


async def test_the_task_is_done_if_all_scorers_say_so() -> None:
    score = await CompositeScorer({"state": passes("a", "b"), "answer": passes("a")}).score(evidence())

    assert score.success
    assert ids(score.checkpoints) == ["state/a", "state/b", "answer/a"]


async def test_the_task_is_not_done_if_one_scorer_says_no() -> None:
    score = await CompositeScorer({"state": passes("a"), "answer": fails("b")}).score(evidence())

    assert not score.success
    assert [(each.id, each.passed) for each in score.checkpoints] == [("state/a", True), ("answer/b", False)]


async def test_a_scorer_may_refuse_although_its_checkpoints_hold() -> None:
    strict = Says(Score(success=False, checkpoints=(checkpoint("a"),)))

    assert not (await CompositeScorer({"strict": strict}).score(evidence())).success


async def test_a_scorer_without_checkpoints_is_one_itself() -> None:
    score = await CompositeScorer({"bare": Says(Score(success=False)), "state": passes("a")}).score(evidence())

    assert [(each.id, each.passed) for each in score.checkpoints] == [("bare", False), ("state/a", True)]


async def test_the_output_is_valid_if_all_scorers_say_so() -> None:
    garbled = Says(Score(success=True, output_valid=False))

    assert not (await CompositeScorer({"a": passes("x"), "b": garbled}).score(evidence())).output_valid
    assert (await CompositeScorer({"a": passes("x")}).score(evidence())).output_valid


async def test_a_checkpoint_keeps_all_but_its_id() -> None:
    detail = CheckpointDetail(id="a", description="d", passed=False, actual=1, expected=2, error="e")

    (kept,) = (await CompositeScorer({"s": Says(Score.of((detail,)))}).score(evidence())).checkpoints

    assert kept == detail.model_copy(update={"id": "s/a"})


async def test_a_scorer_that_raises_hides_neither_the_others_nor_that_it_raised() -> None:
    broken, last = Says(ConnectionError("no route to host")), fails("c")

    with pytest.raises(PartialScoreError, match="broken: no route to host") as caught:
        await CompositeScorer({"state": passes("a"), "broken": broken, "last": last}).score(evidence())

    assert last.asked == 1
    assert ids(caught.value.checkpoints) == ["state/a", "last/c"]
    assert isinstance(caught.value.__cause__, ConnectionError)


async def test_an_unknown_score_is_the_scorers_fault_whatever_it_raised() -> None:
    with pytest.raises(PartialScoreError) as caught:
        await CompositeScorer({"broken": Says(ConnectionError("gone"))}).score(evidence())

    assert cause_of(caught.value, otherwise=Cause.BENCH) is Cause.SCORER
    assert error_code(caught.value) == "PARTIAL_SCORE"


async def test_success_is_unknown_also_if_another_scorer_said_no() -> None:
    scorers = {"no": fails("a"), "yes": passes("b"), "broken": Says(OSError("gone"))}

    for order in permutations(scorers):
        with pytest.raises(PartialScoreError):
            await CompositeScorer({name: scorers[name] for name in order}).score(evidence())


async def test_all_that_raised_are_named() -> None:
    with pytest.raises(PartialScoreError) as caught:
        await CompositeScorer({"one": Says(OSError("gone")), "two": Says(ValueError())}).score(evidence())

    assert str(caught.value) == "could not score one: gone; two: ValueError"
    assert caught.value.checkpoints == ()


async def test_composites_nest_and_keep_what_is_known() -> None:
    inner = CompositeScorer({"a": passes("x"), "broken": Says(OSError("gone"))})

    with pytest.raises(PartialScoreError) as caught:
        await CompositeScorer({"inner": inner, "b": passes("y")}).score(evidence())

    assert ids(caught.value.checkpoints) == ["inner/a/x", "b/y"]


@pytest.mark.both_backends
async def test_a_cancelled_scorer_stops_the_rest() -> None:
    class Waits:
        async def score(self, evidence: Evidence[Any]) -> Score:
            scope.cancel()
            await anyio.sleep_forever()
            raise AssertionError

    after = passes("a")
    with anyio.CancelScope() as scope:
        await CompositeScorer({"waits": Waits(), "after": after}).score(evidence())

    assert scope.cancelled_caught
    assert after.asked == 0


@pytest.mark.parametrize("scorers", [{}, {"": passes("a")}, {"a/b": passes("a")}])
async def test_names_that_would_make_checkpoint_ids_ambiguous_are_refused(scorers: dict[str, Says]) -> None:
    with pytest.raises(InputError):
        CompositeScorer(scorers)


@given(st.dictionaries(st.sampled_from("abcd"), st.lists(st.booleans(), max_size=3), min_size=1))
def test_the_composite_passes_exactly_if_every_checkpoint_does(verdicts: dict[str, list[bool]]) -> None:
    scorers = {
        name: Says(Score.of(tuple(checkpoint(str(number), passed=passed) for number, passed in enumerate(held))))
        for name, held in verdicts.items()
    }

    score = anyio.run(CompositeScorer(scorers).score, evidence())

    assert score.success == all(each.passed for each in score.checkpoints)
    assert score.success == all(map(all, verdicts.values()))
    assert len(set(ids(score.checkpoints))) == len(score.checkpoints)


@pytest.mark.parametrize("holds", [True, False])
async def test_a_predicate_decides(holds: bool) -> None:
    score = await PredicateScorer(lambda seen: (seen.cell.model == "m") is holds, id="model").score(evidence())

    assert score.success is holds
    assert [(each.id, each.passed) for each in score.checkpoints] == [("model", holds)]


@pytest.mark.parametrize(("text", "right"), [("It is 42.", True), ("It is 41.", False)])
async def test_an_answer_is_checked_by_its_text(text: str, right: bool) -> None:
    score = await AnswerScorer(lambda said: "42" in said).score(evidence(text))

    assert score.success is right
    assert score.checkpoints[0].actual == text


async def test_an_agent_that_gave_no_answer_has_not_done_the_task() -> None:
    score = await AnswerScorer(lambda said: True).score(evidence(None))

    assert not score.success
    assert score.checkpoints[0].error == "the agent gave no answer"


async def forgotten(_: Any) -> bool:
    return True


@pytest.mark.parametrize("check", [forgotten, lambda _: None, lambda _: 1, lambda _: "yes"])
@pytest.mark.parametrize("kind", [PredicateScorer, AnswerScorer])
async def test_what_is_neither_true_nor_false_is_no_verdict(kind: Any, check: Any) -> None:
    with pytest.raises(InputError, match="return True or False"):
        await kind(check).score(evidence())


async def test_what_a_check_raises_leaves_the_session_unscored() -> None:
    with pytest.raises(ZeroDivisionError):
        await PredicateScorer(lambda _: 1 / 0 > 1).score(evidence())
