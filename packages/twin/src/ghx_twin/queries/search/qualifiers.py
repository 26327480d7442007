"""The qualifiers of an issue search, each as a predicate of an issue."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from ghx_twin.queries import lookup
from ghx_twin.queries.actions.checks import rollup
from ghx_twin.queries.issues.issue_relations import blocked_issues, blocking_issues, parent_of, sub_issues_of
from ghx_twin.queries.pulls.reviews import latest_opinions, review_decision
from ghx_twin.queries.search.facts import Conversations, Facts
from ghx_twin.queries.search.grammar import SCOPES, Qualifier, query_refusal
from ghx_twin.queries.search.matching import compile_number, compile_time
from ghx_twin.queries.search.scopes import account, find_accounts, in_scope
from ghx_twin.refusals import NotFoundRefusal, NotImplementedRefusal
from ghx_twin.state.records import Issue
from ghx_twin.viewer import Viewer
from ghx_twin.world import World

Predicate = Callable[[Facts], bool]
ANYONE = "*"
_PEOPLE: dict[str, Callable[[Facts], set[int]]] = {
    "author": lambda facts: {facts.issue.author_id},
    "assignee": lambda facts: facts.assignees,
    "commenter": lambda facts: facts.commenters,
    "involves": lambda facts: {facts.issue.author_id, *facts.assignees, *facts.commenters},
    "reviewed-by": lambda facts: {review.author_id for review in facts.reviews},
    "review-requested": lambda facts: facts.requested_users,
    "user-review-requested": lambda facts: {one.user_id for one in facts.requested if one.user_id},
    "closed-by": lambda facts: {facts.issue.closed_by_id} if facts.issue.closed_by_id else set(),
    "mentions": lambda _: set(),  # by login, in texts
}
PEOPLE = frozenset({*_PEOPLE, "team", "team-review-requested"})
_NUMBERS: dict[str, Callable[[Facts], int]] = {
    "comments": lambda facts: facts.comment_count,
    "reactions": lambda facts: len(facts.reactions),
    "interactions": lambda facts: facts.comment_count + len(facts.reactions),
    "number": lambda facts: facts.issue.number,
}
_TIMES: dict[str, Callable[[Facts], str | None]] = {
    "created": lambda facts: facts.issue.created_at,
    "updated": lambda facts: facts.issue.updated_at,
    "closed": lambda facts: facts.issue.closed_at,
    "merged": lambda facts: facts.pull.merged_at if facts.pull else None,
}
_STATES: dict[str, Predicate] = {
    "open": lambda facts: facts.issue.state == "open",
    "closed": lambda facts: facts.issue.state == "closed",
    "merged": lambda facts: facts.pull is not None and facts.pull.merged_at is not None,
    "unmerged": lambda facts: facts.pull is not None and facts.pull.merged_at is None,
    "draft": lambda facts: facts.pull is not None and facts.pull.draft,
    "locked": lambda facts: facts.issue.locked,
    "unlocked": lambda facts: not facts.issue.locked,
    "pinned": lambda facts: facts.issue.pinned,
    "public": lambda facts: facts.repository.visibility == "public",
    "private": lambda facts: facts.repository.visibility == "private",
    "internal": lambda facts: facts.repository.visibility == "internal",
    "archived": lambda facts: facts.repository.archived,
    "issue": lambda facts: not facts.issue.is_pull,
    "pr": lambda facts: facts.issue.is_pull,
    "pull-request": lambda facts: facts.issue.is_pull,
    "blocked": lambda facts: facts.sees_any(_keep_open(blocking_issues(facts.world, facts.issue))),
    "blocking": lambda facts: facts.sees_any(_keep_open(blocked_issues(facts.world, facts.issue))),
    "queued": lambda _: False,  # no world has a merge queue
}
_PRESENT: dict[str, Predicate] = {
    "label": lambda facts: bool(facts.labels),
    "milestone": lambda facts: facts.milestone is not None,
    "assignee": lambda facts: bool(facts.assignees),
    "parent-issue": lambda facts: parent_of(facts.world, facts.conversations.viewer, facts.issue) is not None,
    "sub-issue": lambda facts: facts.sees_any(sub_issues_of(facts.world, facts.issue)),
    "project": lambda facts: bool(facts.projects),
    "type": lambda facts: facts.issue.issue_type_id is not None,
}
_REVIEWS: dict[str, Predicate] = {
    "none": lambda facts: facts.pull is not None and not facts.reviews,
    "required": lambda facts: facts.pull is not None and review_decision(facts.world, facts.pull) == "REVIEW_REQUIRED",
    "approved": lambda facts: "APPROVED" in _opinions(facts) and "CHANGES_REQUESTED" not in _opinions(facts),
    "changes_requested": lambda facts: "CHANGES_REQUESTED" in _opinions(facts),
}
_STATUSES = {"success": {"SUCCESS"}, "pending": {"PENDING", "EXPECTED"}, "failure": {"FAILURE", "ERROR"}}
_TEXTS: dict[str, Callable[[Facts], str | None]] = {
    "milestone": lambda facts: facts.milestone,
    "head": lambda facts: facts.pull.head_ref.casefold() if facts.pull else None,
    "base": lambda facts: facts.pull.base_ref.casefold() if facts.pull else None,
}


def _compile_type(values: tuple[str, ...]) -> Predicate:
    """Return the predicate of `type:`, which names kinds of conversations and types of issues alike."""
    types = {_normalize(value) for value in values}
    kinds = [_STATES[name] for name in ("issue", "pr", "pull-request") if name in types]
    return lambda facts: any(holds(facts) for holds in kinds) or facts.issue_type in types


_UNSUPPORTED = frozenset({"language"})
_CHOICES: dict[str, dict[str, Predicate]] = {
    "is": _STATES,
    "state": {name: _STATES[name] for name in ("open", "closed", "merged")},
    "has": _PRESENT,
    "review": _REVIEWS,
}
_OTHERS = frozenset({"no", "label", "project", "draft", "archived", "reason", "linked", "status", "sha", "type"})
KNOWN = frozenset({*SCOPES, *PEOPLE, *_NUMBERS, *_TIMES, *_TEXTS, *_CHOICES, *_OTHERS, *_UNSUPPORTED})


class Qualifiers:
    """The qualifiers of one search, some of which need to know all its candidates."""

    def __init__(self, world: World, viewer: Viewer | None, candidates: Sequence[Facts]) -> None:
        self._world, self._viewer, self._candidates = world, viewer, candidates
        self._special: dict[str, Callable[[tuple[str, ...]], Predicate]] = {
            "no": _compile_absence,
            "label": _compile_labels,
            "draft": lambda values: _compile_flag("draft", values, _STATES["draft"]),
            "archived": lambda values: _compile_flag("archived", values, _STATES["archived"]),
            "project": _compile_project,
            "reason": _compile_reason,
            "linked": self._compile_linked,
            "status": _compile_status,
            "sha": _compile_sha,
            "type": _compile_type,
        }

    def compile(self, qualifier: Qualifier) -> Predicate:
        """Return the predicate of a qualifier."""
        name, values = qualifier.name, qualifier.values
        if not values:
            return lambda _: True
        if name in SCOPES:
            within = in_scope(self._world, self._viewer, qualifier)
            return lambda facts: within(facts.repository)
        if name in _UNSUPPORTED:
            raise NotImplementedRefusal(f"The twin cannot search issues by `{name}:` yet.")
        if name in PEOPLE:
            return compile_person(self._world, self._viewer, name, values)
        return self._special[name](values) if name in self._special else self._compile_comparison(name, values)

    def _compile_comparison(self, name: str, values: tuple[str, ...]) -> Predicate:
        if name in _NUMBERS:
            numbers, number = [compile_number(value) for value in values], _NUMBERS[name]
            return lambda facts: any(fits(number(facts)) for fits in numbers)
        if name in _TIMES:
            now = self._world.database.now()
            times, time = [compile_time(value, now) for value in values], _TIMES[name]
            return lambda facts: any(fits(time(facts)) for fits in times)
        if name in _TEXTS:
            texts, text = {value.casefold() for value in values}, _TEXTS[name]
            return lambda facts: ("*" in texts and text(facts) is not None) or text(facts) in texts
        choices = _CHOICES[name]
        chosen = [choices[_normalize(value)] for value in values if _normalize(value) in choices]
        return lambda facts: any(holds(facts) for holds in chosen)

    def _compile_linked(self, values: tuple[str, ...]) -> Predicate:
        kinds = {value.lower() for value in values}

        def is_linked(facts: Facts) -> bool:
            if facts.issue.is_pull:
                return "issue" in kinds and bool(facts.closes)
            owner, _, name = facts.home.casefold().partition("/")
            return "pr" in kinds and (owner, name, facts.issue.number) in self._closed_by_pulls

        return is_linked

    @cached_property
    def _closed_by_pulls(self) -> set[tuple[str, str, int]]:
        repositories = {facts.repository.id: facts.repository for facts in self._candidates}
        pulls = self._world.database.all(Issue, repository_id=tuple(repositories), is_pull=True)
        conversations = Conversations(self._world, repositories)
        facts = (Facts(self._world, pull, repositories[pull.repository_id], conversations) for pull in pulls)
        return {one for each in facts for one in each.closes}


def _keep_open(issues: Iterable[Issue]) -> list[Issue]:
    return [one for one in issues if one.state == "open"]


def _normalize(value: str) -> str:
    return value.lower().replace("changes-", "changes_")


def _compile_absence(values: tuple[str, ...]) -> Predicate:
    conditions = [_PRESENT[value.lower()] for value in values if value.lower() in _PRESENT]
    return lambda facts: not any(is_present(facts) for is_present in conditions)


def _compile_labels(values: tuple[str, ...]) -> Predicate:
    names = {value.casefold() for value in values}
    return lambda facts: ("*" in names and bool(facts.labels)) or bool(names & facts.labels)


def _compile_project(values: tuple[str, ...]) -> Predicate:
    titles = {value.lower() for value in values}
    return lambda facts: bool(titles & facts.projects)


def _compile_flag(name: str, values: tuple[str, ...], question: Predicate) -> Predicate:
    flag = values[0].lower()
    if flag not in {"true", "false"}:
        raise query_refusal(f'"{values[0]}" is not a value of `{name}:`; write true or false.')
    if name == "draft":
        return lambda facts: facts.issue.is_pull and question(facts) == (flag == "true")
    return lambda facts: question(facts) == (flag == "true")


def _compile_reason(values: tuple[str, ...]) -> Predicate:
    reasons = {value.lower().replace(" ", "_").replace("-", "_") for value in values}
    return lambda facts: facts.issue.state == "closed" and facts.issue.state_reason in reasons


def _compile_status(values: tuple[str, ...]) -> Predicate:
    states = {state for value in values for state in _STATUSES.get(value.lower(), set[str]())}

    def has_state(facts: Facts) -> bool:
        rollup_state = rollup(facts.world, facts.repository, facts.pull.head_sha) if facts.pull else None
        return rollup_state is not None and rollup_state.state in states

    return has_state


def _compile_sha(values: tuple[str, ...]) -> Predicate:
    starts = tuple(value.lower() for value in values)

    def holds(facts: Facts) -> bool:
        shas = (facts.pull.head_sha, facts.pull.merge_commit_sha or "") if facts.pull else ()
        return any(sha.startswith(starts) for sha in shas)

    return holds


def _opinions(facts: Facts) -> set[str]:
    return {review.state for review in latest_opinions(facts.world, facts.pull)} if facts.pull else set()


def compile_person(world: World, viewer: Viewer | None, name: str, values: tuple[str, ...]) -> Predicate:
    """Return the predicate of a qualifier about people."""
    if name in {"team", "team-review-requested"}:
        return _compile_team(world, name, values)
    people = _PEOPLE[name]
    if ANYONE in values:
        return lambda facts: bool(facts.mentioned if name == "mentions" else people(facts))
    ids = find_accounts(world, viewer, values)
    logins = {one.login.casefold() for value in values if (one := account(world, viewer, value))}
    calls = name in {"mentions", "involves"}
    return lambda facts: bool(ids & people(facts) or (calls and logins & facts.mentioned))


def _compile_team(world: World, name: str, values: tuple[str, ...]) -> Predicate:
    ids: set[int] = set()
    for value in values:
        owner, _, slug = value.removeprefix("@").partition("/")
        try:
            ids.add(lookup.team(world, lookup.organization(world, owner), slug).id)
        except NotFoundRefusal:
            continue
    if name == "team-review-requested":
        return lambda facts: any(one.team_id in ids for one in facts.requested)
    handles = [f"@{value.removeprefix('@').casefold()}" for value in values]

    def mentions_team(facts: Facts) -> bool:
        texts = "\n".join([facts.issue.body or "", *(comment.body for comment in facts.comments)]).casefold()
        return any(handle in texts for handle in handles)

    return mentions_team
