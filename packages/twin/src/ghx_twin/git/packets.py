"""Git's pkt-lines: lines with their length in front, and the side bands that an answer is divided into."""

from collections.abc import Iterator
from typing import BinaryIO

from ghx_twin.git.errors import GitError

FLUSH = b"0000"
DATA, PROGRESS = 1, 2  # bands
_HEADER = 4
_LARGEST = 65_520 - _HEADER - 1  # content of one packet in a band


class GitProtocolError(GitError):
    """Bytes that no git client sends."""

    code = "GIT_PROTOCOL"


def packet(content: bytes) -> bytes:
    """Return one packet."""
    return b"%04x" % (len(content) + _HEADER) + content


def pack_band(band: int, content: bytes) -> bytes:
    """Return content as packets of one band."""
    pieces = (content[start : start + _LARGEST] for start in range(0, len(content), _LARGEST))
    return b"".join(packet(bytes([band]) + piece) for piece in pieces)


def read_packets(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the packets up to the next flush, which is read too."""
    while (header := stream.read(_HEADER)) != FLUSH:
        try:
            length = int(header, 16)
        except ValueError:
            length = 0
        content = stream.read(length - _HEADER) if length > _HEADER else b""
        if len(header) < _HEADER or length < _HEADER or len(content) != length - _HEADER:
            raise GitProtocolError("the request is no sequence of git's packets")
        yield content
