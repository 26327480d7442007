"""Merging later: the promise to merge a pull request as soon as its base branch allows it."""

from dataclasses import replace
from typing import cast

from ghx_bench.twin.commands import kernel, merges, texts, timeline
from ghx_bench.twin.commands.conclusion import drop_auto_merge
from ghx_bench.twin.commands.merges import Method
from ghx_bench.twin.queries import lookup, permissions
from ghx_bench.twin.queries.mergeability import merge_state
from ghx_bench.twin.refusals import InvalidRefusal
from ghx_bench.twin.state.records import Pull, User
from ghx_bench.twin.viewer import Viewer
from ghx_bench.twin.world import Act

_READY = frozenset({"CLEAN", "UNSTABLE", "HAS_HOOKS"})
_EVENTS = {"merge": "auto_merge_enabled", "squash": "auto_squash_enabled", "rebase": "auto_rebase_enabled"}


def enable_auto_merge(
    act: Act, pull: Pull, *, method: Method = "merge", title: str | None = None, message: str | None = None
) -> Pull:
    """Promise to merge a pull request once nothing stands against it any more."""
    current = kernel.reload(act, pull)
    repository, issue = lookup.repository_of(act.world, current), lookup.issue_of(act.world, current)
    permissions.require(act, repository, "write")
    if not repository.allow_auto_merge:
        raise InvalidRefusal("Pull request Auto merge is not allowed for this repository")
    if issue.state != "open":
        raise InvalidRefusal("Pull request Pull request is closed")
    merges.require_method(repository, method)
    state = merge_state(act.world, current)
    if state in _READY:
        raise InvalidRefusal(f"Pull request Pull request is in {state.lower()} status")
    for field, text in (("commitHeadline", title), ("commitBody", message)):
        texts.check_unicode(text or "", resource="PullRequest", field=field)
    who = kernel.actor_id(act, repository)
    promise: dict[str, object] = {"enabled_at": act.now, "enabled_by_id": who, "merge_method": method}
    promise |= {"commit_title": title, "commit_message": message}
    timeline.record_event(act, issue, _EVENTS[method])
    kernel.touch(act, issue)
    return act.database.update(current, auto_merge=promise)


def disable_auto_merge(act: Act, pull: Pull) -> Pull:
    """Take the promise back; its pull request's author may too."""
    current = kernel.reload(act, pull)
    repository, issue = lookup.repository_of(act.world, current), lookup.issue_of(act.world, current)
    if act.viewer is None or act.viewer.id != issue.author_id:
        permissions.require(act, repository, "write")
    if current.auto_merge is None:
        raise InvalidRefusal("Can't disable auto-merge for this pull request.")
    kernel.touch(act, issue)
    return drop_auto_merge(act, current)


def attempt_auto_merge(act: Act, pull: Pull) -> None:
    """Merge a pull request that was promised to be, in the name of who promised, if nothing is in the way now."""
    current = act.database.get(Pull, pull.id)
    promise = current.auto_merge if current else None
    if current is None or promise is None or merge_state(act.world, current) not in _READY:
        return
    user = act.database.get(User, cast("int", promise["enabled_by_id"]))
    if user is None:
        return
    viewer, method = Viewer(user=user), cast("Method", promise["merge_method"])
    repository = lookup.repository_of(act.world, current)
    if not permissions.may(act.world, viewer, repository, "write") or merges.find_obstacle(
        act, viewer, current, method
    ):
        return
    merges.merge(
        replace(act, viewer=viewer),
        current,
        method=method,
        title=cast("str | None", promise["commit_title"]),
        message=cast("str | None", promise["commit_message"]),
    )


def attempt_auto_merges(act: Act, repository_id: int, sha: str) -> None:
    """Try every promised merge of a commit that has just been judged by a check."""
    for pull in act.database.all(Pull, repository_id=repository_id, head_sha=sha):
        attempt_auto_merge(act, pull)
