"""Agents that are run as a command: a program is started with the prompt, prints what it does, and ends."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream

from ghx_bench.agents.drivers.command_output import DIALECTS, OutputLog
from ghx_bench.agents.drivers.recipe_provider import RecipeProvider, RecipeSession, SessionStart, start_agent
from ghx_bench.agents.tools.server_identity import LastWords, lines_of
from ghx_bench.agents.tools.toolbelt import cancel_after_end
from ghx_bench.agents.tools.toolset import fill_variables, variables_in
from ghx_bench.profiler.causes import AgentError, EnvironmentFailure
from ghx_bench.profiler.evidence import Answer
from ghx_bench.profiler.recorder import TraceRecorder

_PATIENCE_S = 2.0
"""How long a program that has ended is read on, if a child of it keeps its output open: the answer comes last."""


class CommandProvider(RecipeProvider):
    """Opens sessions of one agent that is run as a command; its program runs while it is asked, and not before."""

    @asynccontextmanager
    async def open_session(self, start: SessionStart) -> AsyncGenerator["CommandSession"]:
        """Hand out a session in which the command can be run."""
        servers = tuple(start.tools.mcp_servers)
        if servers and self.recipe.mcp_servers is None:
            raise EnvironmentFailure(
                f"mode {start.request.mode.name!r} has MCP servers, and the recipe of {self.name} does not say where "
                "it looks for them; add `mcp_servers` to it, or leave the mode out"
            )
        recorder = TraceRecorder()
        log = DIALECTS[self.recipe.output](recorder, self.recipe, servers=servers)
        yield CommandSession(recipe=self.recipe, recorder=recorder, start=start, program=self.launch.program, log=log)


@dataclass(slots=True, kw_only=True)
class CommandSession(RecipeSession):
    """One run of an agent's command."""

    program: str
    log: OutputLog

    async def ask(self, words: str) -> Answer:
        """Run the command with the prompt, and wait until it ends."""
        values = {**self.start.values, "PROMPT": words}
        command = (self.program, *(fill_variables(word, values) for word in self.recipe.command[1:]))
        given = "" if any("PROMPT" in variables_in(word) for word in self.recipe.command) else words
        async with start_agent(self.recipe.name, command, self.start) as (process, last_words):
            if process.stdin is None or process.stdout is None:
                raise RuntimeError("a program was started without its pipes")
            async with anyio.create_task_group() as beside:
                beside.start_soon(_write, process.stdin, given)
                beside.start_soon(partial(cancel_after_end, process, beside.cancel_scope, patience_s=_PATIENCE_S))
                await self._read(process.stdout)
                await process.wait()
                beside.cancel_scope.cancel()
            await last_words.wait()
        return self._judge(process.returncode, last_words)

    async def _read(self, stdout: ByteReceiveStream) -> None:
        async for line in lines_of(stdout):
            self.log.read(line)

    def _judge(self, code: int | None, last_words: LastWords) -> Answer:
        """Return the answer of a command that is over, or raise why it has none."""
        if code == 0 and self.log.error is None:
            if not self.log.is_understood and self.recipe.output != "text":
                reason = f"nothing that it printed is {self.recipe.output}; mend its command, or `output`"
                raise EnvironmentFailure(self.explain(reason, last_words))
            return Answer(text=self.log.answer, reason=self.log.reason)
        reason = f"it ended with exit code {code}" + (f" ({self.log.error})" if self.log.error else "")
        if self.tap is not None and not self.tap.main_calls:
            # It has not come to its work: what it was started with is wrong.
            raise EnvironmentFailure(self.explain(f"{reason} before it asked its model for anything", last_words))
        raise AgentError(self.explain(reason, last_words))


async def _write(stdin: ByteSendStream, text: str) -> None:
    """Give a program its input, and say that there is no more."""
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # one that reads none of it
        await stdin.send(text.encode())
    await stdin.aclose()
