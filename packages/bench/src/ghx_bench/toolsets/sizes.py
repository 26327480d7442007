"""How large a text is: characters, bytes, and tokens as far as they can be counted here."""

import json
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Any

from ghx_base.extras import is_installed
from ghx_base.wire import Count, WireModel

ENCODING = "o200k_base"
"""The vocabulary that tokens are counted in; of those whose files can be had, that of the newest models."""

_PACKAGE = "bpe-openai"  # ships its vocabularies, where tiktoken downloads them when it runs
_CHARACTERS_PER_TOKEN = 4


class Size(WireModel):
    """The size of a text, or of several together."""

    characters: Count = 0
    bytes: Count = 0
    tokens: Count = 0

    def __add__(self, other: "Size") -> "Size":
        return Size(
            characters=self.characters + other.characters,
            bytes=self.bytes + other.bytes,
            tokens=self.tokens + other.tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruler:
    """Measures texts; tokens are counted, or estimated."""

    tokenizer: str
    """What tokens are counted with, and its version; of an estimate, how it is made."""
    is_estimate: bool
    count_tokens: Callable[[str], int]

    def measure(self, text: str) -> Size:
        """Return the size of a text."""
        # What is no text in UTF-8, such as half of a pair, is measured as what a reader would be shown.
        content = text.encode(errors="replace")
        return Size(characters=len(text), bytes=len(content), tokens=self.count_tokens(content.decode()))

    def measure_json(self, value: Any) -> Size:
        """Return the size of a value as compact JSON, in which clients pass tools on to models."""
        return self.measure(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def estimate_tokens(text: str) -> int:
    """Return the characters of a text by four, rounded up."""
    return -(-len(text) // _CHARACTERS_PER_TOKEN)


ESTIMATE = Ruler(tokenizer="characters / 4", is_estimate=True, count_tokens=estimate_tokens)


@cache
def open_ruler() -> Ruler:
    """Return a ruler that counts tokens where the extra `tokens` is installed, and else one that estimates them."""
    if not is_installed("tokens"):
        return ESTIMATE
    with warnings.catch_warnings():
        # It reads its files in a way that Python calls outdated; nobody here can do anything about it.
        warnings.simplefilter("ignore", DeprecationWarning)
        encode: Callable[[str], Sequence[int]] = import_module("bpe_openai").get_encoding(ENCODING).encode_ordinary
    return Ruler(
        tokenizer=f"{ENCODING} ({_PACKAGE} {version(_PACKAGE)})",
        is_estimate=False,
        count_tokens=lambda text: len(encode(text)),
    )


def total(sizes: Iterable[Size]) -> Size:
    """Return the size of all together."""
    return sum(sizes, Size(characters=0, bytes=0, tokens=0))


def percentile(values: Sequence[int], percent: int) -> int | None:
    """Return the smallest value that at least so many percent do not exceed (nearest rank); `None` of nothing."""
    if not values:
        return None
    rank = max(1, -(-len(values) * percent // 100))
    return sorted(values)[rank - 1]
