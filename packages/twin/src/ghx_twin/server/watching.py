"""What a watched user writes on GitHub, pushes and is answered, as it is looked through."""

from collections.abc import Sequence
from urllib.parse import unquote

import anyio.to_thread

from ghx_twin.git.objects import RefUpdate
from ghx_twin.git.repository import GitRepository
from ghx_twin.reply import Reply
from ghx_twin.server.exchange import Exchange
from ghx_twin.server.hosting import Access
from ghx_twin.server.injected_faults import is_reading
from ghx_twin.watch import SentWatch

_BAD = 400
_LONG = 256 * 1024


async def watch_request(exchange: Exchange, access: Access, body: bytes, reply: Reply) -> None:
    """Look through a request that writes, in a thread where that takes long; what GitHub refuses has told nobody."""
    watch, request = access.hosted.world.watch, exchange.request
    if watch is None or access.viewer.user.login != watch.login:
        return
    if is_reading(exchange.surface, request.method, reply.operation) or not _has_arrived(exchange, reply):
        return
    path = unquote(request.path)
    where = reply.operation if exchange.surface == "graphql" else f"{request.method} {path}"
    parts = (request.path, request.query, body)
    if len(body) > _LONG:
        await anyio.to_thread.run_sync(lambda: watch.look(where, *parts))
    else:
        watch.look(where, *parts)


async def watch_answer(exchange: Exchange, reply: Reply) -> None:
    """Look through what is answered to a user, in a thread where that takes long."""
    if exchange.access is None or (watch := exchange.access.hosted.world.answer_watch) is None:
        return
    # Without a token, as for a signed address, it is the watched user as well: anyone who looks on has a name.
    if exchange.access.viewer.user.login not in ("", watch.login) or watch.has_sent_all_texts:
        return
    if exchange.surface == "git":
        is_fetch = is_reading("git", exchange.request.method, reply.operation) and reply.status < _BAD
        watch.has_sent_objects = watch.has_sent_objects or is_fetch
    elif reply.reset is None and exchange.request.method != "HEAD" and reply.content:
        if len(reply.content) > _LONG:
            await anyio.to_thread.run_sync(watch.look, reply.content)
        else:
            watch.look(reply.content)


def _has_arrived(exchange: Exchange, reply: Reply) -> bool:
    """Return whether others could read what was sent; what only the twin lacks, or a fault keeps back, counts as if."""
    is_refused = reply.status >= _BAD or reply.failed
    return not is_refused or reply.changed or bool(reply.not_implemented) or exchange.fault is not None


def watch_push(watch: SentWatch, name: str, git: GitRepository, updates: Sequence[RefUpdate]) -> None:
    """Look through what a push has brought into a repository: names of refs, commits, and files."""
    for update in updates:
        watch.look(f"git push to {name} {update.ref}", update.ref)
    for text in git.pushed_texts(updates):
        watch.look(f"git push to {name}", text)
