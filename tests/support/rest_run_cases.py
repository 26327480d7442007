"""For every operation on workflows and their runs a request that is granted and one that is refused."""

from rest_calls import Call, call

_ACTIONS, _RUN = "/repos/{owner}/{repo}/actions", "R/actions/runs/{run}"
RUN_CASES: dict[str, tuple[Call, Call]] = {
    f"GET {_ACTIONS}/workflows": (call("R/actions/workflows"), call("/repos/acme/none/actions/workflows")),
    f"GET {_ACTIONS}/workflows/{{workflow_id}}": (
        call("R/actions/workflows/ci.yml"),
        call("R/actions/workflows/none.yml"),
    ),
    f"PUT {_ACTIONS}/workflows/{{workflow_id}}/enable": (
        call("R/actions/workflows/ci.yml/enable"),
        call("R/actions/workflows/ci.yml/enable", user="eve"),
    ),
    f"PUT {_ACTIONS}/workflows/{{workflow_id}}/disable": (
        call("R/actions/workflows/{workflow}/disable", user="bob"),
        call("R/actions/workflows/{workflow}/disable", user="eve"),
    ),
    f"POST {_ACTIONS}/workflows/{{workflow_id}}/dispatches": (
        call("R/actions/workflows/ci.yml/dispatches", {"ref": "behind", "return_run_details": True}, "bob"),
        call("R/actions/workflows/{workflow}/dispatches", {"ref": "main"}),
    ),
    f"GET {_ACTIONS}/workflows/{{workflow_id}}/runs": (
        call("R/actions/workflows/{workflow}/runs?status=failure&branch=feature/x&event=pull_request"),
        call("R/actions/workflows/99/runs"),
    ),
    f"GET {_ACTIONS}/runs": (
        call("R/actions/runs?head_sha={head}&actor=bob&created=>=2020-01-01&status=queued"),
        call("R/actions/runs?created=soon"),
    ),
    f"GET {_ACTIONS}/runs/{{run_id}}": (call(_RUN), call("R/actions/runs/99")),
    f"DELETE {_ACTIONS}/runs/{{run_id}}": (call(_RUN), call("R/actions/runs/{running}")),
    f"GET {_ACTIONS}/runs/{{run_id}}/attempts/{{attempt_number}}": (
        call("R/actions/runs/{running}/attempts/2?exclude_pull_requests=true"),
        call(f"{_RUN}/attempts/2"),
    ),
    f"GET {_ACTIONS}/runs/{{run_id}}/attempts/{{attempt_number}}/jobs": (
        call("R/actions/runs/{running}/attempts/1/jobs"),
        call(f"{_RUN}/attempts/0/jobs"),
    ),
    f"GET {_ACTIONS}/runs/{{run_id}}/jobs": (
        call("R/actions/runs/{running}/jobs?filter=all"),
        call("R/actions/runs/x/jobs"),
    ),
    f"GET {_ACTIONS}/runs/{{run_id}}/attempts/{{attempt_number}}/logs": (
        call(f"{_RUN}/attempts/1/logs"),
        call(f"{_RUN}/attempts/2/logs"),
    ),
    f"GET {_ACTIONS}/runs/{{run_id}}/logs": (call(f"{_RUN}/logs", user="eve"), call("R/actions/runs/{running}/logs")),
    f"DELETE {_ACTIONS}/runs/{{run_id}}/logs": (call(f"{_RUN}/logs"), call(f"{_RUN}/logs", user="eve")),
    f"GET {_ACTIONS}/runs/{{run_id}}/timing": (call(f"{_RUN}/timing"), call("R/actions/runs/99/timing")),
    f"POST {_ACTIONS}/runs/{{run_id}}/approve": (call("R/actions/runs/{held}/approve"), call(f"{_RUN}/approve")),
    f"POST {_ACTIONS}/runs/{{run_id}}/force-cancel": (
        call("R/actions/runs/{running}/force-cancel"),
        call(f"{_RUN}/force-cancel"),
    ),
    f"GET {_ACTIONS}/jobs/{{job_id}}/logs": (
        call("R/actions/jobs/{run_job}/logs"),
        call("R/actions/jobs/{running_job}/logs"),
    ),
    f"GET {_ACTIONS}/artifacts": (
        call("R/actions/artifacts?name=report"),
        call("/repos/acme/none/actions/artifacts"),
    ),
    f"GET {_ACTIONS}/artifacts/{{artifact_id}}": (
        call("R/actions/artifacts/{artifact}"),
        call("R/actions/artifacts/99"),
    ),
    f"DELETE {_ACTIONS}/artifacts/{{artifact_id}}": (
        call("R/actions/artifacts/{artifact}"),
        call("R/actions/artifacts/{artifact}", user="eve"),
    ),
    f"GET {_ACTIONS}/artifacts/{{artifact_id}}/{{archive_format}}": (
        call("R/actions/artifacts/{artifact}/zip"),
        call("R/actions/artifacts/{artifact}/tar"),
    ),
    f"GET {_ACTIONS}/runs/{{run_id}}/artifacts": (call(f"{_RUN}/artifacts"), call("R/actions/runs/99/artifacts")),
    f"POST {_ACTIONS}/runs/{{run_id}}/rerun": (
        call(f"{_RUN}/rerun", {"enable_debug_logging": True}, "bob"),
        call("R/actions/runs/{running}/rerun"),
    ),
    f"POST {_ACTIONS}/runs/{{run_id}}/rerun-failed-jobs": (
        call(f"{_RUN}/rerun-failed-jobs"),
        call(f"{_RUN}/rerun-failed-jobs", user="eve"),
    ),
    f"POST {_ACTIONS}/runs/{{run_id}}/cancel": (call("R/actions/runs/{running}/cancel"), call(f"{_RUN}/cancel")),
    f"GET {_ACTIONS}/jobs/{{job_id}}": (call("R/actions/jobs/{run_job}"), call("R/actions/jobs/{check_run}")),
    f"POST {_ACTIONS}/jobs/{{job_id}}/rerun": (
        call("R/actions/jobs/{run_job}/rerun"),
        call("R/actions/jobs/{running_job}/rerun"),
    ),
}
