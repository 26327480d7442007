"""Types of issues, which an organization has for all its repositories."""

from ghx_twin.commands import kernel
from ghx_twin.commands.kernel import UNSET, Unset
from ghx_twin.commands.texts import check_length, check_unicode
from ghx_twin.queries.permissions import require_organization_admin
from ghx_twin.refusals import InvalidRefusal
from ghx_twin.state.records import Issue, IssueType, User
from ghx_twin.world import Act

MOST_TYPES = 25
LONGEST_NAME = 100
COLORS = ("gray", "blue", "green", "yellow", "orange", "red", "pink", "purple")
_FIRST = (
    ("Task", "A specific piece of work", "yellow"),
    ("Bug", "An unexpected problem or behavior", "red"),
    ("Feature", "A request, idea, or new functionality", "blue"),
)


def create_first(act: Act, organization: User) -> None:
    """Give a new organization the types that GitHub begins with."""
    for name, description, color in _FIRST:
        create(act, organization, name=name, description=description, color=color)


def create(
    act: Act,
    organization: User,
    *,
    name: str,
    description: str | None = None,
    color: str | None = None,
    is_enabled: bool = True,
) -> IssueType:
    """Add a type to an organization; its administrators may."""
    require_organization_admin(act.world, act.viewer, organization)
    if act.database.count(IssueType, organization_id=organization.id) >= MOST_TYPES:
        raise InvalidRefusal(f"Organization cannot have more than {MOST_TYPES} issue types")
    return act.database.insert(
        IssueType,
        organization_id=organization.id,
        name=_check_name(act, organization, name),
        description=_check_description(description),
        color=_check_color(color),
        is_enabled=is_enabled,
        created_at=act.now,
        updated_at=act.now,
    )


def update(
    act: Act,
    issue_type: IssueType,
    *,
    name: str | Unset = UNSET,
    description: str | Unset | None = UNSET,
    color: str | Unset | None = UNSET,
    is_enabled: bool | Unset = UNSET,
) -> IssueType:
    """Change a type of an organization, which all its issues then show."""
    current = kernel.reload(act, issue_type)
    organization = _require_admin(act, current)
    changes: dict[str, object] = {}
    if name is not UNSET:
        changes["name"] = _check_name(act, organization, name, except_for=current)
    if description is not UNSET:
        changes["description"] = _check_description(description)
    if color is not UNSET:
        changes["color"] = _check_color(color)
    if is_enabled is not UNSET:
        changes["is_enabled"] = is_enabled
    return kernel.touch(act, current, **changes)


def delete(act: Act, issue_type: IssueType) -> None:
    """Delete a type; issues that had it have none."""
    current = kernel.reload(act, issue_type)
    _require_admin(act, current)
    for issue in act.database.all(Issue, issue_type_id=current.id):
        act.database.update(issue, issue_type_id=None)
    act.database.delete(current)


def _require_admin(act: Act, issue_type: IssueType) -> User:
    organization = act.database.get(User, issue_type.organization_id)
    assert organization is not None  # noqa: S101 - a type goes with its organization
    require_organization_admin(act.world, act.viewer, organization)
    return organization


def _check_name(act: Act, organization: User, name: str, except_for: IssueType | None = None) -> str:
    new_name = check_unicode(name, resource="IssueType", field="name").strip()
    if not new_name:
        raise InvalidRefusal("Name can't be blank")
    check_length(new_name, LONGEST_NAME, resource="IssueType", field="name")
    namesake = act.database.one(IssueType, organization_id=organization.id, name=new_name)
    if namesake is not None and namesake != except_for:
        raise InvalidRefusal("Name has already been taken")
    return new_name


def _check_description(text: str | None) -> str | None:
    return check_unicode(text, resource="IssueType", field="description") if text else None


def _check_color(color: str | None) -> str | None:
    if color is not None and color not in COLORS:
        raise InvalidRefusal("Color is not included in the list")
    return color
