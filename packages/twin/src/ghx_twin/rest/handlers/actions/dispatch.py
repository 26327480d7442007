"""Runs that clients ask for."""

from ghx_twin.commands.actions.dispatch import dispatch
from ghx_twin.queries.actions import workflow_runs
from ghx_twin.reply import Reply, json_reply, no_content
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.request import RestRequest


def create_dispatch(request: RestRequest) -> Reply:
    """Create a workflow dispatch event."""
    home, body = from_path.repository(request), request.body()
    workflow = workflow_runs.workflow(request.world, home, request.text("workflow_id"))
    body.require("ref")
    inputs, wants_details = body.nested("inputs"), body.flag("return_run_details")
    workflow_inputs = {name: inputs.get(name) for name in inputs.names()} if inputs else {}
    with request.acting() as act:
        run = dispatch(act, workflow, ref=body.required_text("ref"), inputs=workflow_inputs)
    if not wants_details:
        return no_content()
    path = f"/actions/runs/{run.id}"
    return json_reply(
        {
            "workflow_run_id": run.id,
            "run_url": request.view.api(home, path),
            "html_url": request.view.html(home, path),
        }
    )
