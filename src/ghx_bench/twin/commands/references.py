"""What a text points at: issues by number or address, people by `@login`; code and comments in it do not count."""

import re
from dataclasses import dataclass

_OWNER, _NAME, _NUMBER = r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}", r"[A-Za-z0-9._-]{1,100}", r"[0-9]{1,10}"
REFERENCE = (
    rf"(?:https?://[^\s/()<>]+/(?P<url_owner>{_OWNER})/(?P<url_name>{_NAME})/(?:issues|pull)/(?P<url_number>{_NUMBER})"
    rf"|(?:(?P<owner>{_OWNER})/(?P<name>{_NAME}))?\#(?P<number>{_NUMBER})"
    rf"|(?i:GH-)(?P<gh_number>{_NUMBER}))\b"
)
_REFERENCE = re.compile(rf"(?<![\w/&#.-]){REFERENCE}")
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
    return list(dict.fromkeys(reference_of(match, home) for match in _REFERENCE.finditer(without_code(text or ""))))


def mentions(text: str | None) -> list[str]:
    """Return the logins a text calls, each once, in lower case."""
    return list(dict.fromkeys(match["login"].lower() for match in _MENTION.finditer(without_code(text or ""))))


def reference_of(match: re.Match[str], home: str) -> Reference:
    """Read what `REFERENCE` matched."""
    own_owner, _, own_name = home.partition("/")
    owner = match["url_owner"] or match["owner"] or own_owner
    name = match["url_name"] or match["name"] or own_name
    return Reference(owner, name, int(match["url_number"] or match["number"] or match["gh_number"]))


def without_code(text: str) -> str:
    """Return a text with a blank for each stretch of code and each HTML comment."""
    return _NOT_TEXT.sub(" ", text)
