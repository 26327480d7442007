"""Trees: read as lists of entries, written as changes to a base."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

import pygit2
from pygit2.enums import ObjectType

from ghx_twin.git.errors import GitLookupError, GitPathError
from ghx_twin.git.objects import EntryType, TreeChange, TreeEntry, decode_text

_TYPES: dict[str, EntryType] = {
    "040000": "tree",
    "100644": "blob",
    "100755": "blob",
    "120000": "blob",
    "160000": "commit",
}
MOST_ENTRIES = 100_000
"""Of one tree with all that is below it, as on GitHub. A few hundred bytes of git can name more than fits in memory."""

_LONGEST_PATH = 4096
_LOOKS_LIKE_GIT = re.compile(r"(\.git|git~1)[ .]*(:.*)?", re.DOTALL)


@dataclass(slots=True)
class _Folder:
    """A folder in the making: the tree it starts from and what changes in it; None takes an entry out."""

    base: pygit2.Tree | None
    entries: dict[str, "_Folder | TreeChange | None"] = field(default_factory=dict[str, "_Folder | TreeChange | None"])


def split_path(path: str) -> tuple[str, ...]:
    """Return the parts of a path; refuse one that git and GitHub never let into a tree."""
    parts = tuple(path.split("/"))
    if len(path) > _LONGEST_PATH or not _is_text(path) or any(_is_malformed(part) for part in parts):
        raise GitPathError(f"path {path[:100]!r} contains a malformed path component")
    return parts


def entries(repository: pygit2.Repository, tree: pygit2.Tree, *, recursive: bool) -> Iterator[TreeEntry]:
    """Yield the entries of a tree in git's order; with `recursive`, each folder before its content.

    What lies deeper than any path that can be written is left out.
    """
    # A list and not recursion: folders may be nested deeper than Python calls.
    open_folders = [("", iter(tree))]
    while open_folders:
        prefix, items = open_folders[-1]
        item = next(items, None)
        if item is None:
            open_folders.pop()
            continue
        entry = entry_record(repository, item, prefix + decode_text(item.raw_name))
        yield entry
        if recursive and isinstance(item, pygit2.Tree) and len(entry.path) < _LONGEST_PATH:
            open_folders.append((f"{entry.path}/", iter(item)))


def find(repository: pygit2.Repository, tree: pygit2.Tree, path: str) -> TreeEntry | None:
    """Return the entry at a path; the tree itself at the empty one."""
    if not path:
        return TreeEntry(path="", mode="040000", type="tree", sha=str(tree.id))
    item = lookup(tree, path)
    return None if item is None else entry_record(repository, item, path)


def lookup(tree: pygit2.Tree, path: str) -> pygit2.Object | None:
    """Return the entry at a path, without its content."""
    item: pygit2.Object = tree
    for part in path.split("/"):
        if not isinstance(item, pygit2.Tree) or not part or not _is_text(part):
            return None
        try:
            item = item / part
        except (KeyError, ValueError):
            return None
    return item


def entry_record(repository: pygit2.Repository, item: pygit2.Object, path: str) -> TreeEntry:
    """Return an entry of a tree as a record."""
    mode = f"{int(item.filemode):06o}"  # pyright: ignore[reportArgumentType] - entries of a tree always have one
    kind = _TYPES.get(mode, "blob")
    size = repository.odb.read_header(item.id)[1] if kind == "blob" and item.id in repository.odb else None
    return TreeEntry(path=path, mode="100644" if mode not in _TYPES else mode, type=kind, sha=str(item.id), size=size)


def write(repository: pygit2.Repository, base: pygit2.Tree | None, changes: Sequence[TreeChange]) -> str:
    """Write the tree that a base becomes by changes, applied in order, and return its sha."""
    root = _Folder(base)
    for change in changes:
        _apply_change(repository, root, split_path(change.path), change)
    written = _write(repository, root)
    return str(written if written is not None else repository.TreeBuilder().write())


def _is_text(path: str) -> bool:
    """Return whether a path can be stored: without NUL and halves of surrogate pairs."""
    return "\0" not in path and not any("\ud800" <= character <= "\udfff" for character in path)


def _is_malformed(part: str) -> bool:
    """Return whether a file system could take one part of a path for something else than a name."""
    # As git's fsck: case, invisible characters, trailing dots and streams (`.GIT::$INDEX`) all mean `.git` somewhere.
    if part in {"", ".", ".."}:
        return True
    visible = "".join(character for character in part if unicodedata.category(character) != "Cf")
    return any(_LOOKS_LIKE_GIT.fullmatch(name.casefold()) for name in visible.split("\\"))


def _apply_change(repository: pygit2.Repository, folder: _Folder, parts: Sequence[str], change: TreeChange) -> None:
    *above, name = parts
    for part in above:
        folder = _open_folder(repository, folder, part, change.path)
    if change.sha is None:
        in_base = folder.base is not None and lookup(folder.base, name) is not None
        exists = folder.entries[name] is not None if name in folder.entries else in_base
        if not exists:
            raise GitPathError(f"{change.path} is not in the tree, so it cannot be removed")
        folder.entries[name] = None
        return
    _check_target(repository, change, change.sha)
    folder.entries[name] = change


def _open_folder(repository: pygit2.Repository, folder: _Folder, name: str, path: str) -> _Folder:
    """Return a folder inside a folder, ready to be changed; it replaces a file that the base has there."""
    if name not in folder.entries:
        folder_item = None if folder.base is None else lookup(folder.base, name)
        folder.entries[name] = _Folder(folder_item if isinstance(folder_item, pygit2.Tree) else None)
    match folder.entries[name]:
        case _Folder() as inner:
            return inner
        case TreeChange(mode="040000", sha=str(sha)):
            tree = repository[sha]
            inner = _Folder(tree if isinstance(tree, pygit2.Tree) else None)
        case TreeChange():
            raise GitPathError(f"{path} lies below a file of the same tree")
        case None:
            inner = _Folder(None)
    folder.entries[name] = inner
    return inner


def _check_target(repository: pygit2.Repository, change: TreeChange, sha: str) -> None:
    kind = _TYPES.get(change.mode)
    if kind is None:
        raise GitPathError(f"{change.path}: mode {change.mode!r} is none of {', '.join(sorted(_TYPES))}")
    try:
        oid = pygit2.Oid(hex=sha)
        header = None if kind == "commit" else repository.odb.read_header(oid)[0]
    except (KeyError, ValueError):
        raise GitLookupError(f"{change.path}: there is no {kind} {sha}") from None
    expected_type = {"blob": ObjectType.BLOB, "tree": ObjectType.TREE, "commit": None}[kind]
    if header != expected_type or len(sha) != 40:  # noqa: PLR2004 - hexadecimal digits of a SHA-1
        raise GitLookupError(f"{change.path}: {sha} is not a {kind}")


def _write(repository: pygit2.Repository, folder: _Folder) -> pygit2.Oid | None:
    """Write a folder; None where nothing is left in it."""
    builder = repository.TreeBuilder() if folder.base is None else repository.TreeBuilder(folder.base)
    for name, change in folder.entries.items():
        match change:
            case _Folder():
                sha, mode = _write(repository, change), 0o040000
            case TreeChange():
                sha, mode = change.sha, int(change.mode, 8)
            case None:
                sha, mode = None, 0
        if sha is not None:
            builder.insert(name, sha, mode)
        elif cast("pygit2.Object | None", builder.get(name)) is not None:
            builder.remove(name)
    return builder.write() if len(builder) else None  # git has no empty folders
