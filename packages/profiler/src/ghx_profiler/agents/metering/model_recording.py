"""Model traffic on disk: what was sent and received in each session, without secrets; one file for each."""

import json
import time
from base64 import b64decode, b64encode
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import JsonValue, ValidationError

from ghx_base.errors import InputError, OperationError
from ghx_base.files.scratch import PREFIX
from ghx_base.wire import OMITTABLE, Count, Number, WireModel
from ghx_profiler.agents.metering.model_provider import ModelProvider
from ghx_profiler.agents.metering.upstream import (
    Headers,
    Upstream,
    UpstreamAnswer,
    UpstreamLostError,
    UpstreamRequest,
)
from ghx_profiler.agents.wires.protocol import KEY_HEADERS
from ghx_profiler.plan.cell import Cell
from ghx_profiler.records.model_calls import WireKind
from ghx_profiler.runner.redaction import Redaction
from ghx_profiler.store.directory import RunDirectory

SUFFIX = ".model.jsonl"
"""What follows the name of a session in the name of its file."""


class BlindSpot(WireModel):
    """Something that differs between two runs that are the same: where replaying cannot see a change."""

    name: str
    pattern: str
    """A regular expression; what it finds counts as equal."""


BLIND_SPOTS = (
    BlindSpot(name="call ids", pattern=r"\b(?:call|toolu|msg|fc|fco|rs|at)_[A-Za-z0-9_-]{4,}"),
    BlindSpot(name="uuids", pattern=r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
    BlindSpot(name="temporary paths", pattern=rf"(?:/[\w.@+-]+)*/?{PREFIX}[\w-]+"),
    BlindSpot(name="ports", pattern=r"(?:127\.0\.0\.1|localhost|\[::1\]):\d+"),
    BlindSpot(
        name="dates",
        pattern=r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:[\d:.]+(?:Z| ?[+-]\d\d:?\d\d)?)?"
        r"|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [A-Z][a-z]+ \d{1,2},? \d{4}",
    ),
    BlindSpot(name="process groups", pattern=r"Process Group PGID: \d+"),
    BlindSpot(name="chunk ids", pattern=r"Chunk ID: [0-9a-f]+"),
    BlindSpot(name="wall times", pattern=r"Wall time: [\d.]+(?: seconds?)?"),
    # Of an output, which may have ports and paths in it; the output itself is compared.
    BlindSpot(name="token counts", pattern=r"Original token count: \d+"),
)
"""What six agents were seen to differ in, from one run to the next, with the same decisions."""


class RecordedSession(WireModel):
    """The first line of a file."""

    version: Literal[1] = 1
    session: str
    blind_spots: tuple[BlindSpot, ...]


class RecordedExchange(WireModel):
    """A request and its answer; bodies are text, or base64 for binary content."""

    wire: WireKind
    method: str
    path: str
    query: str
    request_headers: tuple[tuple[str, str], ...]
    request_body: str
    status: Count | None
    """`None` if the provider did not answer."""
    response_headers: tuple[tuple[str, str], ...] = ()
    pieces: tuple[tuple[Number, str], ...] = ()
    """The body as it came: milliseconds since the request, and the bytes."""
    cut: bool
    encoding: Annotated[Literal["base64"] | None, OMITTABLE] = None
    withheld: Annotated[Literal[True] | None, OMITTABLE] = None
    """Whether the answer contained a secret and was not saved, nor was the request if it contained one in pieces."""

    def body(self) -> bytes:
        """Return the body of the request."""
        return self._decode(self.request_body)

    def response_pieces(self) -> list[bytes]:
        """Return the body of the answer, as it came."""
        return [self._decode(piece) for _, piece in self.pieces]

    def _decode(self, text: str) -> bytes:
        return b64decode(text) if self.encoding == "base64" else text.encode()


