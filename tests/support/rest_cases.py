"""For every operation a request that is granted and one that is refused; `R` stands for /repos/acme/widgets."""

from rest_calls import Call, call, refused_media
from rest_release_cases import RELEASE_CASES
from rest_run_cases import RUN_CASES

_ONE_PIXEL = "aGVsbG8="
_PULL, _ISSUE = "R/pulls/{pull}", "R/issues/{issue}"
_NOTE, _COMMENT = "R/pulls/comments/{review_comment}", "R/issues/comments/{comment}"
_RULES = {
    "required_status_checks": {"strict": True, "contexts": ["ci"]},
    "enforce_admins": True,
    "required_pull_request_reviews": {"required_approving_review_count": 1, "dismiss_stale_reviews": True},
    "restrictions": None,
}
_REPOSITORY = "/repos/{owner}/{repo}"

_PARENT, _TYPES = "R/issues/{parent_issue}", "/orgs/acme/issue-types"

CASES: dict[str, tuple[Call, Call]] = {
    f"GET {_REPOSITORY}/issues/{{issue_number}}/parent": (
        call("R/issues/{sub_issue}/parent"),
        call(f"{_ISSUE}/parent"),
    ),
    f"GET {_REPOSITORY}/issues/{{issue_number}}/sub_issues": (
        call(f"{_PARENT}/sub_issues"),
        call("R/issues/999/sub_issues"),
    ),
    f"POST {_REPOSITORY}/issues/{{issue_number}}/sub_issues": (
        call(f"{_PARENT}/sub_issues", {"sub_issue_id": "{issue_id}"}),
        call(f"{_PARENT}/sub_issues", {"sub_issue_id": "{sub_issue_id}"}),
    ),
    f"PATCH {_REPOSITORY}/issues/{{issue_number}}/sub_issues/priority": (
        call(f"{_PARENT}/sub_issues/priority", {"sub_issue_id": "{sub_issue_id}", "after_id": "{last_sub_issue_id}"}),
        call(f"{_PARENT}/sub_issues/priority", {"sub_issue_id": "{sub_issue_id}"}),
    ),
    f"DELETE {_REPOSITORY}/issues/{{issue_number}}/sub_issue": (
        call(f"{_PARENT}/sub_issue", {"sub_issue_id": "{sub_issue_id}"}),
        call(f"{_PARENT}/sub_issue", {"sub_issue_id": "{issue_id}"}),
    ),
    f"GET {_REPOSITORY}/issues/{{issue_number}}/dependencies/blocked_by": (
        call("R/issues/{sub_issue}/dependencies/blocked_by"),
        call("R/issues/999/dependencies/blocked_by"),
    ),
    f"POST {_REPOSITORY}/issues/{{issue_number}}/dependencies/blocked_by": (
        call(f"{_PARENT}/dependencies/blocked_by", {"issue_id": "{issue_id}"}),
        call("R/issues/{sub_issue}/dependencies/blocked_by", {"issue_id": "{last_sub_issue_id}"}),
    ),
    f"DELETE {_REPOSITORY}/issues/{{issue_number}}/dependencies/blocked_by/{{issue_id}}": (
        call("R/issues/{sub_issue}/dependencies/blocked_by/{last_sub_issue_id}"),
        call("R/issues/{sub_issue}/dependencies/blocked_by/999"),
    ),
    f"GET {_REPOSITORY}/issues/{{issue_number}}/dependencies/blocking": (
        call("R/issues/{last_sub_issue}/dependencies/blocking"),
        call("R/issues/999/dependencies/blocking"),
    ),
    f"GET {_REPOSITORY}/issue-types": (call("R/issue-types"), call("/repos/acme/none/issue-types")),
    "GET /app": (call("/app", user="fixer-app"), call("/app")),
    "GET /apps/{app_slug}": (call("/apps/fixer"), call("/apps/none")),
    "GET /app/installations": (call("/app/installations", user="fixer-app"), call("/app/installations", user="fixer")),
    "GET /app/installations/{installation_id}": (
        call("/app/installations/{installation}", user="fixer-app"),
        call("/app/installations/999", user="fixer-app"),
    ),
    "POST /app/installations/{installation_id}/access_tokens": (
        call("/app/installations/{installation}/access_tokens", {"repositories": ["widgets"]}, "fixer-app"),
        call("/app/installations/{installation}/access_tokens", {"permissions": {"contents": "write"}}, "fixer-app"),
    ),
    "GET /installation/repositories": (
        call("/installation/repositories", user="fixer"),
        call("/installation/repositories"),
    ),
    "DELETE /installation/token": (call("/installation/token", user="fixer"), call("/installation/token")),
    "GET /orgs/{org}/installation": (
        call("/orgs/acme/installation", user="fixer-app"),
        call("/orgs/acme/installation"),
    ),
    f"GET {_REPOSITORY}/installation": (
        call("R/installation", user="fixer-app"),
        call("/repos/ann/secret/installation", user="fixer-app"),
    ),
    "GET /users/{username}/installation": (
        call("/users/acme/installation", user="fixer-app"),
        call("/users/bob/installation", user="fixer-app"),
    ),
    "GET /orgs/{org}/issue-types": (call(_TYPES), call(_TYPES, user="eve")),
    "POST /orgs/{org}/issue-types": (
        call(_TYPES, {"name": "Epic", "is_enabled": True, "color": "green"}),
        call(_TYPES, {"name": "bug", "is_enabled": True}),
    ),
    "PUT /orgs/{org}/issue-types/{issue_type_id}": (
        call(f"{_TYPES}/{{issue_type}}", {"name": "Defect", "is_enabled": False, "description": None}),
        call(f"{_TYPES}/{{issue_type}}", {"name": "Defect", "is_enabled": True}, "bob"),
    ),
    "DELETE /orgs/{org}/issue-types/{issue_type_id}": (call(f"{_TYPES}/{{issue_type}}"), call(f"{_TYPES}/999")),
    "GET /": (call("/"), refused_media("/")),
    "GET /rate_limit": (call("/rate_limit"), refused_media("/rate_limit")),
    "GET /user": (call("/user"), refused_media("/user")),
    "GET /users": (call("/users?since=1"), refused_media("/users")),
    "GET /users/{username}": (call("/users/robot%5Bbot%5D"), call("/users/nobody")),
    "GET /user/{account_id}": (call("/user/{bob}"), call("/user/99")),
    "GET /user/orgs": (call("/user/orgs"), refused_media("/user/orgs")),
    "GET /user/teams": (call("/user/teams", user="bob"), refused_media("/user/teams")),
    "GET /user/memberships/orgs": (call("/user/memberships/orgs"), refused_media("/user/memberships/orgs")),
    "GET /users/{username}/orgs": (call("/users/bob/orgs"), call("/users/nobody/orgs")),
    "GET /orgs/{org}": (call("/orgs/acme"), call("/orgs/ann")),
    "GET /orgs/{org}/members": (call("/orgs/acme/members?role=admin"), call("/orgs/nobody/members")),
    "GET /orgs/{org}/members/{username}": (call("/orgs/acme/members/bob"), call("/orgs/acme/members/eve")),
    "GET /orgs/{org}/memberships/{username}": (
        call("/orgs/acme/memberships/bob"),
        call("/orgs/acme/memberships/eve"),
    ),
    "GET /orgs/{org}/teams": (call("/orgs/acme/teams"), call("/orgs/nobody/teams")),
    "GET /orgs/{org}/teams/{team_slug}": (call("/orgs/acme/teams/crew"), call("/orgs/acme/teams/none")),
    "GET /orgs/{org}/teams/{team_slug}/members": (
        call("/orgs/acme/teams/crew/members"),
        call("/orgs/acme/teams/none/members"),
    ),
    "GET /repositories": (call("/repositories"), refused_media("/repositories")),
    "GET /user/repos": (call("/user/repos?sort=pushed"), refused_media("/user/repos")),
    "POST /user/repos": (
        call("/user/repos", {"name": "new", "auto_init": True}),
        call("/user/repos", {"name": "empty"}),
    ),
    "GET /users/{username}/repos": (call("/users/eve/repos"), call("/users/nobody/repos")),
    "GET /orgs/{org}/repos": (call("/orgs/acme/repos?type=sources"), call("/orgs/nobody/repos")),
    "POST /orgs/{org}/repos": (call("/orgs/acme/repos", {"name": "n"}), call("/orgs/acme/repos", {"name": "n"}, "eve")),
    f"GET {_REPOSITORY}": (call("/repos/eve/widgets"), call("/repos/ann/secret", user="bob")),
    f"PATCH {_REPOSITORY}": (call("R", {"description": None, "has_wiki": False}), call("R", {"has_wiki": 1})),
    f"DELETE {_REPOSITORY}": (call("R"), call("R", user="bob")),
    f"GET {_REPOSITORY}/forks": (call("R/forks"), call("/repos/acme/none/forks")),
    f"POST {_REPOSITORY}/forks": (call("R/forks", {"name": "copy"}), call("/repos/ann/empty/forks", user="bob")),
    f"GET {_REPOSITORY}/topics": (call("R/topics"), call("/repos/acme/none/topics")),
    f"PUT {_REPOSITORY}/topics": (call("R/topics", {"names": ["Fast"]}), call("R/topics", {})),
    f"GET {_REPOSITORY}/languages": (call("R/languages"), call("/repos/acme/none/languages")),
    f"GET {_REPOSITORY}/contributors": (call("R/contributors?anon=1"), call("/repos/acme/none/contributors")),
    f"GET {_REPOSITORY}/teams": (call("R/teams"), call("R/teams", user="bob")),
    f"GET {_REPOSITORY}/collaborators": (call("R/collaborators"), call("R/collaborators", user="eve")),
    f"GET {_REPOSITORY}/collaborators/{{username}}": (call("R/collaborators/bob"), call("R/collaborators/eve")),
    f"PUT {_REPOSITORY}/collaborators/{{username}}": (
        call("R/collaborators/eve", {"permission": "pull"}),
        call("R/collaborators/eve", {"permission": "pull"}, "bob"),
    ),
    f"DELETE {_REPOSITORY}/collaborators/{{username}}": (
        call("R/collaborators/bob"),
        call("R/collaborators/nobody"),
    ),
    f"GET {_REPOSITORY}/collaborators/{{username}}/permission": (
        call("R/collaborators/bob/permission"),
        call("R/collaborators/nobody/permission"),
    ),
    f"GET {_REPOSITORY}/assignees": (call("R/assignees"), call("/repos/acme/none/assignees")),
    f"GET {_REPOSITORY}/assignees/{{assignee}}": (call("R/assignees/bob"), call("R/assignees/eve")),
    f"GET {_REPOSITORY}/contents": (call("R/contents"), call("/repos/ann/empty/contents")),
    f"GET {_REPOSITORY}/contents/{{path}}": (call("R/contents/src/app.py?ref=feature/x"), call("R/contents/src/none")),
    f"PUT {_REPOSITORY}/contents/{{path}}": (
        call("R/contents/new/file.txt", {"message": "Add", "content": _ONE_PIXEL}),
        call("R/contents/src/app.py", {"message": "Change", "content": _ONE_PIXEL}),
    ),
    f"DELETE {_REPOSITORY}/contents/{{path}}": (
        call("R/contents/src/app.py", {"message": "Remove", "sha": "{blob}"}),
        call("R/contents/src/app.py", {"message": "Remove", "sha": "{main}"}),
    ),
    f"GET {_REPOSITORY}/readme": (call("R/readme"), call("/repos/ann/empty/readme")),
    f"GET {_REPOSITORY}/readme/{{dir}}": (call("R/readme/%2F"), call("R/readme/src")),
    f"GET {_REPOSITORY}/license": (call("R/license"), call("/repos/ann/secret/license")),
    f"GET {_REPOSITORY}/branches": (call("R/branches?protected=false"), call("/repos/acme/none/branches")),
    f"GET {_REPOSITORY}/branches/{{branch}}": (call("R/branches/feature/x"), call("R/branches/none")),
    f"GET {_REPOSITORY}/branches/{{branch}}/protection": (
        call("R/branches/main/protection"),
        call("R/branches/feature/x/protection"),
    ),
    f"PUT {_REPOSITORY}/branches/{{branch}}/protection": (
        call("R/branches/feature%2Fx/protection", _RULES),
        call("R/branches/main/protection", {"enforce_admins": True}),
    ),
    f"DELETE {_REPOSITORY}/branches/{{branch}}/protection": (
        call("R/branches/main/protection"),
        call("R/branches/main/protection", user="bob"),
    ),
    f"GET {_REPOSITORY}/branches/{{branch}}/protection/required_status_checks": (
        call("R/branches/main/protection/required_status_checks"),
        call("R/branches/feature/x/protection/required_status_checks"),
    ),
    f"GET {_REPOSITORY}/branches/{{branch}}/protection/required_pull_request_reviews": (
        call("R/branches/main/protection/required_pull_request_reviews"),
        call("R/branches/feature/x/protection/required_pull_request_reviews"),
    ),
    f"GET {_REPOSITORY}/branches/{{branch}}/protection/enforce_admins": (
        call("R/branches/main/protection/enforce_admins"),
        call("R/branches/none/protection/enforce_admins"),
    ),
    f"POST {_REPOSITORY}/branches/{{branch}}/protection/enforce_admins": (
        call("R/branches/main/protection/enforce_admins"),
        call("R/branches/none/protection/enforce_admins"),
    ),
    f"DELETE {_REPOSITORY}/branches/{{branch}}/protection/enforce_admins": (
        call("R/branches/main/protection/enforce_admins"),
        call("R/branches/none/protection/enforce_admins"),
    ),
    f"PATCH {_REPOSITORY}/branches/{{branch}}/protection/required_status_checks": (
        call("R/branches/main/protection/required_status_checks", {"contexts": ["ci", "lint"]}),
        call("R/branches/main/protection/required_status_checks", {"contexts": "ci"}),
    ),
    f"DELETE {_REPOSITORY}/branches/{{branch}}/protection/required_status_checks": (
        call("R/branches/main/protection/required_status_checks"),
        call("R/branches/feature/x/protection/required_status_checks"),
    ),
    f"PATCH {_REPOSITORY}/branches/{{branch}}/protection/required_pull_request_reviews": (
        call("R/branches/main/protection/required_pull_request_reviews", {"dismiss_stale_reviews": True}),
        call("R/branches/main/protection/required_pull_request_reviews", {"required_approving_review_count": 70}),
    ),
    f"DELETE {_REPOSITORY}/branches/{{branch}}/protection/required_pull_request_reviews": (
        call("R/branches/main/protection/required_pull_request_reviews"),
        call("R/branches/main/protection/required_pull_request_reviews", user="bob"),
    ),
    f"POST {_REPOSITORY}/merges": (
        call("R/merges", {"base": "feature/x", "head": "main"}),
        call("R/merges", {"base": "none", "head": "main"}),
    ),
    f"POST {_REPOSITORY}/merge-upstream": (
        call("/repos/eve/widgets/merge-upstream", {"branch": "main"}, "eve"),
        call("R/merge-upstream", {"branch": "main"}),
    ),
    f"GET {_REPOSITORY}/tags": (call("R/tags"), call("/repos/acme/none/tags")),
    f"GET {_REPOSITORY}/commits": (call("R/commits?path=src&author=ann"), call("/repos/ann/empty/commits")),
    f"GET {_REPOSITORY}/commits/{{ref}}": (call("R/commits/feature/x"), call("R/commits/none")),
    f"GET {_REPOSITORY}/commits/{{commit_sha}}/branches-where-head": (
        call("R/commits/{head}/branches-where-head"),
        call("R/commits/none/branches-where-head"),
    ),
    f"GET {_REPOSITORY}/commits/{{commit_sha}}/pulls": (
        call("R/commits/{feature}/pulls"),
        call("R/commits/none/pulls"),
    ),
    f"GET {_REPOSITORY}/compare/{{basehead}}": (call("R/compare/main...feature/x"), call("R/compare/main...none")),
    f"GET {_REPOSITORY}/git/ref/{{ref}}": (call("R/git/ref/tags/v1"), call("R/git/ref/heads/none")),
    f"GET {_REPOSITORY}/git/refs": (call("R/git/refs"), call("/repos/ann/empty/git/refs")),
    f"GET {_REPOSITORY}/git/refs/{{ref}}": (call("R/git/refs/heads%2Ffeature%2Fx"), call("R/git/refs/heads/none")),
    f"GET {_REPOSITORY}/git/matching-refs/{{ref}}": (
        call("R/git/matching-refs/heads/feat"),
        call("/repos/acme/none/git/matching-refs/heads/feat"),
    ),
    f"POST {_REPOSITORY}/git/refs": (
        call("R/git/refs", {"ref": "refs/heads/new", "sha": "{main}"}),
        call("R/git/refs", {"ref": "refs/heads/main", "sha": "{main}"}),
    ),
    f"PATCH {_REPOSITORY}/git/refs/{{ref}}": (
        call("R/git/refs/heads/feature/x", {"sha": "{main}", "force": True}),
        call("R/git/refs/heads/feature/x", {"sha": "{main}"}),
    ),
    f"DELETE {_REPOSITORY}/git/refs/{{ref}}": (call("R/git/refs/tags/v1"), call("R/git/refs/tags/v2")),
    f"GET {_REPOSITORY}/git/commits/{{commit_sha}}": (call("R/git/commits/{main}"), call("R/git/commits/{blob}")),
    f"POST {_REPOSITORY}/git/commits": (
        call("R/git/commits", {"message": "Made", "tree": "{tree}", "parents": ["{main}"]}),
        call("R/git/commits", {"message": "Made", "tree": "{main}"}),
    ),
    f"GET {_REPOSITORY}/git/trees/{{tree_sha}}": (call("R/git/trees/main?recursive=1"), call("R/git/trees/none")),
    f"POST {_REPOSITORY}/git/trees": (
        call("R/git/trees", {"base_tree": "{main}", "tree": [{"path": "a/b", "mode": "100644", "content": "x"}]}),
        call("R/git/trees", {"tree": [{"path": "../b", "mode": "100644", "content": "x"}]}),
    ),
    f"GET {_REPOSITORY}/git/blobs/{{file_sha}}": (call("R/git/blobs/{blob}"), call("R/git/blobs/{main}")),
    f"POST {_REPOSITORY}/git/blobs": (
        call("R/git/blobs", {"content": "x"}),
        call("R/git/blobs", {"content": "x"}, "eve"),
    ),
    f"GET {_REPOSITORY}/git/tags/{{tag_sha}}": (call("R/git/tags/{tag}"), call("R/git/tags/{main}")),
    f"POST {_REPOSITORY}/git/tags": (
        call("R/git/tags", {"tag": "v2", "message": "Second", "object": "{main}", "type": "commit"}),
        call("R/git/tags", {"tag": "v2", "message": "Second", "object": "nothing", "type": "commit"}),
    ),
    f"GET {_REPOSITORY}/commits/{{ref}}/status": (call("R/commits/feature/x/status"), call("R/commits/none/status")),
    f"GET {_REPOSITORY}/commits/{{ref}}/statuses": (call("R/commits/{head}/statuses"), call("R/commits/none/statuses")),
    f"POST {_REPOSITORY}/statuses/{{sha}}": (
        call("R/statuses/{head}", {"state": "failure", "context": "ci"}),
        call("R/statuses/{head}", {"state": "wonderful"}),
    ),
    f"GET {_REPOSITORY}/commits/{{ref}}/check-runs": (
        call("R/commits/feature%2Fx/check-runs"),
        call("R/commits/none/check-runs"),
    ),
    f"GET {_REPOSITORY}/commits/{{ref}}/check-suites": (
        call("R/commits/feature%2Fx/check-suites?check_name=test"),
        call("R/commits/none/check-suites"),
    ),
    f"GET {_REPOSITORY}/check-suites/{{check_suite_id}}": (call("R/check-suites/{run}"), call("R/check-suites/99")),
    f"GET {_REPOSITORY}/check-suites/{{check_suite_id}}/check-runs": (
        call("R/check-suites/{running}/check-runs?filter=all"),
        call("R/check-suites/99/check-runs"),
    ),
    f"POST {_REPOSITORY}/check-runs": (
        call("R/check-runs", {"name": "lint", "head_sha": "{head}", "status": "in_progress"}, "robot"),
        call("R/check-runs", {"name": "lint"}, "robot"),
    ),
    f"GET {_REPOSITORY}/check-runs/{{check_run_id}}": (call("R/check-runs/{check_run}"), call("R/check-runs/99")),
    f"PATCH {_REPOSITORY}/check-runs/{{check_run_id}}": (
        call(
            "R/check-runs/{check_run}", {"conclusion": "failure", "output": {"title": "No", "summary": "No"}}, "robot"
        ),
        call("R/check-runs/{check_run}", {"conclusion": "perhaps"}, "robot"),
    ),
    f"GET {_REPOSITORY}/check-runs/{{check_run_id}}/annotations": (
        call("R/check-runs/{run_job}/annotations"),
        call("R/check-runs/99/annotations"),
    ),
    **RELEASE_CASES,
    **RUN_CASES,
    f"GET {_REPOSITORY}/labels": (call("R/labels?per_page=3"), call("/repos/acme/none/labels")),
    f"POST {_REPOSITORY}/labels": (
        call("R/labels", {"name": "new", "color": "ff0000"}),
        call("R/labels", {"name": "BUG", "color": "ff0000"}),
    ),
    f"GET {_REPOSITORY}/labels/{{name}}": (call("R/labels/area%2Fui%20kit"), call("R/labels/none")),
    f"PATCH {_REPOSITORY}/labels/{{name}}": (
        call("R/labels/bug", {"new_name": "defect"}),
        call("R/labels/bug", {"color": "red"}),
    ),
    f"DELETE {_REPOSITORY}/labels/{{name}}": (call("R/labels/help%20wanted"), call("R/labels/none")),
    f"GET {_REPOSITORY}/milestones": (call("R/milestones?state=all"), call("/repos/acme/none/milestones")),
    f"POST {_REPOSITORY}/milestones": (
        call("R/milestones", {"title": "Two", "due_on": "2026-09-01T00:00:00Z"}),
        call("R/milestones", {"title": "One"}),
    ),
    f"GET {_REPOSITORY}/milestones/{{milestone_number}}": (call("R/milestones/1"), call("R/milestones/9")),
    f"PATCH {_REPOSITORY}/milestones/{{milestone_number}}": (
        call("R/milestones/1", {"state": "closed"}),
        call("R/milestones/1", {"state": "half"}),
    ),
    f"DELETE {_REPOSITORY}/milestones/{{milestone_number}}": (
        call("R/milestones/1"),
        call("R/milestones/1", user="eve"),
    ),
    f"GET {_REPOSITORY}/milestones/{{milestone_number}}/labels": (
        call("R/milestones/1/labels"),
        call("R/milestones/x/labels"),
    ),
    "GET /issues": (call("/issues", user="bob"), refused_media("/issues")),
    f"GET {_REPOSITORY}/issues": (call("R/issues?state=all&labels=area/ui kit"), call("R/issues?milestone=7")),
    f"POST {_REPOSITORY}/issues": (
        call("R/issues", {"title": "New", "labels": ["bug", "fresh"], "assignees": ["bob"], "milestone": 1}),
        call("R/issues", {"title": "New", "assignees": ["nobody"]}),
    ),
    f"GET {_REPOSITORY}/issues/{{issue_number}}": (call(_ISSUE), call("R/issues/99")),
    f"PATCH {_REPOSITORY}/issues/{{issue_number}}": (
        call(_ISSUE, {"state": "closed", "state_reason": "not_planned", "labels": [], "milestone": None}),
        call(_ISSUE, {"title": "Mine"}, "eve"),
    ),
    f"PUT {_REPOSITORY}/issues/{{issue_number}}/lock": (
        call(f"{_ISSUE}/lock", {"lock_reason": "spam"}),
        call(f"{_ISSUE}/lock", user="eve"),
    ),
    f"DELETE {_REPOSITORY}/issues/{{issue_number}}/lock": (
        call("R/issues/{closed_issue}/lock"),
        call("R/issues/0/lock"),
    ),
    f"POST {_REPOSITORY}/issues/{{issue_number}}/assignees": (
        call(f"{_ISSUE}/assignees", {"assignees": ["ann"]}),
        call("R/issues/99/assignees", {"assignees": ["ann"]}),
    ),
    f"DELETE {_REPOSITORY}/issues/{{issue_number}}/assignees": (
        call(f"{_ISSUE}/assignees", {"assignees": ["bob"]}),
        call("R/issues/99/assignees", {"assignees": ["bob"]}),
    ),
    f"GET {_REPOSITORY}/issues/{{issue_number}}/assignees/{{assignee}}": (
        call(f"{_ISSUE}/assignees/bob"),
        call(f"{_ISSUE}/assignees/eve"),
    ),
    f"GET {_REPOSITORY}/issues/{{issue_number}}/labels": (call(f"{_ISSUE}/labels"), call("R/issues/99/labels")),
    f"POST {_REPOSITORY}/issues/{{issue_number}}/labels": (
        call(f"{_ISSUE}/labels", {"labels": ["bug"]}),
        call(f"{_ISSUE}/labels", {"labels": [7]}),
    ),
    f"PUT {_REPOSITORY}/issues/{{issue_number}}/labels": (
        call(f"{_ISSUE}/labels", ["bug", "question"]),
        call(f"{_ISSUE}/labels", 3),
    ),
    f"DELETE {_REPOSITORY}/issues/{{issue_number}}/labels": (
        call(f"{_ISSUE}/labels"),
        call(f"{_ISSUE}/labels", user="eve"),
    ),
    f"DELETE {_REPOSITORY}/issues/{{issue_number}}/labels/{{name}}": (
        call(f"{_ISSUE}/labels/area%2Fui%20kit"),
        call(f"{_ISSUE}/labels/bug"),
    ),
    f"GET {_REPOSITORY}/issues/{{issue_number}}/comments": (call(f"{_ISSUE}/comments"), call("R/issues/99/comments")),
    f"POST {_REPOSITORY}/issues/{{issue_number}}/comments": (
        call(f"{_ISSUE}/comments", {"body": "Mine too"}, "eve"),
        call(f"{_ISSUE}/comments", {"body": ""}),
    ),
    f"GET {_REPOSITORY}/issues/comments": (call("R/issues/comments"), call("/repos/acme/none/issues/comments")),
    f"GET {_REPOSITORY}/issues/comments/{{comment_id}}": (call(_COMMENT), call("R/issues/comments/99")),
    f"PATCH {_REPOSITORY}/issues/comments/{{comment_id}}": (
        call(_COMMENT, {"body": "Changed"}),
        call(_COMMENT, {"body": "Changed"}, "eve"),
    ),
    f"DELETE {_REPOSITORY}/issues/comments/{{comment_id}}": (call(_COMMENT), call(_COMMENT, user="eve")),
    f"GET {_REPOSITORY}/issues/events": (call("R/issues/events"), call("/repos/acme/none/issues/events")),
    f"GET {_REPOSITORY}/issues/events/{{event_id}}": (call("R/issues/events/{event}"), call("R/issues/events/999")),
    f"GET {_REPOSITORY}/issues/{{issue_number}}/events": (call("R/issues/{pull}/events"), call("R/issues/99/events")),
    f"GET {_REPOSITORY}/issues/{{issue_number}}/timeline": (
        call("R/issues/{pull}/timeline"),
        call("R/issues/99/timeline"),
    ),
    f"GET {_REPOSITORY}/issues/{{issue_number}}/reactions": (
        call(f"{_ISSUE}/reactions"),
        call("R/issues/99/reactions"),
    ),
    f"POST {_REPOSITORY}/issues/{{issue_number}}/reactions": (
        call(f"{_ISSUE}/reactions", {"content": "rocket"}),
        call(f"{_ISSUE}/reactions", {"content": "yawn"}),
    ),
    f"DELETE {_REPOSITORY}/issues/{{issue_number}}/reactions/{{reaction_id}}": (
        call(f"{_ISSUE}/reactions/{{reaction}}"),
        call(f"{_ISSUE}/reactions/99"),
    ),
    f"GET {_REPOSITORY}/issues/comments/{{comment_id}}/reactions": (
        call(f"{_COMMENT}/reactions?content=%2B1"),
        call("R/issues/comments/99/reactions"),
    ),
    f"POST {_REPOSITORY}/issues/comments/{{comment_id}}/reactions": (
        call(f"{_COMMENT}/reactions", {"content": "eyes"}),
        call(f"{_COMMENT}/reactions", {}),
    ),
    f"DELETE {_REPOSITORY}/issues/comments/{{comment_id}}/reactions/{{reaction_id}}": (
        call(f"{_COMMENT}/reactions/{{comment_reaction}}"),
        call(f"{_COMMENT}/reactions/{{comment_reaction}}", user="eve"),
    ),
    f"GET {_REPOSITORY}/pulls": (call("R/pulls?head=acme:feature/x&base=main"), call("/repos/acme/none/pulls")),
    f"POST {_REPOSITORY}/pulls": (
        call("/repos/acme/widgets/pulls", {"title": "From afar", "head": "eve:feature/x", "base": "main"}, "eve"),
        call("R/pulls", {"title": "Again", "head": "feature/x", "base": "main"}),
    ),
    f"GET {_REPOSITORY}/pulls/{{pull_number}}": (call(_PULL), call(_ISSUE.replace("issues", "pulls"))),
    f"PATCH {_REPOSITORY}/pulls/{{pull_number}}": (
        call(_PULL, {"title": "Better", "state": "closed"}),
        call(_PULL, {"base": "none"}),
    ),
    f"GET {_REPOSITORY}/pulls/{{pull_number}}/commits": (call(f"{_PULL}/commits"), call("R/pulls/99/commits")),
    f"GET {_REPOSITORY}/pulls/{{pull_number}}/files": (call(f"{_PULL}/files"), call("R/pulls/99/files")),
    f"GET {_REPOSITORY}/pulls/{{pull_number}}/merge": (call("R/pulls/{merged}/merge"), call(f"{_PULL}/merge")),
    f"PUT {_REPOSITORY}/pulls/{{pull_number}}/merge": (
        call("R/pulls/{mergeable}/merge", {"merge_method": "squash"}),
        call(f"{_PULL}/merge", {"sha": "{main}"}),
    ),
    f"PUT {_REPOSITORY}/pulls/{{pull_number}}/update-branch": (
        call("R/pulls/{behind}/update-branch"),
        call(f"{_PULL}/update-branch", {"expected_head_sha": "{main}"}),
    ),
    f"GET {_REPOSITORY}/pulls/{{pull_number}}/requested_reviewers": (
        call("R/pulls/{mergeable}/requested_reviewers"),
        call("R/pulls/99/requested_reviewers"),
    ),
    f"POST {_REPOSITORY}/pulls/{{pull_number}}/requested_reviewers": (
        call(f"{_PULL}/requested_reviewers", {"reviewers": ["bob"], "team_reviewers": ["crew"]}),
        call(f"{_PULL}/requested_reviewers", {"reviewers": ["nobody"]}),
    ),
    f"DELETE {_REPOSITORY}/pulls/{{pull_number}}/requested_reviewers": (
        call(f"{_PULL}/requested_reviewers", {"reviewers": ["bob"]}),
        call(f"{_PULL}/requested_reviewers", {}),
    ),
    f"GET {_REPOSITORY}/pulls/{{pull_number}}/reviews": (call(f"{_PULL}/reviews"), call("R/pulls/99/reviews")),
    f"POST {_REPOSITORY}/pulls/{{pull_number}}/reviews": (
        call(f"{_PULL}/reviews", {"comments": [{"path": "src/app.py", "position": 5, "body": "Here"}]}, "bob"),
        call(f"{_PULL}/reviews", {"event": "APPROVE"}),
    ),
    f"GET {_REPOSITORY}/pulls/{{pull_number}}/reviews/{{review_id}}": (
        call(f"{_PULL}/reviews/{{review}}"),
        call(f"{_PULL}/reviews/99"),
    ),
    f"PUT {_REPOSITORY}/pulls/{{pull_number}}/reviews/{{review_id}}": (
        call(f"{_PULL}/reviews/{{review}}", {"body": "Still not"}, "bob"),
        call(f"{_PULL}/reviews/{{review}}", {"body": None}, "bob"),
    ),
    f"DELETE {_REPOSITORY}/pulls/{{pull_number}}/reviews/{{review_id}}": (
        call(f"{_PULL}/reviews/{{pending}}", user="eve"),
        call(f"{_PULL}/reviews/{{review}}", user="bob"),
    ),
    f"POST {_REPOSITORY}/pulls/{{pull_number}}/reviews/{{review_id}}/events": (
        call(f"{_PULL}/reviews/{{pending}}/events", {"event": "APPROVE"}, "eve"),
        call(f"{_PULL}/reviews/{{pending}}/events", {"event": "PRAISE"}, "eve"),
    ),
    f"PUT {_REPOSITORY}/pulls/{{pull_number}}/reviews/{{review_id}}/dismissals": (
        call(f"{_PULL}/reviews/{{review}}/dismissals", {"message": "It is fine"}),
        call(f"{_PULL}/reviews/{{review}}/dismissals", {}),
    ),
    f"GET {_REPOSITORY}/pulls/{{pull_number}}/reviews/{{review_id}}/comments": (
        call(f"{_PULL}/reviews/{{noted}}/comments"),
        call(f"{_PULL}/reviews/99/comments"),
    ),
    f"GET {_REPOSITORY}/pulls/comments": (call("R/pulls/comments"), call("/repos/acme/none/pulls/comments")),
    f"GET {_REPOSITORY}/pulls/{{pull_number}}/comments": (call(f"{_PULL}/comments"), call("R/pulls/99/comments")),
    f"POST {_REPOSITORY}/pulls/{{pull_number}}/comments": (
        call(f"{_PULL}/comments", {"body": "And", "commit_id": "{head}", "path": "src/app.py", "line": 6}),
        call(f"{_PULL}/comments", {"body": "And", "commit_id": "{head}", "path": "src/app.py", "line": 600}),
    ),
    f"POST {_REPOSITORY}/pulls/{{pull_number}}/comments/{{comment_id}}/replies": (
        call(f"{_PULL}/comments/{{review_comment}}/replies", {"body": "Because"}),
        call(f"{_PULL}/comments/99/replies", {"body": "Because"}),
    ),
    f"GET {_REPOSITORY}/pulls/comments/{{comment_id}}": (call(_NOTE), call("R/pulls/comments/99")),
    f"PATCH {_REPOSITORY}/pulls/comments/{{comment_id}}": (
        call(_NOTE, {"body": "Why fifty?"}, "bob"),
        call(_NOTE, {"body": "Why fifty?"}, "eve"),
    ),
    f"DELETE {_REPOSITORY}/pulls/comments/{{comment_id}}": (call(_NOTE), call(_NOTE, user="eve")),
    f"GET {_REPOSITORY}/pulls/comments/{{comment_id}}/reactions": (
        call(f"{_NOTE}/reactions"),
        call("R/pulls/comments/99/reactions"),
    ),
    f"POST {_REPOSITORY}/pulls/comments/{{comment_id}}/reactions": (
        call(f"{_NOTE}/reactions", {"content": "hooray"}),
        call(f"{_NOTE}/reactions", {"content": 1}),
    ),
    f"DELETE {_REPOSITORY}/pulls/comments/{{comment_id}}/reactions/{{reaction_id}}": (
        call(f"{_NOTE}/reactions/{{note_reaction}}", user="bob"),
        call(f"{_NOTE}/reactions/x", user="bob"),
    ),
    "GET /search/issues": (call("/search/issues?q=repo:acme/widgets+is:issue"), call("/search/issues")),
    "GET /search/repositories": (call("/search/repositories?q=widgets"), call("/search/repositories?q=")),
    "GET /search/code": (call("/search/code?q=value_5"), call("/search/code?q=repo:acme/widgets")),
    "GET /search/users": (call("/search/users?q=ann"), call("/search/users")),
    "GET /search/commits": (call("/search/commits?q=Add"), call("/search/commits?q=")),
    "GET /search/labels": (
        call("/search/labels?q=bug&repository_id={repository}"),
        call("/search/labels?q=bug&repository_id=x"),
    ),
}
