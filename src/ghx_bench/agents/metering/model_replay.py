"""Recorded answers instead of a model: the same decisions again, or the first difference in words."""

import re
import threading
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ghx_bench._base.errors import InputError
from ghx_bench.agents.metering.model_recording import SUFFIX, BlindSpot, RecordedExchange, load_recording
from ghx_bench.agents.metering.upstream import (
    Headers,
    ModelProvider,
    UpstreamAnswer,
    UpstreamLostError,
    UpstreamRequest,
)
from ghx_bench.agents.wires.model_request import ModelRequest
from ghx_bench.agents.wires.protocol import find_route, make_reader, read_request, write_error
from ghx_bench.profiler.causes import EnvironmentFailure
from ghx_bench.profiler.model_calls import ReplayedCall
from ghx_bench.profiler.runner.redaction import Redaction
from ghx_bench.profiler.store.directory import RunDirectory
from ghx_bench.profiler.store.packs import run_folder
from ghx_bench.profiler.store.record import read_record

SECRETS = "secrets"
"""The blind spot that every recording has: what was taken out of it."""

_REFUSED = 400
_AROUND = 60


class ReplayUpstream:
    """Answers as the recordings in a folder have it, for any number of sessions; needs no key, and costs nothing.

    A call is found by its wire, its model, whether it offers tools, how many tool results it holds, and what is new in
    it: the results, or what the user said, since the model last spoke. Everything else in a request differs from run to
    run. A call that is not in the recording is refused, and never answered by guessing. Recorded calls that failed or
    were cut are left out, since their agent tried again.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sessions: dict[str, _Session] = {}
        self._lock = threading.Lock()

    @contextmanager
    def session(self, name: str, *, secrets: Iterable[str] = ()) -> Generator[None]:
        """Hold the recording of a session; raise `EnvironmentFailure` if there is none."""
        try:
            head, exchanges = load_recording(self._folder, name)
        except InputError as error:
            raise EnvironmentFailure(f"cannot be replayed: {error}") from error
        recorded = [each for exchange in exchanges if (each := _Recorded.of(exchange)) is not None]
        others = {exchange.path: exchange for exchange in exchanges if _read_exchange(exchange) is None}
        with self._lock:
            self._sessions[name] = _Session(head.blind_spots, recorded, others, Redaction.of(secrets))
        yield

    async def send(self, request: UpstreamRequest) -> UpstreamAnswer:
        """Return the recorded answer, or an error of the wire that says what is different."""
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


@dataclass(slots=True)
class _Recorded:
    exchange: RecordedExchange
    outline: tuple[object, ...]
    """What must be equal."""
    news: str
    is_answer: bool
    is_used: bool = False

    @classmethod
    def of(cls, exchange: RecordedExchange) -> "_Recorded | None":
        """Return a recorded model call; `None` for other requests."""
        request = _read_exchange(exchange)
        if request is None:
            return None
        return cls(exchange, _outline(request), _news(request), is_answer=_is_answer(exchange))


@dataclass(slots=True)
class _Session:
    blind_spots: tuple[BlindSpot, ...]
    recorded: list[_Recorded]
    others: Mapping[str, RecordedExchange]
    """What is no model call, such as counting tokens or listing models, by its path."""
    redaction: Redaction

    def find(self, request: UpstreamRequest) -> tuple[RecordedExchange | None, ReplayedCall | None]:
        """Return the exchange that answers a request, if there is one, and how the two compare if it is a call."""
        read = _read(request.method, request.path, request.body)
        if read is None:
            return self.others.get(request.path), None
        asked, outline = _news(read), _outline(read)
        # As it was recorded, since secrets are not the same in another run.
        news = self.redaction.text(asked)
        hidden = () if news == asked else (SECRETS,)
        alike = [each for each in self.recorded if each.outline == outline]
        # Those not used yet come first: an agent may ask the same twice, and was answered twice.
        fitting = sorted((each for each in alike if each.is_answer), key=lambda each: each.is_used)
        for each in fitting:
            if each.news == news:
                each.is_used = True
                verdict = "blind_spot" if hidden else "exact"
                return each.exchange, ReplayedCall(verdict=verdict, blind_spots=hidden).with_all_keys()
        for each in fitting:
            if self._normalise(each.news) == self._normalise(news):
                each.is_used = True
                needed = tuple(spot.name for spot in self.blind_spots if self._needs(spot, each.news, news))
                return each.exchange, ReplayedCall(verdict="blind_spot", blind_spots=(*needed, *hidden)).with_all_keys()
        return None, self._diverge(news, fitting, alike)

    def _diverge(self, news: str, fitting: Sequence[_Recorded], alike: Sequence[_Recorded]) -> ReplayedCall:
        if fitting:
            unused = next((each for each in fitting if not each.is_used), fitting[0])
            asked, recorded = _around_difference(self._normalise(news), self._normalise(unused.news))
        else:
            asked = news[: _AROUND * 2]
            recorded = "no call like this one: model, tools, tool results"
            if alike:
                withheld = any(each.exchange.withheld for each in alike)
                recorded = f"an answer that {'held a secret and was not kept' if withheld else 'failed or was cut'}"
        return ReplayedCall(verdict="divergence", asked=asked, recorded=recorded).with_all_keys()

    def _normalise(self, text: str) -> str:
        return _normalise(text, self.blind_spots)

    def _needs(self, spot: BlindSpot, one: str, other: str) -> bool:
        others = [each for each in self.blind_spots if each != spot]
        return _normalise(one, others) != _normalise(other, others)


def _read(method: str, path: str, body: bytes) -> ModelRequest | None:
    route = find_route(method, path)
    return None if route is None or not route.is_model_call else read_request(route, body)


def _read_exchange(exchange: RecordedExchange) -> ModelRequest | None:
    return _read(exchange.method, exchange.path, exchange.body())


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
