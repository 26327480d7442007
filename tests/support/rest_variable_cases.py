"""For each operation on variables, secrets, caches and deployments a request that is granted and one that is not."""

from collections.abc import Iterator

from rest_calls import Call, call

_HOME, _ENVIRONMENT = "/repos/{owner}/{repo}", "R/environments/staging"
_WAITING = "/repos/ann/secret/actions/runs/{waiting}"
_REVIEW = {"environment_ids": ["{environment}"], "state": "approved", "comment": "Go"}
_SEALED = "A" * 64  # 48 bytes in base64, the least a sealed box has


def _scope(template: str, path: str, key: str) -> Iterator[tuple[str, tuple[Call, Call]]]:
    """Yield the cases of the variables and secrets at one place; `key` is the name of its key's id."""
    reach = {"visibility": "all"} if template.startswith("/orgs") else {}
    new, sealed = {"name": "new_one", "value": "1", **reach}, {"encrypted_value": _SEALED, "key_id": f"{{{key}}}"}
    variable, secret = f"{template}/variables/{{name}}", f"{template}/secrets/{{secret_name}}"
    yield f"GET {template}/variables", (call(f"{path}/variables"), call(f"{path}/variables", user="eve"))
    yield (
        f"POST {template}/variables",
        (call(f"{path}/variables", new), call(f"{path}/variables", {**new, "name": "1"})),
    )
    yield f"GET {variable}", (call(f"{path}/variables/level"), call(f"{path}/variables/NONE"))
    yield (
        f"PATCH {variable}",
        (call(f"{path}/variables/LEVEL", {"value": "2"}), call(f"{path}/variables/LEVEL", {"name": "GITHUB_X"})),
    )
    yield f"DELETE {variable}", (call(f"{path}/variables/LEVEL"), call(f"{path}/variables/NONE"))
    yield f"GET {template}/secrets", (call(f"{path}/secrets"), call(f"{path}/secrets", user="eve"))
    yield (
        f"GET {template}/secrets/public-key",
        (call(f"{path}/secrets/public-key"), call(f"{path}/secrets/public-key", user="eve")),
    )
    yield f"GET {secret}", (call(f"{path}/secrets/TOKEN"), call(f"{path}/secrets/NONE"))
    yield (
        f"PUT {secret}",
        (
            call(f"{path}/secrets/FRESH", {**sealed, **reach}),
            call(f"{path}/secrets/FRESH", {**sealed, "encrypted_value": "?", **reach}),
        ),
    )
    yield f"DELETE {secret}", (call(f"{path}/secrets/TOKEN"), call(f"{path}/secrets/NONE"))


VARIABLE_CASES: dict[str, tuple[Call, Call]] = {
    **dict(_scope(f"{_HOME}/actions", "R/actions", "key")),
    **dict(_scope(f"{_HOME}/environments/{{environment_name}}", _ENVIRONMENT, "environment_key")),
    **dict(_scope("/orgs/{org}/actions", "/orgs/acme/actions", "org_key")),
    f"GET {_HOME}/actions/caches": (
        call("R/actions/caches?key=npm&sort=size_in_bytes"),
        call("/repos/acme/none/actions/caches"),
    ),
    f"DELETE {_HOME}/actions/caches": (call("R/actions/caches?key=npm-1"), call("R/actions/caches?key=none")),
    f"DELETE {_HOME}/actions/caches/{{cache_id}}": (
        call("R/actions/caches/{cache}"),
        call("R/actions/caches/{cache}", user="eve"),
    ),
    f"GET {_HOME}/actions/cache/usage": (call("R/actions/cache/usage"), call("/repos/acme/none/actions/cache/usage")),
    f"GET {_HOME}/environments": (call("R/environments"), call("/repos/acme/none/environments")),
    f"GET {_HOME}/environments/{{environment_name}}": (call(_ENVIRONMENT, user="eve"), call("R/environments/none")),
    f"PUT {_HOME}/environments/{{environment_name}}": (
        call("R/environments/a%2Fb", {"wait_timer": 30, "reviewers": [{"type": "User", "id": "{bob}"}]}),
        call(_ENVIRONMENT, {"wait_timer": -1}),
    ),
    f"DELETE {_HOME}/environments/{{environment_name}}": (call(_ENVIRONMENT), call(_ENVIRONMENT, user="bob")),
    f"GET {_HOME}/actions/runs/{{run_id}}/pending_deployments": (
        call(f"{_WAITING}/pending_deployments"),
        call(f"{_WAITING}/pending_deployments", user="bob"),
    ),
    f"POST {_HOME}/actions/runs/{{run_id}}/pending_deployments": (
        call(f"{_WAITING}/pending_deployments", _REVIEW),
        call(f"{_WAITING}/pending_deployments", {**_REVIEW, "environment_ids": []}),
    ),
    f"GET {_HOME}/actions/runs/{{run_id}}/approvals": (
        call(f"{_WAITING}/approvals"),
        call("R/actions/runs/99/approvals"),
    ),
    f"GET {_HOME}/deployments": (call("R/deployments?environment=staging"), call("/repos/acme/none/deployments")),
    f"POST {_HOME}/deployments": (
        call("R/deployments", {"ref": "main", "environment": "production", "payload": {"a": 1}}),
        call("R/deployments", {"ref": "none"}),
    ),
    f"GET {_HOME}/deployments/{{deployment_id}}": (call("R/deployments/{deployment}"), call("R/deployments/99")),
    f"DELETE {_HOME}/deployments/{{deployment_id}}": (
        call("R/deployments/{old_deployment}"),
        call("R/deployments/{deployment}"),
    ),
    f"GET {_HOME}/deployments/{{deployment_id}}/statuses": (
        call("R/deployments/{deployment}/statuses"),
        call("R/deployments/99/statuses"),
    ),
    f"POST {_HOME}/deployments/{{deployment_id}}/statuses": (
        call("R/deployments/{deployment}/statuses", {"state": "in_progress", "target_url": "https://ci.example/2"}),
        call("R/deployments/{deployment}/statuses", {"state": "done"}),
    ),
    f"GET {_HOME}/deployments/{{deployment_id}}/statuses/{{status_id}}": (
        call("R/deployments/{deployment}/statuses/{deployment_status}"),
        call("R/deployments/{deployment}/statuses/1"),
    ),
}
