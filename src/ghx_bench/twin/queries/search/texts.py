"""Finding words in texts: whole words, whatever their case; the words of a phrase one after the other."""

import re
from collections.abc import Sequence

_WORD = re.compile(r"\w+")


def words_of(text: str | None) -> list[str]:
    """Return the words of a text in lower case."""
    return _WORD.findall(text.casefold()) if text else []


def contains(haystack: Sequence[str], needle: Sequence[str]) -> bool:
    """Tell whether words follow each other somewhere among others; no words are everywhere."""
    if not needle:
        return True
    first, length = needle[0], len(needle)
    return any(word == first and haystack[at : at + length] == needle for at, word in enumerate(haystack))
