"""Recorded answers instead of a model: the same decisions again, or the first difference in words."""

import json
import re
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from ghx_base.errors import InputError
from ghx_profiler.agents.metering.model_provider import ModelProvider
from ghx_profiler.agents.metering.model_recording import SUFFIX, BlindSpot, RecordedExchange, load_recording
from ghx_profiler.agents.metering.upstream import (
    Headers,
    UpstreamAnswer,
    UpstreamLostError,
    UpstreamRequest,
)
from ghx_profiler.agents.wires.answer_reader import AnswerReader
from ghx_profiler.agents.wires.loose_json import as_object, as_objects, parse_object
from ghx_profiler.agents.wires.model_request import ModelRequest
from ghx_profiler.agents.wires.protocol import find_route, make_reader, read_request, write_error
from ghx_profiler.records.causes import EnvironmentFailure
from ghx_profiler.records.model_calls import ModelSettings, ReplayedCall
from ghx_profiler.runner.redaction import Redaction
from ghx_profiler.store.directory import RunDirectory
from ghx_profiler.store.packs import run_folder
from ghx_profiler.store.record import read_record

SECRETS, INSTRUCTIONS, TOOL_SET, TOOL_SCHEMAS, SETTINGS = (
    "secrets",
    "instructions",
    "tool set",
    "tool schemas",
    "settings",
)
"""The blind spots that every recording has: what was taken out of it, and what surrounds the news of a call."""

_REFUSED = 400
_AROUND = 60


