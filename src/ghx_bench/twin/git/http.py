"""Git's smart HTTP protocol for one repository that the client may use; who may is decided before."""

import io
import os
import signal
import tempfile
import zlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from subprocess import DEVNULL, PIPE, CompletedProcess
from typing import BinaryIO

import anyio
from anyio.abc import Process

from ghx_bench.twin.git import program, receiving
from ghx_bench.twin.git.errors import GitError
from ghx_bench.twin.git.objects import RefUpdate
from ghx_bench.twin.git.packets import FLUSH, GitProtocolError, packet
from ghx_bench.twin.git.receiving import RefRule, Rules
from ghx_bench.twin.git.repository import GitRepository

__all__ = ["Answer", "Download", "PushAnswer", "RefRule", "Rules", "info_refs", "receive_pack", "upload_pack"]

LARGEST_QUESTION = 64 << 20  # bytes of what a client has and wants
LARGEST_PUSH = 2 << 30  # bytes, as on GitHub
_PIECE = 1 << 20
_SERVICES = {"git-upload-pack": "upload-pack", "git-receive-pack": "receive-pack"}
_NEVER_STORED = {
    "Expires": "Fri, 01 Jan 1980 00:00:00 GMT",
    "Pragma": "no-cache",
    "Cache-Control": "no-cache, max-age=0, must-revalidate",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An HTTP answer."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """An HTTP answer that is sent while git makes it; git ends when the iterator is closed or collected."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: AsyncIterator[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class PushAnswer(Answer):
    """An HTTP answer to a push, with the refs that it moved."""

    updates: tuple[RefUpdate, ...] = ()


async def info_refs(repository: GitRepository, service: str, protocol: str | None = None) -> Answer:
    """Answer `GET info/refs?service=...`: what the repository has and what the server can do."""
    name = _SERVICES.get(service)
    if name is None:
        return Answer(status=403, headers=_plain(), body=b"Please upgrade your git client.\n")
    options = (name, "--stateless-rpc", "--advertise-refs", str(repository.path))
    done = await _run(repository, options, environment=_spoken(protocol))
    if done.returncode:
        raise GitError(f"git {name} failed: {_last_line(done.stderr)}")
    announced = packet(b"# service=%b\n" % service.encode()) + FLUSH
    return Answer(headers=_typed(f"application/x-{service}-advertisement"), body=announced + done.stdout)


async def upload_pack(
    repository: GitRepository, body: AsyncIterator[bytes], protocol: str | None = None, *, gzip: bool = False
) -> Download:
    """Answer `POST git-upload-pack`: a fetch or clone, sent while git packs it."""
    question = io.BytesIO()
    try:
        await _store(body, question, gzip=gzip, largest=LARGEST_QUESTION)
    except GitProtocolError as error:
        return Download(status=400, headers=_plain(), body=_once(f"{error}\n".encode()))
    headers = _typed("application/x-git-upload-pack-result")
    return Download(headers=headers, body=_packed(repository, question.getvalue(), protocol))


async def receive_pack(
    repository: GitRepository,
    body: AsyncIterator[bytes],
    protocol: str | None = None,
    *,
    gzip: bool = False,
    rules: Rules = lambda _: RefRule(),
    gate: AbstractAsyncContextManager[object] | None = None,
    record: Callable[[Sequence[RefUpdate]], None] = lambda _: None,
) -> PushAnswer:
    """Answer `POST git-receive-pack`: a push.

    The request goes to a file first, so a client that leaves midway has started nothing, and a slow one keeps nobody
    waiting. Then the push passes the `gate` and is seen through even if the caller is cancelled: nothing is awaited
    between the move of the refs and the call of `record` with them.
    """
    with tempfile.TemporaryFile(dir=repository.path, buffering=0) as request:
        try:
            await _store(body, request, gzip=gzip, largest=LARGEST_PUSH)
            push = receiving.read_push(request)
        except GitProtocolError as error:
            return PushAnswer(status=400, headers=_plain(), body=f"{error}\n".encode())
        async with gate or nullcontext():
            judgement = receiving.judged(push, repository.head(), rules)
            done: CompletedProcess[bytes] | None = None
            with anyio.CancelScope(shield=True):
                done = await _receive(repository, request, judgement, protocol)
            if done is None or (done.returncode and not done.stdout):
                reason = _last_line(done.stderr if done else b"")
                return PushAnswer(status=400, headers=_plain(), body=f"{reason}\n".encode())
            said, updates = receiving.answered(push, judgement, done.stdout)
            if updates:
                record(updates)
    return PushAnswer(headers=_typed("application/x-git-receive-pack-result"), body=said, updates=updates)


async def _receive(
    repository: GitRepository, request: BinaryIO, judgement: receiving.Judgement, protocol: str | None
) -> CompletedProcess[bytes]:
    service = ("receive-pack", "--stateless-rpc", str(repository.path))
    if not judgement.hook_lines:
        return await _run(repository, service, environment=_spoken(protocol), stdin=request)
    with tempfile.NamedTemporaryFile("w+", encoding="utf-8") as rules:
        rules.writelines(judgement.hook_lines)
        rules.flush()
        environment = {**_spoken(protocol), "GHX_TWIN_RULES": rules.name}
        options = ("-c", f"core.hooksPath={program.hooks()}", *service)
        done = await _run(repository, options, environment=environment, stdin=request)
        rules.seek(0)
        judgement.learn(rules.read())
        return done


async def _run(
    repository: GitRepository,
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str],
    stdin: BinaryIO | int = DEVNULL,
) -> CompletedProcess[bytes]:
    try:
        return await anyio.run_process(
            program.command(repository.path, arguments, durable=repository.durable),
            stdin=stdin,
            check=False,
            cwd=repository.path,
            env=program.environment(environment),
        )
    except FileNotFoundError:
        raise program.NoGitError from None


