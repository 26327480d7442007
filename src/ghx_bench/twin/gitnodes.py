"""Global ids of what lives in git: commits, trees, blobs, tags and refs, in GitHub's spelling.

They are no records, so their ids carry the repository and the object's name (or the ref's full name) instead of a row.
"""

import base64
import binascii
import struct
from dataclasses import dataclass
from typing import Literal, cast

GitNodeKind = Literal["commit", "tree", "blob", "tag", "ref", "comparison", "rollup", "status"]
_PREFIXES: dict[GitNodeKind, str] = {
    "commit": "C",
    "tree": "TR",
    "blob": "B",
    "tag": "TA",
    "ref": "REF",
    "comparison": "CO",
    "rollup": "SCR",
    "status": "S",
}
_KINDS: dict[str, GitNodeKind] = {prefix: kind for kind, prefix in _PREFIXES.items()}
_HEAD = struct.Struct(">BBBI")  # an array of three in msgpack: version 0, a 32-bit repository id, then a string
_ARRAY_OF_3, _UINT32, _SHORT_TEXT, _LONG_TEXT = 0x93, 0xCE, 0xA0, 0xDA
_LONGEST_SHORT, _LONGEST = 31, 1024  # characters a one-byte head can count, and what we accept at all


@dataclass(frozen=True, slots=True)
class GitNode:
    """What the global id of a git object says: its kind, its repository, and its sha or full ref name."""

    kind: GitNodeKind
    repository_id: int
    name: str

    def __str__(self) -> str:
        name = self.name.encode("utf-8", "surrogateescape")
        head = (
            bytes([_SHORT_TEXT | len(name)])
            if len(name) <= _LONGEST_SHORT
            else struct.pack(">BH", _LONG_TEXT, len(name))
        )
        packed = _HEAD.pack(_ARRAY_OF_3, 0, _UINT32, self.repository_id) + head + name
        return f"{_PREFIXES[self.kind]}_{base64.urlsafe_b64encode(packed).decode().rstrip('=')}"


def git_node_id(kind: GitNodeKind, repository_id: int, name: str) -> str:
    """Return the global id of a git object (`name` is its sha) or of a ref (`name` is `refs/heads/main`)."""
    return str(GitNode(kind, repository_id, name))


def parse_git_node_id(text: str) -> GitNode | None:
    """Read the global id of a git object; None for anything this server cannot have written."""
    prefix, separator, packed = text.partition("_")
    if not separator or prefix not in _KINDS or len(text) > _LONGEST:
        return None
    try:
        content = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        repository_id = cast("int", _HEAD.unpack_from(content)[3])
        start = _HEAD.size + (1 if content[_HEAD.size] != _LONG_TEXT else 3)
        parsed = GitNode(_KINDS[prefix], repository_id, content[start:].decode("utf-8", "surrogateescape"))
    except (binascii.Error, ValueError, struct.error, IndexError):
        return None
    return parsed if str(parsed) == text else None
