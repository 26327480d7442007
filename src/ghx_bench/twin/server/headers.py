"""The headers that GitHub puts on every API answer."""

import hashlib

from ghx_bench.twin.server.hosting import Access
from ghx_bench.twin.server.rates import Allowance

_ALWAYS = {
    "server": "github.com",
    "x-github-media-type": "github.v3; format=json",
    "access-control-allow-origin": "*",
    "access-control-expose-headers": (
        "ETag, Link, Location, Retry-After, X-GitHub-Media-Type, X-GitHub-Request-Id, X-OAuth-Scopes, "
        "X-Accepted-OAuth-Scopes, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-RateLimit-Used, "
        "X-RateLimit-Resource"
    ),
    "vary": "Accept, Authorization, Cookie, Accept-Encoding",
    "x-content-type-options": "nosniff",
}


def api_headers(*, request_id: str, version: str | None) -> dict[str, str]:
    """Return what every answer carries, whoever asks."""
    headers = {**_ALWAYS, "x-github-request-id": request_id}
    if version:
        headers["x-github-api-version-selected"] = version
    return headers


def viewer_headers(access: Access, allowance: Allowance) -> dict[str, str]:
    """Return what an answer says about who asked: the token's scopes, and how much may still be asked."""
    return {
        "x-oauth-scopes": ", ".join(sorted(access.viewer.scopes)),
        "x-accepted-oauth-scopes": "",
        "x-ratelimit-limit": str(allowance.limit),
        "x-ratelimit-remaining": str(allowance.remaining),
        "x-ratelimit-used": str(allowance.used),
        "x-ratelimit-reset": str(allowance.reset),
        "x-ratelimit-resource": allowance.resource,
    }


def entity_tag(content: bytes) -> str:
    """Return the weak validator of an answer's content."""
    return f'W/"{hashlib.sha256(content).hexdigest()}"'


def is_fresh(tag: str, if_none_match: str | None) -> bool:
    """Tell whether the client already has the answer with this tag."""
    if not if_none_match:
        return False
    held = {part.strip().removeprefix("W/") for part in if_none_match.split(",")}
    return "*" in held or tag.removeprefix("W/") in held
