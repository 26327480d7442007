"""Whether a pull request can be merged, and what its base branch still requires."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from ghx_twin.git.repository import GitRepository
from ghx_twin.queries import lookup
from ghx_twin.queries.actions import checks
from ghx_twin.queries.pulls.reviews import latest_opinions, unresolved_threads
from ghx_twin.queries.repositories.comparison import base_tip, files, git_of
from ghx_twin.queries.repositories.globs import owns_path
from ghx_twin.queries.repositories.protections import protection_of
from ghx_twin.queries.rulesets import ActiveRule, rules_of
from ghx_twin.queries.rulesets.pushes import UPDATE_REFUSED
from ghx_twin.queries.rulesets.rule_types import (
    PlainRule,
    PullRequestParameters,
    PullRequestRule,
    StatusCheckRule,
    UpdateRule,
)
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.state.records import Protection, Pull, TeamMember
from ghx_twin.world import World

Mergeable = Literal["MERGEABLE", "CONFLICTING", "UNKNOWN"]
MergeState = Literal["BEHIND", "BLOCKED", "CLEAN", "DIRTY", "HAS_HOOKS", "UNKNOWN", "UNSTABLE"]

_BEHIND = "Head branch is out of date with the base branch."
_MISSING: dict[checks.State, str] = {
    "EXPECTED": "expected",
    "PENDING": "pending",
    "FAILURE": "failing",
    "ERROR": "failing",
}
_CODE_OWNERS = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")  # the first that is there counts


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
    protection = _protection(world, pull)
    obstacles = [*(_protection_obstacles(world, pull, protection) if protection else ()), *_rule_obstacles(world, pull)]
    if any(each != _BEHIND for each in obstacles):
        return "BLOCKED"
    if obstacles:
        return "BEHIND"
    reported = checks.rollup(world, lookup.repository_of(world, pull), pull.head_sha)
    return "CLEAN" if reported is None or reported.state == "SUCCESS" else "UNSTABLE"


def obstacles(world: World, pull: Pull) -> list[str]:
    """Return what the protection of the base branch still requires, in the words of GitHub's refusal of a merge."""
    protection = _protection(world, pull)
    return list(_protection_obstacles(world, pull, protection)) if protection else []


def rule_obstacles(world: World, pull: Pull, rules: Sequence[ActiveRule], method: str) -> list[str]:
    """Return which of the rules for the base branch a merge by a method violates."""
    obstacles = list(_obstacles_of_rules(world, pull, rules))
    if method == "merge" and any(_is_linear(one) for one in rules):
        obstacles.append("This branch must not contain merge commits.")
    return list(dict.fromkeys(obstacles))


def allowed_methods(rules: Sequence[ActiveRule]) -> set[str]:
    """Return the merge methods that all of these rules allow."""
    methods = {"merge", "squash", "rebase"}
    for one in rules:
        if isinstance(one.rule, PullRequestRule):
            methods &= set(one.rule.parameters.allowed_merge_methods)
    return methods


def _rule_obstacles(world: World, pull: Pull) -> list[str]:
    """Return what stands in the way of every method, no matter who merges."""
    return list(_obstacles_of_rules(world, pull, _rules(world, pull)))


def _protection_obstacles(world: World, pull: Pull, protection: Protection) -> Iterator[str]:
    if protection.required_approvals is not None:
        yield from _review_obstacles(world, pull, protection.required_approvals)
    yield from _check_obstacles(world, pull, protection.required_checks)
    if protection.strict_checks and protection.required_checks:
        yield from _behind_obstacles(world, pull)


def _obstacles_of_rules(world: World, pull: Pull, rules: Sequence[ActiveRule]) -> Iterator[str]:
    for one in rules:
        match one.rule:
            case UpdateRule():
                yield UPDATE_REFUSED
            case PullRequestRule(parameters=wanted):
                yield from _pull_request_obstacles(world, pull, wanted)
            case StatusCheckRule(parameters=wanted):
                names = [check.context for check in wanted.required_status_checks]
                yield from _check_obstacles(world, pull, names)
                if wanted.strict_required_status_checks_policy and names:
                    yield from _behind_obstacles(world, pull)
            case PlainRule(type="required_signatures"):
                yield "Commits must have verified signatures."
            case _:
                continue  # of pushes alone, or of the method


def _pull_request_obstacles(world: World, pull: Pull, parameters: PullRequestParameters) -> Iterator[str]:
    yield from _review_obstacles(world, pull, parameters.required_approving_review_count)
    opinions = latest_opinions(world, pull, writers_only=True)
    approvals = [review for review in opinions if review.state == "APPROVED"]
    if parameters.require_last_push_approval:
        pusher = _last_pusher(world, pull)
        if not any(one.author_id != pusher and one.commit_sha == pull.head_sha for one in approvals):
            yield "New changes require approval from someone other than the last pusher."
    if parameters.require_code_owner_review:
        missing = _missing_owners(world, pull, {review.author_id for review in approvals})
        if missing:
            yield f"Waiting on code owner review from {' and/or '.join(missing)}."
    if parameters.required_review_thread_resolution and unresolved_threads(world, pull):
        yield "A conversation must be resolved before this pull request can be merged."


