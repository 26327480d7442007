"""What of a real repository does not go into a seed: mentions that notify, e-mail addresses, and names if asked."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

_NO_REPLY = "users.noreply.github.com"
_UNKNOWN = "example.invalid"
_RESERVED = re.compile(r"(?:^|\.)(?:example\.(?:com|net|org)|example|invalid|test|localhost)$", re.IGNORECASE)
_EMAIL = re.compile(
    r"(?<![\w.+%-])(?P<local>[\w.+%-]+(?:\[bot\])?)@(?P<host>(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,})(?![\w@])"
)
_FENCED = r"^ {0,3}(?P<fence>`{3,}|~{3,}).*?(?:^ {0,3}(?P=fence)[`~]*[ \t]*$|\Z)"
_CODE = re.compile(rf"({_FENCED}|(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))", re.MULTILINE | re.DOTALL)
_MENTION = re.compile(
    r"(?<![\w`/@.+=&-])@(?P<name>[A-Za-z0-9](?:-?[A-Za-z0-9_]){0,38}(?:\[bot\])?)(?P<team>/[\w.-]*\w)?(?![\w@`])"
)
_SHA = re.compile(r"(?<![\w-])[0-9a-f]{7,40}(?![\w-])")

# The fields of a seed by what they hold, wherever they stand in it.
_TEXTS = frozenset({"body", "summary"})
_LINES = frozenset(  # GitHub makes no mentions of what stands here
    {"title", "milestone", "description", "message", "bio", "log", "raw_details"}
)
_LOGINS = frozenset(
    {
        "login", "author", "creator", "actor", "merged_by", "closed_by", "resolved_by", "by", "assignees", "reviewers",
        "members", "reactions", "uploader",
    }
)  # fmt: skip
_ROLES = frozenset({"members", "collaborators"})  # by login
_REPOSITORIES = frozenset({"fork_of", "head_repository"})
_SHAS = frozenset(
    {
        "head_sha", "base_sha", "merge_commit_sha", "commit_sha", "original_commit_sha", "commit", "target_commitish",
    }
)  # fmt: skip


@dataclass(slots=True)
class Redactor:
    """Replaces the same thing by the same thing in commits and in texts.

    `pseudonyms` are new logins by old ones in lower case, empty where logins stay; `bots` are those of bots, which a
    seed writes otherwise than REST. `logins` are those of e-mail addresses, as far as GitHub told.
    """

    keeps_emails: bool = False
    pseudonyms: dict[str, str] = field(default_factory=dict[str, str])
    bots: dict[str, str] = field(default_factory=dict[str, str])
    logins: dict[str, str] = field(default_factory=dict[str, str])
    commits: dict[str, str] = field(default_factory=dict[str, str])
    emails: int = 0
    mentions: int = 0
    _addresses: dict[str, str] = field(default_factory=dict[str, str])
    _old_commits: list[str] = field(default_factory=list[str])

    def login(self, login: str) -> str:
        """Return what somebody is called in the seed."""
        return self.pseudonyms.get(login.lower()) or self.bots.get(login.lower(), login)

    def identity(self, name: str, email: str) -> tuple[str, str]:
        """Return the name and address of an author in the seed's history."""
        if self.keeps_emails and not self.pseudonyms:
            return name, email
        new = self.email(email)
        if not self.pseudonyms or email.lower() == "noreply@github.com":
            return name, new
        return new.partition("@")[0].rpartition("+")[2] or name, new

    def email(self, address: str) -> str:
        """Return what stands for an address: the no-reply one of its account, or one that can reach no one."""
        local, _, host = address.lower().rpartition("@")
        if address.lower() == "noreply@github.com" or not host:
            return address
        if host == _NO_REPLY:
            number, plus, login = local.rpartition("+")
            known = self.pseudonyms.get(login)
            return address if known is None else f"{number}{plus}{known}@{_NO_REPLY}"
        if self.keeps_emails or _RESERVED.search(host):
            return address
        if address.lower() not in self._addresses:
            login = self.logins.get(address.lower())
            new = (
                f"author-{len(self._addresses) + 1}@{_UNKNOWN}" if login is None else f"{self.login(login)}@{_NO_REPLY}"
            )
            self._addresses[address.lower()] = new
        self.emails += 1
        return self._addresses[address.lower()]

    def email_needs_account(self, address: str) -> bool:
        """Return whether an address is replaced by that of its account, if one is known."""
        host = address.lower().rpartition("@")[2]
        return host not in {_NO_REPLY, "github.com"} and not _RESERVED.search(host)

    def plain(self, text: str) -> str:
        """Return a text without e-mail addresses, with the commits and people it names as the seed calls them."""
        text = _EMAIL.sub(self._replace_email, text)
        if self.pseudonyms:
            text = _MENTION.sub(lambda found: f"@{self.login(found['name'])}{found['team'] or ''}", text)
        return _SHA.sub(self._replace_sha, text) if self.commits else text

    def markdown(self, text: str) -> str:
        """Return a text whose mentions are code, which notifies no one wherever it is posted."""
        parts = _CODE.split(self.plain(text))
        # The pattern has three groups: after each piece of text come the code, its fence and its ticks.
        return "".join(self._defuse(each) if n % 4 == 0 else each or "" for n, each in enumerate(parts) if n % 4 < 2)  # noqa: PLR2004

    def seed(self, value: Any, key: str = "") -> Any:
        """Return a part of a dumped seed without what does not go into one; `key` is the field it stands in."""
        if isinstance(value, dict):
            content = cast("dict[str, Any]", value)
            if key in _ROLES:
                return {self.login(login): role for login, role in content.items()}
            return {name: self.seed(each, key if key == "reactions" else name) for name, each in content.items()}
        if isinstance(value, list | tuple):
            return [self.seed(each, key) for each in cast("Sequence[Any]", value)]
        return self._field(value, key) if isinstance(value, str) else value

    def repository(self, name: str) -> str:
        """Return what a repository is called in the seed."""
        owner, _, rest = name.partition("/")
        return f"{self.login(owner)}/{rest}"

    def _field(self, value: str, key: str) -> str:
        if key in _TEXTS:
            return self.markdown(value)
        if key in _LINES:
            return self.plain(value)
        if key in _LOGINS:
            return self.login(value)
        if key in _REPOSITORIES:
            return self.repository(value)
        if key == "head":
            owner, colon, branch = value.rpartition(":")
            return f"{self.login(owner)}{colon}{branch}"
        return self.commits.get(value, value) if key in _SHAS else value

    def _defuse(self, text: str) -> str:
        text, result = _MENTION.subn(r"`\g<0>`", text)
        self.mentions += result
        return text

    def _replace_email(self, match: re.Match[str]) -> str:
        return match[0] if match["local"] == "git" else self.email(match[0])  # git@host:owner/name is an address of git

    def _replace_sha(self, match: re.Match[str]) -> str:
        """Return the new name of a commit, as long as the old one was written."""
        if len(self._old_commits) != len(self.commits):
            self._old_commits = sorted(self.commits)
        old, position = match[0], bisect_left(self._old_commits, match[0])
        near = self._old_commits[position : position + 2]
        same = [sha for sha in near if sha.startswith(old)]
        return self.commits[same[0]][: len(old)] if len(same) == 1 else old
