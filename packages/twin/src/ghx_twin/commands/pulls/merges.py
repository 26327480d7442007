"""Merging pull requests, now or as soon as the base branch allows it: three methods, each as real commits."""

import re
from contextlib import suppress
from typing import Literal, cast

from ghx_twin.commands import kernel, texts, timeline
from ghx_twin.commands.pulls.synchronization import (
    BRANCHES,
    drop_auto_merge,
    mark_pull_merged,
    open_pulls_of_head,
    synchronize,
)
from ghx_twin.git.objects import Commit, RefUpdate
from ghx_twin.queries import lookup, permissions
from ghx_twin.queries.pulls.mergeability import allowed_methods, merge_state, mergeable, obstacles, rule_obstacles
from ghx_twin.queries.repositories.comparison import base_tip, commits
from ghx_twin.queries.repositories.protections import binds, protection_of
from ghx_twin.queries.rulesets import content_violations, describe_violations, push_violations, rules_that_bind
from ghx_twin.refusals import ConflictRefusal, InvalidRefusal, NotAllowedRefusal, Refusal
from ghx_twin.state.records import Pull, Repository, User
from ghx_twin.viewer import Viewer
from ghx_twin.world import Act, World

Method = Literal["merge", "squash", "rebase"]

_READY = frozenset({"CLEAN", "UNSTABLE", "HAS_HOOKS"})  # merge states in which GitHub merges at once
_EVENTS = {"merge": "auto_merge_enabled", "squash": "auto_squash_enabled", "rebase": "auto_rebase_enabled"}
_CO_AUTHOR = re.compile(r"(?im)^co-authored-by:[ \t]*([^<>\n]*?)[ \t]*<([^<>\s]+)>[ \t]*$")
_UNMERGEABLE, _UNREBASEABLE = "Pull Request is not mergeable", "This branch can't be rebased"
_DISALLOWED: dict[Method, str] = {
    "merge": "Merge commits are not allowed on this repository.",
    "squash": "Squash merges are not allowed on this repository.",
    "rebase": "Rebase merges are not allowed on this repository.",
}


def merge(
    act: Act,
    pull: Pull,
    *,
    method: Method = "merge",
    title: str | None = None,
    message: str | None = None,
    expected_head: str | None = None,
) -> str:
    """Merge a pull request and return the commit that did it; delete the head branch where the repository says so."""
    current = kernel.reload(act, pull)
    repository = lookup.repository_of(act.world, current)
    permissions.require(act, repository, "write")
    if refusal := _find_obstacle(act, current, method, expected_head=expected_head):
        raise refusal
    base = base_tip(act.world, current)
    commit = _COMMITS[method](act, current, title, message)
    _check_commits(act, repository, RefUpdate(BRANCHES + current.base_ref, base, commit))
    act.git(repository).set_ref(BRANCHES + current.base_ref, commit)
    # Marked before the refs are followed: a squash or rebase leaves the head outside the base, so that `synchronize`
    # would see an open pull request there.
    mark_pull_merged(act, current, commit=commit, base=base)
    synchronize(act, repository, [RefUpdate(BRANCHES + current.base_ref, base, commit)])
    _delete_head(act, repository, current)
    return commit


def _find_obstacle(act: Act, pull: Pull, method: Method, *, expected_head: str | None = None) -> Refusal | None:
    """Return the refusal of a merge that cannot be done; None if it can."""
    if lookup.issue_of(act.world, pull).state != "open":
        return NotAllowedRefusal(_UNMERGEABLE)
    if pull.draft:
        return NotAllowedRefusal("Pull Request is still a draft")
    if expected_head is not None and expected_head.lower() != pull.head_sha:
        return ConflictRefusal("Head branch was modified. Review and try the merge again.")
    reason = _find_rule_obstacle(act, pull, method)
    return NotAllowedRefusal(reason) if reason else None


def _find_rule_obstacle(act: Act, pull: Pull, method: Method) -> str | None:
    repository = lookup.repository_of(act.world, pull)
    if not _allows(repository, method):
        return _DISALLOWED[method]
    if mergeable(act.world, pull) != "MERGEABLE":
        return _UNMERGEABLE
    if method == "rebase" and _rebase(act, pull) is None:
        return _UNREBASEABLE
    rules = rules_that_bind(act.world, act.viewer, repository, BRANCHES + pull.base_ref, merging=True)
    if method not in allowed_methods(rules):
        return _DISALLOWED[method]
    protection = protection_of(act.world, repository, pull.base_ref)
    is_bound = protection is not None and binds(act.world, protection, act.viewer, repository)
    required = " ".join(obstacles(act.world, pull)) if is_bound else ""
    violations = rule_obstacles(act.world, pull, rules, method)
    return required or (describe_violations(violations) if violations else None)


