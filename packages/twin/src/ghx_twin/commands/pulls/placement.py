"""The place of a review thread in a pull request's diff, when it is written and after every push."""

from dataclasses import dataclass
from typing import Literal, cast

from ghx_twin.commands import texts
from ghx_twin.queries.pulls.hunks import Hunk, PatchLine, Side, find_line, find_moved_line, line_at, parse_patch
from ghx_twin.queries.repositories.comparison import base_tip, files, files_at, git_of, hunks_of, side_of
from ghx_twin.refusals import FieldError, InvalidRefusal
from ghx_twin.state.records import Pull, Review, ReviewComment, Thread
from ghx_twin.world import Act, World

_RESOURCE, _PREFIX = "PullRequestReviewComment", "pull_request_review_thread"
_UNRESOLVED = "could not be resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewThread:
    """A thread to begin: a file, or a line of its diff (by number and side, or by position), or a range of lines."""

    path: str
    body: str
    line: int | None = None
    side: Side = "RIGHT"
    start_line: int | None = None
    start_side: Side | None = None
    subject_type: Literal["line", "file"] = "line"
    position: int | None = None  # lines below the first hunk header; the older way to say which line


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spot:
    """A place in a diff, ready to be stored."""

    side: Side
    line: int | None = None
    start_line: int | None = None
    start_side: Side | None = None
    position: int | None = None
    diff_hunk: str = ""


@dataclass(frozen=True, slots=True)
class _Fault:
    """What is wrong with one field of a thread; REST and GraphQL spell it differently."""

    field: str
    code: str
    complaint: str

    def as_error(self) -> FieldError:
        field = f"{_PREFIX}.{self.field}"
        message = f"{field} {self.complaint}" if self.code == "custom" else None
        if self.complaint == _UNRESOLVED:
            message = _UNRESOLVED
        return FieldError(resource=_RESOURCE, field=field, code=self.code, message=message)

    def as_phrase(self) -> str:
        if self.complaint == _UNRESOLVED:
            return f"{self.field.capitalize()} {_UNRESOLVED}"
        return f"Pull request review thread {self.field.replace('_', ' ')} {self.complaint}"


class UnresolvedPlaceRefusal(InvalidRefusal):
    """The path or the line of a thread is not in the diff."""


_NO_PATH = _Fault("path", "invalid", _UNRESOLVED)
_NO_LINE = _Fault("line", "missing_field", "can't be blank")
_OUTSIDE = _Fault("line", "invalid", _UNRESOLVED)
_OTHER_HUNK = _Fault("start_line", "custom", "must be part of the same hunk as the line.")
_NOT_BEFORE = _Fault("start_line", "custom", "must precede the end line.")
_NO_POSITION = _Fault("position", "invalid", "is invalid")


def create_thread(act: Act, pull: Pull, review: Review, new: NewThread) -> ReviewComment:
    """Create a thread with its first comment, on the commit that its review is of, without a permission check."""
    body = texts.check_comment(new.body, resource=_RESOURCE)
    spot = _locate(find_hunks(act.world, pull, review.commit_sha, new.path), new)
    thread = act.database.insert(
        Thread,
        pull_id=pull.id,
        path=new.path,
        subject_type=new.subject_type,
        side=spot.side,
        start_side=spot.start_side,
        original_line=spot.line,
        original_start_line=spot.start_line,
        original_position=spot.position,
        original_commit_sha=review.commit_sha,
        line=spot.line,
        start_line=spot.start_line,
        commit_sha=review.commit_sha,
        diff_hunk=spot.diff_hunk,
    )
    if review.commit_sha != pull.head_sha:  # written on an older commit: its line may be elsewhere by now
        move_thread(act, pull, thread)
    return act.database.insert(
        ReviewComment,
        thread_id=thread.id,
        review_id=review.id,
        author_id=review.author_id,
        body=body,
        commit_sha=review.commit_sha,
        created_at=act.now,
        updated_at=act.now,
    )


