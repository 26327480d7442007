"""An installation of a GitHub App as the source of tokens: the app signs a request, and gets a token for an hour."""

import base64
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ghx_base.errors import InputError

_BACKDATED_S = 60  # GitHub's clock may be behind ours
_LIFETIME_S = 540  # GitHub takes ten minutes at most
_RENEWED_BEFORE_S = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class AppInstallation:
    """Which app to act for, and where: `app_id` is its id or its client id."""

    app_id: str
    private_key_file: Path
    installation_id: int

    def sign(self, now: datetime) -> str:
        """Return a JSON web token (RS256) for a few minutes; raise `InputError` for a key that is none."""
        # Slow, and most clients have a token.
        from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
        from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric import padding  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey  # noqa: PLC0415
        from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

        try:
            key = load_pem_private_key(self.private_key_file.read_bytes(), password=None)
        except OSError as error:
            raise InputError(f"cannot read the app's private key {self.private_key_file}: {error.strerror}") from None
        except (ValueError, TypeError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, RSAPrivateKey):
            raise InputError(
                f"{self.private_key_file} is no RSA private key in PEM; download it from the app's settings"
            )
        seconds = int(now.timestamp())
        claims = {"iat": seconds - _BACKDATED_S, "exp": seconds + _LIFETIME_S, "iss": self.app_id}
        signed = f"{_encode({'alg': 'RS256', 'typ': 'JWT'})}.{_encode(claims)}"
        signature = key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{_without_padding(signature)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallationToken:
    """A token that acts for an installation, and when it ends."""

    token: str
    expires_at: datetime

    def is_fresh(self, now: datetime) -> bool:
        """Return whether it lasts long enough for another request with all its retries."""
        return (self.expires_at - now).total_seconds() > _RENEWED_BEFORE_S


def _encode(part: object) -> str:
    return _without_padding(json.dumps(part, separators=(",", ":")).encode())


def _without_padding(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