class ModelRecorder:
    """Writes the traffic of sessions into a folder; `wrap` each provider's upstream before it is given to a meter.

    What is recorded under a name is found again under that name. Keys of models are never written; other secrets of a
    session are named when it begins. The session of a cell that is run again takes the place of the earlier one.
    """

    def __init__(self, folder: Path, *, blind_spots: Sequence[BlindSpot] = BLIND_SPOTS) -> None:
        self._folder, self._blind_spots = folder, tuple(blind_spots)
        self._redactions: dict[str, Redaction] = {}
        self.problems: dict[str, OperationError] = {}
        """Why something is missing in a session's recording: the agent whose call it was is not to suffer from it."""

    def wrap(self, upstream: Upstream) -> "RecordingUpstream":
        """Return an upstream that writes down what passes through it."""
        return RecordingUpstream(upstream, self)

    def begin(self, session: str, *, secrets: Iterable[str] = (), keys: Iterable[str] = ()) -> None:
        """Begin the file of a session, instead of one that is there."""
        self._redactions[session] = Redaction.of(secrets, keys=keys)
        head = RecordedSession(version=1, session=session, blind_spots=self._blind_spots).with_all_keys()
        try:
            path = recording_path(self._folder, session)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(head.to_bytes() + b"\n")
        except OSError as error:
            raise self._explain(error) from error

    def _explain(self, error: OSError) -> OperationError:
        return OperationError(f"cannot record model traffic in {self._folder}: {error.strerror or error}")

    def write(
        self,
        request: UpstreamRequest,
        *,
        status: int | None = None,
        headers: Headers = (),
        pieces: Sequence[tuple[float, bytes]] = (),
        cut: bool,
    ) -> None:
        """Add an exchange to the file of its session."""
        if request.session_name not in self._redactions:
            self.begin(request.session_name)
        redaction = self._redactions[request.session_name]
        exchange = RecordedExchange(
            wire=request.wire,
            method=request.method,
            path=redaction.text(request.path),
            query=redaction.text(request.query),
            request_headers=_write_headers(request.headers, redaction),
            status=status,
            response_headers=_write_headers(headers, redaction),
            cut=cut,
            **_write_bodies(request.body, pieces, redaction),
        )
        try:
            with recording_path(self._folder, request.session_name).open("ab") as file:
                file.write(exchange.with_all_keys().to_bytes() + b"\n")
        except OSError as error:
            self.problems[request.session_name] = self._explain(error)


class RecordingUpstream:
    """Passes requests on, and writes them down with their answers."""

    def __init__(self, upstream: Upstream, recorder: ModelRecorder) -> None:
        self._upstream, self._recorder = upstream, recorder

    @contextmanager
    def session(self, name: str, *, secrets: Iterable[str] = (), keys: Iterable[str] = ()) -> Generator[None]:
        """Record a session; raise when it is over if something is missing in the recording."""
        with self._upstream.session(name, secrets=secrets, keys=keys):
            self._recorder.begin(name, secrets=secrets, keys=keys)
            yield
        if (problem := self._recorder.problems.pop(name, None)) is not None:
            raise problem

    async def send(self, request: UpstreamRequest) -> UpstreamAnswer:
        """Send a request on."""
        began = time.monotonic()
        try:
            answer = await self._upstream.send(request)
        except UpstreamLostError:
            self._recorder.write(request, cut=True)
            raise
        return _RecordedAnswer(answer, request, self._recorder, began)

    def close(self) -> None:
        """Close what is kept open."""
        self._upstream.close()


class _RecordedAnswer:
    def __init__(self, answer: UpstreamAnswer, request: UpstreamRequest, recorder: ModelRecorder, began: float) -> None:
        self._answer, self._request, self._recorder, self._began = answer, request, recorder, began
        self._pieces: list[tuple[float, bytes]] = []
        self._is_complete = self._is_written = False

    @property
    def status(self) -> int:
        return self._answer.status

    @property
    def headers(self) -> Headers:
        return self._answer.headers

    async def read(self) -> bytes:
        content = await self._answer.read()
        if content:
            self._pieces.append((round((time.monotonic() - self._began) * 1000, 1), content))
        else:
            self._is_complete = True
        return content

    def close(self) -> None:
        self._answer.close()
        if not self._is_written:
            self._is_written = True
            self._recorder.write(
                self._request, status=self.status, headers=self.headers, pieces=self._pieces, cut=not self._is_complete
            )


def record_traffic(provider: ModelProvider, directory: Path) -> ModelProvider:
    """Return a provider whose traffic is written down in the directory of a run."""
    return replace(provider, upstream=ModelRecorder(directory).wrap(provider.upstream))


def recording_name(cell: Cell) -> str:
    """Return the name of a cell's session in the directory of a run: its file is next to the trace."""
    return RunDirectory(Path()).session(cell).with_suffix("").as_posix()


def recording_path(folder: Path, session: str) -> Path:
    """Return the file of a session."""
    return folder / f"{session}{SUFFIX}"