def move_threads(act: Act, pull: Pull) -> None:
    """Find the place of every thread again after the head or the base of a pull request has changed."""
    for thread in act.database.all(Thread, pull_id=pull.id):
        move_thread(act, pull, thread)


def move_thread(act: Act, pull: Pull, thread: Thread) -> None:
    """Find a thread's line in the present diff; mark it outdated where the line was changed or is not shown."""
    hunks = hunks_of(files(act.world, pull), thread.path)
    if thread.subject_type == "file":
        act.database.update(thread, commit_sha=pull.head_sha, outdated=hunks is None)
        return
    line = _find_moved_line(act.world, pull, thread, side_of(thread), thread.original_line)
    start_side = cast("Side", thread.start_side or thread.side)
    start = _find_moved_line(act.world, pull, thread, start_side, thread.original_start_line)
    if line is None or find_line(hunks or (), side_of(thread), line) is None:
        act.database.update(thread, line=None, start_line=None, outdated=True)
        return
    act.database.update(thread, line=line, start_line=start, commit_sha=pull.head_sha, outdated=False)


def find_hunks(world: World, pull: Pull, sha: str, path: str) -> tuple[Hunk, ...]:
    """Return the hunks of a file in the diff of a commit; refuse a file that is not in it."""
    hunks = hunks_of(files_at(world, pull, sha), path)
    if hunks is None:
        raise _thread_refusal(_NO_PATH)
    return hunks


def _locate(hunks: tuple[Hunk, ...], new: NewThread) -> _Spot:
    if new.subject_type == "file":
        return _Spot(side="RIGHT", diff_hunk="")
    if new.line is None:
        return _locate_position(hunks, new)
    found = find_line(hunks, new.side, new.line)
    if found is None:
        raise _thread_refusal(_OUTSIDE)
    hunk, line = found
    start_side = new.start_side or new.side
    if new.start_line is not None:
        _check_start(hunk, line, start_side, new.start_line)
    return _Spot(
        side=new.side,
        line=new.line,
        start_line=new.start_line,
        start_side=None if new.start_line is None else start_side,
        position=line.position,
        diff_hunk=hunk.until(line),
    )


def _locate_position(hunks: tuple[Hunk, ...], new: NewThread) -> _Spot:
    if new.position is None:
        raise _thread_refusal(_NO_LINE)
    line = line_at(hunks, new.position)
    if line is None or (line.left is None and line.right is None):
        raise _thread_refusal(_NO_POSITION)
    hunk = next(hunk for hunk in hunks if line in hunk.lines)
    side: Side = "LEFT" if line.right is None else "RIGHT"
    return _Spot(side=side, line=line.number(side), position=line.position, diff_hunk=hunk.until(line))


def _check_start(hunk: Hunk, line: PatchLine, side: Side, number: int) -> None:
    start = hunk.find(side, number)
    if start is None:
        raise _thread_refusal(_OTHER_HUNK)
    if start.position >= line.position:
        raise _thread_refusal(_NOT_BEFORE)


def _find_moved_line(world: World, pull: Pull, thread: Thread, side: Side, number: int | None) -> int | None:
    """Return where a line of the commit that a thread was written on is now; None where it was changed."""
    if number is None:
        return None
    git = git_of(world, pull)
    # The right side of the diff shows the head. The left shows the merge base, which moves when the base is merged in.
    old, new = thread.original_commit_sha, pull.head_sha
    if side == "LEFT":
        base = base_tip(world, pull)
        old, new = git.merge_base(base, old) or old, git.merge_base(base, new) or new
    if old == new:
        return number
    changed = next(
        (file for file in git.diff(old, new, from_merge_base=False) if thread.path in {file.path, file.previous_path}),
        None,
    )
    if changed is None:
        return number
    if changed.path != thread.path or changed.patch is None:
        return None
    return find_moved_line(parse_patch(changed.patch), number)


def _thread_refusal(fault: _Fault) -> InvalidRefusal:
    kind = UnresolvedPlaceRefusal if fault.complaint == _UNRESOLVED else InvalidRefusal
    return kind(errors=(fault.as_error(),), graphql=fault.as_phrase())
