"""What a repository can be called."""

import re

from ghx_bench.twin.commands.texts import check_unicode, missing
from ghx_bench.twin.refusals import FieldError, InvalidRefusal
from ghx_bench.twin.state.records import Redirect, Repository, User
from ghx_bench.twin.world import Act

LONGEST_NAME = 100
CREATION_FAILED = "Repository creation failed."
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9._-]+")
_RESERVED = frozenset({".", "..", ".git", ".wiki"})


def normalize_name(name: str) -> str:
    """Return a name as GitHub spells it: whatever it does not allow becomes a dash."""
    wanted = check_unicode(name, resource="Repository", field="name").strip()
    if not wanted:
        raise missing("Repository", "name")
    made = _NOT_ALLOWED.sub("-", wanted)
    made = made if made in _RESERVED else made.removesuffix(".git")
    if made in _RESERVED or not made:
        raise _refuse_name(f"name '{made}' is reserved")
    if len(made) > LONGEST_NAME:
        raise _refuse_name(f"name is too long (maximum is {LONGEST_NAME} characters)")
    return made


def check_free_name(act: Act, owner: User, name: str, *, except_for: Repository | None = None) -> str:
    """Return the spelling of a name that no other repository of the owner has."""
    made = normalize_name(name)
    taken = act.database.one(Repository, owner_id=owner.id, name=made)
    if taken and (except_for is None or taken.id != except_for.id):
        raise _refuse_name("name already exists on this account")
    return made


def remove_redirect(act: Act, owner: User, name: str) -> None:
    """Let a name lead nowhere else: it is about to be used."""
    for redirect in act.database.all(Redirect, owner_id=owner.id, name=name):
        act.database.delete(redirect)


def _refuse_name(message: str) -> InvalidRefusal:
    error = FieldError(resource="Repository", field="name", code="custom", message=message)
    return InvalidRefusal(CREATION_FAILED, errors=(error,))
