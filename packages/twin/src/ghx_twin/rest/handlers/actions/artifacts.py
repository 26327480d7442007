"""The artifacts that runs have stored."""

from collections.abc import Sequence

from ghx_twin.commands.actions import workflow_runs as commands
from ghx_twin.queries.actions import workflow_runs
from ghx_twin.refusals import GoneRefusal, NotFoundRefusal
from ghx_twin.reply import Reply, json_reply, no_content
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.pagination import page_of
from ghx_twin.rest.render.actions import artifacts as render
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import Artifact
from ghx_twin.state.rows import Rows


def list_artifacts(request: RestRequest) -> Reply:
    """List artifacts for a repository."""
    return _list(request, repository_id=from_path.repository(request).id)


def list_run_artifacts(request: RestRequest) -> Reply:
    """List workflow run artifacts."""
    run = workflow_runs.run(request.world, from_path.repository(request), request.number("run_id"))
    return _list(request, run_id=run.id)


def get_artifact(request: RestRequest) -> Reply:
    """Get an artifact."""
    return json_reply(render.artifact(request.view, _artifact(request)))


def download_artifact(request: RestRequest) -> Reply:
    """Download an artifact."""
    artifact = _artifact(request)
    if request.text("archive_format") != "zip":
        raise NotFoundRefusal("Could not resolve to an archive: the only format is zip.")
    if render.is_expired(request.view, artifact):
        raise GoneRefusal("Artifact has expired")
    return request.redirect_to_download(f"/actions/artifacts/{artifact.id}/zip")


def delete_artifact(request: RestRequest) -> Reply:
    """Delete an artifact."""
    artifact = _artifact(request)
    with request.acting() as act:
        commands.delete_artifact(act, artifact)
    return no_content()


def _list(request: RestRequest, **where: int) -> Reply:
    filters = {**where, **({"name": request.query["name"]} if request.query.get("name") else {})}
    conditions = " AND ".join(f"{column} = ?" for column in filters)
    rows: Sequence[Artifact] = Rows(
        request.world.database, Artifact, f"WHERE {conditions} ORDER BY id DESC", list(filters.values())
    )
    page, headers = page_of(request, rows)
    artifacts = [render.artifact(request.view, one) for one in page]
    return json_reply({"total_count": len(rows), "artifacts": artifacts}, headers=headers)


def _artifact(request: RestRequest) -> Artifact:
    home, identity = from_path.repository(request), request.number("artifact_id")
    artifact = request.world.database.one(Artifact, id=identity, repository_id=home.id)
    if artifact is None:
        raise NotFoundRefusal(f"Could not resolve to an artifact with the id of {identity}.")
    return artifact