class ReplayUpstream:
    """Answers as the recordings in a folder have it, for any number of sessions; needs no key, and costs nothing.

    A call is found by its wire, its model, whether it offers tools, how many tool results it holds, and what is new in
    it: the results or user messages since the last answer of the model. A call that is not in the recording is refused,
    and never answered by guessing. Recorded calls that failed or were cut are left out, since their agent tried again.

    What surrounds the news does not decide, since a decision can be tried again with other instructions or tools, which
    is what a replay is for; but a call is exact only if it is the same too. Where the instructions, the schema of a
    tool, the tools on offer or the settings are others, that is a blind spot of this name, and where the instructions
    or a schema differ only in blind spots of the recording, as in the path of a folder, these are named. Where a tool
    is gone that the recorded answer calls, the call is a divergence. Other ids and metadata are not compared.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sessions: dict[str, _Session] = {}
        self._lock = threading.Lock()

    @contextmanager
    def session(self, name: str, *, secrets: Iterable[str] = (), keys: Iterable[str] = ()) -> Generator[None]:
        """Open the recording of a session; raise `EnvironmentFailure` if it is missing."""
        try:
            head, exchanges = load_recording(self._folder, name)
        except InputError as error:
            raise EnvironmentFailure(f"cannot be replayed: {error}") from error
        read = [(each, _Call.read(each.method, each.path, each.body())) for each in exchanges]
        recorded = [_Recorded(each, call, _read_answer(each)) for each, call in read if call is not None]
        others = {each.path: each for each, call in read if call is None}
        with self._lock:
            self._sessions[name] = _Session(head.blind_spots, recorded, others, Redaction.of(secrets, keys=keys))
        yield

    async def send(self, request: UpstreamRequest) -> UpstreamAnswer:
        """Return the recorded answer, or an error of the wire that names the difference."""
        with self._lock:
            exchange, call = self._sessions[request.session_name].find(request)
        if exchange is None:
            headers = [(b"content-type", b"application/json")]
            body = write_error(request.wire, _REFUSED, f"replay: {call or 'this is not in the recording'}")
            return ReplayedAnswer(_REFUSED, headers, [body], call)
        headers = [(name.encode(), value.encode("latin-1")) for name, value in exchange.response_headers]
        return ReplayedAnswer(exchange.status or 200, headers, exchange.response_pieces(), call)

    def close(self) -> None:
        """Do nothing: nothing is kept open."""


def replay_traffic(run: Path) -> ModelProvider:
    """Return the provider that answers as the model traffic has it that was recorded in the directory of a run."""
    folder = run_folder(run)
    record = RunDirectory(folder).record
    if not record.is_file():
        raise InputError(f"--replay-model: {run} is not the folder of a run")
    if next(folder.rglob(f"*{SUFFIX}"), None) is None:
        raise InputError(f"--replay-model: {run} holds no model traffic; record it with --record-model")
    return ModelProvider(name="recording", upstream=ReplayUpstream(folder), replayed_run=read_record(record).run_id)


@dataclass(frozen=True, slots=True)
class _Call:
    """What is compared of a model call."""

    outline: tuple[object, ...]
    """What must be equal."""
    news: str
    instructions: str
    tools: frozenset[str]
    schemas: Mapping[str, str]
    settings: ModelSettings

    @classmethod
    def read(cls, method: str, path: str, body: bytes) -> "_Call | None":
        """Return a model call; `None` for other requests."""
        route = find_route(method, path)
        if route is None or not route.is_model_call:
            return None
        request = read_request(route, body)
        offered, results = frozenset(request.tools_offered), len(request.tool_results)
        return cls(
            outline=(request.wire, request.model, bool(offered), results, request.is_streamed),
            news=_news(request),
            instructions="\n".join(each.text for each in request.pieces if each.kind == "instructions"),
            tools=offered,
            schemas=_schemas(body),
            settings=request.settings,
        )


@dataclass(slots=True)
class _Recorded:
    exchange: RecordedExchange
    call: _Call
    answer: AnswerReader | None
    """What was answered; `None` if that failed or was cut."""
    is_used: bool = False


@dataclass(slots=True)
class _Session:
    blind_spots: tuple[BlindSpot, ...]
    recorded: list[_Recorded]
    others: Mapping[str, RecordedExchange]
    """Paths of requests that are not model calls, such as counting tokens or listing models."""
    redaction: Redaction
    compared: dict[tuple[str, str], tuple[str, ...] | None] = field(
        default_factory=dict[tuple[str, str], tuple[str, ...] | None]
    )
    """What texts differ in: instructions and tools are long, and the same with every call."""

    def find(self, request: UpstreamRequest) -> tuple[RecordedExchange | None, ReplayedCall | None]:
        """Return the exchange that answers a request, if there is one, and how the two compare if it is a call."""
        # As it was recorded, since secrets are not the same in another run.
        body = self.redaction.text(request.body.decode(errors="replace")).encode()
        request_call, plain = (_Call.read(request.method, request.path, each) for each in (body, request.body))
        if request_call is None:
            return self.others.get(request.path), None
        alike = [each for each in self.recorded if each.call.outline == request_call.outline]
        # Those not used yet come first: an agent may ask the same twice, and was answered twice.
        fitting = sorted((each for each in alike if each.answer is not None), key=lambda each: each.is_used)
        exact = (each for each in fitting if each.call.news == request_call.news)
        near = (each for each in fitting if self._compare(each.call.news, request_call.news) is not None)
        match = next(chain(exact, near), None)
        if match is None or match.answer is None:
            return None, self._diverge(request_call.news, fitting, alike)
        called = {each.name for each in match.answer.tool_calls} & match.call.tools
        if lost := called - request_call.tools:
            tool_call = f"a call of the tool {min(lost)}"
            return None, ReplayedCall(
                verdict="divergence", asked="(without that tool)", recorded=tool_call
            ).with_all_keys()
        match.is_used = True
        hidden = () if plain == request_call else (SECRETS,)
        spots = tuple(dict.fromkeys((*self._find_changes(match.call, request_call), *hidden)))
        verdict = "blind_spot" if spots else "exact"
        return match.exchange, ReplayedCall(verdict=verdict, blind_spots=spots).with_all_keys()

    def _find_changes(self, recorded: _Call, actual: _Call) -> Iterator[str]:
        """Yield the blind spots in which a call differs from the recorded one; the rule is that of `ReplayUpstream`."""
        yield from self._compare(recorded.news, actual.news) or ()
        instructions = self._compare(recorded.instructions, actual.instructions)
        yield from (INSTRUCTIONS,) if instructions is None else instructions
        if recorded.tools != actual.tools:
            yield TOOL_SET
        for name in sorted(recorded.schemas.keys() & actual.schemas.keys()):
            schema = self._compare(recorded.schemas[name], actual.schemas[name])
            yield from (TOOL_SCHEMAS,) if schema is None else schema
        if recorded.settings != actual.settings:
            yield SETTINGS

    def _compare(self, one: str, other: str) -> tuple[str, ...] | None:
        """Return the blind spots of the recording in which two texts differ; `None` if they differ in more."""
        if one == other:
            return ()
        if (one, other) not in self.compared:
            is_near = self._normalise(one) == self._normalise(other)
            needed = (spot.name for spot in self.blind_spots if is_near and self._needs(spot, one, other))
            self.compared[one, other] = tuple(needed) if is_near else None
        return self.compared[one, other]

    def _diverge(self, news: str, fitting: Sequence[_Recorded], alike: Sequence[_Recorded]) -> ReplayedCall:
        if fitting:
            unused = next((each for each in fitting if not each.is_used), fitting[0])
            actual, recorded = _around_difference(self._normalise(news), self._normalise(unused.call.news))
        else:
            actual = news[: _AROUND * 2]
            recorded = "no call like this one: model, tools, tool results"
            if alike:
                withheld = any(each.exchange.withheld for each in alike)
                recorded = f"an answer that {'held a secret and was not kept' if withheld else 'failed or was cut'}"
        return ReplayedCall(verdict="divergence", asked=actual, recorded=recorded).with_all_keys()

    def _normalise(self, text: str) -> str:
        return _normalise(text, self.blind_spots)

    def _needs(self, spot: BlindSpot, one: str, other: str) -> bool:
        others = [each for each in self.blind_spots if each != spot]
        return _normalise(one, others) != _normalise(other, others)


def _read_answer(exchange: RecordedExchange) -> AnswerReader | None:
    """Return what was answered; `None` if that failed or was cut."""
    if exchange.status is None or exchange.status >= _REFUSED:
        return None
    # The answer itself counts: some agents close the connection on its last event.
    is_stream = any(name == "content-type" and "event-stream" in value for name, value in exchange.response_headers)
    reader = make_reader(exchange.wire, is_stream=is_stream)
    for piece in exchange.response_pieces():
        reader.feed(piece)
    reader.end()
    return reader if reader.has_ended and reader.error is None else None


def _schemas(body: bytes) -> Mapping[str, str]:
    """Return the definition of each tool in a request, by name or, for the provider's tools, by kind."""
    offered = as_objects(parse_object(body).get("tools"))
    # On all wires they are under this key; Gemini's clients put them into groups.
    tools = [each for tool in offered for each in as_objects(tool.get("functionDeclarations")) or [tool]]
    by_name = ((as_object(each.get("function") or each.get("custom")) or each, each) for each in tools)
    return {str(inner.get("name") or tool.get("type")): json.dumps(tool, sort_keys=True) for inner, tool in by_name}