async def _packed(repository: GitRepository, question: bytes, protocol: str | None) -> AsyncIterator[bytes]:
    """Yield what `git upload-pack` answers, and leave no process behind however this ends."""
    with tempfile.TemporaryFile(buffering=0) as request:
        request.write(question)
        request.seek(0)
        process = await _upload(repository, request, protocol)
    try:
        answered = False
        assert process.stdout is not None  # noqa: S101 - it was asked for
        async for piece in process.stdout:
            answered = True
            yield piece
        if await process.wait() and not answered:
            yield packet(b"ERR the request is none that git can answer\n")
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        with anyio.CancelScope(shield=True):
            await process.aclose()


async def _upload(repository: GitRepository, request: BinaryIO, protocol: str | None) -> Process:
    arguments = ("upload-pack", "--stateless-rpc", str(repository.path))
    try:
        return await anyio.open_process(
            program.command(repository.path, arguments, durable=repository.durable),
            stdin=request,
            stdout=PIPE,
            stderr=DEVNULL,
            cwd=repository.path,
            env=program.environment(_spoken(protocol)),
            start_new_session=True,  # so that the processes git starts can be ended with it
        )
    except FileNotFoundError:
        raise program.NoGitError from None


class _Gunzip:
    """Unpacks a request piece by piece, never more than `largest` bytes of it."""

    def __init__(self, file: BinaryIO, largest: int) -> None:
        self._file, self._largest = file, largest
        self._stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)

    def write(self, chunk: bytes) -> None:
        while chunk and self._file.tell() <= self._largest:
            try:
                self._file.write(self._stream.decompress(chunk, _PIECE))
            except zlib.error:
                raise GitProtocolError("the request says it is gzip and is not") from None
            chunk = self._stream.unconsumed_tail

    def close(self) -> None:
        if not self._stream.eof:
            raise GitProtocolError("the request is not complete: its gzip stream does not end")


async def _store(body: AsyncIterator[bytes], file: BinaryIO, *, gzip: bool, largest: int) -> None:
    """Write a request to a file, unpacked, and go to its start."""
    unpacking = _Gunzip(file, largest) if gzip else None
    async for chunk in body:
        (unpacking or file).write(chunk)
        if file.tell() > largest:
            raise GitProtocolError(f"the request has more than {largest >> 20} MiB")
    if unpacking is not None:
        unpacking.close()
    file.seek(0)


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content


def _spoken(protocol: str | None) -> dict[str, str]:
    """Return the environment that tells git which version of the protocol the client speaks."""
    return {"GIT_PROTOCOL": protocol} if protocol and protocol.isascii() and protocol.isprintable() else {}


def _typed(media_type: str) -> dict[str, str]:
    return {"Content-Type": media_type, **_NEVER_STORED}


def _plain() -> dict[str, str]:
    return _typed("text/plain; charset=utf-8")


def _last_line(stderr: bytes) -> str:
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "no reason given"
