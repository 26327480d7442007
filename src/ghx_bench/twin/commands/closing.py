"""Closing keywords: `fixes #12` in a pull request or a commit closes the issue when it reaches the default branch."""

import re

from ghx_bench.twin.commands.references import REFERENCE, reference_of, without_code

_KEYWORDS = r"(?<![\w-])(?i:close[sd]?|fix(?:e[sd])?|resolve[sd]?)"
_CLOSING = re.compile(rf"{_KEYWORDS}:?[ \t\r\n]+{REFERENCE}")


def closing_references(text: str | None, own_repo_full_name: str) -> list[tuple[str, str, int]]:
    """Return owner, name and number of every issue that a text says it closes, each once, in order."""
    found = (reference_of(match, own_repo_full_name) for match in _CLOSING.finditer(without_code(text or "")))
    return list(dict.fromkeys((one.owner, one.name, one.number) for one in found))
