"""Artifacts of runs."""

import base64
import hashlib

from ghx_twin.reply import JsonObject
from ghx_twin.rest.render.repositories.archives import zip_files
from ghx_twin.rest.render.view import View
from ghx_twin.state.records import Artifact, WorkflowRun


def artifact(view: View, artifact: Artifact) -> JsonObject:
    """Render an artifact; it is as large as the zip that is downloaded."""
    home = view.repository(artifact.repository_id)
    url = view.api(home, f"/actions/artifacts/{artifact.id}")
    archive = artifact_archive(artifact)
    return {
        "id": artifact.id,
        "node_id": view.node(artifact),
        "name": artifact.name,
        "size_in_bytes": len(archive),
        "url": url,
        "archive_download_url": f"{url}/zip",
        "expired": is_expired(view, artifact),
        "digest": f"sha256:{hashlib.sha256(archive).hexdigest()}",
        "created_at": artifact.created_at,
        "updated_at": artifact.updated_at,
        "expires_at": artifact.expires_at,
        "workflow_run": _origin(view, artifact),
    }


def artifact_archive(artifact: Artifact) -> bytes:
    """Return the files of an artifact as a zip."""
    return zip_files({path: base64.b64decode(content) for path, content in artifact.files.items()})


def is_expired(view: View, artifact: Artifact) -> bool:
    """Return whether an artifact can be downloaded no longer."""
    return artifact.expired or artifact.expires_at <= view.database.now()


def _origin(view: View, artifact: Artifact) -> JsonObject | None:
    run = view.database.get(WorkflowRun, artifact.run_id)
    if run is None:
        return None
    return {
        "id": run.id,
        "repository_id": run.repository_id,
        "head_repository_id": run.repository_id,
        "head_branch": run.head_branch,
        "head_sha": run.head_sha,
    }
