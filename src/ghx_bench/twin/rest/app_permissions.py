"""Which permission of a GitHub App each operation takes."""

from ghx_bench.twin.queries.permissions import NO_INTEGRATION
from ghx_bench.twin.refusals import ForbiddenRefusal
from ghx_bench.twin.rest.operation import Operation
from ghx_bench.twin.viewer import AppAccess

# By what stands behind `/repos/{owner}/{repo}/`: one of these must be held at the level of write.
_TO_CHANGE: dict[str, tuple[str, ...]] = {
    "actions": ("actions",),
    "branches": ("administration",),
    "check-runs": ("checks",),
    "collaborators": ("administration",),
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
    if operation.mutates and template.startswith("/repos/"):
        area = "".join(template.split("/")[4:5])  # nothing for the repository itself
        needed = ("contents",) if template.endswith("/pulls/{pull_number}/merge") else _TO_CHANGE.get(area)
        if needed is not None and not access.may(*needed):
            raise ForbiddenRefusal(NO_INTEGRATION)
