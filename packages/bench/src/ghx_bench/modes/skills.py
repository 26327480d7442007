"""Skills of a mode: folders with a SKILL.md, as agents know them."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, cast

import yaml

from ghx_base.errors import InputError

_HEAD = re.compile(r"---\r?\n(.*?)^---\s*$", re.DOTALL | re.MULTILINE)
# What the strictest of the agents take; the others take more.
_NAME = re.compile(r"(?=.{1,64}$)[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST_DESCRIPTION = 1024


class BadSkillError(InputError):
    """A folder is named as a skill that agents would pass over without a word."""

    code: ClassVar[str] = "BAD_SKILL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """What a SKILL.md says: name and description are given to agents, the rest is there for them to read."""

    name: str
    description: str
    body: str


def find_skills(folders: Iterable[str]) -> dict[str, Path]:
    """Return the folders of skills by name; raise `BadSkillError` for an invalid skill or a repeated name."""
    skills: dict[str, Path] = {}
    for each in folders:
        folder = Path(os.path.expanduser(each)).absolute()  # noqa: PTH111 - Path raises for a user who is not there
        name = read_skill(folder).name
        if name in skills:
            raise BadSkillError(f"{folder}: its name is {name!r}, as that of {skills[name]} is; rename one")
        skills[name] = folder
    return skills


def read_skill(folder: Path) -> Skill:
    """Return the skill in a folder; raise `BadSkillError` if it is invalid."""
    file = folder / "SKILL.md"
    try:
        text = file.read_text(encoding="utf-8")
        head = _HEAD.match(text)
        values: object = yaml.safe_load(head[1]) if head else None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error).partition("\n")[0]
        raise BadSkillError(f"{file}: {reason}; a skill is a folder with such a file") from None
    if head is None or not isinstance(values, dict):
        raise BadSkillError(f"{file}: begin it with `name` and `description` between two lines of `---`")
    front_matter = cast("dict[object, object]", values)
    name, description = front_matter.get("name"), front_matter.get("description")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BadSkillError(f"{file}: `name` is {name!r}; write up to 64 small letters, digits and single hyphens")
    if not isinstance(description, str) or not 0 < len(description.strip()) <= _LONGEST_DESCRIPTION:
        raise BadSkillError(f"{file}: `description` must be a text of up to {_LONGEST_DESCRIPTION} characters")
    return Skill(name=name, description=description, body=text[head.end() :].strip())
