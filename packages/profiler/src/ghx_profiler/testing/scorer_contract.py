"""The rules of `Scorer` and `Judge`, which decide whether the task was solved."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio

from ghx_profiler.contracts import Judge, Scorer
from ghx_profiler.evidence import Evidence
from ghx_profiler.records.score import Judgement, Score
from ghx_profiler.testing.contract_suite import ContractSuite, MissingHookError, holds
from ghx_profiler.testing.record_rules import (
    assert_finite,
    assert_survives_json,
    assert_unique_names,
    snapshot,
    without_handles,
)
from ghx_profiler.testing.samples import sample_evidence, stopped_evidence


class ScorerContract(ContractSuite):
    """What must hold of every scorer: write `make_scorer`, and `make_evidence` or `hold_evidence`."""

    def make_scorer(self) -> Scorer[Any]:
        """Return the scorer under test; required."""
        raise MissingHookError("make_scorer()")

    def make_evidence(self, *, done: bool) -> Evidence[Any]:  # noqa: ARG002 - the hook's signature
        """Return evidence of a session whose task was done, or was not."""
        raise MissingHookError("make_evidence(done)")

    def hold_evidence(self, *, done: bool) -> AbstractAsyncContextManager[Evidence[Any]]:
        """Hold such evidence with a stage that stands; write it instead if the scorer reads the stage."""
        return self._hold(done=done)

    def test_a_task_that_was_done_passes(self) -> None:
        """The scorer knows success when it sees it."""
        assert self._score(done=True).success, "Scorer.score: a task that was done must pass"

    def test_a_task_that_was_not_done_does_not_pass(self) -> None:
        """A wrong answer is a result, and no reason to raise."""
        with holds("Scorer.score: must raise only if it cannot be found out"):
            score = self._score(done=False)
        assert not score.success, "Scorer.score: a task that was not done must not pass"

    def test_checkpoints_can_be_told_apart(self) -> None:
        """Reports count how often each one passed."""
        for done in (True, False):
            checkpoints = self._score(done=done).checkpoints
            assert_unique_names((each.id for each in checkpoints), "Scorer.score: ids of checkpoints")

    def test_scores_survive_a_file(self) -> None:
        """They are written on rows."""
        for done in (True, False):
            assert_survives_json(self._score(done=done), "Scorer.score: the score")

    def test_scoring_again_gives_the_same_score(self) -> None:
        """A cell can be graded again later."""

        async def rule() -> tuple[Score, Score]:
            scorer = self.make_scorer()
            async with self.hold_evidence(done=True) as evidence:
                return await scorer.score(evidence), await scorer.score(evidence)

        first, second = self.run_rule(rule)
        assert first == second, "Scorer.score: must give the same score for the same state"

    def test_sessions_are_scored_side_by_side(self) -> None:
        """Cells run concurrently, and the scorer is shared."""

        async def rule() -> dict[bool, bool]:
            scorer, verdicts = self.make_scorer(), dict[bool, bool]()

            async def score(done: bool) -> None:
                async with self.hold_evidence(done=done) as evidence:
                    verdicts[done] = (await scorer.score(evidence)).success

            async with anyio.create_task_group() as tasks:
                for done in (True, False):
                    tasks.start_soon(score, done)
            return verdicts

        with holds("Scorer.score: must work for several sessions at the same time"):
            verdicts = self.run_rule(rule)
        assert verdicts == {True: True, False: False}, "Scorer.score: must not mix up sessions scored side by side"

    def test_an_agent_that_was_stopped_is_scored(self) -> None:
        """What it did until its deadline counts, although it never answered."""

        async def rule() -> object:
            async with self.hold_evidence(done=False) as evidence:
                return await self.make_scorer().score(replace(evidence, completion_reason="timeout", answer=None))

        with holds("Scorer.score: must work without an answer"):
            score = self.run_rule(rule)
        assert isinstance(score, Score), f"Scorer.score: must return a Score, got {score!r}"

    def test_evidence_is_not_changed(self) -> None:
        """Collectors and analyzers read it afterwards."""

        async def rule() -> bool:
            async with self.hold_evidence(done=True) as evidence:
                before = snapshot(evidence)
                await self.make_scorer().score(evidence)
                return without_handles(evidence) == before

        assert self.run_rule(rule), "Scorer.score: must not change the evidence"

    @asynccontextmanager
    async def _hold(self, *, done: bool) -> AsyncGenerator[Evidence[Any]]:
        yield self.make_evidence(done=done)

    def _score(self, *, done: bool) -> Score:
        async def rule() -> Score:
            async with self.hold_evidence(done=done) as evidence:
                return await self.make_scorer().score(evidence)

        return self.run_rule(rule)


class JudgeContract(ContractSuite):
    """What must hold of every judge: write `make_judge`."""

    rubric: str = "The agent greeted the user."

    def make_judge(self) -> Judge[Any]:
        """Return the judge under test; required."""
        raise MissingHookError("make_judge()")

    def make_evidence(self) -> Evidence[Any]:
        """Return evidence that the judge can judge by `rubric`."""
        return sample_evidence()

    def test_a_judgement_has_a_reason(self) -> None:
        """An opinion that cannot be checked is worth nothing."""
        judgement: object = self._judge(self.make_evidence())
        assert isinstance(judgement, Judgement), f"Judge.judge: must return a Judgement, got {judgement!r}"
        assert judgement.reason.strip(), "Judge.judge: must give its reason"

    def test_a_grade_is_a_number_or_not_given(self) -> None:
        """NaN must not stand for a missing grade."""
        assert_finite([("grade", self._judge(self.make_evidence()).grade)], "Judge.judge: the grade")

    def test_judgements_survive_a_file(self) -> None:
        """They are written on rows."""
        assert_survives_json(self._judge(self.make_evidence()), "Judge.judge: the judgement")

    def test_sessions_are_judged_side_by_side(self) -> None:
        """Cells run concurrently, and the judge is shared."""

        async def rule() -> None:
            judge = self.make_judge()
            async with anyio.create_task_group() as tasks:
                for _ in range(2):
                    tasks.start_soon(judge.judge, self.make_evidence(), self.rubric)

        with holds("Judge.judge: must work for several sessions at the same time"):
            self.run_rule(rule)

    def test_an_agent_that_was_stopped_is_judged(self) -> None:
        """It did something, although it never answered."""
        with holds("Judge.judge: must work without an answer"):
            self._judge(stopped_evidence(scenario=self.make_evidence().scenario))

    def test_evidence_is_not_changed(self) -> None:
        """Other code reads it too."""
        evidence = self.make_evidence()
        before = snapshot(evidence)
        self._judge(evidence)
        assert without_handles(evidence) == before, "Judge.judge: must not change the evidence"

    def _judge(self, evidence: Evidence[Any]) -> Judgement:
        async def rule() -> Judgement:
            return await self.make_judge().judge(evidence, self.rubric)

        return self.run_rule(rule)
