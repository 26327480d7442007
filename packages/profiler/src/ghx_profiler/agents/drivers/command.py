"""Agents that are run as a command, and print their answer as a text, or lines of JSON in a dialect of their own."""

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Literal, cast

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream
from pydantic import JsonValue

from ghx_base.wire import JsonObject
from ghx_profiler.agents.drivers.recipe import OutputDialect, Recipe
from ghx_profiler.agents.drivers.recipe_provider import RecipeProvider, RecipeSession, SessionStart, start_agent
from ghx_profiler.agents.drivers.session_log import SessionLog, plain_tool_name
from ghx_profiler.agents.tools.server_identity import StderrTail, lines_of, parse_line
from ghx_profiler.agents.tools.toolbelt import SHELL_TOOL, cancel_after_end
from ghx_profiler.agents.tools.toolset import fill_variables, tool_name, variables_in
from ghx_profiler.evidence import Answer
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.causes import AgentError, EnvironmentFailure
from ghx_profiler.records.metrics import TokenUsage


class OutputLog(SessionLog, ABC):
    """Writes what a program prints into a recorder, line by line."""

    def __init__(self, recorder: TraceRecorder, recipe: Recipe, *, servers: tuple[str, ...]) -> None:
        super().__init__(recorder, servers=servers, strip=recipe.strip)
        self.error: str | None = None
        """The error that the agent reports instead of an answer."""
        self.reason: Literal["stop", "tool_limit", "refusal"] = "stop"
        """Why the agent ended its turn."""
        self.is_understood = False
        """Whether anything that was printed was of the dialect."""
        self._tells_usage = recipe.tells_usage

    @abstractmethod
    def read(self, line: str) -> None:
        """Write down one line."""

    def note_usage(self, usage: TokenUsage, cost_usd: JsonValue = None) -> None:
        """Record the usage that the agent reports; with a meter, in addition to what the meter has counted."""
        if self._tells_usage:
            self.recorder.add_usage(usage)
        # Agents that do not know the price of their model report 0.
        if isinstance(cost_usd, int | float) and cost_usd > 0:
            self.recorder.cost(float(cost_usd))


class TextLog(OutputLog):
    """All that is printed is the answer."""

    def read(self, line: str) -> None:
        """Take a line as a part of the answer."""
        self.is_understood = True
        self.add_text(f"{line}\n")


class JsonLog(OutputLog):
    """Each line is a JSON object; other lines, which programs print by mistake, are passed over."""

    def read(self, line: str) -> None:
        """Write down the object in a line."""
        if event := parse_line(line):
            self.is_understood |= self.add(event)

    @abstractmethod
    def add(self, fields: JsonObject) -> bool:
        """Write down an object, and return whether it is one of the dialect."""


class ClaudeLog(JsonLog):
    """`claude -p --output-format stream-json --verbose`: messages of the conversation, then a result."""

    def add(self, fields: JsonObject) -> bool:
        """Write down an object, and return whether it is one of the dialect."""
        match fields:
            case {"type": "system", "subtype": "init", "session_id": str(id_)}:
                version = fields.get("claude_code_version")
                self.recorder.facts |= {"session": id_, "agent": "claude-code", "agentVersion": version}
            case {"type": "assistant" | "user", "message": {"content": list(blocks)}}:
                for block in blocks:
                    self._add_block(block)
            case {"type": "result", "subtype": str(subtype)}:
                self._end(subtype, fields)
            case _:
                return fields.get("type") in ("system", "user", "stream_event")
        return True

    def _add_block(self, block: JsonValue) -> None:
        match block:
            case {"type": "text", "text": str(text)}:
                self.add_text(text)
            case {"type": "thinking", "thinking": str(text)}:
                self.think(text)
            case {"type": "tool_use", "id": str(id_), "name": str(name), "input": arguments}:
                self.begin_call(id_, plain_tool_name(name, self.servers, is_command=name == "Bash"), _json(arguments))
            case {"type": "tool_result", "tool_use_id": str(id_)}:
                self.end_call(id_, block.get("content"), success=not block.get("is_error"))
            case _:
                pass

    def _end(self, subtype: str, fields: JsonObject) -> None:
        match fields.get("usage"):
            # Not those of single messages, which are taken from the beginning of each answer.
            case {"input_tokens": int(input_tokens), "output_tokens": int(output_tokens)} as used if (
                input_tokens or output_tokens
            ):
                read, written = used.get("cache_read_input_tokens"), used.get("cache_creation_input_tokens")
                usage = TokenUsage.of(
                    input=input_tokens, output=output_tokens, cache_read=_count(read), cache_write=_count(written)
                )
                self.note_usage(usage, fields.get("total_cost_usd"))
            case _:
                pass
        if subtype == "error_max_turns":
            self.reason = "tool_limit"
        elif fields.get("stop_reason") == "refusal":
            self.reason = "refusal"
        elif fields.get("is_error"):
            self.error = str(fields.get("result") or subtype)


