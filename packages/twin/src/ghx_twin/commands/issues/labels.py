"""Labels of a repository: names are unique whatever their case."""

import re

from ghx_twin.commands import kernel
from ghx_twin.commands.kernel import UNSET, Unset
from ghx_twin.commands.texts import already_exists, check_length, check_unicode, invalid, missing
from ghx_twin.queries.permissions import require
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.state.records import IssueLabel, Label, Repository
from ghx_twin.world import Act

DEFAULT_COLOR = "ededed"
LONGEST_NAME, LONGEST_DESCRIPTION = 50, 100
_COLOR = re.compile(r"[0-9a-fA-F]{6}")
_DEFAULTS = (
    ("bug", "d73a4a", "Something isn't working"),
    ("documentation", "0075ca", "Improvements or additions to documentation"),
    ("duplicate", "cfd3d7", "This issue or pull request already exists"),
    ("enhancement", "a2eeef", "New feature or request"),
    ("good first issue", "7057ff", "Good for newcomers"),
    ("help wanted", "008672", "Extra attention is needed"),
    ("invalid", "e4e669", "This doesn't seem right"),
    ("question", "d876e3", "Further information is requested"),
    ("wontfix", "ffffff", "This will not be worked on"),
)


def create(
    act: Act, repository: Repository, *, name: str, color: str | None = None, description: str | None = None
) -> Label:
    """Add a label to a repository."""
    require(act, repository, "write")
    return insert(act, repository, name=name, color=color, description=description)


def insert(
    act: Act, repository: Repository, *, name: str, color: str | None = None, description: str | None = None
) -> Label:
    """Add a label without a permission check."""
    new_name, painted = _name(name), _color(DEFAULT_COLOR if color is None else color)
    if act.database.one(Label, repository_id=repository.id, name=new_name):
        raise already_exists("Label", "name")
    return act.database.insert(
        Label,
        repository_id=repository.id,
        name=new_name,
        color=painted,
        description=_description(description),
        default=any(new_name == default for default, _, _ in _DEFAULTS),
        created_at=act.now,
        updated_at=act.now,
    )


def create_defaults(act: Act, repository: Repository) -> None:
    """Add the labels that every new repository has."""
    for name, color, description in _DEFAULTS:
        insert(act, repository, name=name, color=color, description=description)


def update(
    act: Act,
    label: Label,
    *,
    name: str | Unset = UNSET,
    color: str | Unset = UNSET,
    description: str | Unset | None = UNSET,
) -> Label:
    """Rename, recolour or describe a label; issues keep it."""
    repository = _require_write(act, label)
    current = kernel.reload(act, label)
    changes: dict[str, object] = {}
    if name is not UNSET:
        changes["name"] = new_name = _name(name)
        namesake = act.database.one(Label, repository_id=repository.id, name=new_name)
        if namesake and namesake.id != current.id:
            raise already_exists("Label", "name")
    if color is not UNSET:
        changes["color"] = _color(color)
    if description is not UNSET:
        changes["description"] = _description(description)
    if all(getattr(current, field) == value for field, value in changes.items()):
        return current
    return kernel.touch(act, current, **changes)


def delete(act: Act, label: Label) -> None:
    """Delete a label, and take it off every issue."""
    _require_write(act, label)
    for placed in act.database.all(IssueLabel, label_id=label.id):
        act.database.delete(placed)
    act.database.delete(kernel.reload(act, label))


def _require_write(act: Act, label: Label) -> Repository:
    repository = act.database.get(Repository, label.repository_id)
    if repository is None:
        raise NotFoundRefusal(f"Could not resolve to a Label with the name '{label.name}'.")
    require(act, repository, "write")
    return repository


def _name(name: str) -> str:
    stripped = check_unicode(name, resource="Label", field="name").strip()
    if not stripped:
        raise missing("Label", "name")
    return check_length(stripped, LONGEST_NAME, resource="Label", field="name")


def _color(color: str) -> str:
    if not _COLOR.fullmatch(color):
        raise invalid("Label", "color")
    return color


def _description(description: str | None) -> str | None:
    if description is None:
        return None
    text = check_unicode(description, resource="Label", field="description")
    return check_length(text, LONGEST_DESCRIPTION, resource="Label", field="description") or None
