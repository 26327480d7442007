"""What an agent tells about its session while it works, written down as it comes in."""

import re
from collections.abc import Iterable, Sequence

from pydantic import JsonValue

from ghx_bench.agents.tools.toolbelt import SHELL_TOOL
from ghx_bench.agents.tools.toolset import server_tool_of, tool_name
from ghx_bench.profiler.recorder import TraceRecorder


class SessionLog:
    """Writes what an agent says, thinks and does into a recorder, in the order in which it tells it."""

    def __init__(self, recorder: TraceRecorder, *, servers: Iterable[str], strip: Sequence[str] = ()) -> None:
        self.recorder = recorder
        self.servers = tuple(servers)
        self._strip = [re.compile(each) for each in strip]
        self._tool_was_last = True
        self._said: list[str] = []
        self._said_last: list[str] = []

    @property
    def answer(self) -> str:
        """What the agent said after its last tool call or, if that is nothing, all that it said."""
        last = self._without_noise("".join(self._said_last))
        return last or self._without_noise("".join(self._said))

    def say(self, text: str) -> None:
        """Note a piece of what the agent says."""
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

    def begin_call(self, id_: str, name: str, given: JsonValue) -> None:
        """Note that a tool call begins; begun again while it goes on, more is known of it."""
        self._begin_turn_if_due()
        self._said_last.clear()
        self.recorder.begin_tool_call(id_, name, given)

    def end_call(self, id_: str, output: JsonValue, *, success: bool, duration_ms: float | None = None) -> None:
        """Note how a tool call ended, and how long it took where the agent says so."""
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
    found = server_tool_of(name, servers)
    if found is not None:
        return tool_name(*found)
    return SHELL_TOOL if is_command else name
