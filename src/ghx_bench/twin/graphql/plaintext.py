"""Markdown without its marks: what `bodyText` shows."""

import re

_RULES = (
    (re.compile(r"<!--.*?-->", re.DOTALL), ""),
    (re.compile(r"^\s*(```|~~~).*$", re.MULTILINE), ""),
    (re.compile(r"!?\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"^\s{0,3}#{1,6}\s+", re.MULTILINE), ""),
    (re.compile(r"^\s{0,3}>\s?", re.MULTILINE), ""),
    (re.compile(r"^(\s*)[-*+]\s+(\[[ xX]\]\s+)?", re.MULTILINE), r"\1"),
    (re.compile(r"(\*\*|__|~~|`)(.+?)\1"), r"\2"),
    (re.compile(r"(?<!\w)[*_](\S(?:.*?\S)?)[*_](?!\w)"), r"\1"),
    (re.compile(r"\n{3,}"), "\n\n"),
)


def plain_text(markdown: str) -> str:
    """Return the words of a text without the marks of its layout."""
    for pattern, replacement in _RULES:
        markdown = pattern.sub(replacement, markdown)
    return markdown.strip()