def _check_commits(act: Act, repository: Repository, update: RefUpdate) -> None:
    """Refuse a merge whose commits violate a rule: their messages are known only once they are made."""
    rules = rules_that_bind(act.world, act.viewer, repository, update.ref, merging=True)
    # Merge commits and signatures are the business of `rule_obstacles`: GitHub signs what it makes itself.
    read = [one for one in rules if one.rule.type not in {"required_linear_history", "required_signatures"}]
    if violations := content_violations(act.world, repository, read, update):
        raise NotAllowedRefusal(describe_violations(violations))


def require_method(repository: Repository, method: Method) -> None:
    """Refuse a merge method that a repository does not allow."""
    if not _allows(repository, method):
        raise NotAllowedRefusal(_DISALLOWED[method])


def _allows(repository: Repository, method: Method) -> bool:
    match method:
        case "merge":
            return repository.allow_merge_commit
        case "squash":
            return repository.allow_squash_merge
        case "rebase":
            return repository.allow_rebase_merge


def enable_auto_merge(
    act: Act, pull: Pull, *, method: Method = "merge", title: str | None = None, message: str | None = None
) -> Pull:
    """Merge a pull request later, as soon as the protection of its base allows it."""
    current = kernel.reload(act, pull)
    repository, issue = lookup.repository_of(act.world, current), lookup.issue_of(act.world, current)
    permissions.require(act, repository, "write")
    if not repository.allow_auto_merge:
        raise InvalidRefusal("Pull request Auto merge is not allowed for this repository")
    if issue.state != "open":
        raise InvalidRefusal("Pull request Pull request is closed")
    require_method(repository, method)
    state = merge_state(act.world, current)
    if state in _READY and not current.draft:  # only where something is still missing; else it is to be merged directly
        raise InvalidRefusal(f"Pull request Pull request is in {state.lower()} status")
    for field, text in (("commitHeadline", title), ("commitBody", message)):
        texts.check_unicode(text or "", resource="PullRequest", field=field)
    who = kernel.actor_id(act, repository)
    request: dict[str, object] = {"enabled_at": act.now, "enabled_by_id": who, "merge_method": method}
    request |= {"commit_title": title, "commit_message": message}
    timeline.record_event(act, issue, _EVENTS[method])
    kernel.touch(act, issue)
    return act.database.update(current, auto_merge=request)


def disable_auto_merge(act: Act, pull: Pull) -> Pull:
    """Cancel an auto-merge; writers and the author of the pull request may."""
    current = kernel.reload(act, pull)
    repository, issue = lookup.repository_of(act.world, current), lookup.issue_of(act.world, current)
    if act.viewer is None or act.viewer.id != issue.author_id:
        permissions.require(act, repository, "write")
    if current.auto_merge is None or issue.state != "open":  # of one that was merged so, it stays to be read
        return current
    kernel.touch(act, issue)
    return drop_auto_merge(act, current)


def attempt_auto_merge(act: Act, pull: Pull) -> None:
    """Merge a pull request whose auto-merge is enabled, as the user who enabled it, if nothing is in the way now."""
    current = act.database.get(Pull, pull.id)
    request = current.auto_merge if current else None
    if current is None or request is None or merge_state(act.world, current) not in _READY:
        return
    user = act.database.get(User, cast("int", request["enabled_by_id"]))
    if user is None:
        return
    method, repository = cast("Method", request["merge_method"]), lookup.repository_of(act.world, current)
    # By whom GitHub names: neither the user who removed the last obstacle nor the run that passed has merged it.
    with act.on_behalf_of(Viewer(user=user)) as own:
        # Asked again: the user may have lost write access since, and rules that bind them may have been added.
        is_allowed = permissions.may(own.world, own.viewer, repository, "write")
        if not is_allowed or _find_obstacle(own, current, method):
            return
        # A rule about commit messages is known to refuse the merge only once its commits are made, and before any ref
        # has moved. The request or run that set off the merge goes on, as on GitHub.
        with suppress(NotAllowedRefusal):
            merge(
                own,
                current,
                method=method,
                title=cast("str | None", request["commit_title"]),
                message=cast("str | None", request["commit_message"]),
            )


def attempt_auto_merges(act: Act, repository_id: int, sha: str) -> None:
    """Attempt every auto-merge of a commit that a check has just reported on."""
    for pull in act.database.all(Pull, repository_id=repository_id, head_sha=sha):
        attempt_auto_merge(act, pull)


def _merge_commit(act: Act, pull: Pull, title: str | None, message: str | None) -> str:
    repository = lookup.repository_of(act.world, pull)
    git, base = act.git(repository), base_tip(act.world, pull)
    merger = lookup.user_by_id(act.world, kernel.actor_id(act, repository))
    return git.write_commit(
        tree=_merge_trees(act, pull),
        parents=(base, pull.head_sha),
        message=_merge_message(act.world, pull, title, message),
        author=kernel.user_signature(merger, act.now),
        committer=kernel.github_signature(act.now),
    )


