"""Filters of a project's items, as people write them: `is:open status:"In Progress" -label:bug no:assignee`."""

import re
import shlex
from dataclasses import dataclass

from ghx_twin.queries import lookup
from ghx_twin.queries.projects import projects
from ghx_twin.queries.projects.item_values import Content, value_in
from ghx_twin.queries.projects.projects import iterations_of
from ghx_twin.state.records import (
    DraftIssue,
    Issue,
    Label,
    Milestone,
    ProjectField,
    ProjectItem,
    Repository,
    User,
)
from ghx_twin.viewer import Viewer
from ghx_twin.world import World

_ALIASES = {"label": "labels", "assignee": "assignees", "repo": "repository", "reviewer": "reviewers"}
_WORD = re.compile(r"(?P<sign>-?)(?:(?P<key>[\w-]+):)?(?P<value>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ItemFilter:
    """The words of a filter, for the items of one project as one viewer sees them."""

    world: World
    viewer: Viewer | None
    fields: tuple[ProjectField, ...]
    text: str

    def fits(self, item: ProjectItem) -> bool:
        """Return whether an item fits every word."""
        if not self.text:
            return True
        content = projects.content_of(self.world, self.viewer, item)
        return all(self._fits_word(item, content, word) for word in _words(self.text))

    def _fits_word(self, item: ProjectItem, content: Content, word: str) -> bool:
        match = _WORD.fullmatch(word)
        sign, key, value = (match["sign"], match["key"], match["value"].lower()) if match else ("", None, word.lower())
        alternatives = value.split(",")
        match (key or "").lower():
            case "":
                fits = content is not None and value in content.title.lower()
            case "is":
                fits = any(_is(self.world, content, each) for each in alternatives)
            case "no" | "has":
                fits = all(bool(self._names(item, content, each)) == (key == "has") for each in alternatives)
            case name:
                names = self._names(item, content, name)
                login = self.viewer.user.login.lower() if self.viewer else ""
                fits = any((login if each == "@me" else each) in names for each in alternatives)
        return fits != bool(sign)

    def _names(self, item: ProjectItem, content: Content, name: str) -> set[str]:
        """Return what an item holds in the field that a filter names, in lower case."""
        field_name = _ALIASES.get(name, name)
        field = next((one for one in self.fields if one.name.lower().replace(" ", "-") == field_name), None)
        value = None if field is None else value_in(self.world, self.viewer, item, content, field)
        if field is None or value is None:
            return set()
        parts = value if isinstance(value, tuple) else (value,)
        return {self._name(field, part).lower() for part in parts}

    def _name(self, field: ProjectField, value: object) -> str:
        match value:
            case Label(name=name):
                return name
            case User(login=login):
                return login
            case Milestone(title=title):
                return title
            case Repository():
                return lookup.full_name(self.world, value)
            case _:
                choices = {option["id"]: option["name"] for option in field.options}
                choices |= {each.id: each.title for each in iterations_of(field)}
                return choices.get(str(value), str(value))


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # a quote that is never closed
        return text.split()


def _is(world: World, content: Content, word: str) -> bool:
    match content:
        case None:
            return False
        case DraftIssue():
            return word in {"draft", "open"}
        case Issue(is_pull=True):
            pull = lookup.pull_of(world, content)
            merged = pull is not None and pull.merged_at is not None
            return word in {"pr", "merged" if merged else content.state, content.state}
        case _:
            return word in {"issue", content.state}
