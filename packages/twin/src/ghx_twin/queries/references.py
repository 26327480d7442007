"""What a text points at: issues by number or address, people by `@login`; code and comments in it do not count.

`fixes #12` in a pull request or a commit closes the issue when it reaches the default branch.
"""

import re
from dataclasses import dataclass

_OWNER, _NAME, _NUMBER = r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}", r"[A-Za-z0-9._-]{1,100}", r"[0-9]{1,10}"
_REFERENCE = (
    rf"(?:https?://[^\s/()<>]+/(?P<url_owner>{_OWNER})/(?P<url_name>{_NAME})/(?:issues|pull)/(?P<url_number>{_NUMBER})"
    rf"|(?:(?P<owner>{_OWNER})/(?P<name>{_NAME}))?\#(?P<number>{_NUMBER})"
    rf"|(?i:GH-)(?P<gh_number>{_NUMBER}))\b"
)
_ANY = re.compile(rf"(?<![\w/&#.-]){_REFERENCE}")
_CLOSING = re.compile(rf"(?<![\w-])(?i:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?[ \t\r\n]+{_REFERENCE}")
_MENTION = re.compile(r"(?<![\w@/.`-])@(?P<login>[A-Za-z0-9](?:[A-Za-z0-9]|-(?=[A-Za-z0-9])){0,38})(?![\w/-])")
_NOT_TEXT = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`|<!--.*?(?:-->|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reference:
    """An issue or pull request that a text names."""

    owner: str
    name: str
    number: int


def references(text: str | None, home: str) -> list[Reference]:
    """Return the issues a text names, each once, in order; `home` is the `owner/name` that a bare number means."""
    return _find_all(_ANY, text, home)


def closing_references(text: str | None, home: str) -> list[Reference]:
    """Return the issues that a text says it closes, each once, in order."""
    return _find_all(_CLOSING, text, home)


def mentions(text: str | None) -> list[str]:
    """Return the logins a text mentions, each once, in lower case."""
    return list(dict.fromkeys(match["login"].lower() for match in _MENTION.finditer(_strip_code(text))))


def _find_all(pattern: re.Pattern[str], text: str | None, home: str) -> list[Reference]:
    own_owner, _, own_name = home.partition("/")
    references = (
        Reference(
            match["url_owner"] or match["owner"] or own_owner,
            match["url_name"] or match["name"] or own_name,
            int(match["url_number"] or match["number"] or match["gh_number"]),
        )
        for match in pattern.finditer(_strip_code(text))
    )
    return list(dict.fromkeys(references))


def _strip_code(text: str | None) -> str:
    return _NOT_TEXT.sub(" ", text or "")  # a blank, so that the words on either side do not become one
