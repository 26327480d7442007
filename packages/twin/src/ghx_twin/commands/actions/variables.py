"""Variables and secrets of GitHub Actions, in a repository, an environment or an organization."""

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ghx_twin.commands import kernel
from ghx_twin.commands.texts import check_unicode, invalid
from ghx_twin.queries.permissions import require, require_organization_admin
from ghx_twin.refusals import ConflictRefusal, InvalidRefusal
from ghx_twin.state.clock import format_time, parse_time
from ghx_twin.state.records import Environment, Repository, Secret, User, Variable
from ghx_twin.viewer import Viewer
from ghx_twin.world import Act, World

VISIBILITIES = ("all", "private", "selected")
LARGEST_VALUE = 48 * 1024  # bytes
_SEALED_OVERHEAD = 48  # bytes of a sealed box next to its content: a public key and a code
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Home:
    """What variables and secrets belong to: a repository, an environment of one, or an organization."""

    owner: Repository | User
    environment: Environment | None = None

    @property
    def columns(self) -> dict[str, int | None]:
        """Return the columns that say so in a record."""
        if isinstance(self.owner, Repository):
            inside = self.environment.id if self.environment else None
            return {"repository_id": self.owner.id, "environment_id": inside, "organization_id": None}
        return {"repository_id": None, "environment_id": None, "organization_id": self.owner.id}


def create_variable(
    act: Act, home: Home, *, name: str, value: str, visibility: str | None = None, selected: Sequence[int] = ()
) -> Variable:
    """Add a variable."""
    _require_write(act, home, "variables")
    variable_name = _check_name(name, "Variable")
    if act.database.one(Variable, **home.columns, name=variable_name):
        raise ConflictRefusal("Already exists - Variable already exists")
    return act.database.insert(
        Variable,
        **home.columns,
        name=variable_name,
        value=_check_value(value),
        **_check_reach(act, home, visibility, selected),
        created_at=act.now,
        updated_at=act.now,
    )


def update_variable(
    act: Act,
    home: Home,
    variable: Variable,
    *,
    name: str | None = None,
    value: str | None = None,
    visibility: str | None = None,
    selected: Sequence[int] | None = None,
) -> Variable:
    """Change what is given of a variable."""
    _require_write(act, home, "variables")
    current = kernel.reload(act, variable)
    changes: dict[str, object] = {}
    if name is not None and (new_name := _check_name(name, "Variable")) != current.name:
        if act.database.one(Variable, **home.columns, name=new_name):
            raise ConflictRefusal("Already exists - Variable already exists")
        changes["name"] = new_name
    if value is not None:
        changes["value"] = _check_value(value)
    if visibility is not None or selected is not None:
        reach = visibility or current.visibility
        changes |= _check_reach(act, home, reach, current.selected_repository_ids if selected is None else selected)
    return act.database.update(current, **changes, updated_at=max(act.now, current.updated_at))


def put_secret(
    act: Act,
    home: Home,
    *,
    name: str,
    encrypted_value: str | None,
    visibility: str | None = None,
    selected: Sequence[int] = (),
) -> tuple[Secret, bool]:
    """Add or replace a secret, and return whether it is new; of the value no more is kept than that there is one."""
    _require_write(act, home, "secrets")
    new_name = _check_name(name, "Secret")
    if encrypted_value is not None:
        _check_sealed(encrypted_value)
    reach = _check_reach(act, home, visibility, selected)
    stored = act.database.one(Secret, **home.columns, name=new_name)
    if stored:
        # Later in any case: of a new value, the time is all that can be seen.
        later = format_time(parse_time(stored.updated_at) + 1)
        return act.database.update(stored, **reach, updated_at=max(act.now, later)), False
    new_secret = act.database.insert(
        Secret, **home.columns, name=new_name, **reach, created_at=act.now, updated_at=act.now
    )
    return new_secret, True


def delete(act: Act, home: Home, record: Variable | Secret) -> None:
    """Delete a variable or secret."""
    _require_write(act, home, record.table)
    act.database.delete(kernel.reload(act, record))


def require_owner(world: World, viewer: Viewer | None, organization: User, nouns: str) -> None:
    """Refuse a viewer who may not see or change the variables or secrets of an organization."""
    message = f"You must be an org admin or have the actions {nouns} fine-grained permission."
    require_organization_admin(world, viewer, organization, message, hidden_from="strangers")


def _require_write(act: Act, home: Home, nouns: str) -> None:
    if isinstance(home.owner, Repository):
        require(act, home.owner, "write")
    else:
        require_owner(act.world, act.viewer, home.owner, nouns)


def _check_name(name: str, noun: str) -> str:
    if not _NAME.fullmatch(name):
        raise InvalidRefusal(
            f"{noun} names can only contain alphanumeric characters ([a-z], [A-Z], [0-9]) or underscores (_). "
            "Spaces are not allowed. Must start with a letter ([a-z], [A-Z]) or underscores (_)."
        )
    if name.upper().startswith("GITHUB_"):
        raise InvalidRefusal(f"{noun} names must not start with GITHUB_.")
    return name.upper()


def _check_value(value: str) -> str:
    if len(check_unicode(value, resource="Variable", field="value").encode()) > LARGEST_VALUE:
        raise InvalidRefusal("Variable value is too large (maximum is 48 KB)")
    return value


def _check_sealed(encrypted: str) -> None:
    """Refuse what cannot be a sealed box of libsodium's; nothing here could open it."""
    try:
        content = base64.b64decode(encrypted.encode("ascii"), validate=True)
    except (UnicodeError, binascii.Error):
        raise InvalidRefusal("Validation Failed", errors=("encrypted_value must be Base64 encoded",)) from None
    if not _SEALED_OVERHEAD <= len(content) <= LARGEST_VALUE + _SEALED_OVERHEAD:
        raise InvalidRefusal("Bad Request", errors=("encrypted_value is not a valid sealed box",))


def _check_reach(act: Act, home: Home, visibility: str | None, selected: Sequence[int]) -> dict[str, object]:
    if isinstance(home.owner, Repository):
        return {}
    if visibility not in VISIBILITIES:
        raise invalid("Organization", "visibility", value=visibility)
    for identity in selected:
        repository = act.database.get(Repository, identity)
        if repository is None or repository.owner_id != home.owner.id:
            raise InvalidRefusal(f"Repository with id {identity} does not belong to the organization.")
    return {"visibility": visibility, "selected_repository_ids": tuple(selected) if visibility == "selected" else ()}
