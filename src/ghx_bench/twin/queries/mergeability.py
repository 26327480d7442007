"""Whether a pull request can be merged, and what its base branch still requires."""

from collections import Counter
from typing import Literal

from ghx_bench.twin.queries import checks, lookup
from ghx_bench.twin.queries.comparison import base_tip, git_of
from ghx_bench.twin.queries.protections import protection_of
from ghx_bench.twin.queries.reviews import latest_opinions
from ghx_bench.twin.state.records import Protection, Pull
from ghx_bench.twin.world import World

Mergeable = Literal["MERGEABLE", "CONFLICTING", "UNKNOWN"]
MergeState = Literal["BEHIND", "BLOCKED", "CLEAN", "DIRTY", "HAS_HOOKS", "UNKNOWN", "UNSTABLE"]

_MISSING: dict[checks.State, str] = {
    "EXPECTED": "expected",
    "PENDING": "pending",
    "FAILURE": "failing",
    "ERROR": "failing",
}


def mergeable(world: World, pull: Pull) -> Mergeable:
    """Return whether git can merge a pull request without conflicts; unknown once it is closed."""
    if lookup.issue_of(world, pull).state != "open":
        return "UNKNOWN"
    git = git_of(world, pull)
    if git.ref(f"refs/heads/{pull.base_ref}") is None:
        return "UNKNOWN"
    # GitHub computes this in the background and answers UNKNOWN at first, which makes clients poll. Here it is known at
    # once: a merge of two trees takes no time, and `GitRepository.merge` remembers it.
    return "MERGEABLE" if git.merge(base_tip(world, pull), pull.head_sha) else "CONFLICTING"


def merge_state(world: World, pull: Pull) -> MergeState:
    """Return GitHub's merge state: the gravest of what stands in the way; that of a draft as if it were none."""
    merges = mergeable(world, pull)
    if merges == "UNKNOWN":
        return "UNKNOWN"
    if merges == "CONFLICTING":
        return "DIRTY"
    rules = _rules(world, pull)
    if rules and (check_obstacles(world, pull, rules) or review_obstacles(world, pull, rules)):
        return "BLOCKED"
    if rules and is_behind(world, pull, rules):
        return "BEHIND"
    reported = checks.rollup(world, lookup.repository_of(world, pull), pull.head_sha)
    return "CLEAN" if reported is None or reported.state == "SUCCESS" else "UNSTABLE"


def obstacles(world: World, pull: Pull) -> list[str]:
    """Return what the protection of the base branch still requires, in the words of GitHub's refusal of a merge."""
    rules = _rules(world, pull)
    if rules is None:
        return []
    found = review_obstacles(world, pull, rules) + check_obstacles(world, pull, rules)
    if is_behind(world, pull, rules):
        found.append("Head branch is out of date with the base branch.")
    return found


def check_obstacles(world: World, pull: Pull, rules: Protection) -> list[str]:
    """Return which required status checks are missing, in one sentence."""
    repository = lookup.repository_of(world, pull)
    states = {name: checks.state_of_required(world, repository, pull.head_sha, name) for name in rules.required_checks}
    missing = {name: _MISSING[state] for name, state in states.items() if state in _MISSING}
    if not missing:
        return []
    if len(rules.required_checks) == 1:
        ((name, state),) = missing.items()
        return [f'Required status check "{name}" is {state}.']
    counts = Counter(missing.values())
    share = f"{len(missing)} of {len(states)} required status checks"
    if len(counts) == 1:
        return [f"{share} are {next(iter(counts))}."]
    return [f"{share} have not succeeded: {', '.join(f'{n} {state}' for state, n in sorted(counts.items()))}."]


def review_obstacles(world: World, pull: Pull, rules: Protection) -> list[str]:
    """Return which reviews are missing or request changes, in one sentence."""
    if rules.required_approvals is None:
        return []
    states = [review.state for review in latest_opinions(world, pull, writers_only=True)]
    if "CHANGES_REQUESTED" in states:
        return ["Changes have been requested by reviewers with write access."]
    needed = rules.required_approvals
    if states.count("APPROVED") >= needed:
        return []
    noun = "review is" if needed == 1 else "reviews are"
    return [f"At least {needed} approving {noun} required by reviewers with write access."]


def is_behind(world: World, pull: Pull, rules: Protection) -> bool:
    """Return whether the branch must be updated from its base first, as strict checks require."""
    if not (rules.strict_checks and rules.required_checks):
        return False
    return not git_of(world, pull).is_ancestor(base_tip(world, pull), pull.head_sha)


def is_required(world: World, pull: Pull, name: str) -> bool:
    """Return whether a status or check of this name must pass before a merge."""
    rules = _rules(world, pull)
    return rules is not None and name in rules.required_checks


def _rules(world: World, pull: Pull) -> Protection | None:
    return protection_of(world, lookup.repository_of(world, pull), pull.base_ref)