class CodexLog(JsonLog):
    """`codex exec --json`: items that begin and are completed, then the end of the turn."""

    def add(self, fields: JsonObject) -> bool:
        """Write down an object, and return whether it is one of the dialect."""
        match fields:
            case {"type": "thread.started", "thread_id": str(id_)}:
                self.recorder.facts |= {"session": id_, "agent": "codex"}
            case {"type": "item.started" | "item.updated" | "item.completed" as event, "item": dict(item)}:
                self._add_item(cast("JsonObject", item), is_over=event == "item.completed")
            case {"type": "turn.completed", "usage": dict(used)}:
                self._note(cast("JsonObject", used))
            case {"type": "turn.failed", "error": {"message": str(message)}}:
                self.error = message
            case _:
                return fields.get("type") in ("turn.started", "error")
        return True

    def _add_item(self, item: JsonObject, *, is_over: bool) -> None:
        match item:
            case {"type": "agent_message", "text": str(text)}:
                if is_over:
                    self.add_text(text)
            case {"type": "reasoning", "text": str(text)}:
                if is_over:
                    self.think(text)
            case {"type": "error" | "todo_list"}:
                pass  # warnings, and the agent's own notes
            case {"type": str(kind), "id": str(id_)}:
                name, arguments, output = _codex_call(kind, item)
                self.begin_call(id_, name, arguments)
                if is_over:
                    self.end_call(id_, output, success=item.get("status", "completed") == "completed")
            case _:
                pass

    def _note(self, used: JsonObject) -> None:
        match used:
            case {"input_tokens": int(input_tokens), "output_tokens": int(output_tokens)}:
                # What is served from the cache is a part of the input, and what is thought one of the output.
                read, written = _count(used.get("cached_input_tokens")), _count(used.get("cache_write_input_tokens"))
                thought = _count(used.get("reasoning_output_tokens"))
                self.note_usage(
                    TokenUsage.of(
                        input=input_tokens - (read or 0) - (written or 0),
                        output=output_tokens - (thought or 0),
                        reasoning=thought,
                        cache_read=read,
                        cache_write=written,
                    )
                )
            case _:
                pass


def _codex_call(kind: str, item: JsonObject) -> tuple[str, JsonValue, JsonValue]:
    """Return the name, the input and the output of a call."""
    match item:
        case {"type": "command_execution", "command": str(command)}:
            return SHELL_TOOL, {"command": command}, item.get("aggregated_output")
        case {"type": "mcp_tool_call", "server": str(server), "tool": str(tool)}:
            return tool_name(server, tool), item.get("arguments"), item.get("error") or item.get("result")
        case _:
            arguments = {key: value for key, value in item.items() if key not in ("id", "type", "status")}
            return kind, arguments, None


