"""For every operation on rulesets a request that is granted and one that is refused."""

from rest_calls import Call, call

_HOME = "/repos/{owner}/{repo}"
_NEW = {
    "name": "Main",
    "enforcement": "active",
    "conditions": {"ref_name": {"include": ["~DEFAULT_BRANCH"], "exclude": []}},
    "rules": [
        {"type": "non_fast_forward"},
        {"type": "pull_request", "parameters": {"required_approving_review_count": 1}},
        {"type": "required_status_checks", "parameters": {"required_status_checks": [{"context": "ci"}]}},
    ],
    "bypass_actors": [{"actor_id": 5, "actor_type": "RepositoryRole", "bypass_mode": "always"}],
}
RULESET_CASES: dict[str, tuple[Call, Call]] = {
    f"GET {_HOME}/rulesets": (call("R/rulesets", user="eve"), call("/repos/acme/none/rulesets")),
    f"POST {_HOME}/rulesets": (call("R/rulesets", _NEW), call("R/rulesets", {**_NEW, "rules": [{"type": "x"}]})),
    f"GET {_HOME}/rulesets/{{ruleset_id}}": (call("R/rulesets/{ruleset}"), call("R/rulesets/99")),
    f"PUT {_HOME}/rulesets/{{ruleset_id}}": (
        call("R/rulesets/{ruleset}", {"enforcement": "disabled", "rules": [{"type": "creation"}]}),
        call("R/rulesets/{ruleset}", {"enforcement": "disabled"}, "bob"),
    ),
    f"DELETE {_HOME}/rulesets/{{ruleset_id}}": (call("R/rulesets/{ruleset}"), call("R/rulesets/{org_ruleset}")),
    f"GET {_HOME}/rules/branches/{{branch}}": (
        call("R/rules/branches/release/1.0", user="bob"),
        call("/repos/acme/none/rules/branches/main"),
    ),
    "GET /orgs/{org}/rulesets": (call("/orgs/acme/rulesets?targets=branch"), call("/orgs/acme/rulesets", user="bob")),
    "GET /orgs/{org}/rulesets/{ruleset_id}": (
        call("/orgs/acme/rulesets/{org_ruleset}"),
        call("/orgs/acme/rulesets/{ruleset}"),
    ),
}
