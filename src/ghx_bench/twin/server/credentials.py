"""The token in an Authorization header, in every scheme that GitHub's clients use."""

import base64


def token_of(authorization: str | None) -> str | None:
    """Return the token of `token T`, `Bearer T` or Basic credentials (git: any user name, or the token as the name)."""
    if not authorization:
        return None
    scheme, _, rest = authorization.strip().partition(" ")
    match scheme.lower():
        case "token" | "bearer":
            return rest.strip() or None
        case "basic":
            return _basic(rest.strip())
        case _:
            return None


def _basic(encoded: str) -> str | None:
    try:
        name, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except ValueError:  # no base64, or not of a text
        return None
    return (name if password in {"", "x-oauth-basic"} else password) or None
