"""Profile an agent of your own: two tool sets, five repetitions, one table.

    python examples/profile_my_agent.py
    ghx-bench profile examples/profile_my_agent.py --repetitions 20 --max-concurrency 8

The agent here is a toy that runs in this process; yours may be a program, a server or an SDK. All the profiler asks of
it is a `SessionProvider`: open a session, send it a prompt, tell what it did.
"""

import random
import re
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import anyio

from ghx_profiler import (
    Answer,
    BaseScenario,
    CheckpointDetail,
    Evidence,
    Instruments,
    Mode,
    Profile,
    Score,
    SessionRequest,
    SessionTrace,
    TokenUsage,
    TraceRecorder,
)


class AddingSession:
    """One conversation with an agent that adds up numbers, by pairs or all at once, as its tools allow."""

    def __init__(self, request: SessionRequest) -> None:
        self._adds_lists = request.environment["TOOLS"] == "sum"
        self._recorder = TraceRecorder()
        self._dice = random.Random(str(request.cell))

    async def prompt(self, text: str) -> Answer:
        """Add up the numbers in the text; now and then forget one, as agents do."""
        numbers = [int(word) for word in re.findall(r"\d+", text)]
        self._recorder.begin_turn()
        self._recorder.reasoning(f"{len(numbers)} numbers to add up")
        total = await self._call("sum", numbers) if self._adds_lists else await self._add_by_pairs(numbers)
        self._recorder.text(f"The sum is {total}.")
        return Answer(text=str(total))

    async def trace(self) -> SessionTrace:
        """Tell what happened so far, also when the prompt was cut short."""
        return self._recorder.trace()

    async def _add_by_pairs(self, numbers: Sequence[int]) -> int:
        total = 0
        for number in numbers:
            self._recorder.begin_turn()
            if self._dice.random() > 0.04:
                total = await self._call("add", [total, number])
        return total

    async def _call(self, tool: str, numbers: Sequence[int]) -> int:
        await anyio.sleep(self._dice.uniform(0.002, 0.006))  # the tool's and the model's time
        total = sum(numbers)
        self._recorder.tool_call(tool, {"numbers": list(numbers)}, total, success=True)
        self._recorder.add_usage(TokenUsage.of(input=40 + 3 * len(numbers), output=12, cache_read=0))
        return total


class AddingAgent:
    """The `SessionProvider` of the toy."""

    name = "adding-agent"

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator[AddingSession]:
        """Open a session; nothing to clean up here."""
        yield AddingSession(request)


class SumScorer:
    """Right is what adds up to the number in the scenario's own `extensions`."""

    async def score(self, evidence: Evidence[BaseScenario]) -> Score:
        """Compare the answer with the expected sum."""
        expected = str(evidence.scenario.extensions["sum"])
        actual = evidence.answer.text if evidence.answer else None
        check = CheckpointDetail(
            id="sum", description="The sum is right", passed=actual == expected, actual=actual, expected=expected
        )
        return Score.of((check,))


def _scenario(name: str, numbers: Sequence[int]) -> BaseScenario:
    return BaseScenario(
        id=name,
        name=name.replace("-", " "),
        description=f"Adds up {len(numbers)} numbers",
        prompt=f"Add up {', '.join(map(str, numbers))}.",
        timeout_ms=5_000,
        extensions={"sum": sum(numbers)},
    )


profile = Profile(
    scenarios=[
        _scenario("three-numbers", [4, 8, 15]),
        _scenario("ten-numbers", list(range(10, 20))),
        _scenario("twenty-numbers", list(range(100, 120))),
    ],
    modes=[Mode(name="pairs", environment={"TOOLS": "add"}), Mode(name="lists", environment={"TOOLS": "sum"})],
    instruments=Instruments(provider=AddingAgent(), scorer=SumScorer()),
)

if __name__ == "__main__":
    from ghx_bench.cli.main import main

    main(["profile", f"{__file__}", "--repetitions", "5", *sys.argv[1:]])
