"""What a pull request changes: its base, commits and files, and the lines its threads are on."""

from ghx_twin.git.objects import Commit, FileDiff
from ghx_twin.git.repository import GitRepository
from ghx_twin.queries import lookup
from ghx_twin.queries.pulls.hunks import Hunk, Side, find_line, parse_patch
from ghx_twin.state.records import Pull, Thread
from ghx_twin.world import World


def git_of(world: World, pull: Pull) -> GitRepository:
    """Return the git repository that a pull request was opened in, which has the objects of both sides."""
    return world.git(lookup.repository_of(world, pull))


def base_tip(world: World, pull: Pull) -> str:
    """Return the tip of a pull request's base; for a closed one, the tip it had then."""
    if lookup.issue_of(world, pull).state != "open":
        return pull.base_sha  # else the diff of a merged pull request would become empty
    return git_of(world, pull).ref(f"refs/heads/{pull.base_ref}") or pull.base_sha


def commits(world: World, pull: Pull) -> list[Commit]:
    """Return the commits that a pull request adds to its base, oldest first."""
    return git_of(world, pull).commits_between(base_tip(world, pull), pull.head_sha)


def files(world: World, pull: Pull) -> tuple[FileDiff, ...]:
    """Return the files that a pull request changes since the merge base."""
    return files_at(world, pull, pull.head_sha)


def files_at(world: World, pull: Pull, sha: str) -> tuple[FileDiff, ...]:
    """Return the files that a pull request had changed by one of its commits."""
    return git_of(world, pull).diff(base_tip(world, pull), sha)


def hunks_of(file_diffs: tuple[FileDiff, ...], path: str) -> tuple[Hunk, ...] | None:
    """Return the hunks of one file among changed files; None if it is not among them."""
    file = next((file for file in file_diffs if file.path == path), None)
    return None if file is None else parse_patch(file.patch or "")


def position(world: World, pull: Pull, thread: Thread) -> int | None:
    """Return how many lines below the first hunk header of its file a thread is now; None where it is outdated."""
    if thread.outdated:
        return None
    if thread.subject_type == "file" or thread.line is None:
        return 1
    line = find_line(hunks_of(files(world, pull), thread.path) or (), side_of(thread), thread.line)
    return line[1].position if line else None


def side_of(thread: Thread) -> Side:
    """Return the side of the diff that a thread is on."""
    return "LEFT" if thread.side == "LEFT" else "RIGHT"


def trial_merge_commit(world: World, pull: Pull) -> str | None:
    """Return the trial merge that `refs/pull/N/merge` points at while an open pull request can be merged."""
    number = lookup.issue_of(world, pull).number
    return git_of(world, pull).ref(f"refs/pull/{number}/merge")
