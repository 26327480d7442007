"""GitHub Apps: who a credential of theirs stands for, and what it may do."""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, cast

from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.state.records import App, Installation, Repository, Token
from ghx_twin.viewer import AppAccess
from ghx_twin.world import World

_LONGEST_S = 600  # that an app may ask for in advance
_PARTS = 3
_UNDECODABLE = "A JSON web token could not be decoded"


class JsonWebTokenError(ValueError):
    """A token that an app signed is not acceptable; the message is GitHub's."""


def is_json_web_token(token: str) -> bool:
    """Return whether a credential looks like a token that an app signs itself."""
    return token.count(".") == _PARTS - 1 and token.startswith("eyJ")


def issuer_of(token: str) -> str | None:
    """Return who a token says has signed it, which nobody has checked yet."""
    claims = _decode(token.split(".")[1])
    issuer = claims.get("iss") if claims else None
    return str(issuer) if isinstance(issuer, str | int) else None


def find_app(world: World, issuer: str) -> App | None:
    """Return an app by its id or its client id."""
    app = world.database.one(App, client_id=issuer)
    return app or (world.database.get(App, int(issuer)) if issuer.isascii() and issuer.isdigit() else None)


def check_json_web_token(app: App, token: str, now_s: float) -> None:
    """Raise `JsonWebTokenError` for a token that the app has not signed, or that is not valid now."""
    head, body, signature = token.split(".")
    header, claims = _decode(head), _decode(body)
    if not header or not claims or header.get("alg") != "RS256" or app.public_key is None:
        raise JsonWebTokenError(_UNDECODABLE)
    try:
        is_signed = _is_signed(app.public_key, f"{head}.{body}".encode(), _unpad(signature))
    except (binascii.Error, ValueError):
        is_signed = False
    if not is_signed:
        raise JsonWebTokenError(_UNDECODABLE)
    expires = claims.get("exp")
    if not isinstance(expires, int | float) or isinstance(expires, bool) or expires <= now_s:
        raise JsonWebTokenError(
            "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the "
            "assertion expires"
        )
    if expires > now_s + _LONGEST_S:
        raise JsonWebTokenError("'Expiration time' claim ('exp') is too far in the future")


def app_access(world: World, token: Token) -> AppAccess | None:
    """Return what a token of an installation may do; None for a person's token."""
    installation = world.database.get(Installation, token.installation_id)
    if installation is None:
        return None
    return AppAccess(
        app_id=installation.app_id,
        installation_id=installation.id,
        account_id=installation.account_id,
        permissions=installation.permissions if token.permissions is None else token.permissions,
        repository_ids=None if token.repository_ids is None else frozenset(token.repository_ids),
        token=token.token,
    )


def installation_repositories(world: World, access: AppAccess) -> list[Repository]:
    """Return the repositories that a token of an installation is for, oldest first."""
    owned = world.database.all(Repository, owner_id=access.account_id)
    return [one for one in owned if access.reaches(one)]


def installation_of(world: World, app_id: int, identity: int) -> Installation:
    """Return an installation of an app by its database id."""
    installation = world.database.one(Installation, app_id=app_id, id=identity)
    if installation is None:
        raise NotFoundRefusal(f"Could not resolve to an Installation with the id of {identity}.")
    return installation


def app_of_bot(world: World, user_id: int | None) -> App | None:
    """Return the app that a bot belongs to."""
    return None if user_id is None else world.database.one(App, user_id=user_id)


def is_public_key(pem: str) -> bool:
    """Return whether a text is an RSA public key in PEM."""
    # Imported where it is needed: it takes long, and few worlds have an app that signs.
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - slow, and seldom needed
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey  # noqa: PLC0415 - the same
    from cryptography.hazmat.primitives.serialization import load_pem_public_key  # noqa: PLC0415 - the same

    try:
        return isinstance(load_pem_public_key(pem.encode()), RSAPublicKey)
    except (ValueError, UnsupportedAlgorithm):
        return False


def _is_signed(pem: str, content: bytes, signature: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - slow, and seldom needed
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415 - the same
    from cryptography.hazmat.primitives.asymmetric import padding  # noqa: PLC0415 - the same
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey  # noqa: PLC0415 - the same
    from cryptography.hazmat.primitives.serialization import load_pem_public_key  # noqa: PLC0415 - the same

    key = load_pem_public_key(pem.encode())
    assert isinstance(key, RSAPublicKey)  # noqa: S101 - checked when the app was made
    try:
        key.verify(signature, content, padding.PKCS1v15(), hashes.SHA256())
    except InvalidSignature:
        return False
    return True


def _decode(part: str) -> Mapping[str, Any] | None:
    try:
        content = json.loads(_unpad(part))
    except (binascii.Error, ValueError, RecursionError):
        return None
    return cast("Mapping[str, Any]", content) if isinstance(content, dict) else None


def _unpad(part: str) -> bytes:
    return base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
