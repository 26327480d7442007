"""The rules of protected branches, and whom they bind."""

from dataclasses import replace
from fnmatch import fnmatchcase

from ghx_twin.git.objects import RefUpdate
from ghx_twin.git.receiving import RefRule
from ghx_twin.queries import permissions
from ghx_twin.queries.actions import checks
from ghx_twin.state.records import Protection, Pull, Repository
from ghx_twin.viewer import Viewer
from ghx_twin.world import World


def protection_of(world: World, repository: Repository, branch: str) -> Protection | None:
    """Return the rules of a branch: those that name it, else the oldest whose pattern matches."""
    rules = world.database.all(Protection, repository_id=repository.id)
    protection = next((rule for rule in rules if rule.pattern == branch), None)
    return protection or next((rule for rule in rules if _matches(rule.pattern, branch)), None)


def binds(world: World, protection: Protection, viewer: Viewer | None, repository: Repository) -> bool:
    """Return whether the rules bind a viewer; administrators only where the rules say so."""
    if viewer is None or viewer.unrestricted:
        return False
    return protection.enforce_admins or not permissions.may(world, viewer, repository, "admin")


def may_push(world: World, viewer: Viewer | None, repository: Repository) -> bool:
    """Return whether a viewer may push to any branch of a repository, by role or as a maintainer of a pull request."""
    if viewer is not None and viewer.app is not None and not viewer.app.may("contents"):
        return False
    return permissions.may(world, viewer, repository, "write") or bool(_maintained_branches(world, viewer, repository))


def push_rule(world: World, viewer: Viewer | None, repository: Repository, update: RefUpdate) -> RefRule:
    """Return the rule for a viewer's push to a ref, made before git has the new commits."""
    if viewer is None or viewer.unrestricted:
        return RefRule()
    if not permissions.may(world, viewer, repository, "write"):
        branch = update.ref.removeprefix("refs/heads/")
        if branch == update.ref or update.new is None or branch not in _maintained_branches(world, viewer, repository):
            return RefRule(denied="permission denied")
    protected = _protection_rule(world, viewer, repository, update)
    return replace(protected, workflows_refused=not viewer.has_scope("workflow"))


def _maintained_branches(world: World, viewer: Viewer | None, repository: Repository) -> set[str]:
    """Return the branches of a fork that the viewer may push to, by `maintainer_can_modify` of their pull requests."""
    pulls = world.database.select(
        Pull,
        "JOIN issues ON issues.id = pulls.issue_id "
        "WHERE pulls.head_repository_id = ? AND pulls.maintainer_can_modify AND issues.state = 'open'",
        (repository.id,),
    )
    homes = {pull.id: world.database.get(Repository, pull.repository_id) for pull in pulls}
    return {
        pull.head_ref
        for pull in pulls
        if (home := homes[pull.id]) is not None and permissions.may(world, viewer, home, "write")
    }


def _protection_rule(world: World, viewer: Viewer | None, repository: Repository, update: RefUpdate) -> RefRule:
    branch = update.ref.removeprefix("refs/heads/")
    rules = protection_of(world, repository, branch) if branch != update.ref else None
    if rules is None or viewer is None or viewer.unrestricted or update.old is None:
        return RefRule()
    if update.new is None:
        return RefRule() if rules.allow_deletions else RefRule(refused=("Cannot delete this protected branch",))
    forced = () if rules.allow_force_pushes else ("Cannot force-push to this protected branch",)
    protection_rule = binds(world, rules, viewer, repository)
    return RefRule(
        refused=_push_requirements(world, rules, repository, update.new) if protection_rule else (),
        force_push_refused=forced,
    )


def push_obstacle(world: World, viewer: Viewer | None, repository: Repository, update: RefUpdate) -> str | None:
    """Return the first reason why a viewer may not change a branch, whose new commits are there already."""
    rule = _protection_rule(world, viewer, repository, update)
    reasons = rule.refused
    if rule.force_push_refused and update.old and update.new:
        forced = not world.git(repository).is_ancestor(update.old, update.new)
        reasons = (*(rule.force_push_refused if forced else ()), *reasons)
    return reasons[0] if reasons else None


def _push_requirements(world: World, rules: Protection, repository: Repository, sha: str) -> tuple[str, ...]:
    if rules.required_approvals is not None:
        return ("Changes must be made through a pull request.",)
    states = {name: checks.state_of_required(world, repository, sha, name) for name in rules.required_checks}
    return tuple(f'Required status check "{name}" is expected.' for name, state in states.items() if state != "SUCCESS")


def _matches(pattern: str, branch: str) -> bool:
    # Part by part: on GitHub a star does not reach over a slash.
    parts, names = pattern.split("/"), branch.split("/")
    return len(parts) == len(names) and all(fnmatchcase(n, p) for n, p in zip(names, parts, strict=True))
