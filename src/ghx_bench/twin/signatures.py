"""Addresses that open one file without credentials, for a minute, as those of GitHub's storage do."""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlencode

LIFETIME_S = 60
_METHOD = "HMACV1"
_EXPIRY, _SIGNING_METHOD, _SIGNATURE = "urlExpires", "urlSigningMethod", "urlSignature"


class Signatures:
    """Signs paths with a key that no other world has, so that a signature also says which world it is of."""

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
        given = {name: values[-1] for name, values in parse_qs(query).items()}
        expiry, signature = given.get(_EXPIRY, ""), given.get(_SIGNATURE, "")
        # Compared before the time is read: of a text that was not signed here nothing is parsed.
        if not hmac.compare_digest(self._signature(path, expiry).encode(), signature.encode()):
            return False
        return self._wall() < datetime.fromisoformat(expiry).timestamp()

    def _signature(self, path: str, expiry: str) -> str:
        return hmac.new(self._key, f"{path}\n{expiry}".encode(), hashlib.sha256).hexdigest()
