"""The updates of an agent about its session, recorded as they come in."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from pydantic import JsonValue

from ghx_base.wire import JsonObject
from ghx_profiler.agents.tools.toolbelt import SHELL_TOOL
from ghx_profiler.agents.tools.toolset import server_tool_of, tool_name
from ghx_profiler.recorder import TraceRecorder

_CALL_FIELDS = ("title", "kind", "rawInput", "rawOutput", "content", "_meta", "name")
_OVER = frozenset({"completed", "failed"})


class SessionLog:
    """Writes the messages, thoughts and calls of an agent into a recorder, in the order of the updates."""

    def __init__(self, recorder: TraceRecorder, *, servers: Iterable[str], strip: Sequence[str] = ()) -> None:
        self.recorder = recorder
        self.servers = tuple(servers)
        self._strip = [re.compile(each) for each in strip]
        self._tool_was_last = True
        self._said: list[str] = []
        self._said_last: list[str] = []

    @property
    def answer(self) -> str:
        """The text after the last tool call; all text of a session without tool calls."""
        last = self._without_noise("".join(self._said_last))
        return last or self._without_noise("".join(self._said))

    def add_text(self, text: str) -> None:
        """Add a piece of the agent's message."""
        if text:
            self._begin_turn_if_due()
            self._said.append(text)
            self._said_last.append(text)
            self.recorder.text_chunk(text)

    def think(self, text: str) -> None:
        """Note a piece of what the agent thinks."""
        if text:
            self._begin_turn_if_due()
            self.recorder.reasoning_chunk(text)

    def begin_call(self, id_: str, name: str, arguments: JsonValue) -> None:
        """Note that a tool call begins; begun again while it goes on, more is known of it."""
        self._begin_turn_if_due()
        self._said_last.clear()
        self.recorder.begin_tool_call(id_, name, arguments)

    def end_call(self, id_: str, output: JsonValue, *, success: bool, duration_ms: float | None = None) -> None:
        """Note how a tool call ended, and how long it took if the agent reports that."""
        self._tool_was_last = True
        self.recorder.end_tool_call(id_, output, success=success, duration_ms=duration_ms)

    def _begin_turn_if_due(self) -> None:
        """Begin a turn with what follows a tool call; where a meter sees the model's calls, these decide in the end."""
        if self._tool_was_last:
            self.recorder.begin_turn()
        self._tool_was_last = False

    def _without_noise(self, text: str) -> str:
        for expression in self._strip:
            text = expression.sub("", text)
        return text.strip()


def plain_tool_name(name: str, servers: Iterable[str], *, is_command: bool) -> str:
    """Return one name for what each agent names in its own way: `server_tool`, `bash`, or the agent's own word."""
    server_tool = server_tool_of(name, servers)
    if server_tool is not None:
        return tool_name(*server_tool)
    return SHELL_TOOL if is_command else name


@dataclass(slots=True, kw_only=True)
class _Call:
    """A tool call as reported so far; later updates add to earlier ones."""

    id: str
    fields: dict[str, JsonValue] = field(default_factory=dict[str, "JsonValue"])
    first_title: str | None = None
    is_over: bool = False


class UpdateLog(SessionLog):
    """Writes the updates of the Agent Client Protocol into a recorder, in the order in which they come."""

    def __init__(self, recorder: TraceRecorder, *, servers: Iterable[str], strip: Sequence[str] = ()) -> None:
        super().__init__(recorder, servers=servers, strip=strip)
        self.is_closed = False
        """Whether updates are ignored: those after the agent was stopped do not count."""
        self.cost_usd: float | None = None
        """The cost of the session so far, as the agent reports it."""
        self._calls: dict[str, _Call] = {}

    def add(self, update: JsonObject) -> None:
        """Record one update; kinds that are not about the session's work are ignored."""
        if self.is_closed:
            return
        match update:
            case {"sessionUpdate": "agent_message_chunk", "content": {"text": str(text)}}:
                self.add_text(text)
            case {"sessionUpdate": "agent_thought_chunk", "content": {"text": str(text)}}:
                self.think(text)
            case {"sessionUpdate": "tool_call" | "tool_call_update", "toolCallId": str(id_)}:
                self._add_to_call(id_, update)
            case {"sessionUpdate": "usage_update", "cost": {"amount": int() | float() as amount, "currency": "USD"}}:
                # Agents that do not know the price of their model report 0.
                self.cost_usd = float(amount) if amount > 0 else self.cost_usd
            case _:
                pass

    def _add_to_call(self, id_: str, update: JsonObject) -> None:
        call = self._calls.get(id_)
        if call is None:
            title = update.get("title")
            call = self._calls[id_] = _Call(id=id_, first_title=title if isinstance(title, str) else None)
        if call.is_over:
            return
        meta, before = update.get("_meta"), call.fields.get("_meta")
        call.fields |= {key: update[key] for key in _CALL_FIELDS if update.get(key) not in (None, {}, [])}
        if isinstance(meta, dict) and isinstance(before, dict):
            call.fields["_meta"] = {**before, **meta}  # of goose, only the first update has the name in it
        # Begun with each update: the first update of most agents has few fields, and the input comes later.
        self.begin_call(
            id_, name_of_call(call.id, call.fields, call.first_title, self.servers), input_of_call(call.fields)
        )
        status = update.get("status")
        if status in _OVER:
            call.is_over = True
            output = call.fields.get("rawOutput", call.fields.get("content"))
            self.end_call(id_, output, success=status == "completed")


def name_of_call(id_: str, fields: Mapping[str, JsonValue], first_title: str | None, servers: Iterable[str]) -> str:
    """Return one name for what each agent names in its own way: `server_tool`, `bash`, or the agent's own word."""
    match fields:
        case {"rawInput": {"server": str(server), "tool": str(tool)}}:  # Codex, of tools of servers
            return tool_name(server, tool)
        case {"_meta": {"claudeCode": {"toolName": str(name)}}} | {"_meta": {"toolName": str(name)}}:  # Claude; Qwen
            pass
        case {"_meta": {"goose": {"toolCall": {"toolName": str(name)}}}}:
            pass
        case {"name": str(name)}:
            pass
        case _ if "__" in id_:  # Gemini: NAME__NAME_TIME_NUMBER
            name = id_.partition("__")[0]
        case _:
            name = first_title or str(fields.get("title", "unknown"))  # OpenCode: the first title is the name
    return plain_tool_name(name, servers, is_command=fields.get("kind") == "execute")


def input_of_call(fields: Mapping[str, JsonValue]) -> JsonValue:
    """Return the arguments of a call; of a command that has none, its title, which is the command."""
    match fields:
        case {"rawInput": {"server": str(), "tool": str(), "arguments": arguments}}:
            return cast("JsonValue", arguments)
        case {"rawInput": raw_input}:
            return raw_input
        case {"kind": "execute", "title": str(title)}:
            return {"command": title}
        case _:
            return None
