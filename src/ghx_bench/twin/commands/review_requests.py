"""Asking people and teams to review a pull request."""

from collections.abc import Sequence

from ghx_bench.twin.commands import kernel, timeline
from ghx_bench.twin.queries import lookup, permissions
from ghx_bench.twin.refusals import InvalidRefusal
from ghx_bench.twin.state.records import Pull, Repository, ReviewRequest, Team, TeamRepository, User
from ghx_bench.twin.world import Act


def request_reviews(
    act: Act, pull: Pull, *, users: Sequence[User] = (), teams: Sequence[Team] = (), replace: bool = False
) -> Pull:
    """Ask for reviews; with `replace`, those who were asked before and are not named now are asked no longer."""
    current = _require_triager(act, pull)
    repository, issue = lookup.repository_of(act.world, current), lookup.issue_of(act.world, current)
    if any(user.id == issue.author_id for user in users):
        raise InvalidRefusal("Review cannot be requested from pull request author.")
    outsiders = [user for user in users if not _reviews(act, repository, user)]
    if outsiders or any(not _sees(act, repository, team) for team in teams):
        name = lookup.full_name(act.world, repository)
        raise InvalidRefusal(
            "Reviews may only be requested from collaborators. One or more of the users or teams you specified is "
            f"not a collaborator of the {name} repository."
        )
    if replace:
        _drop(act, current, [one for one in _requests(act, current) if not _is_named(one, users, teams)])
    asked = _requests(act, current)
    for user in users:
        if all(one.user_id != user.id for one in asked):
            _ask(act, current, user=user)
    for team in teams:
        if all(one.team_id != team.id for one in asked):
            _ask(act, current, team=team)
    return current


def remove_review_requests(act: Act, pull: Pull, *, users: Sequence[User] = (), teams: Sequence[Team] = ()) -> Pull:
    """Ask people and teams no longer; those who were not asked are no error."""
    current = _require_triager(act, pull)
    _drop(act, current, [one for one in _requests(act, current) if _is_named(one, users, teams)])
    return current


def _require_triager(act: Act, pull: Pull) -> Pull:
    current = kernel.reload(act, pull)
    permissions.require(act, lookup.repository_of(act.world, current), "triage")
    return current


def _requests(act: Act, pull: Pull) -> list[ReviewRequest]:
    return act.database.all(ReviewRequest, pull_id=pull.id)


def _is_named(asked: ReviewRequest, users: Sequence[User], teams: Sequence[Team]) -> bool:
    return any(asked.user_id == user.id for user in users) or any(asked.team_id == team.id for team in teams)


def _ask(act: Act, pull: Pull, *, user: User | None = None, team: Team | None = None) -> None:
    issue = lookup.issue_of(act.world, pull)
    asked = act.database.insert(
        ReviewRequest, pull_id=pull.id, user_id=user.id if user else None, team_id=team.id if team else None
    )
    timeline.record_event(act, issue, "review_requested", _whom(asked))
    kernel.touch(act, issue)


def _drop(act: Act, pull: Pull, asked: Sequence[ReviewRequest]) -> None:
    issue = lookup.issue_of(act.world, pull)
    for one in asked:
        act.database.delete(one)
        timeline.record_event(act, issue, "review_request_removed", _whom(one))
        issue = kernel.touch(act, issue)


def _whom(asked: ReviewRequest) -> dict[str, int | None]:
    return {"reviewer_id": asked.user_id} if asked.user_id else {"team_id": asked.team_id}


def _reviews(act: Act, repository: Repository, user: User) -> bool:
    return permissions.assignable(act.world, repository, user)


def _sees(act: Act, repository: Repository, team: Team) -> bool:
    given = act.database.one(TeamRepository, repository_id=repository.id, team_id=team.id)
    return given is not None or team.organization_id == repository.owner_id
