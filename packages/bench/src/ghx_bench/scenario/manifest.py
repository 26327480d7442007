"""Where the fixtures of a run are: `FixtureManifest`, written by seeding and read by binding."""

import json
import os
import re
from pathlib import Path
from typing import Annotated

from pydantic import Field, JsonValue, Strict, StringConstraints

from ghx_base.documents import read_document, validate_document
from ghx_base.errors import OperationError
from ghx_base.files.atomic_files import write_atomically
from ghx_base.wire import OMITTABLE, ForeignModel, StrictInt
from ghx_profiler.scenario import Text

_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_-]*/\.*[A-Za-z0-9_-][A-Za-z0-9._-]*$"
"""Owners of managed accounts have underscores; no repository is called `.` or `..`."""

RepositoryName = Annotated[str, Strict(), StringConstraints(pattern=_PATTERN), Field(examples=["octocat/hello-world"])]


def is_repository(value: object) -> bool:
    """Return whether this is the full name of a repository."""
    return isinstance(value, str) and re.fullmatch(_PATTERN, value) is not None


class FixtureResource(ForeignModel):
    """One GitHub resource that scenarios work on; what a seeder adds beside these keys is kept and can be bound."""

    type: Text = Field(description="What it is.", examples=["pr"])
    number: Annotated[StrictInt | None, OMITTABLE] = Field(
        default=None, description="The number of the issue or pull request; a whole world may have none.", examples=[7]
    )
    repo: RepositoryName = Field(description="The repository it is in, as owner/repo.")
    branch: Annotated[Text | None, OMITTABLE] = Field(default=None, description="The branch that belongs to it.")
    labels: Annotated[tuple[Text, ...] | None, OMITTABLE] = Field(
        default=None, description="The labels it was given, by which it is found again."
    )
    metadata: dict[str, JsonValue] = Field(
        default={}, description="Whatever else is known; originalSha is the commit that a reset goes back to."
    )


class FixtureManifest(ForeignModel):
    """The fixtures that one seeding created, by name."""

    seed_id: Text = Field(description="The name of the seeding.", examples=["default"])
    created_at: Text = Field(description="When that was.", examples=["2026-02-27T21:13:31.000Z"])
    repo: RepositoryName = Field(description="The repository of the fixtures, as owner/repo.")
    fixtures: dict[Text, FixtureResource] = Field(description="The fixtures by the names that scenarios require.")


def load_fixture_manifest(path: str | os.PathLike[str]) -> FixtureManifest:
    """Read a manifest; raise `DocumentError` with everything wrong with it."""
    return validate_document(read_document(path), FixtureManifest)


def write_fixture_manifest(path: str | os.PathLike[str], manifest: FixtureManifest) -> None:
    """Write a manifest, in folders made as needed; a crash leaves the old file or the new one, never half of one."""
    path = Path(path)
    text = json.dumps(json.loads(manifest.to_bytes()), indent=2, ensure_ascii=False)
    try:
        write_atomically(path, f"{text}\n".encode())
    except OSError as error:
        raise OperationError(f"{path}: the manifest cannot be written: {error.strerror or error}") from error
