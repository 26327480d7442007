"""Agents' words made harmless: what a model wrote is shown, never run, whatever the file it ends up in."""

import html
import json
import re
import unicodedata

_CONTROL = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_KEPT = frozenset("\n\t")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$])")
_CODE = re.compile(r"(?<!`)`[^`]+`(?!`)")
_PLACE = "\ue000"  # for private use, so that no text has it once it is made visible
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def visible(text: str, *, lines: bool = False) -> str:
    """Show what a terminal or a browser would obey or hide: controls, directions, halves of characters.

    Line breaks and tabs stay where `lines` are wanted; elsewhere white space becomes single spaces.
    """
    escaped = text
    if not text.isprintable():  # in one call: reports escape a million short texts that are
        escaped = "".join(_visible(character) for character in text.replace("\r\n", "\n"))
    return escaped if lines else " ".join(escaped.split())


def _visible(character: str) -> str:
    if character in _KEPT or character.isprintable():
        return character
    if unicodedata.category(character) not in _CONTROL:
        return character
    code = ord(character)
    # Unicode has a picture for each of the first 32 controls.
    return chr(0x2400 + code) if code < _SPACE else f"\N{REPLACEMENT CHARACTER}(U+{code:04X})"


_SPACE = 0x20
_LONGEST = 20_000


def shorten(text: str, *, where: str = "") -> str:
    """Return shortened text that mentions how much was left out."""
    left = len(text) - _LONGEST
    return text if left <= 0 else f"{text[:_LONGEST]}\n[{left:,} more characters{where}]"


def html_text(text: str, *, lines: bool = False) -> str:
    """Return text for the inside of an element or of a quoted attribute."""
    return html.escape(visible(text, lines=lines), quote=True)


def markdown_text(text: str) -> str:
    """Return text for a Markdown paragraph or table cell: one line, nothing of it markup."""
    return _escape_markdown(visible(text))


def markdown_paragraph(text: str) -> str:
    """Return text for a Markdown paragraph: what stands in backticks is code, and nothing else of it is markup.

    Inside code nothing is markup either; in a cell of a table a `|` would be.
    """
    escaped = visible(text)
    spans = iter(_CODE.findall(escaped))
    return re.sub(_PLACE, lambda _: next(spans), _escape_markdown(_CODE.sub(_PLACE, escaped)))


def _escape_markdown(text: str) -> str:
    escaped = _MARKDOWN.sub(r"\\\1", text)
    # `1.` and `-` are lists where a line begins with them; a bare address would become a link.
    escaped = re.sub(r"^(\d+)([.)])", r"\1\\\2", escaped)
    escaped = re.sub(r"^-", r"\\-", escaped)
    return re.sub(r"(?i)\b(https?|www)(?=[:.])", r"\1&#8203;", escaped)


def script_json(value: object) -> str:
    """Return JSON that may stand inside a `<script>` element: nothing in it ends the element or a line."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    # `</script` ends the element wherever it stands, and `<!--` changes how its end is found.
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def csv_text(text: str) -> str:
    """Return text for a cell of a spreadsheet, which takes what looks like a formula for one."""
    escaped = visible(text)
    return f"'{escaped}" if escaped.startswith(_FORMULA) else escaped
