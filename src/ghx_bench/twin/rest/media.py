"""What the Accept header asks for."""

from ghx_bench.twin.refusals import NotImplementedRefusal, Refusal

_ANYTHING = {"*/*", "application/*", "application/json", "text/*"}
_WRITTEN = frozenset({"issues", "pulls", "comments", "reviews", "timeline", "contents", "readme", "license"})


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


def check_representation(media: frozenset[str], template: str) -> None:
    """Refuse to show what people wrote as HTML or as the text of it: that takes GitHub's Markdown."""
    asked = sorted(media & {"full", "html", "text"})
    if asked and any(segment in _WRITTEN for segment in template.split("/")):
        raise NotImplementedRefusal(f"application/vnd.github.{asked[0]}+json is not implemented by the twin.")


def check_accept(accept: str) -> None:
    """Refuse a client that would not take JSON nor any media type of GitHub's."""
    kinds = [part.split(";")[0].strip().lower() for part in accept.split(",") if part.strip()]
    if not kinds or any(kind in _ANYTHING or kind.startswith("application/vnd.github") for kind in kinds):
        return
    raise UnsupportedMediaRefusal(f"Unsupported 'Accept' header: {kinds}. Must accept 'application/json'.")
