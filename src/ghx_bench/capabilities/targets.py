"""What a step of a chain does to GitHub, and whether anybody could tell if it changed places with another step."""

from dataclasses import dataclass
from typing import Final, Literal

from ghx_bench.capabilities.entries import Entry
from ghx_bench.capabilities.models import InputModel

Target = tuple[str, str | int]
"""One thing that is changed: its kind, and which one; things of different kinds may be parts of each other."""

_FAR_REACHING = frozenset(
    {
        "pr.branch.update",  # moves a branch, which other pull requests may have as theirs
        "pr.checks.rerun.all",  # of a run, which is for a commit and so for several pull requests
        "pr.checks.rerun.failed",
        "pr.merge",  # moves a branch, closes issues
        "pr.ready",  # may be what an automatic merge was waiting for
        "pr.reopen",  # is refused while another pull request has its branches
    }
)
_NEW_ISSUE: Final = ("issue", "new")
_THREAD_PREFIX = "PRRT_"  # ids of the older form may name the same thread


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """What a step does, as far as that is known; what it changes is `None` if it may be more than one thing."""

    effect: Literal["nothing", "reads", "changes"]
    target: Target | None = None


NOTHING: Final = Impact(effect="nothing")
"""What a step does that will only fail."""


def expected_impact(entry: Entry) -> Impact:
    """Return what is known of a step whose input is not."""
    return Impact(effect="reads" if entry.effect == "reads" else "changes")


def impact_of(entry: Entry, given: InputModel) -> Impact:
    """Return what a step does with an input that was checked."""
    expected = expected_impact(entry)
    if expected.effect == "reads" or entry.effect == "destructive" or _reaches_far(entry, given):
        return expected
    return Impact(effect="changes", target=_target(entry, given))


def must_follow(later: Impact, earlier: Impact) -> bool:
    """Tell whether a step has to wait until an earlier one is done.

    What reads waits for changes and changes wait for what reads; changes wait for each other unless they are of two
    things for sure. New issues wait for everything but each other: what one waits for, the next one waits for, too, so
    that they are begun in order, and what goes out together is carried out in order.
    """
    if NOTHING in {later, earlier}:
        return False
    if "reads" in {later.effect, earlier.effect}:
        return later.effect != earlier.effect
    if later.target == earlier.target == _NEW_ISSUE:
        return False
    return not _are_different(later.target, earlier.target)


def _reaches_far(entry: Entry, given: InputModel) -> bool:
    """Tell whether a change of one thing changes others: what a branch holds, or who comes next."""
    if entry.id in _FAR_REACHING:
        return True
    deletes_branch = getattr(given, "delete_branch", False)
    is_approval = getattr(given, "event", None) == "APPROVE"
    changes_draft = getattr(given, "draft", None) is not None
    is_told = getattr(given, "comment", None) is not None  # which takes a second change, and others could slip between
    return bool(deletes_branch or is_approval or changes_draft or is_told)


def _target(entry: Entry, given: InputModel) -> Target | None:
    """Return the one thing that a step changes; `None` if that is not known.

    The number says it without the repository, which may go by two names since it was renamed.
    """
    if entry.id == "issue.create":
        return _NEW_ISSUE
    thread: object = getattr(given, "thread_id", None)
    if isinstance(thread, str):
        return ("thread", thread) if thread.startswith(_THREAD_PREFIX) else None
    number: object = getattr(given, "issue_number", None) or getattr(given, "pr_number", None)
    return ("number", number) if isinstance(number, int) else None


def _are_different(one: Target | None, other: Target | None) -> bool:
    """Tell whether two targets are different things for sure."""
    return one is not None and other is not None and one[0] == other[0] and one != other
