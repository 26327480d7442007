"""Bodies of issues, comments and reviews, in the representations that a media type asks for."""

from html import escape

from ghx_bench.twin.rest.answer import JsonObject
from ghx_bench.twin.rest.render.view import View


def text_body(view: View, body: str | None) -> JsonObject:
    """Render Markdown as `body` (raw, the default), `body_text`, `body_html` or all three (full)."""
    asked = view.media & {"text", "html", "full"}
    if not asked:
        return {"body": body}
    shown: JsonObject = {}
    if "full" in asked or "raw" in view.media:
        shown["body"] = body
    if asked & {"full", "text"}:
        shown["body_text"] = body or ""
    if asked & {"full", "html"}:
        shown["body_html"] = _paragraphs(body or "")
    return shown


def _paragraphs(text: str) -> str:
    """Return text as paragraphs of HTML; Markdown inside them stays as it was written."""
    parts = [part.strip() for part in text.replace("\r\n", "\n").split("\n\n")]
    return "\n".join(f'<p dir="auto">{escape(part)}</p>' for part in parts if part)
