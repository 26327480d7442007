"""Global node ids in GitHub's spelling: a prefix for the type, then a packed pair of repository and id."""

import base64
import binascii
import struct
from dataclasses import dataclass

_ALONE = struct.Struct(">BBBI")  # an array of two in msgpack: version 0, a 32-bit id
_PAIR = struct.Struct(">BBBIBI")  # an array of three: version 0, two 32-bit ids
_ARRAY_OF_2, _ARRAY_OF_3, _UINT32 = 0x92, 0x93, 0xCE


@dataclass(frozen=True, slots=True)
class NodeId:
    """What a global id says: the type by its prefix, the repository where it is in one, and the database id."""

    prefix: str
    repository_id: int | None
    id: int

    def __str__(self) -> str:
        if self.repository_id is None:
            packed = _ALONE.pack(_ARRAY_OF_2, 0, _UINT32, self.id)
        else:
            packed = _PAIR.pack(_ARRAY_OF_3, 0, _UINT32, self.repository_id, _UINT32, self.id)
        return f"{self.prefix}_{base64.urlsafe_b64encode(packed).decode().rstrip('=')}"


def parse_node_id(text: str) -> NodeId | None:
    """Read a global id; None for anything this server cannot have written."""
    prefix, separator, packed = text.partition("_")
    if not separator or len(text) > 64:  # noqa: PLR2004 - ours have at most 25 characters
        return None
    try:
        content = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        if len(content) == _ALONE.size:
            parsed = NodeId(prefix, None, _ALONE.unpack(content)[3])
        else:
            fields = _PAIR.unpack(content)
            parsed = NodeId(prefix, fields[3], fields[5])
    except (binascii.Error, ValueError, struct.error):
        return None
    return parsed if str(parsed) == text else None
