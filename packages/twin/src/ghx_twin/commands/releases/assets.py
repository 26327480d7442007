"""The files of releases."""

import hashlib
import re

from ghx_twin.commands import kernel
from ghx_twin.commands.kernel import UNSET, Unset
from ghx_twin.commands.texts import already_exists, check_length, check_unicode, missing
from ghx_twin.queries import lookup
from ghx_twin.queries.permissions import require
from ghx_twin.refusals import FieldError, InvalidRefusal, NotFoundRefusal
from ghx_twin.state.records import Release, ReleaseAsset
from ghx_twin.world import Act

LONGEST_NAME = 255
_EMPTY = FieldError(
    resource="ReleaseAsset", field="size", code="custom", message="size must be greater than or equal to 1"
)
_UNUSUAL = re.compile(r"[^\w@+-]+", re.ASCII)


def upload_asset(
    act: Act,
    release: Release,
    *,
    name: str,
    content: bytes,
    content_type: str = "application/octet-stream",
    label: str | None = None,
) -> ReleaseAsset:
    """Add a file to a release."""
    current = kernel.reload(act, release)
    repository = lookup.repository_of(act.world, current)
    require(act, repository, "write")
    if not content:
        raise InvalidRefusal(errors=(_EMPTY,))
    return act.database.insert(
        ReleaseAsset,
        release_id=current.id,
        name=_free_name(act, current, name),
        label=_label(label),
        content_type=check_unicode(content_type, resource="ReleaseAsset", field="content_type"),
        size=len(content),
        digest=f"sha256:{hashlib.sha256(content).hexdigest()}",
        blob_sha=act.git(repository).write_blob(content),
        uploader_id=kernel.actor_id(act, repository),
        created_at=act.now,
        updated_at=act.now,
    )


def update_asset(
    act: Act, asset: ReleaseAsset, *, name: str | Unset = UNSET, label: str | Unset | None = UNSET
) -> ReleaseAsset:
    """Change how a file is called."""
    current = kernel.reload(act, asset)
    release = _require_write(act, current)
    changes: dict[str, object] = {}
    if name is not UNSET:
        changes["name"] = _free_name(act, release, name, except_for=current)
    if label is not UNSET:
        changes["label"] = _label(label)
    if all(getattr(current, field) == value for field, value in changes.items()):
        return current
    return kernel.touch(act, current, **changes)


def delete_asset(act: Act, asset: ReleaseAsset) -> None:
    """Delete a file of a release."""
    current = kernel.reload(act, asset)
    _require_write(act, current)
    act.database.delete(current)


def _require_write(act: Act, asset: ReleaseAsset) -> Release:
    release = act.database.get(Release, asset.release_id)
    if release is None:
        raise NotFoundRefusal(f"Could not resolve to a ReleaseAsset with the id of {asset.id}.")
    require(act, lookup.repository_of(act.world, release), "write")
    return release


def _free_name(act: Act, release: Release, name: str, *, except_for: ReleaseAsset | None = None) -> str:
    """Return the name as GitHub keeps it, with dots for what is unusual in a file name; refuse one that is taken."""
    file_name = _UNUSUAL.sub(".", name).strip(".")
    if not file_name:
        raise missing("ReleaseAsset", "name")
    check_length(file_name, LONGEST_NAME, resource="ReleaseAsset", field="name")
    namesake = act.database.one(ReleaseAsset, release_id=release.id, name=file_name)
    if namesake and (except_for is None or namesake.id != except_for.id):
        raise already_exists("ReleaseAsset", "name")
    return file_name


def _label(label: str | None) -> str | None:
    return None if label is None else check_unicode(label, resource="ReleaseAsset", field="label")
