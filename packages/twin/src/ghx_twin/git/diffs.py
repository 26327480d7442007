"""Differences between two trees, file by file, with the limits that GitHub puts on patches."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pygit2
from pygit2.enums import DeltaStatus, DiffFlag, DiffOption

from ghx_twin.git import program
from ghx_twin.git.objects import FileDiff, FileStatus, decode_text

MOST_FILES = 3_000
"""Files whose lines are counted; of no change does GitHub list more."""

LINES_OF_A_PATCH = 20_000
BYTES_OF_A_PATCH = 500_000
BYTES_OF_ALL_PATCHES = 1_000_000
_STATUSES: dict[DeltaStatus, FileStatus] = {
    DeltaStatus.ADDED: "added",
    DeltaStatus.DELETED: "removed",
    DeltaStatus.MODIFIED: "modified",
    DeltaStatus.TYPECHANGE: "changed",
}


def file_diffs(repository: pygit2.Repository, base: pygit2.Tree | None, head: pygit2.Tree) -> Iterator[FileDiff]:
    """Yield the difference of each file, by path; without patches once GitHub would show no more of them."""
    flags = DiffOption.INCLUDE_TYPECHANGE
    difference = head.diff_to_tree(flags=flags, swap=True) if base is None else base.diff_to_tree(head, flags=flags)
    deltas = {delta.new_file.raw_path: (number, delta) for number, delta in enumerate(difference.deltas)}
    renames = (
        {} if base is None else _find_renames(repository, base, head, {delta.status for _, delta in deltas.values()})
    )
    budget = BYTES_OF_ALL_PATCHES
    for place, path in enumerate(sorted(deltas.keys() - set(renames.values()))):
        number, delta = deltas[path]
        source = renames.get(path)
        if place >= MOST_FILES:
            diff = _diff_of_change(None, delta, budget)
        elif source is None:
            diff = _diff_of_change(difference[number], delta, budget)
        else:
            diff = _diff_of_rename(repository, deltas[source][1].old_file, delta.new_file, budget)
        budget -= len(diff.patch or "")
        yield diff


def _find_renames(
    repository: pygit2.Repository, base: pygit2.Tree, head: pygit2.Tree, statuses: set[DeltaStatus]
) -> dict[bytes, bytes]:
    """Return the old paths of renamed files, by the new ones."""
    # By git itself, so that the renames are those that `git diff` shows to the same clients.
    if not {DeltaStatus.ADDED, DeltaStatus.DELETED} <= statuses:
        return {}
    options = ("-r", "-z", "-M", "--name-status", "--diff-filter=R")
    words = program.run(Path(repository.path), ("diff-tree", *options, str(base.id), str(head.id))).split(b"\0")
    return dict(zip(words[2::3], words[1::3], strict=False))


def _diff_of_change(patch: pygit2.Patch | None, delta: pygit2.DiffDelta, budget: int) -> FileDiff:
    old_file = delta.old_file if delta.status == DeltaStatus.DELETED else delta.new_file
    _, additions, deletions = (0, 0, 0) if patch is None else patch.line_stats
    binary = patch is not None and bool(patch.delta.is_binary)
    only_mode = delta.status == DeltaStatus.MODIFIED and delta.old_file.id == delta.new_file.id
    return FileDiff(
        path=decode_text(old_file.raw_path),
        status="changed" if only_mode else _STATUSES.get(delta.status, "modified"),
        additions=additions,
        deletions=deletions,
        sha=str(old_file.id),
        patch=None if binary or patch is None else _hunks(patch, additions + deletions, budget),
        binary=binary,
    )


def _diff_of_rename(repository: pygit2.Repository, old: pygit2.DiffFile, new: pygit2.DiffFile, budget: int) -> FileDiff:
    whole = FileDiff(
        path=decode_text(new.raw_path),
        previous_path=decode_text(old.raw_path),
        status="renamed",
        additions=0,
        deletions=0,
        sha=str(new.id),
    )
    if old.id == new.id:  # perhaps a submodule, whose object is elsewhere
        return whole
    patch = pygit2.Patch.create_from(repository[old.id].peel(pygit2.Blob), repository[new.id].peel(pygit2.Blob))
    _, additions, deletions = patch.line_stats
    binary = bool(patch.delta.flags & DiffFlag.BINARY)
    hunks = None if binary else _hunks(patch, additions + deletions, budget)
    return replace(whole, additions=additions, deletions=deletions, patch=hunks, binary=binary)


def _hunks(patch: pygit2.Patch, lines: int, budget: int) -> str | None:
    """Return the hunks of a patch without the header of the file, or None where there is nothing to show."""
    if lines > LINES_OF_A_PATCH or budget <= 0:
        return None
    content = patch.data
    start = content.find(b"\n@@ ")
    if start < 0 or len(content) - start > min(BYTES_OF_A_PATCH, budget):
        return None
    return decode_text(content[start + 1 :]).removesuffix("\n")
