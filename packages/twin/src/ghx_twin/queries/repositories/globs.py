"""Patterns of paths and refs, as rulesets and CODEOWNERS files have them; agents write both."""

import re
from collections.abc import Iterator
from functools import lru_cache

from ghx_base.texts.patterns import PatternError, compile_pattern, matches

_WILDCARDS = {"**/": "(?:.*/)?", "/**": "/.*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def matches_path(pattern: str, path: str) -> bool:
    """Return whether a path matches a pattern of Ruby's fnmatch: only `**` reaches over slashes."""
    return matches(_translate_path(pattern), path)


def check_glob(pattern: str) -> None:
    """Raise `PatternError` for what `matches_path` cannot read, such as `[z-a]`."""
    compile_pattern(_translate_path(pattern))


def owns_path(pattern: str, path: str) -> bool:
    """Return whether a path matches a pattern of a CODEOWNERS file, which are those of .gitignore."""
    try:
        return matches(_translate_owned(pattern), path)
    except PatternError:
        return False  # a line that is too long to be compiled: GitHub skips what it cannot read


@lru_cache(maxsize=512)
def _translate_path(pattern: str) -> str:
    return _complete_pattern("".join(_translate(r"\*\*/|\*\*|\*|\?|\[[^\]]+\]|.", pattern)))


@lru_cache(maxsize=512)
def _translate_owned(pattern: str) -> str:
    anchored = "/" in pattern.rstrip("/")
    body = "".join(_translate(r"\*\*/|/\*\*|\*\*|\*|\?|.", pattern.strip("/")))
    # What matches a folder matches everything in it, save for `docs/*`, which GitHub takes for one level only.
    rest = "/.*" if pattern.endswith("/") else "" if pattern.endswith("/*") else "(?:/.*)?"
    return _complete_pattern(("" if anchored else "(?:.*/)?") + body + rest)


def _complete_pattern(body: str) -> str:
    return rf"(?s)\A(?:{body})\z"


def _translate(pieces: str, pattern: str) -> Iterator[str]:
    for piece in re.findall(pieces, pattern, re.DOTALL):
        if piece in _WILDCARDS:
            yield _WILDCARDS[piece]
        elif len(piece) > 1:  # a class of characters, in which only a range and `!` or `^` in front mean something
            negated, members = piece[1] in "!^" and len(piece) > len("[!]"), piece[1:-1]
            escaped = re.escape(members[1:] if negated else members).replace(r"\-", "-")
            # A class never fits a slash, negated or not.
            yield f"[{'^/' if negated else ''}{escaped}]"
        else:
            yield re.escape(piece)