class OpenCodeLog(JsonLog):
    """`opencode run --format json`: parts of messages, each when it is finished."""

    def add(self, fields: JsonObject) -> bool:
        """Write down an object, and return whether it is one of the dialect."""
        match fields:
            case {"type": "text", "part": {"text": str(text)}}:
                self.add_text(text)
            case {"type": "reasoning", "part": {"text": str(text)}}:
                self.think(text)
            case {"type": "tool_use", "part": {"callID": str(id_), "tool": str(name), "state": dict(state)}}:
                self.begin_call(id_, plain_tool_name(name, self.servers, is_command=False), _json(state.get("input")))
                output = _json(state.get("output", state.get("error")))
                took = _duration_ms(_json(state.get("time")))
                self.end_call(id_, output, success=state.get("status") == "completed", duration_ms=took)
            case {"type": "step_finish", "part": {"tokens": dict(tokens)} as part}:
                self._note(cast("JsonObject", tokens), _json(part.get("cost")))
            case {"type": "error"}:
                self.error = _message_in(fields.get("error"))
            case _:
                return fields.get("type") == "step_start"
        if isinstance(id_ := fields.get("sessionID"), str):
            self.recorder.facts |= {"session": id_, "agent": "opencode"}
        return True

    def _note(self, tokens: JsonObject, cost_usd: JsonValue) -> None:
        match tokens:
            case {
                "input": int(input_tokens),
                "output": int(output_tokens),
                "cache": {"read": int(read), "write": int(written)},
            }:
                thought = _count(tokens.get("reasoning"))
                self.note_usage(
                    TokenUsage.of(
                        input=input_tokens,
                        output=output_tokens,
                        reasoning=thought,
                        cache_read=read,
                        cache_write=written,
                    ),
                    cost_usd,
                )
            case _:
                pass


def _duration_ms(time: JsonValue) -> float | None:
    match time:
        case {"start": int() | float() as began, "end": int() | float() as ended}:
            return ended - began
        case _:
            return None


def _message_in(error: JsonValue) -> str:
    match error:
        case {"data": {"message": str(message)}} | {"message": str(message)} | {"name": str(message)}:
            return message
        case _:
            return json.dumps(error)


def _count(value: JsonValue) -> int | None:
    return value if isinstance(value, int) else None


def _json(value: object) -> JsonValue:
    return cast("JsonValue", value)


DIALECTS: Mapping[OutputDialect, type[OutputLog]] = {
    "claude-stream-json": ClaudeLog,
    "codex-jsonl": CodexLog,
    "opencode-json": OpenCodeLog,
    "text": TextLog,
}


_PATIENCE_S = 2.0
"""How long a program that has ended is read on, if a child of it keeps its output open: the answer comes last."""


class CommandProvider(RecipeProvider):
    """Opens sessions of one agent that is run as a command; its program runs only while a prompt is being answered."""

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

    @property
    def answer_text(self) -> str:
        """What the agent has answered so far."""
        return self.log.answer

    async def ask(self, words: str) -> Answer:
        """Run the command with the prompt, and wait until it ends."""
        values = {**self.start.values, "PROMPT": words}
        command = (self.program, *(fill_variables(word, values) for word in self.recipe.command[1:]))
        stdin_text = "" if any("PROMPT" in variables_in(word) for word in self.recipe.command) else words
        async with start_agent(self.recipe.name, command, self.start) as (process, last_words):
            if process.stdin is None or process.stdout is None:
                raise RuntimeError("a program was started without its pipes")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_write, process.stdin, stdin_text)
                tasks.start_soon(partial(cancel_after_end, process, tasks.cancel_scope, patience_s=_PATIENCE_S))
                await self._read(process.stdout)
                await process.wait()
                tasks.cancel_scope.cancel()
            await last_words.wait()
        return self._judge(process.returncode, last_words)

    async def _read(self, stdout: ByteReceiveStream) -> None:
        async for line in lines_of(stdout):
            self.log.read(line)

    def _judge(self, code: int | None, last_words: StderrTail) -> Answer:
        """Return the answer of a command that is over, or raise why it has none."""
        if code == 0 and self.log.error is None:
            if not self.log.is_understood and self.recipe.output != "text":
                reason = f"nothing that it printed is {self.recipe.output}; mend its command, or `output`"
                raise EnvironmentFailure(self.explain(reason, last_words))
            return Answer(text=self.log.answer, reason=self.log.reason)
        reason = f"it ended with exit code {code}" + (f" ({self.log.error})" if self.log.error else "")
        if self.is_unused:
            raise EnvironmentFailure(self.explain(f"{reason} before it asked its model for anything", last_words))
        raise AgentError(self.explain(reason, last_words))


async def _write(stdin: ByteSendStream, text: str) -> None:
    """Write the input of a program, and close it."""
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # one that reads none of it
        await stdin.send(text.encode())
    await stdin.aclose()
