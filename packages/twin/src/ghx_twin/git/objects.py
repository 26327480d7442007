"""Git objects as records, whose texts can always be written as UTF-8."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Literal, cast

import pygit2

from ghx_twin.git.errors import GitContentError

ObjectKind = Literal["commit", "tree", "blob", "tag"]
EntryType = Literal["blob", "tree", "commit"]
FileStatus = Literal["added", "removed", "modified", "renamed", "copied", "changed"]
AnyObject = pygit2.Commit | pygit2.Tree | pygit2.Blob | pygit2.Tag


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The name and address of who made an object, and the time in their time zone."""

    name: str
    email: str
    at: str  # ISO 8601 with an offset or Z

    @property
    def utc(self) -> str:
        """Return the moment as GitHub spells it, in UTC."""
        return _format_time(_parse_time(self.at).astimezone(UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    message: str
    author: Signature
    committer: Signature


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedTag:
    """A tag that is an object of its own."""

    sha: str
    name: str
    target: str
    target_type: ObjectKind
    message: str
    tagger: Signature | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEntry:
    """A file, folder, symbolic link or submodule; bytes of its path that are no UTF-8 are replaced."""

    path: str
    mode: str  # 100644, 100755, 040000, 120000 or 160000
    type: EntryType
    sha: str
    size: int | None = None  # of blobs


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeChange:
    """One path to set in a tree, or to take out of it where `sha` is None."""

    path: str
    mode: str = "100644"
    sha: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """How one file differs between two commits."""

    path: str
    previous_path: str | None = None
    status: FileStatus
    additions: int
    deletions: int
    sha: str  # the blob after the change, or before it where the file is removed
    patch: str | None = None  # hunks only; None where it is binary, empty or too large
    binary: bool = False


@dataclass(frozen=True, slots=True)
class RefUpdate:
    """A ref that moves, by its full name; None where there was or will be none."""

    ref: str
    old: str | None
    new: str | None


def decode_text(content: bytes | None, encoding: str | None = None) -> str:
    """Return bytes as text; what cannot be decoded is replaced."""
    # Never an error: anyone may push a commit whose message is not in the encoding it claims.
    if not content:
        return ""
    try:
        return content.decode(encoding or "utf-8")
    except (UnicodeDecodeError, LookupError):
        return content.decode("utf-8", "replace")


def encode_text(text: str) -> bytes:
    """Return text as git stores it; half a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace")


def commit_record(commit: pygit2.Commit) -> Commit:
    """Return a commit as a record."""
    return Commit(
        sha=str(commit.id),
        tree=str(commit.tree_id),
        parents=tuple(map(str, commit.parent_ids)),
        message=decode_text(commit.raw_message, commit.message_encoding),
        author=_signature(commit.author, commit.message_encoding),
        committer=_signature(commit.committer, commit.message_encoding),
    )


def tag_record(tag: pygit2.Tag) -> AnnotatedTag:
    """Return an annotated tag as a record."""
    target = cast("AnyObject", tag.get_object())
    tagger = cast("pygit2.Signature | None", tag.tagger)  # old tags have none
    return AnnotatedTag(
        sha=str(tag.id),
        name=decode_text(tag.raw_name),
        target=str(target.id),
        target_type=object_kind(target),
        message=decode_text(tag.raw_message),
        tagger=None if tagger is None else _signature(tagger, None),
    )


def object_kind(git_object: AnyObject) -> ObjectKind:
    """Return the kind of an object."""
    match git_object:
        case pygit2.Commit():
            return "commit"
        case pygit2.Tree():
            return "tree"
        case pygit2.Tag():
            return "tag"
        case pygit2.Blob():
            return "blob"


def commit_content(
    *, tree: str, parents: tuple[str, ...], message: bytes, author: bytes, committer: bytes, encoding: str | None = None
) -> bytes:
    """Return the bytes of a commit object; `author` and `committer` are lines of `signature_line`."""
    # By hand, not by pygit2, whose signatures are decoded text: a rebased commit keeps the bytes of its author.
    lines = [f"tree {tree}".encode(), *(f"parent {parent}".encode() for parent in parents)]
    lines += [b"author " + author, b"committer " + committer]
    if encoding:
        lines.append(f"encoding {encoding}".encode())
    return b"\n".join(lines) + b"\n\n" + refuse_nul(message)


def tag_content(*, name: str, target: str, kind: ObjectKind, message: str, tagger: Signature | None) -> bytes:
    """Return the bytes of an annotated tag."""
    lines = [f"object {target}".encode(), f"type {kind}".encode(), b"tag " + encode_text(name)]
    if tagger is not None:
        lines.append(b"tagger " + signature_line(tagger))
    return b"\n".join(lines) + b"\n\n" + refuse_nul(encode_text(message))


def signature_line(signature: Signature) -> bytes:
    """Return a signature as git stores it, without the characters that would end the field."""
    moment = _parse_time(signature.at)
    minutes = int((moment.utcoffset() or timedelta()).total_seconds()) // 60
    sign, distance = ("-", -minutes) if minutes < 0 else ("+", minutes)
    zone = f"{sign}{distance // 60:02}{distance % 60:02}"
    seconds = max(int(moment.timestamp()), 0)
    return encode_text(f"{_strip_reserved(signature.name)} <{_strip_reserved(signature.email)}> {seconds} {zone}")


def author_line(commit: pygit2.Commit) -> bytes:
    """Return the author line of a commit, byte for byte: a rebase must not change what it cannot decode."""
    for line in commit.read_raw().split(b"\n"):
        if line.startswith(b"author "):
            return line.removeprefix(b"author ")
    raise GitContentError(f"commit {commit.id} has no author")


def refuse_nul(content: bytes) -> bytes:
    """Return content, or refuse a NUL, at which git would cut it off."""
    if b"\0" in content:
        raise GitContentError("a message cannot hold a NUL character")
    return content


def epoch_seconds(text: str) -> float:
    """Return an ISO 8601 time as seconds since 1970."""
    return _parse_time(text).timestamp()


def _parse_time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise GitContentError(f"{text!r} is no ISO 8601 time") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _strip_reserved(text: str) -> str:
    """Return a name or address without what git leaves out of them."""
    return "".join(character for character in text if character not in "<>\n\0").strip(" .,:;\"\\'\t\r")


def _signature(signature: pygit2.Signature, encoding: str | None) -> Signature:
    return Signature(
        name=decode_text(signature.raw_name, encoding),
        email=decode_text(signature.raw_email, encoding),
        at=_format_time(_commit_time(signature.time, signature.offset)),
    )


def _commit_time(seconds: int, offset_minutes: int) -> datetime:
    """Return the time of a commit; one that Python's calendar does not have becomes the beginning of 1970."""
    try:
        return datetime.fromtimestamp(seconds, timezone(timedelta(minutes=offset_minutes)))
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)


def _format_time(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
