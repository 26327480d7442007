"""What the Accept header asks for."""

from ghx_bench.twin.refusals import Refusal

_ANYTHING = {"*/*", "application/*", "application/json", "text/*"}


class UnsupportedMediaRefusal(Refusal):
    """The client accepts nothing that GitHub's API sends."""

    code = "UNSUPPORTED_MEDIA"
    status = 415


def media_parameters(accept: str) -> frozenset[str]:
    """Return the parameters of GitHub's media types in an Accept header: `raw`, `diff`, `text-match`, ...

    Versions and suffixes are among them; what GitHub does not know is left out, as GitHub does.
    """
    found: set[str] = set()
    for part in accept.split(","):
        kind = part.split(";")[0].strip().lower()
        if kind.startswith("application/vnd.github"):
            found.update(kind.removeprefix("application/vnd.github").replace("+", ".").split("."))
    return frozenset(found - {""})


def check_accept(accept: str) -> None:
    """Refuse a client that would not take JSON nor any media type of GitHub's."""
    kinds = [part.split(";")[0].strip().lower() for part in accept.split(",") if part.strip()]
    if not kinds or any(kind in _ANYTHING or kind.startswith("application/vnd.github") for kind in kinds):
        return
    raise UnsupportedMediaRefusal(f"Unsupported 'Accept' header: {kinds}. Must accept 'application/json'.")
