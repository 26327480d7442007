"""Archives of the files of a commit: their addresses and names."""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import Literal

from ghx_twin.queries import lookup
from ghx_twin.state.records import Repository
from ghx_twin.world import World

ArchiveKind = Literal["tar.gz", "zip"]
_VERSION = re.compile(r"^v(?=\d)")
_KEY = secrets.token_bytes(32)  # addresses of private archives are valid for one process


@dataclass(frozen=True, slots=True)
class ArchiveName:
    """What an archive is called: the folder that all its files are in, and its own name without the ending."""

    folder: str
    file: str


def full_ref(world: World, repository: Repository, ref: str) -> str | None:
    """Return what the address of an archive calls a ref: its full name, or the sha; None if it does not exist."""
    git = world.git(repository)
    name = repository.default_branch if ref == "HEAD" else ref
    for candidate in (name, f"refs/heads/{name}", f"refs/tags/{name}"):
        if candidate.startswith("refs/") and git.ref(candidate):
            return candidate
    return git.resolve(ref, repository.default_branch)


def api_archive_name(world: World, repository: Repository, ref: str, sha: str) -> ArchiveName:
    """Return the names in an archive that the API leads to, which begin with the owner and end with the commit."""
    base = lookup.full_name(world, repository).replace("/", "-")
    tag = ref.removeprefix("refs/tags/")
    described = f"{tag.replace('/', '-')}-0-g{sha[:7]}" if tag != ref else sha[:7]
    return ArchiveName(f"{base}-{sha[:7]}", f"{base}-{described}")


def page_archive_name(repository: Repository, ref: str) -> ArchiveName:
    """Return the names in an archive that a page leads to: of the repository and the ref, a version without its `v`."""
    short = re.sub(r"^refs/(?:heads|tags)/", "", ref)
    name = f"{repository.name}-{_VERSION.sub('', short)}".replace("/", "-")
    return ArchiveName(name, name)


def archive_token(repository: Repository, ref: str) -> str:
    """Return what opens the archive of a private repository to a client that follows a redirect without its token."""
    return hmac.new(_KEY, f"{repository.id} {ref}".encode(), hashlib.sha256).hexdigest()