def load_recording(folder: Path, session: str) -> tuple[RecordedSession, list[RecordedExchange]]:
    """Return what was recorded in a session; raise `InputError` if it is missing or unreadable."""
    path = recording_path(folder, session)
    try:
        first, *others = path.read_bytes().splitlines()
        head = RecordedSession.model_validate_json(first)
        return head, [RecordedExchange.model_validate_json(line) for line in others]
    except OSError as error:
        raise InputError(f"no model traffic of session {session!r} in {folder}: {error.strerror or error}") from error
    except (ValidationError, ValueError) as error:
        raise InputError(f"{path} is no recording of model traffic, or is damaged; record it again") from error


def _write_headers(headers: Headers, redaction: Redaction) -> tuple[tuple[str, str], ...]:
    decoded = ((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in headers)
    hidden = (*KEY_HEADERS, "cookie", "set-cookie")
    return tuple((name, redaction.text(value)) for name, value in decoded if name not in hidden)


def _write_bodies(body: bytes, pieces: Sequence[tuple[float, bytes]], redaction: Redaction) -> dict[str, Any]:
    whole = b"".join(content for _, content in pieces)
    try:
        request_text, answered = body.decode(), whole.decode()
    except UnicodeDecodeError:
        # Compressed by a provider although the request forbade it: it cannot be searched, so it is not saved.
        return {"request_body": b64encode(b"").decode(), "encoding": "base64", "withheld": True}
    if _spells_secret(body, redaction):
        return {"request_body": "", "withheld": True}
    bodies: dict[str, Any] = {"request_body": redaction.text(request_text)}
    if redaction.text(answered) != answered or _spells_secret(whole, redaction):
        return bodies | {"withheld": True}  # a decision with a hole in it is not the decision that was made
    return bodies | {"pieces": tuple(_as_texts(pieces))}


def _as_texts(pieces: Sequence[tuple[float, bytes]]) -> Iterator[tuple[float, str]]:
    """Yield pieces as texts; a character that was cut in two goes with its second half."""
    rest = b""
    for moment, content in pieces:
        rest += content
        end = len(rest)
        while end and end > len(rest) - 4:
            try:
                text = rest[:end].decode()
            except UnicodeDecodeError:
                end -= 1
                continue
            yield moment, text
            rest = rest[end:]
            break


def _spells_secret(body: bytes, redaction: Redaction) -> bool:
    """Return whether texts of a body hold a secret only together: models write a few characters in each event."""
    texts: dict[int, list[str]] = {}
    places: dict[tuple[int, str | int], int] = {}
    for document in _documents(body):
        for text, *at in _strings(document, places):
            clean = redaction.text(text)
            # Tool calls can be interleaved, and each comes in several parts.
            for place in set(at):
                texts.setdefault(place, []).append(clean)
    joined = ("".join(pieces) for pieces in texts.values() if len(pieces) > 1)
    return any(redaction.text(text) != text for text in joined)


def _documents(body: bytes) -> Iterator[JsonValue]:
    """Yield the JSON value that a body is, or those of its events if it is a stream."""
    events, lines = [body], list[bytes]()
    for line in (*body.splitlines(), b""):
        if line.startswith(b"data:"):
            lines.append(line[5:])
        elif not line:
            events.append(b"\n".join(lines))
            lines = []
    for each in events:
        try:
            yield cast("JsonValue", json.loads(each))  # pydantic's reader refuses half of a character
        except (ValueError, RecursionError):
            continue


def _strings(document: JsonValue, places: dict[tuple[int, str | int], int]) -> Iterator[tuple[str, int, int]]:
    """Yield each text with its place, and with that without numbers: positions in lists and what events call an index.

    A place is a number, which is in `places` by that of the place around it: a path would be as long as the nesting is
    deep, for each text. For the same reason this does not call itself.
    """

    def enter(place: int, step: str | int) -> int:
        return places.setdefault((place, step), len(places) + 1)

    rest = [(document, 0, 0)]
    while rest:
        value, place, kind = rest.pop()
        match value:
            case str():
                yield value, place, kind
            case dict():
                for key, each in value.items():
                    if key.endswith("index") and isinstance(each, int):
                        place = enter(place, each)
                rest += reversed([(each, enter(place, key), enter(kind, key)) for key, each in value.items()])
            case list():
                rest += reversed([(each, enter(place, position), kind) for position, each in enumerate(value)])
            case _:
                pass
