"""Plain functions as scorers."""

from typing import Any

import pytest

from ghx_base.errors import InputError
from ghx_profiler.evidence import Answer, Evidence, Mode, Stage
from ghx_profiler.plan.cell import Cell
from ghx_profiler.scenario import BaseScenario
from ghx_profiler.scorers import AnswerScorer

pytestmark = pytest.mark.anyio


def evidence(answer: str | None = "42") -> Evidence[BaseScenario]:
    scenario = BaseScenario(id="s-001", name="S", description="S", prompt="Do it.", timeout_ms=1_000)
    return Evidence(
        cell=Cell(agent="fake", model="m", mode="baseline", scenario_id="s-001", iteration=0),
        scenario=scenario,
        mode=Mode(name="baseline"),
        stage=Stage(scenario=scenario),
        completion_reason="timeout" if answer is None else "stop",
        answer=None if answer is None else Answer(text=answer),
    )


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
async def test_what_is_neither_true_nor_false_is_no_verdict(check: Any) -> None:
    with pytest.raises(InputError, match="return True or False"):
        await AnswerScorer(check).score(evidence())


async def test_what_a_check_raises_leaves_the_session_unscored() -> None:
    with pytest.raises(ZeroDivisionError):
        await AnswerScorer(lambda _: 1 / 0 > 1).score(evidence())
