"""Every operation of the REST API that the twin has, and the names of all that GitHub has.

Dispatch, documentation and tests read the one table `OPERATIONS`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ghx_bench.twin.reply import Reply
from ghx_bench.twin.rest.errors import DOCUMENTATION
from ghx_bench.twin.rest.handlers import (
    branches,
    caches,
    check_suites,
    checks,
    collaborators,
    comments,
    commits,
    contents,
    deployments,
    events,
    git_objects,
    issue_labels,
    issues,
    labels,
    merging,
    meta,
    pulls,
    repositories,
    reviews,
    rulesets,
    search,
    users,
    variables,
)
from ghx_bench.twin.rest.handlers.actions import artifacts, dispatch, job_logs, run_deployments, runs
from ghx_bench.twin.rest.request import RestRequest
from ghx_bench.twin.rest.routing import Router

FILE = "github-operations.txt"  # all that GitHub has; written by scripts/github_operations.py
Handler = Callable[[RestRequest], Reply]
R = "/repos/{owner}/{repo}"
_ISSUE, _PULL = f"{R}/issues/{{issue_number}}", f"{R}/pulls/{{pull_number}}"
_COMMENT, _REVIEW_COMMENT = f"{R}/issues/comments/{{comment_id}}", f"{R}/pulls/comments/{{comment_id}}"
_RUN, _WORKFLOW = f"{R}/actions/runs/{{run_id}}", f"{R}/actions/workflows/{{workflow_id}}"
_CACHES, _DEPLOYMENT = f"{R}/actions/caches", f"{R}/deployments/{{deployment_id}}"
_ENVIRONMENT = f"{R}/environments/{{environment_name}}"
_ORG_RULESETS = "/orgs/{org}/rulesets"
_ARTIFACT = f"{R}/actions/artifacts/{{artifact_id}}"
_REVIEW, _PROTECTION = f"{_PULL}/reviews/{{review_id}}", f"{R}/branches/{{branch}}/protection"


@dataclass(frozen=True, slots=True)
class Operation:
    """A method of a path template in GitHub's spelling, and what serves it."""

    method: str
    template: str
    handler: Handler
    own_scope: str | None = None  # where it is not the one of the template's first segment
    needs_token: bool = False  # also where everything that is asked for is public

    @property
    def name(self) -> str:
        """Return method and template, as the journal shows it."""
        return f"{self.method} {self.template}"

    @property
    def summary(self) -> str:
        """Return what it does, in GitHub's words."""
        return (self.handler.__doc__ or "").strip().splitlines()[0].removesuffix(".")

    @property
    def mutates(self) -> bool:
        """Return whether it may change the world."""
        return self.method != "GET"

    @property
    def scope(self) -> str:
        """Return the token's scope it asks for, empty where it asks for none."""
        if self.own_scope is not None:
            return self.own_scope
        return "repo" if self.template.startswith("/repos/") else ""


def _variables_and_secrets(home: str, scope: str, folder: str = "") -> Iterator[Operation]:
    """Yield the operations on the variables and secrets of a repository, an environment or an organization."""
    named, secrets = f"{home}{folder}/variables/{{name}}", f"{home}{folder}/secrets"
    yield Operation("GET", f"{home}{folder}/variables", variables.list_variables, scope, needs_token=True)
    yield Operation("POST", f"{home}{folder}/variables", variables.create_variable, scope)
    yield Operation("GET", named, variables.get_variable, scope, needs_token=True)
    yield Operation("PATCH", named, variables.update_variable, scope)
    yield Operation("DELETE", named, variables.delete_variable, scope)
    yield Operation("GET", secrets, variables.list_secrets, scope, needs_token=True)
    yield Operation("GET", f"{secrets}/public-key", variables.get_public_key, scope, needs_token=True)
    yield Operation("GET", f"{secrets}/{{secret_name}}", variables.get_secret, scope, needs_token=True)
    yield Operation("PUT", f"{secrets}/{{secret_name}}", variables.put_secret, scope)
    yield Operation("DELETE", f"{secrets}/{{secret_name}}", variables.delete_secret, scope)


