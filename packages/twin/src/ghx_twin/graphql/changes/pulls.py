"""Mutations of pull requests."""

from collections.abc import Sequence
from typing import TypedDict, Unpack

from ghx_twin.commands.kernel import UNSET, Unset
from ghx_twin.commands.pulls import merges, pulls, reverts, reviews
from ghx_twin.graphql.changes.change import AsEdge, Change, Mutation, Outcome, refuse_arguments
from ghx_twin.graphql.changes.issues import account, put_metadata
from ghx_twin.queries import lookup
from ghx_twin.refusals import ConflictRefusal, NotFoundRefusal
from ghx_twin.state.records import Pull, Repository, Team, User


class _MergeInput(TypedDict, total=False):
    """How a pull request is to be merged, now or later."""

    merge_method: str | None
    commit_headline: str | None
    commit_body: str | None
    expected_head_oid: str | None
    author_email: str | None


class _Manner(TypedDict):
    """The same, as the commands take it."""

    method: merges.Method
    title: str | None
    message: str | None


def create_pull_request(
    change: Change,
    *,
    repository_id: str,
    base_ref_name: str,
    head_ref_name: str,
    title: str,
    body: str | None = None,
    draft: bool | None = None,
    head_repository_id: str | None = None,
    maintainer_can_modify: bool | None = None,
) -> Outcome:
    """Open a pull request."""
    pull = pulls.create(
        change.act,
        change.find(repository_id, Repository),
        title=title,
        head=head_ref_name,
        base=base_ref_name,
        body=body,
        draft=bool(draft),
        maintainer_can_modify=bool(maintainer_can_modify),
        head_repository=change.find(head_repository_id, Repository) if head_repository_id else None,
    )
    return {"pull_request": pull}


def update_pull_request(
    change: Change,
    *,
    pull_request_id: str,
    title: str | None = None,
    body: str | None = None,
    base_ref_name: str | None = None,
    state: str | None = None,
    maintainer_can_modify: bool | None = None,
    label_ids: list[str] | None = None,
    assignee_ids: list[str] | None = None,
    milestone_id: str | Unset | None = UNSET,
    project_ids: list[str] | None = None,
) -> Outcome:
    """Change a pull request; what is not given stays."""
    refuse_arguments("UpdatePullRequestInput", projectIds=project_ids)
    pull = _pull(change, pull_request_id)
    texts = {"title": title, "body": body, "base": base_ref_name, "maintainer_can_modify": maintainer_can_modify}
    changes = {name: value for name, value in texts.items() if value is not None}
    if changes:
        pulls.update(change.act, pull, **changes)  # pyright: ignore[reportArgumentType] - each under its own name
    issue = lookup.issue_of(change.context.world, pull)
    put_metadata(change, issue, label_ids=label_ids, assignee_ids=assignee_ids, milestone_id=milestone_id)
    if state == "CLOSED":
        pulls.close(change.act, pull)
    elif state == "OPEN":
        pulls.reopen(change.act, pull)
    return {"pull_request": pull, "actor": change.actor}


def close_pull_request(change: Change, *, pull_request_id: str) -> Outcome:
    """Close a pull request."""
    return {"pull_request": pulls.close(change.act, _pull(change, pull_request_id))}


def reopen_pull_request(change: Change, *, pull_request_id: str) -> Outcome:
    """Open a pull request again."""
    return {"pull_request": pulls.reopen(change.act, _pull(change, pull_request_id))}


def mark_pull_request_ready_for_review(change: Change, *, pull_request_id: str) -> Outcome:
    """Mark a draft as ready for review."""
    return {"pull_request": pulls.mark_ready(change.act, _pull(change, pull_request_id))}


def convert_pull_request_to_draft(change: Change, *, pull_request_id: str) -> Outcome:
    """Turn a pull request back into a draft."""
    return {"pull_request": pulls.convert_to_draft(change.act, _pull(change, pull_request_id))}


def merge_pull_request(change: Change, *, pull_request_id: str, **wanted: Unpack[_MergeInput]) -> Outcome:
    """Merge a pull request."""
    refuse_arguments("MergePullRequestInput", authorEmail=wanted.get("author_email"))
    pull = _pull(change, pull_request_id)
    merges.merge(change.act, pull, expected_head=wanted.get("expected_head_oid"), **_manner(wanted))
    return {"pull_request": pull, "actor": change.actor}


