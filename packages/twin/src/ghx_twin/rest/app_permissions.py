"""Which permission of a GitHub App each operation takes."""

from ghx_twin.queries.permissions import NO_INTEGRATION, VARIABLES
from ghx_twin.refusals import ForbiddenRefusal
from ghx_twin.rest.operation import Operation
from ghx_twin.viewer import AppAccess

# By what stands behind `/repos/{owner}/{repo}/`: one of these must be held at the level of write.
_TO_CHANGE: dict[str, tuple[str, ...]] = {
    "actions": ("actions",),
    "branches": ("administration",),
    "check-runs": ("checks",),
    "collaborators": ("administration",),
    "comments": ("contents",),  # of commits
    "commits": ("contents",),
    "contents": ("contents",),
    "deployments": ("deployments",),
    "environments": ("administration",),
    "forks": ("administration", "contents"),
    "git": ("contents",),
    "issues": ("issues", "pull_requests"),
    "labels": ("issues", "pull_requests"),
    "merge-upstream": ("contents",),
    "merges": ("contents",),
    "milestones": ("issues", "pull_requests"),
    "pulls": ("pull_requests",),
    "releases": ("contents",),
    "rulesets": ("administration",),
    "statuses": ("statuses",),
    "topics": ("administration",),
    "": ("administration",),
}
# Of these also the values can be read only with a permission, at the level of read.
_TO_SEE: dict[str, tuple[str, ...]] = {
    "actions/secrets": ("secrets",),
    "actions/variables": VARIABLES,
    "environments/{environment_name}/secrets": ("environments",),
    "environments/{environment_name}/variables": ("environments",),
}
_OF_PEOPLE = ("/user", "/issues")
_FOR_THE_APP = ("/installation", "/{org}/installation", "/{username}/installation")


def check_app(access: AppAccess, operation: Operation) -> None:
    """Refuse an app what its credential does not allow; what it may see is for the roles to say."""
    template = operation.template
    if access.installation_id is None:
        is_own = template.startswith(("/app", "/rate_limit")) or template == "/" or template.endswith(_FOR_THE_APP)
        if not is_own:
            raise ForbiddenRefusal(NO_INTEGRATION)
        return
    if template in _OF_PEOPLE or template.startswith("/user/"):
        raise ForbiddenRefusal(NO_INTEGRATION)
    needed = _needed_permissions(operation)
    if needed is not None and not access.may(*needed, level="write" if operation.mutates else "read"):
        raise ForbiddenRefusal(NO_INTEGRATION)


def _needed_permissions(operation: Operation) -> tuple[str, ...] | None:
    """Return the permissions one of which an operation takes; None where it takes none."""
    template = operation.template
    if not template.startswith("/repos/"):
        return ("organization_projects",) if operation.mutates and "/projectsV2" in template else None
    inside = "/".join(template.split("/")[4:])  # nothing for the repository itself
    to_see = next((names for start, names in _TO_SEE.items() if inside.startswith(start)), None)
    if to_see is not None or not operation.mutates:
        return to_see
    return ("contents",) if inside == "pulls/{pull_number}/merge" else _TO_CHANGE.get(inside.split("/")[0])
