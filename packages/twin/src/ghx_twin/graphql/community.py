"""Community files of a repository: templates, contacts, funding, code of conduct, security policy."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, cast

import yaml

from ghx_twin.git.errors import GitError
from ghx_twin.git.repository import GitRepository
from ghx_twin.graphql.context import Context
from ghx_twin.state.records import Repository

_PLACES = (".github", "", "docs")  # in the order in which GitHub looks
_FUNDING = {
    "github": ("GITHUB", "https://github.com/{}"),
    "patreon": ("PATREON", "https://patreon.com/{}"),
    "open_collective": ("OPEN_COLLECTIVE", "https://opencollective.com/{}"),
    "ko_fi": ("KO_FI", "https://ko-fi.com/{}"),
    "buy_me_a_coffee": ("BUY_ME_A_COFFEE", "https://buymeacoffee.com/{}"),
    "liberapay": ("LIBERAPAY", "https://liberapay.com/{}"),
    "custom": ("CUSTOM", "{}"),
}


@dataclass(frozen=True, slots=True)
class IssueForm:
    """A template for issues: the fields its head gives, and its text."""

    filename: str
    name: str
    about: str | None
    title: str | None
    body: str


@dataclass(frozen=True, slots=True)
class PullTemplate:
    """A template for pull requests."""

    repository: Repository
    filename: str
    body: str


@dataclass(frozen=True, slots=True)
class Contact:
    """Where else to ask, as the form for new issues offers it."""

    name: str
    about: str
    url: str


@dataclass(frozen=True, slots=True)
class Funding:
    """Where to give money."""

    platform: str
    url: str


@dataclass(frozen=True, slots=True)
class Community:
    """Reads the community files on the default branch of a repository."""

    context: Context
    repository: Repository

    def issue_forms(self) -> list[IssueForm]:
        """Return the templates for issues."""
        forms = (
            _issue_form(path, text)
            for path, text in self._files_below(".github/ISSUE_TEMPLATE")
            if path.endswith(".md")
        )
        return [one for one in forms if one is not None]

    def pull_templates(self) -> list[PullTemplate]:
        """Return the templates for pull requests."""
        file = self._find_file("pull_request_template.md")
        return [PullTemplate(self.repository, PurePosixPath(file[0]).name, file[1])] if file else []

    def contacts(self) -> list[Contact]:
        """Return where else to ask."""
        links = self._form_settings().get("contact_links")
        entries = cast("list[Any]", links) if isinstance(links, list) else []
        keys = ("name", "about", "url")
        mappings = [cast("dict[str, Any]", one) for one in entries if isinstance(one, dict)]
        return [Contact(*(str(one[key]) for key in keys)) for one in mappings if all(key in one for key in keys)]

    def funding(self) -> list[Funding]:
        """Return where to give money."""
        file = self._find_file("FUNDING.yml")
        mapping = _mapping(file[1]) if file else {}
        return [
            Funding(_FUNDING[key][0], _FUNDING[key][1].format(one))
            for key, value in mapping.items()
            if key in _FUNDING
            for one in _texts(value)
        ]

    def allows_blank_issues(self) -> bool:
        """Return whether an issue can be written without a template."""
        return self._form_settings().get("blank_issues_enabled") is not False

    def has_security_policy(self) -> bool:
        """Return whether there is a security policy."""
        return self._find_file("SECURITY.md") is not None

    def code_of_conduct(self) -> tuple[str, str] | None:
        """Return the path and the text of the code of conduct."""
        return self._find_file("CODE_OF_CONDUCT.md")

    def _form_settings(self) -> dict[str, Any]:
        text = next(
            (text for path, text in self._files_below(".github/ISSUE_TEMPLATE") if path.endswith("config.yml")), None
        )
        return _mapping(text) if text else {}

    def _find_file(self, name: str) -> tuple[str, str] | None:
        """Return the first file of this name, in any case, where GitHub looks for such files."""
        files = (file for place in _PLACES for file in self._files_below(place))
        return next((file for file in files if PurePosixPath(file[0]).name.lower() == name.lower()), None)

    def _files_below(self, folder: str) -> Iterator[tuple[str, str]]:
        git = self.context.world.git(self.repository)
        for path, sha in _files(git, self.repository, folder):
            yield path, (git.blob(sha) or b"").decode("utf-8", "replace")


def _files(git: GitRepository, repository: Repository, folder: str) -> list[tuple[str, str]]:
    tip = git.ref(f"refs/heads/{repository.default_branch}")
    try:
        entry = git.entry(tip, folder) if tip else None
        tree = git.tree(entry.sha) if entry and entry.type == "tree" else []
    except GitError:
        return []
    return [(str(PurePosixPath(folder, one.path)), one.sha) for one in tree if one.type == "blob"]


def _issue_form(path: str, text: str) -> IssueForm | None:
    """Read a template; without a head that names it, it is none."""
    start, head, body = [*text.split("---\n", 2), "", ""][:3]
    header = _mapping(head) if not start.strip() else {}
    if not header.get("name"):
        return None
    about, title = header.get("about"), header.get("title")
    return IssueForm(
        filename=PurePosixPath(path).name,
        name=str(header["name"]),
        about=str(about) if about is not None else None,
        title=str(title) if title is not None else None,
        body=body.lstrip("\n"),
    )


def _mapping(text: str) -> dict[str, Any]:
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError):
        return {}
    return cast("dict[str, Any]", document) if isinstance(document, dict) else {}


def _texts(value: Any) -> list[str]:
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [str(one) for one in values if isinstance(one, str) and one]