def _last_pusher(world: World, pull: Pull) -> int | None:
    """Return who moved the head to where it is; its author where that is not known."""
    home = pull.head_repository_id or pull.repository_id
    moves = world.database.field_changes("refs", home, f"refs/heads/{pull.head_ref}")
    last_pusher = next((move.actor_id for move in reversed(moves) if move.actor_id is not None), None)
    return lookup.issue_of(world, pull).author_id if last_pusher is None else last_pusher


def _check_obstacles(world: World, pull: Pull, names: Sequence[str]) -> list[str]:
    """Return which required status checks are missing, in one sentence."""
    repository = lookup.repository_of(world, pull)
    states = {name: checks.state_of_required(world, repository, pull.head_sha, name) for name in names}
    missing = {name: _MISSING[state] for name, state in states.items() if state in _MISSING}
    if not missing:
        return []
    if len(names) == 1:
        ((name, state),) = missing.items()
        return [f'Required status check "{name}" is {state}.']
    counts = Counter(missing.values())
    share = f"{len(missing)} of {len(states)} required status checks"
    if len(counts) == 1:
        return [f"{share} are {next(iter(counts))}."]
    return [f"{share} have not succeeded: {', '.join(f'{n} {state}' for state, n in sorted(counts.items()))}."]


def _review_obstacles(world: World, pull: Pull, needed: int) -> list[str]:
    """Return which reviews are missing or request changes, in one sentence."""
    states = [review.state for review in latest_opinions(world, pull, writers_only=True)]
    if "CHANGES_REQUESTED" in states:
        return ["Changes have been requested by reviewers with write access."]
    if states.count("APPROVED") >= needed:
        return []
    noun = "review is" if needed == 1 else "reviews are"
    return [f"At least {needed} approving {noun} required by reviewers with write access."]


def _behind_obstacles(world: World, pull: Pull) -> list[str]:
    """Return that the branch must be updated from its base first, as strict checks require."""
    return [] if git_of(world, pull).is_ancestor(base_tip(world, pull), pull.head_sha) else [_BEHIND]


def is_required(world: World, pull: Pull, name: str) -> bool:
    """Return whether a status or check of this name must pass before a merge."""
    protection = _protection(world, pull)
    if protection is not None and name in protection.required_checks:
        return True
    rules = (one.rule for one in _rules(world, pull) if isinstance(one.rule, StatusCheckRule))
    return any(check.context == name for rule in rules for check in rule.parameters.required_status_checks)


def _is_linear(one: ActiveRule) -> bool:
    return one.rule.type == "required_linear_history"


def _rules(world: World, pull: Pull) -> list[ActiveRule]:
    return rules_of(world, lookup.repository_of(world, pull), f"refs/heads/{pull.base_ref}")


def _protection(world: World, pull: Pull) -> Protection | None:
    return protection_of(world, lookup.repository_of(world, pull), pull.base_ref)


def _missing_owners(world: World, pull: Pull, approvers: Collection[int]) -> list[str]:
    """Return the owners of changed files none of whose owners has approved, as CODEOWNERS spells them."""
    lines = _read_code_owners(git_of(world, pull), base_tip(world, pull))
    missing: dict[str, None] = {}
    for change in files(world, pull):
        for path in filter(None, (change.path, change.previous_path)):
            owners = _owners_of(path, lines)
            if owners and not any(_owner_ids(world, owner) & set(approvers) for owner in owners):
                missing |= dict.fromkeys(owner.removeprefix("@") for owner in owners)
    return list(missing)


def _read_code_owners(git: GitRepository, commit: str) -> list[tuple[str, tuple[str, ...]]]:
    entry = next((file_entry for place in _CODE_OWNERS if (file_entry := git.entry(commit, place))), None)
    text = (git.blob(entry.sha) or b"").decode("utf-8", "replace") if entry else ""
    written = (line.partition("#")[0].split() for line in text.splitlines())
    return [(words[0], tuple(words[1:])) for words in written if words]


def _owners_of(path: str, lines: list[tuple[str, tuple[str, ...]]]) -> tuple[str, ...]:
    """Return the owners of a path: the last line that matches counts, also one that names nobody."""
    return next((owners for pattern, owners in reversed(lines) if owns_path(pattern, path)), ())


def _owner_ids(world: World, owner: str) -> set[int]:
    """Return the ids of the users behind `@login` or `@organization/team`; of anything else, nobody."""
    login, _, team = owner.removeprefix("@").partition("/")
    try:
        if not team:
            return {lookup.user(world, login).id}
        owner_ids = lookup.team(world, lookup.organization(world, login), team)
    except NotFoundRefusal:
        return set()
    return {member.user_id for member in world.database.all(TeamMember, team_id=owner_ids.id)}