OPERATIONS: tuple[Operation, ...] = (
    Operation("GET", "/", meta.get_root),
    Operation("GET", "/rate_limit", meta.get_rate_limit),
    # Users, organisations and teams
    Operation("GET", "/user", users.get_viewer, needs_token=True),
    Operation("GET", "/users", users.list_users),
    Operation("GET", "/users/{username}", users.get_user),
    Operation("GET", "/user/{account_id}", users.get_user_by_id),
    Operation("GET", "/user/orgs", users.list_viewer_organizations, "read:org", needs_token=True),
    Operation("GET", "/user/teams", users.list_viewer_teams, "read:org", needs_token=True),
    Operation("GET", "/user/memberships/orgs", users.list_viewer_memberships, "read:org", needs_token=True),
    Operation("GET", "/users/{username}/orgs", users.list_user_organizations),
    Operation("GET", "/orgs/{org}", users.get_organization),
    Operation("GET", "/orgs/{org}/members", users.list_members, "read:org"),
    Operation("GET", "/orgs/{org}/members/{username}", users.check_member, "read:org"),
    Operation("GET", "/orgs/{org}/memberships/{username}", users.get_membership, "read:org", needs_token=True),
    Operation("GET", "/orgs/{org}/teams", users.list_teams, "read:org", needs_token=True),
    Operation("GET", "/orgs/{org}/teams/{team_slug}", users.get_team, "read:org", needs_token=True),
    Operation("GET", "/orgs/{org}/teams/{team_slug}/members", users.list_team_members, "read:org", needs_token=True),
    # Repositories
    Operation("GET", "/repositories", repositories.list_public_repositories),
    Operation("GET", "/user/repos", repositories.list_own_repositories, "repo", needs_token=True),
    Operation("POST", "/user/repos", repositories.create_own_repository, "public_repo, repo"),
    Operation("GET", "/users/{username}/repos", repositories.list_user_repositories),
    Operation("GET", "/orgs/{org}/repos", repositories.list_organization_repositories),
    Operation("POST", "/orgs/{org}/repos", repositories.create_organization_repository, "public_repo, repo"),
    Operation("GET", R, repositories.get_repository),
    Operation("PATCH", R, repositories.update_repository),
    Operation("DELETE", R, repositories.delete_repository, "delete_repo"),
    Operation("GET", f"{R}/forks", repositories.list_forks),
    Operation("POST", f"{R}/forks", repositories.create_fork),
    Operation("GET", f"{R}/topics", repositories.get_topics),
    Operation("PUT", f"{R}/topics", repositories.replace_topics),
    Operation("GET", f"{R}/languages", repositories.get_languages),
    Operation("GET", f"{R}/contributors", collaborators.list_contributors),
    Operation("GET", f"{R}/teams", collaborators.list_teams, needs_token=True),
    Operation("GET", f"{R}/collaborators", collaborators.list_collaborators, needs_token=True),
    Operation("GET", f"{R}/collaborators/{{username}}", collaborators.check_collaborator, needs_token=True),
    Operation("PUT", f"{R}/collaborators/{{username}}", collaborators.add_collaborator),
    Operation("DELETE", f"{R}/collaborators/{{username}}", collaborators.remove_collaborator),
    Operation("GET", f"{R}/collaborators/{{username}}/permission", collaborators.get_permission, needs_token=True),
    Operation("GET", f"{R}/assignees", collaborators.list_assignees),
    Operation("GET", f"{R}/assignees/{{assignee}}", collaborators.check_assignee),
    # Files
    Operation("GET", f"{R}/contents", contents.get_contents),
    Operation("GET", f"{R}/contents/{{path}}", contents.get_contents),
    Operation("PUT", f"{R}/contents/{{path}}", contents.put_contents),
    Operation("DELETE", f"{R}/contents/{{path}}", contents.delete_contents),
    Operation("GET", f"{R}/readme", contents.get_readme),
    Operation("GET", f"{R}/readme/{{dir}}", contents.get_readme),
    Operation("GET", f"{R}/license", contents.get_license),
    # Branches, tags and commits
    Operation("GET", f"{R}/branches", branches.list_branches),
    Operation("GET", f"{R}/branches/{{branch}}", branches.get_branch),
    Operation("GET", _PROTECTION, branches.get_protection, needs_token=True),
    Operation("PUT", _PROTECTION, branches.update_protection),
    Operation("DELETE", _PROTECTION, branches.delete_protection),
    Operation("GET", f"{_PROTECTION}/required_status_checks", branches.get_required_checks, needs_token=True),
    Operation("GET", f"{_PROTECTION}/required_pull_request_reviews", branches.get_required_reviews, needs_token=True),
    Operation("GET", f"{_PROTECTION}/enforce_admins", branches.get_admin_enforcement, needs_token=True),
    Operation("POST", f"{_PROTECTION}/enforce_admins", branches.enforce_for_admins),
    Operation("DELETE", f"{_PROTECTION}/enforce_admins", branches.exempt_admins),
    Operation("PATCH", f"{_PROTECTION}/required_status_checks", branches.update_required_checks),
    Operation("DELETE", f"{_PROTECTION}/required_status_checks", branches.remove_required_checks),
    Operation("PATCH", f"{_PROTECTION}/required_pull_request_reviews", branches.update_required_reviews),
    Operation("DELETE", f"{_PROTECTION}/required_pull_request_reviews", branches.remove_required_reviews),
    Operation("POST", f"{R}/merges", merging.merge_branches),
    Operation("POST", f"{R}/merge-upstream", merging.sync_fork),
    Operation("GET", f"{R}/tags", branches.list_tags),
    Operation("GET", f"{R}/commits", commits.list_commits),
    Operation("GET", f"{R}/commits/{{ref}}", commits.get_commit),
    Operation("GET", f"{R}/commits/{{commit_sha}}/branches-where-head", commits.list_branches_at),
    Operation("GET", f"{R}/commits/{{commit_sha}}/pulls", commits.list_pulls_with),
    Operation("GET", f"{R}/compare/{{basehead}}", commits.compare),
    # Rulesets
    Operation("GET", f"{R}/rulesets", rulesets.list_rulesets),
    Operation("POST", f"{R}/rulesets", rulesets.create_ruleset),
    Operation("GET", f"{R}/rulesets/{{ruleset_id}}", rulesets.get_ruleset),
    Operation("PUT", f"{R}/rulesets/{{ruleset_id}}", rulesets.update_ruleset),
    Operation("DELETE", f"{R}/rulesets/{{ruleset_id}}", rulesets.delete_ruleset),
    Operation("GET", f"{R}/rules/branches/{{branch}}", rulesets.list_branch_rules),
    Operation("GET", _ORG_RULESETS, rulesets.list_organization_rulesets, "admin:org", needs_token=True),
    Operation(
        "GET", f"{_ORG_RULESETS}/{{ruleset_id}}", rulesets.get_organization_ruleset, "admin:org", needs_token=True
    ),
    # The git database
    Operation("GET", f"{R}/git/ref/{{ref}}", git_objects.get_ref),
    Operation("GET", f"{R}/git/refs", git_objects.list_refs),
    Operation("GET", f"{R}/git/refs/{{ref}}", git_objects.get_refs),
    Operation("GET", f"{R}/git/matching-refs/{{ref}}", git_objects.list_matching_refs),
    Operation("POST", f"{R}/git/refs", git_objects.create_ref),
    Operation("PATCH", f"{R}/git/refs/{{ref}}", git_objects.update_ref),
    Operation("DELETE", f"{R}/git/refs/{{ref}}", git_objects.delete_ref),
    Operation("GET", f"{R}/git/commits/{{commit_sha}}", git_objects.get_commit),
    Operation("POST", f"{R}/git/commits", git_objects.create_commit),
    Operation("GET", f"{R}/git/trees/{{tree_sha}}", git_objects.get_tree),
    Operation("POST", f"{R}/git/trees", git_objects.create_tree),
    Operation("GET", f"{R}/git/blobs/{{file_sha}}", git_objects.get_blob),
    Operation("POST", f"{R}/git/blobs", git_objects.create_blob),
    Operation("GET", f"{R}/git/tags/{{tag_sha}}", git_objects.get_tag),
    Operation("POST", f"{R}/git/tags", git_objects.create_tag),
    # Statuses and check runs
    Operation("GET", f"{R}/commits/{{ref}}/status", checks.get_combined_status),
    Operation("GET", f"{R}/commits/{{ref}}/statuses", checks.list_statuses),
    Operation("POST", f"{R}/statuses/{{sha}}", checks.create_status, "repo, repo:status"),
    Operation("GET", f"{R}/commits/{{ref}}/check-runs", checks.list_check_runs),
    Operation("POST", f"{R}/check-runs", checks.create_check_run),
    Operation("GET", f"{R}/check-runs/{{check_run_id}}", checks.get_check_run),
    Operation("PATCH", f"{R}/check-runs/{{check_run_id}}", checks.update_check_run),
    Operation("GET", f"{R}/check-runs/{{check_run_id}}/annotations", checks.list_annotations),
    Operation("GET", f"{R}/commits/{{ref}}/check-suites", check_suites.list_check_suites),
    Operation("GET", f"{R}/check-suites/{{check_suite_id}}", check_suites.get_check_suite),
    Operation("GET", f"{R}/check-suites/{{check_suite_id}}/check-runs", check_suites.list_suite_check_runs),
    # Workflows and their runs
    Operation("GET", f"{R}/actions/workflows", runs.list_workflows),
    Operation("GET", _WORKFLOW, runs.get_workflow),
    Operation("PUT", f"{_WORKFLOW}/enable", runs.enable_workflow),
    Operation("PUT", f"{_WORKFLOW}/disable", runs.disable_workflow),
    Operation("POST", f"{_WORKFLOW}/dispatches", dispatch.create_dispatch),
    Operation("GET", f"{_WORKFLOW}/runs", runs.list_workflow_runs),
    Operation("GET", f"{R}/actions/runs", runs.list_runs),
    Operation("GET", _RUN, runs.get_run),
    Operation("DELETE", _RUN, runs.delete_run),
    Operation("GET", f"{_RUN}/attempts/{{attempt_number}}", runs.get_attempt),
    Operation("GET", f"{_RUN}/attempts/{{attempt_number}}/jobs", runs.list_attempt_jobs),
    Operation("GET", f"{_RUN}/attempts/{{attempt_number}}/logs", job_logs.download_attempt_logs),
    Operation("GET", f"{_RUN}/jobs", runs.list_jobs),
    Operation("GET", f"{_RUN}/logs", job_logs.download_run_logs),
    Operation("DELETE", f"{_RUN}/logs", job_logs.delete_run_logs),
    Operation("GET", f"{_RUN}/timing", runs.get_timing),
    Operation("GET", f"{_RUN}/artifacts", artifacts.list_run_artifacts),
    Operation("GET", f"{_RUN}/pending_deployments", run_deployments.list_pending, needs_token=True),
    Operation("POST", f"{_RUN}/pending_deployments", run_deployments.review_pending),
    Operation("GET", f"{_RUN}/approvals", run_deployments.list_reviews),
    Operation("POST", f"{_RUN}/rerun", runs.rerun),
    Operation("POST", f"{_RUN}/rerun-failed-jobs", runs.rerun_failed_jobs),
    Operation("POST", f"{_RUN}/cancel", runs.cancel),
    Operation("POST", f"{_RUN}/force-cancel", runs.force_cancel),
    Operation("POST", f"{_RUN}/approve", runs.approve),
    Operation("GET", f"{R}/actions/jobs/{{job_id}}", runs.get_job),
    Operation("GET", f"{R}/actions/jobs/{{job_id}}/logs", job_logs.download_job_logs),
    Operation("POST", f"{R}/actions/jobs/{{job_id}}/rerun", runs.rerun_job),
    Operation("GET", f"{R}/actions/artifacts", artifacts.list_artifacts),
    Operation("GET", _ARTIFACT, artifacts.get_artifact),
    Operation("DELETE", _ARTIFACT, artifacts.delete_artifact),
    Operation("GET", f"{_ARTIFACT}/{{archive_format}}", artifacts.download_artifact, needs_token=True),
    # Variables, secrets and caches of GitHub Actions
    *_variables_and_secrets(R, "repo", "/actions"),
    *_variables_and_secrets(_ENVIRONMENT, "repo"),
    *_variables_and_secrets("/orgs/{org}", "admin:org", "/actions"),
    Operation("GET", _CACHES, caches.list_caches),
    Operation("DELETE", _CACHES, caches.delete_caches_by_key),
    Operation("DELETE", f"{_CACHES}/{{cache_id}}", caches.delete_cache),
    Operation("GET", f"{R}/actions/cache/usage", caches.get_usage),
    # Environments and deployments
    Operation("GET", f"{R}/environments", deployments.list_environments),
    Operation("GET", _ENVIRONMENT, deployments.get_environment),
    Operation("PUT", _ENVIRONMENT, deployments.put_environment),
    Operation("DELETE", _ENVIRONMENT, deployments.delete_environment),
    Operation("GET", f"{R}/deployments", deployments.list_deployments),
    Operation("POST", f"{R}/deployments", deployments.create_deployment, "repo, repo_deployment"),
    Operation("GET", _DEPLOYMENT, deployments.get_deployment),
    Operation("DELETE", _DEPLOYMENT, deployments.delete_deployment, "repo, repo_deployment"),
    Operation("GET", f"{_DEPLOYMENT}/statuses", deployments.list_statuses),
    Operation("POST", f"{_DEPLOYMENT}/statuses", deployments.create_status, "repo, repo_deployment"),
    Operation("GET", f"{_DEPLOYMENT}/statuses/{{status_id}}", deployments.get_status),
    # Labels and milestones
    Operation("GET", f"{R}/labels", labels.list_labels),
    Operation("POST", f"{R}/labels", labels.create_label),
    Operation("GET", f"{R}/labels/{{name}}", labels.get_label),
    Operation("PATCH", f"{R}/labels/{{name}}", labels.update_label),
    Operation("DELETE", f"{R}/labels/{{name}}", labels.delete_label),
    Operation("GET", f"{R}/milestones", labels.list_milestones),
    Operation("POST", f"{R}/milestones", labels.create_milestone),
    Operation("GET", f"{R}/milestones/{{milestone_number}}", labels.get_milestone),
    Operation("PATCH", f"{R}/milestones/{{milestone_number}}", labels.update_milestone),
    Operation("DELETE", f"{R}/milestones/{{milestone_number}}", labels.delete_milestone),
    Operation("GET", f"{R}/milestones/{{milestone_number}}/labels", labels.list_milestone_labels),
    # Issues
    Operation("GET", "/issues", issues.list_own_issues, "repo", needs_token=True),
    Operation("GET", f"{R}/issues", issues.list_issues),
    Operation("POST", f"{R}/issues", issues.create_issue),
    Operation("GET", _ISSUE, issues.get_issue),
    Operation("PATCH", _ISSUE, issues.update_issue),
    Operation("PUT", f"{_ISSUE}/lock", issues.lock_issue),
    Operation("DELETE", f"{_ISSUE}/lock", issues.unlock_issue),
    Operation("POST", f"{_ISSUE}/assignees", issues.add_assignees),
    Operation("DELETE", f"{_ISSUE}/assignees", issues.remove_assignees),
    Operation("GET", f"{_ISSUE}/assignees/{{assignee}}", issues.check_assignee),
    Operation("GET", f"{_ISSUE}/labels", issue_labels.list_labels),
    Operation("POST", f"{_ISSUE}/labels", issue_labels.add_labels),
    Operation("PUT", f"{_ISSUE}/labels", issue_labels.set_labels),
    Operation("DELETE", f"{_ISSUE}/labels", issue_labels.remove_labels),
    Operation("DELETE", f"{_ISSUE}/labels/{{name}}", issue_labels.remove_label),
    Operation("GET", f"{_ISSUE}/comments", comments.list_comments),
    Operation("POST", f"{_ISSUE}/comments", comments.create_comment),
    Operation("GET", f"{R}/issues/comments", comments.list_repository_comments),
    Operation("GET", _COMMENT, comments.get_comment),
    Operation("PATCH", _COMMENT, comments.update_comment),
    Operation("DELETE", _COMMENT, comments.delete_comment),
    Operation("GET", f"{R}/issues/events", events.list_repository_events),
    Operation("GET", f"{R}/issues/events/{{event_id}}", events.get_event),
    Operation("GET", f"{_ISSUE}/events", events.list_events),
    Operation("GET", f"{_ISSUE}/timeline", events.list_timeline),
    Operation("GET", f"{_ISSUE}/reactions", events.list_issue_reactions),
    Operation("POST", f"{_ISSUE}/reactions", events.create_issue_reaction),
    Operation("DELETE", f"{_ISSUE}/reactions/{{reaction_id}}", events.delete_issue_reaction),
    Operation("GET", f"{_COMMENT}/reactions", events.list_comment_reactions),
    Operation("POST", f"{_COMMENT}/reactions", events.create_comment_reaction),
    Operation("DELETE", f"{_COMMENT}/reactions/{{reaction_id}}", events.delete_comment_reaction),
    # Pull requests
    Operation("GET", f"{R}/pulls", pulls.list_pulls),
    Operation("POST", f"{R}/pulls", pulls.create_pull),
    Operation("GET", _PULL, pulls.get_pull),
    Operation("PATCH", _PULL, pulls.update_pull),
    Operation("GET", f"{_PULL}/commits", pulls.list_pull_commits),
    Operation("GET", f"{_PULL}/files", pulls.list_pull_files),
    Operation("GET", f"{_PULL}/merge", pulls.check_merged),
    Operation("PUT", f"{_PULL}/merge", pulls.merge_pull),
    Operation("PUT", f"{_PULL}/update-branch", pulls.update_branch),
    Operation("GET", f"{_PULL}/requested_reviewers", pulls.get_requested_reviewers),
    Operation("POST", f"{_PULL}/requested_reviewers", pulls.request_reviewers),
    Operation("DELETE", f"{_PULL}/requested_reviewers", pulls.remove_reviewers),
    # Reviews and their comments
    Operation("GET", f"{_PULL}/reviews", reviews.list_reviews),
    Operation("POST", f"{_PULL}/reviews", reviews.create_review),
    Operation("GET", _REVIEW, reviews.get_review),
    Operation("PUT", _REVIEW, reviews.update_review),
    Operation("DELETE", _REVIEW, reviews.delete_review),
    Operation("POST", f"{_REVIEW}/events", reviews.submit_review),
    Operation("PUT", f"{_REVIEW}/dismissals", reviews.dismiss_review),
    Operation("GET", f"{_REVIEW}/comments", reviews.list_comments_of_review),
    Operation("GET", f"{R}/pulls/comments", reviews.list_repository_comments),
    Operation("GET", f"{_PULL}/comments", reviews.list_pull_comments),
    Operation("POST", f"{_PULL}/comments", reviews.create_comment),
    Operation("POST", f"{_PULL}/comments/{{comment_id}}/replies", reviews.reply_to_comment),
    Operation("GET", _REVIEW_COMMENT, reviews.get_comment),
    Operation("PATCH", _REVIEW_COMMENT, reviews.update_comment),
    Operation("DELETE", _REVIEW_COMMENT, reviews.delete_comment),
    Operation("GET", f"{_REVIEW_COMMENT}/reactions", events.list_review_comment_reactions),
    Operation("POST", f"{_REVIEW_COMMENT}/reactions", events.create_review_comment_reaction),
    Operation("DELETE", f"{_REVIEW_COMMENT}/reactions/{{reaction_id}}", events.delete_review_comment_reaction),
    # Searches
    Operation("GET", "/search/issues", search.search_issues),
    Operation("GET", "/search/repositories", search.search_repositories),
    Operation("GET", "/search/code", search.search_code, needs_token=True),
    Operation("GET", "/search/users", search.search_users),
    Operation("GET", "/search/commits", search.search_commits),
    Operation("GET", "/search/labels", search.search_labels),
)


@cache
def router() -> Router[Operation]:
    """Return the operations by method and path."""
    made = Router[Operation]()
    for operation in OPERATIONS:
        made.add(operation.method, operation.template, operation)
    return made


@cache
def _catalogue() -> tuple[Router[str], dict[str, str]]:
    router, pages = Router[str](), dict[str, str]()
    text = files("ghx_bench.twin.rest").joinpath(FILE).read_text(encoding="utf-8")
    for line in text.splitlines():
        method, template, page = line.split(" ")
        router.add(method, template, f"{method} {template}")
        pages[f"{method} {template}"] = page
    return router, pages


def known_operation(method: str, raw_path: str) -> str | None:
    """Return the method and template under which GitHub serves a path; None where it has no such path.

    The twin may lack the operation: then it answers 501 instead of 404.
    """
    found = _catalogue()[0].find(method, raw_path)
    return None if found is None else found.target


def documentation_url(operation: str) -> str:
    """Return the page that describes an operation."""
    page = _catalogue()[1].get(operation)
    return f"{DOCUMENTATION}/{page}" if page else DOCUMENTATION
