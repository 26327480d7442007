"""Recorded answers instead of a model: the same decisions again, or the first difference in words."""

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from ghx_bench._base.errors import InputError
from ghx_bench.agents.model_recording import BlindSpot, RecordedExchange, load_recording
from ghx_bench.agents.upstream import Headers, UpstreamAnswer, UpstreamLostError, UpstreamRequest
from ghx_bench.agents.wires.model_request import ModelRequest
from ghx_bench.agents.wires.protocol import find_route, make_reader, read_request, write_error
from ghx_bench.profiler.causes import Cause, MeasurementError

_REFUSED = 400
_AROUND = 60


class ReplayDivergedError(MeasurementError):
    """An agent asked something that was not asked when its session was recorded; there is no answer to it."""

    code: ClassVar[str] = "REPLAY_DIVERGED"
    cause: Cause = Cause.BENCH


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedCall:
    """How a call compares to the recording; `asked` and `recorded` are told where they differ."""

    verdict: Literal["exact", "blind_spot", "divergence"]
    blind_spots: tuple[str, ...] = ()
    """The names of those without which it would be a divergence."""
    asked: str | None = None
    recorded: str | None = None

    def __str__(self) -> str:
        match self.verdict:
            case "exact":
                return "exact"
            case "blind_spot":
                return f"equal but for {', '.join(self.blind_spots)}"
            case "divergence":
                return f"the recording has {self.recorded!r}, the agent asked {self.asked!r}"


class ReplayUpstream:
    """Answers as a recording has it, for every wire and for any number of sessions; needs no key, and costs nothing.

    A call is found by its wire, its model, whether it offers tools, how many tool results it holds, and what is new in
    it: the results, or what the user said, since the model last spoke. Everything else in a request differs from run to
    run. A call that is not in the recording is refused, and never answered by guessing. Recorded calls that failed or
    were cut are left out, since their agent tried again.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sessions: dict[str, _Session] = {}
        self._lock = threading.Lock()

    async def send(self, request: UpstreamRequest) -> UpstreamAnswer:
        """Return the recorded answer, or an error of the wire that says what is different."""
        with self._lock:
            session = self._load(request.session_name)
            exchange = session.find(request)
            if exchange is not None:
                headers = [(name.encode(), value.encode("latin-1")) for name, value in exchange.response_headers]
                return _ReplayedAnswer(exchange.status or 200, headers, exchange.response_pieces())
            message = f"replay: {session.calls[-1]}" if session.calls else "replay: not recorded"
        headers = [(b"content-type", b"application/json")]
        return _ReplayedAnswer(_REFUSED, headers, [write_error(request.wire, _REFUSED, message)])

    def close(self) -> None:
        """Do nothing: nothing is kept open."""

    def report(self, session: str) -> tuple[ReplayedCall, ...]:
        """Return how the calls of a session compare to the recording, in order."""
        with self._lock:
            return tuple(self._load(session).calls)

    def verdict(self, session: str) -> ReplayDivergedError | None:
        """Return the first divergence of a session, as an error to raise; `None` if there was none."""
        diverged = [call for call in self.report(session) if call.verdict == "divergence"]
        if not diverged:
            return None
        return ReplayDivergedError(f"{len(diverged)} model calls differ from the recording; the first: {diverged[0]}")

    def _load(self, name: str) -> "_Session":
        if name not in self._sessions:
            try:
                head, exchanges = load_recording(self._folder, name)
            except InputError as error:
                self._sessions[name] = _Session((), [], problem=str(error))
            else:
                self._sessions[name] = _Session(head.blind_spots, [_Recorded.of(each) for each in exchanges])
        return self._sessions[name]


@dataclass(slots=True)
class _Recorded:
    exchange: RecordedExchange
    outline: tuple[object, ...] | None
    """What must be equal; `None` for what is no answer to a model call."""
    news: str
    is_used: bool = False

    @classmethod
    def of(cls, exchange: RecordedExchange) -> "_Recorded":
        request = _read(exchange.method, exchange.path, exchange.body())
        if request is None or not _is_answer(exchange):
            return cls(exchange, None, "")
        return cls(exchange, _outline(request), _news(request))


@dataclass(slots=True)
class _Session:
    blind_spots: tuple[BlindSpot, ...]
    recorded: list[_Recorded]
    problem: str | None = None
    """Why there is no recording."""
    calls: list[ReplayedCall] = field(default_factory=list[ReplayedCall])

    def find(self, request: UpstreamRequest) -> RecordedExchange | None:
        """Return the exchange that answers a request, and note how the two compare."""
        read = _read(request.method, request.path, request.body)
        if read is None:
            return self._find_other(request)
        news, outline = _news(read), _outline(read)
        # Those not used yet come first: an agent may ask the same twice, and was answered twice.
        fitting = sorted((each for each in self.recorded if each.outline == outline), key=lambda each: each.is_used)
        for each in fitting:
            if each.news == news:
                return self._use(each, ReplayedCall(verdict="exact"))
        for each in fitting:
            if _normalise(each.news, self.blind_spots) == _normalise(news, self.blind_spots):
                needed = tuple(spot.name for spot in self.blind_spots if self._needs(spot, each.news, news))
                return self._use(each, ReplayedCall(verdict="blind_spot", blind_spots=needed))
        recorded = fitting[0].news if fitting else self.problem or "no call like this one: model, tools, tool results"
        here, there = _around_difference(_normalise(news, self.blind_spots), _normalise(recorded, self.blind_spots))
        self.calls.append(ReplayedCall(verdict="divergence", asked=here, recorded=there if fitting else recorded))
        return None

    def _find_other(self, request: UpstreamRequest) -> RecordedExchange | None:
        """Return the recorded answer to what is no model call, such as counting tokens."""
        same = (each.exchange for each in self.recorded if each.exchange.path == request.path)
        return next(same, None)

    def _use(self, recorded: _Recorded, call: ReplayedCall) -> RecordedExchange:
        recorded.is_used = True
        self.calls.append(call)
        return recorded.exchange

    def _needs(self, spot: BlindSpot, one: str, other: str) -> bool:
        others = [each for each in self.blind_spots if each != spot]
        return _normalise(one, others) != _normalise(other, others)


def _read(method: str, path: str, body: bytes) -> ModelRequest | None:
    route = find_route(method, path)
    return None if route is None or not route.is_model_call else read_request(route, body)


def _is_answer(exchange: RecordedExchange) -> bool:
    if exchange.status is None or exchange.status >= _REFUSED:
        return False
    # What the answer itself says counts: some agents close the connection on its last event.
    is_stream = any(name == "content-type" and "event-stream" in value for name, value in exchange.response_headers)
    reader = make_reader(exchange.wire, is_stream=is_stream)
    for piece in exchange.response_pieces():
        reader.feed(piece)
    reader.end()
    return reader.has_ended and reader.error is None


def _outline(request: ModelRequest) -> tuple[object, ...]:
    return request.wire, request.model, bool(request.tools_offered), len(request.tool_results), request.is_streamed


def _news(request: ModelRequest) -> str:
    """Return what was said to the model since it last spoke."""
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


class _ReplayedAnswer:
    def __init__(self, status: int, headers: Headers, pieces: list[bytes]) -> None:
        self.status, self.headers = status, headers
        self._pieces = [piece for piece in pieces if piece]
        self._is_closed = False

    async def read(self) -> bytes:
        if self._is_closed:
            raise UpstreamLostError("the answer was closed")
        return self._pieces.pop(0) if self._pieces else b""

    def close(self) -> None:
        self._is_closed = True
