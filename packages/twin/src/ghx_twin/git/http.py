"""Git's smart HTTP protocol for one repository; the caller has checked that the client may use it."""

import io
import os
import signal
import tempfile
import zlib
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from subprocess import DEVNULL, PIPE, CompletedProcess
from typing import BinaryIO

import anyio
from anyio.abc import Process

from ghx_twin.git import program, receiving
from ghx_twin.git.errors import GitError
from ghx_twin.git.objects import RefUpdate
from ghx_twin.git.packets import FLUSH, PROGRESS, GitProtocolError, pack_band, packet
from ghx_twin.git.receiving import RefRule, Rules
from ghx_twin.git.repository import GitRepository
from ghx_twin.reply import Reply

LARGEST_QUESTION = 64 << 20  # bytes of what a client has and wants
LARGEST_PUSH = 2 << 30  # bytes, as on GitHub
_PIECE = 1 << 20
_SERVICES = {"git-upload-pack": "upload-pack", "git-receive-pack": "receive-pack"}
_TEXT = "text/plain; charset=utf-8"
_NEVER_STORED = {  # as git-http-backend sends them
    "Expires": "Fri, 01 Jan 1980 00:00:00 GMT",
    "Pragma": "no-cache",
    "Cache-Control": "no-cache, max-age=0, must-revalidate",
}


async def info_refs(repository: GitRepository, service: str, protocol: str | None = None) -> Reply:
    """Return the reply to `GET info/refs?service=...`: what the repository has and what the server can do."""
    name = _SERVICES.get(service)
    if name is None:
        return _reply(_TEXT, b"Please upgrade your git client.\n", status=403)
    options = (name, "--stateless-rpc", "--advertise-refs", str(repository.path))
    done = await _run(repository, options, environment=_protocol_environment(protocol))
    if done.returncode:
        raise GitError(f"git {name} failed: {_last_line(done.stderr)}")
    announced = packet(b"# service=%b\n" % service.encode()) + FLUSH
    return _reply(f"application/x-{service}-advertisement", announced + done.stdout)


async def upload_pack(
    repository: GitRepository, body: AsyncIterator[bytes], protocol: str | None = None, *, gzip: bool = False
) -> Reply:
    """Return the reply to `POST git-upload-pack`, a fetch or clone, whose `stream` is sent while git packs it.

    git ends when the stream is closed or collected.
    """
    question = io.BytesIO()
    try:
        await _store(body, question, gzip=gzip, largest=LARGEST_QUESTION)
    except GitProtocolError as error:
        return _reply(_TEXT, f"{error}\n".encode(), status=400)
    reply = _reply("application/x-git-upload-pack-result")
    reply.stream = _stream_pack(repository, question.getvalue(), protocol)
    return reply


async def receive_pack(
    repository: GitRepository,
    body: AsyncIterator[bytes],
    protocol: str | None = None,
    *,
    gzip: bool = False,
    record: Callable[[Collection[str]], Sequence[RefUpdate]],
    rules: Rules = lambda _: RefRule(),
    inspect: Callable[[RefUpdate], Sequence[str]] = lambda _: (),
    lock: AbstractAsyncContextManager[object] | None = None,
    describe: Callable[[Sequence[RefUpdate]], str] = lambda _: "",
) -> Reply:
    """Return the reply to `POST git-receive-pack`, a push.

    The request goes to a file first, so a client that leaves midway has started nothing, and a slow one does not hold
    the `lock`. The push itself is completed even if the caller is cancelled: nothing is awaited between the move of the
    refs and the call of `record` with their names, which accepts and returns those that have moved. What `describe`
    says of them is shown to the client. Before that `inspect` looks at each ref that git has moved, whose commits are
    there now: one that it has lines for is moved back and refused with them.
    """
    with tempfile.TemporaryFile(dir=repository.path, buffering=0) as request:
        try:
            await _store(body, request, gzip=gzip, largest=LARGEST_PUSH)
            push = receiving.read_push(request)
        except GitProtocolError as error:
            return _reply(_TEXT, f"{error}\n".encode(), status=400)
        async with lock or nullcontext():
            decisions = receiving.decide(push, repository.head(), rules)
            names = tuple(dict.fromkeys(update.ref for update in push.updates))
            done: CompletedProcess[bytes] | None = None
            with repository.pushing(names):
                with anyio.CancelScope(shield=True):
                    done = await _receive(repository, request, decisions, protocol)
                # Read from the refs and not from git's report, which comes only if the client asks for one.
                decisions.inspect(push, repository.pushed_refs(names), inspect)
                updates = record([name for name in names if name not in decisions.reverted])
            if done is None or (done.returncode and not done.stdout):
                reason = _last_line(done.stderr if done else b"")
                return _reply(_TEXT, f"{reason}\n".encode(), status=400)
            report = receiving.reword_report(push, decisions, done.stdout)
            if updates and push.has_bands:
                report = pack_band(PROGRESS, describe(updates).encode()) + report
    reply = _reply("application/x-git-receive-pack-result", report)
    reply.changed = bool(updates)
    return reply


async def _receive(
    repository: GitRepository, request: BinaryIO, decisions: receiving.Decisions, protocol: str | None
) -> CompletedProcess[bytes]:
    service = ("receive-pack", "--stateless-rpc", str(repository.path))
    if not decisions.hook_lines:  # the common push: no hook to start
        return await _run(repository, service, environment=_protocol_environment(protocol), stdin=request)
    with tempfile.NamedTemporaryFile("w+", encoding="utf-8") as rules:
        rules.writelines(decisions.hook_lines)
        rules.flush()
        environment = {**_protocol_environment(protocol), "GHX_TWIN_RULES": rules.name}
        options = ("-c", f"core.hooksPath={program.hooks()}", *service)
        done = await _run(repository, options, environment=environment, stdin=request)
        rules.seek(0)  # the hook has written into it which workflows it found
        decisions.read_hook_notes(rules.read())
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


async def _stream_pack(repository: GitRepository, question: bytes, protocol: str | None) -> AsyncIterator[bytes]:
    """Yield what `git upload-pack` answers; its processes end with this generator, however that ends."""
    with tempfile.TemporaryFile(buffering=0) as request:
        request.write(question)
        request.seek(0)
        process = await _upload(repository, request, protocol)
    try:
        answered = False
        assert process.stdout is not None  # noqa: S101 - it was requested
        async for piece in process.stdout:
            answered = True
            yield piece
        # Once something was sent the status is 200; only an empty answer can still become git's own error.
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
            env=program.environment(_protocol_environment(protocol)),
            start_new_session=True,  # so that the processes git starts can be ended with it
        )
    except FileNotFoundError:
        raise program.NoGitError from None


class _Gunzip:
    """Unpacks a request piece by piece, at most `largest` bytes of it: a few KB of gzip can hold gigabytes."""

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


def _protocol_environment(protocol: str | None) -> dict[str, str]:
    """Return the environment that tells git which version of the protocol the client speaks."""
    return {"GIT_PROTOCOL": protocol} if protocol and protocol.isascii() and protocol.isprintable() else {}


def _reply(media_type: str, content: bytes = b"", *, status: int = 200) -> Reply:
    return Reply(status=status, media_type=media_type, headers=dict(_NEVER_STORED), content=content)


def _last_line(stderr: bytes) -> str:
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "no reason given"
