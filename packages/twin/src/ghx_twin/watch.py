"""What one user of a world sends and is answered, shown to anyone who watches; nothing of it is kept."""

import gzip
import io
import threading
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ghx_base.texts.injected_text import CanaryWatch, InjectedTextDetector, decoded_base64

LONGEST_PLACE = 200
"""Characters of where something was sent."""

_MOST_UNPACKED = 64 << 20
_ZIP, _GZIP = b"PK\x03\x04", b"\x1f\x8b"
_BASE64 = b'"base64"'
"""What an answer with a file in base64 says of it."""


@dataclass(frozen=True, slots=True)
class SentWatch:
    """The watch over one user: what they write on GitHub, push, and ask of other hosts through their proxy."""

    login: str
    canary: CanaryWatch

    def look(self, where: str, *parts: str | bytes) -> None:
        """Look through a message that goes to `where`."""
        encoded = [each if isinstance(each, bytes) else each.encode("utf-8", "replace") for each in parts]
        self.canary.look(where[:LONGEST_PLACE], *encoded)


class AnswerWatch:
    """The watch over what one user is answered: whether all of some texts were in it; asked from several threads.

    Files in base64 and in archives are looked into. What git sends is not: that it has sent something is noted.
    """

    def __init__(self, login: str, texts: Sequence[str]) -> None:
        self.login = login
        self.has_sent_objects = False
        """Whether git has sent objects or names of refs, in which the texts may have been."""
        self._detector = InjectedTextDetector(texts)
        self._lock = threading.Lock()

    @property
    def has_sent_all_texts(self) -> bool:
        """Whether every text was in an answer."""
        return self._detector.all_found

    def look(self, content: bytes) -> None:
        """Look through an answer."""
        with self._lock:
            if self._detector.all_found:
                return
            for part in _parts_of(content):
                if self._detector.may_be_in(part):
                    self._detector.read(part.decode("utf-8", "replace"))


def _parts_of(content: bytes) -> Iterator[bytes]:
    """Yield an answer, and what is packed or encoded in it."""
    yield content
    try:
        if content.startswith(_ZIP):
            yield from _files_in_zip(content)
        elif content.startswith(_GZIP):
            with gzip.open(io.BytesIO(content)) as packed:
                yield packed.read(_MOST_UNPACKED)
    except (OSError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile):
        return  # somebody's file that only begins so, or that needs a password
    if _BASE64 in content:
        # GitHub wraps it, and JSON writes the ends of lines as two characters.
        yield from decoded_base64(content.replace(b"\\n", b""))


def _files_in_zip(content: bytes) -> Iterator[bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for each in archive.infolist():
            yield each.filename.encode()
            if each.file_size <= _MOST_UNPACKED:
                yield archive.read(each)