def _squash_commit(act: Act, pull: Pull, title: str | None, message: str | None) -> str:
    repository, issue = lookup.repository_of(act.world, pull), lookup.issue_of(act.world, pull)
    author = lookup.user_by_id(act.world, issue.author_id)
    return act.git(repository).write_commit(
        tree=_merge_trees(act, pull),
        parents=(base_tip(act.world, pull),),
        message=_squash_message(act.world, pull, title, message),
        author=kernel.user_signature(author, act.now),
        committer=kernel.github_signature(act.now),
    )


def _rebase_commits(act: Act, pull: Pull, _title: str | None, _message: str | None) -> str:
    tip = _rebase(act, pull)
    if tip is None:
        raise NotAllowedRefusal(_UNREBASEABLE)
    return tip


_COMMITS = {"merge": _merge_commit, "squash": _squash_commit, "rebase": _rebase_commits}


def _rebase(act: Act, pull: Pull) -> str | None:
    repository = lookup.repository_of(act.world, pull)
    git, base = act.git(repository), base_tip(act.world, pull)
    merger = lookup.user_by_id(act.world, kernel.actor_id(act, repository))
    start = git.merge_base(base, pull.head_sha)
    return start and git.rebase(base, start, pull.head_sha, kernel.user_signature(merger, act.now))


def _merge_trees(act: Act, pull: Pull) -> str:
    tree = act.git(lookup.repository_of(act.world, pull)).merge(base_tip(act.world, pull), pull.head_sha)
    if tree is None:
        raise NotAllowedRefusal(_UNMERGEABLE)
    return tree


def _delete_head(act: Act, repository: Repository, pull: Pull) -> None:
    branch = pull.head_ref
    if not repository.delete_branch_on_merge or pull.head_repository_id != repository.id:
        return
    if branch == repository.default_branch or protection_of(act.world, repository, branch):
        return
    if open_pulls_of_head(act, repository, branch):
        return  # another pull request still wants it merged elsewhere
    git, name = act.git(repository), BRANCHES + branch
    tip = git.ref(name)
    if tip is None or push_violations(act.world, act.viewer, repository, RefUpdate(name, tip, None)):
        return
    git.set_ref(name, None)
    synchronize(act, repository, [RefUpdate(name, tip, None)])


def _merge_message(world: World, pull: Pull, title: str | None, message: str | None) -> str:
    """Return the message of a merge commit: which branch it merges, and the pull request's title."""
    issue = lookup.issue_of(world, pull)
    home = lookup.repository_by_id(world, None, pull.head_repository_id or pull.repository_id)
    owner = lookup.owner(world, home).login
    subject = f"Merge pull request #{issue.number} from {owner}/{pull.head_ref}"
    return _join_message(title or subject, issue.title if message is None else message)


def _squash_message(world: World, pull: Pull, title: str | None, message: str | None) -> str:
    """Return the message of a squashed commit: that of the only commit, or the title and all their messages."""
    issue, included = lookup.issue_of(world, pull), commits(world, pull)
    subject = included[0].message.strip().split("\n", 1)[0] if len(included) == 1 else issue.title
    written = message if message is not None else _squash_body(world, pull, included)
    return _join_message(title or f"{subject} (#{issue.number})", written)


def _squash_body(world: World, pull: Pull, included: list[Commit]) -> str:
    co_authors = _co_authors(world, pull, included)
    if len(included) == 1:
        text = included[0].message.strip().partition("\n")[2].strip()
        co_authors = [line for line in co_authors if line not in text]  # a single message names its own already
    else:
        text = "\n\n".join(f"* {commit.message.strip()}" for commit in included)
    return "\n\n---------\n\n".join(part for part in (text, "\n".join(co_authors)) if part)


def _co_authors(world: World, pull: Pull, included: list[Commit]) -> list[str]:
    """Return a line for each author and co-author of the commits, without the author of the pull request."""
    author = lookup.user_by_id(world, lookup.issue_of(world, pull).author_id)
    co_authors: dict[str, str] = {kernel.user_signature(author, "").email.lower(): author.login}
    for commit in included:
        people = ((commit.author.name, commit.author.email), *_CO_AUTHOR.findall(commit.message))
        for name, email in people:
            co_authors.setdefault(email.lower(), f"Co-authored-by: {name} <{email}>")
    return list(co_authors.values())[1:]


def _join_message(subject: str, body: str) -> str:
    message = f"{subject}\n\n{body.strip()}" if body.strip() else subject
    return message.replace("\0", "")  # a title can hold NUL, and a commit cannot
