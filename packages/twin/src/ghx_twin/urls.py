"""The addresses an answer may name, built from the host that was asked.

Clients follow `jobs_url` and `upload_url` literally and some insist that every address is on their own base host, so no
address is ever fixed: github.com gets github.com's, a loopback port gets its own.
"""

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Literal
from urllib.parse import parse_qs, urlencode

# "any": a host of ours, where the path alone decides; "none": a host of GitHub's that has nothing here
HostKind = Literal["api", "uploads", "downloads", "web", "raw", "codeload", "none", "any"]
GITHUB_HOSTS = (
    "github.com",
    "www.github.com",
    "api.github.com",
    "uploads.github.com",
    "codeload.github.com",
    "raw.githubusercontent.com",
    "pipelines.actions.githubusercontent.com",
    "gist.github.com",
)
"""The names under which clients find the twin through its proxy."""
_GITHUB = ("github.com", "github.localhost")
_OWN_HOST = re.compile(
    r"(127(\.\d{1,3}){3}|\[::1\]|([\w-]+\.)*(localhost|github\.com|githubusercontent\.com))(:\d{1,5})?", re.ASCII
)
_PREFIXED: dict[str, HostKind] = {
    "/api/uploads": "uploads", "/downloads": "downloads", "/raw": "raw", "/codeload": "codeload",
}  # fmt: skip
LIFETIME_S = 60  # of a signed address
_METHOD = "HMACV1"
_EXPIRY, _SIGNING_METHOD, _SIGNATURE = "urlExpires", "urlSigningMethod", "urlSignature"


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseUrls:
    """The base addresses of GitHub's parts, as this client sees them; none ends in a slash."""

    api: str
    html: str
    graphql: str
    uploads: str
    downloads: str  # by signed addresses, without credentials
    raw: str
    codeload: str


GITHUB_URLS = BaseUrls(
    api="https://api.github.com",
    html="https://github.com",
    graphql="https://api.github.com/graphql",
    uploads="https://uploads.github.com",
    downloads="https://pipelines.actions.githubusercontent.com",
    raw="https://raw.githubusercontent.com",
    codeload="https://codeload.github.com",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The part of GitHub that a request addresses, and the addresses to name in the answer."""

    host_kind: HostKind
    prefix: str  # what was cut off the path: "", "/api/v3", "/api/uploads"
    urls: BaseUrls


def is_own_host(host: str) -> bool:
    """Return whether a Host header names this machine or GitHub; a page of any other host has no business here.

    The owner of a domain can have its name resolve to 127.0.0.1 (DNS rebinding), and a browser then lets the pages of
    that domain read what a server on this machine answers.
    """
    return _OWN_HOST.fullmatch(host.lower()) is not None


def covers_github(host: str) -> bool:
    """Return whether clients that go to a host by themselves, as NO_PROXY understands it, would find GitHub there."""
    domain = host.lower().lstrip(".")
    return any(each == domain or each.endswith(f".{domain}") for each in GITHUB_HOSTS)


def find_endpoint(host: str, scheme: str, path: str) -> Endpoint:
    """Return the part of GitHub that the Host header and the path address."""
    return _github_endpoints().get(host.lower()) or _own_host_endpoint(f"{scheme}://{host}", path)


@cache
def _github_endpoints() -> dict[str, Endpoint]:
    kinds: dict[str, HostKind] = {
        "": "web", "www.": "web", "api.": "api", "uploads.": "uploads", "downloads.": "downloads",
        "codeload.": "codeload",
    }  # fmt: skip
    others: dict[str, HostKind] = {
        "raw.githubusercontent.com": "raw",
        "pipelines.actions.githubusercontent.com": "downloads",
    }
    return {
        **{name: Endpoint(host_kind=others.get(name, "none"), prefix="", urls=GITHUB_URLS) for name in GITHUB_HOSTS},
        **{
            f"{start}{base}": Endpoint(host_kind=kind, prefix="", urls=_github_urls(base))
            for base in _GITHUB
            for start, kind in kinds.items()
        },
    }


def _github_urls(base: str) -> BaseUrls:
    if base == "github.com":
        return GITHUB_URLS
    return BaseUrls(
        api=f"http://api.{base}",
        html=f"http://{base}",
        graphql=f"http://api.{base}/graphql",
        uploads=f"http://uploads.{base}",
        downloads=f"http://downloads.{base}",
        raw=f"http://raw.{base}",
        codeload=f"http://codeload.{base}",
    )


def _own_host_endpoint(root: str, path: str) -> Endpoint:
    prefixes = ("/api/v3", *_PREFIXED)
    prefix = next((each for each in prefixes if path == each or path.startswith(each + "/")), "")
    enterprise = path.startswith("/api/")
    urls = BaseUrls(
        api=f"{root}/api/v3" if enterprise else root,
        html=root,
        graphql=f"{root}/api/graphql" if enterprise else f"{root}/graphql",
        uploads=f"{root}/api/uploads",
        downloads=f"{root}/downloads",
        raw=f"{root}/raw",
        codeload=f"{root}/codeload",
    )
    return Endpoint(host_kind=_PREFIXED.get(prefix, "any"), prefix=prefix, urls=urls)


class Signatures:
    """Makes addresses that open one file without credentials for a minute, as those of GitHub's storage do.

    Signed with a key that no other world has, so that a signature also says which world it is of.
    """

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self._key = secrets.token_bytes(32)
        self._wall = wall  # the real time also where the world's clock ticks: clients follow a redirect at once

    def sign(self, path: str) -> str:
        """Return a path with the query that opens it for a minute."""
        expiry = datetime.fromtimestamp(self._wall() + LIFETIME_S, UTC).isoformat(timespec="seconds")
        query = {_EXPIRY: expiry, _SIGNING_METHOD: _METHOD, _SIGNATURE: self._signature(path, expiry)}
        return f"{path}?{urlencode(query)}"

    def opens(self, path: str, query: str) -> bool:
        """Return whether a query opens a path: signed here, and less than a minute ago."""
        parameters = {name: values[-1] for name, values in parse_qs(query).items()}
        expiry, signature = parameters.get(_EXPIRY, ""), parameters.get(_SIGNATURE, "")
        # Compared before the time is read: of a text that was not signed here nothing is parsed.
        if not hmac.compare_digest(self._signature(path, expiry).encode(), signature.encode()):
            return False
        return self._wall() < datetime.fromisoformat(expiry).timestamp()

    def _signature(self, path: str, expiry: str) -> str:
        return hmac.new(self._key, f"{path}\n{expiry}".encode(), hashlib.sha256).hexdigest()