def enable_pull_request_auto_merge(change: Change, *, pull_request_id: str, **wanted: Unpack[_MergeInput]) -> Outcome:
    """Ask to merge a pull request once nothing is in the way."""
    refuse_arguments("EnablePullRequestAutoMergeInput", authorEmail=wanted.get("author_email"))
    pull, expected = _pull(change, pull_request_id), wanted.get("expected_head_oid")
    if expected and expected != pull.head_sha:
        raise ConflictRefusal("Head branch was modified. Review and try the merge again.")
    merges.enable_auto_merge(change.act, pull, **_manner(wanted))
    return {"pull_request": pull, "actor": change.actor}


def disable_pull_request_auto_merge(change: Change, *, pull_request_id: str) -> Outcome:
    """Take the standing request to merge back."""
    pull = _pull(change, pull_request_id)
    merges.disable_auto_merge(change.act, pull)
    return {"pull_request": pull, "actor": change.actor}


def update_pull_request_branch(
    change: Change, *, pull_request_id: str, expected_head_oid: str | None = None, update_method: str | None = None
) -> Outcome:
    """Bring a pull request up to date with its base."""
    method = "rebase" if update_method == "REBASE" else "merge"
    pull = pulls.update_branch(
        change.act, _pull(change, pull_request_id), expected_head=expected_head_oid, method=method
    )
    return {"pull_request": pull}


def request_reviews(
    change: Change,
    *,
    pull_request_id: str,
    user_ids: list[str] | None = None,
    team_ids: list[str] | None = None,
    union: bool | None = None,
) -> Outcome:
    """Ask for reviews: of these as well (`union`), or of these only."""
    users, teams = change.find_all(user_ids, User), change.find_all(team_ids, Team)
    return _request(change, pull_request_id, users, teams, union=union)


def request_reviews_by_login(
    change: Change,
    *,
    pull_request_id: str,
    user_logins: list[str] | None = None,
    bot_logins: list[str] | None = None,
    team_slugs: list[str] | None = None,
    union: bool | None = None,
) -> Outcome:
    """Ask for reviews by logins and slugs (`organisation/team`)."""
    pull = _pull(change, pull_request_id)
    people = [_reviewer(change, login, "user with login") for login in dict.fromkeys(user_logins or ())]
    bots = [_reviewer(change, login, "bot with slug") for login in dict.fromkeys(bot_logins or ())]
    author = lookup.issue_of(change.context.world, pull).author_id
    users = [user for user in (*people, *bots) if user.id != author]  # dropped without a word here, refused by REST
    owner = change.context.owner(change.context.home(pull.repository_id))
    teams: list[Team] = []
    for organization, slash, name in (slug.rpartition("/") for slug in dict.fromkeys(team_slugs or ())):
        group = lookup.organization(change.context.world, organization) if slash else owner
        teams.append(lookup.team(change.context.world, group, name))
    return _request(change, pull_request_id, users, teams, union=union)


def _reviewer(change: Change, login: str, kind: str) -> User:
    try:
        return account(change, login)
    except NotFoundRefusal:
        raise NotFoundRefusal(f"Could not resolve {kind} '{login}'.") from None


def _request(change: Change, identity: str, users: list[User], teams: list[Team], *, union: bool | None) -> Outcome:
    pull = _pull(change, identity)
    reviews.request_reviews(change.act, pull, users=users, teams=teams, replace=not union)
    people = [one for one in users if one.type == "User"]
    edge = AsEdge(people[0]) if people else None
    return {"pull_request": pull, "actor": change.actor, "requested_reviewers_edge": edge}


def revert_pull_request(
    change: Change,
    *,
    pull_request_id: str,
    title: str | None = None,
    body: str | None = None,
    draft: bool | None = None,
) -> Outcome:
    """Open a pull request that undoes a merged one."""
    pull = _pull(change, pull_request_id)
    reverting_pull = reverts.revert(change.act, pull, title=title, body=body, draft=bool(draft))
    return {"pull_request": pull, "revert_pull_request": reverting_pull}


def _pull(change: Change, identity: str) -> Pull:
    return change.find(identity, Pull)


def _manner(merge_input: _MergeInput) -> _Manner:
    merge_method = merge_input.get("merge_method")
    method: merges.Method = "squash" if merge_method == "SQUASH" else "rebase" if merge_method == "REBASE" else "merge"
    return {"method": method, "title": merge_input.get("commit_headline"), "message": merge_input.get("commit_body")}


PULL_CHANGES: Sequence[Mutation] = (
    create_pull_request, update_pull_request, close_pull_request, reopen_pull_request,
    mark_pull_request_ready_for_review, convert_pull_request_to_draft, merge_pull_request,
    enable_pull_request_auto_merge, disable_pull_request_auto_merge, update_pull_request_branch, request_reviews,
    request_reviews_by_login, revert_pull_request,
)  # fmt: skip