def _news(request: ModelRequest) -> str:
    """Return the messages to the model since its last answer."""
    pieces = list(request.pieces)
    last = max((index for index, each in enumerate(pieces) if each.kind in ("answer", "call", "thought")), default=-1)
    return "\n".join(each.text for each in pieces[last + 1 :] if each.kind in ("user", "result"))


def _normalise(text: str, blind_spots: Sequence[BlindSpot]) -> str:
    for spot in blind_spots:
        text = re.sub(spot.pattern, f"<{spot.name}>", text)
    return text


def _around_difference(one: str, other: str) -> tuple[str, str]:
    """Return both texts around the first place where they differ."""
    pairs = enumerate(zip(one, other, strict=False))
    at = next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))
    start, end = max(at - _AROUND, 0), at + _AROUND
    return one[start:end], other[start:end]


class ReplayedAnswer:
    """A recorded answer, or the refusal of a call that was not recorded; `call` is `None` for other requests."""

    def __init__(self, status: int, headers: Headers, pieces: list[bytes], call: ReplayedCall | None) -> None:
        self.status, self.headers, self.call = status, headers, call
        self._pieces = [piece for piece in pieces if piece]
        self._is_closed = False

    async def read(self) -> bytes:
        """Return the next piece, as it was recorded."""
        if self._is_closed:
            raise UpstreamLostError("the answer was closed")
        return self._pieces.pop(0) if self._pieces else b""

    def close(self) -> None:
        """Let go of the answer."""
        self._is_closed = True
