"""Workflow files, which a token may add and change only with the scope for it."""

from ghx_bench.twin.git.receiving import WORKFLOW_REFUSED
from ghx_bench.twin.refusals import NotFoundRefusal
from ghx_bench.twin.state.records import Repository
from ghx_bench.twin.world import Act

_FOLDER = ".github/workflows/"


def require_workflow_scope(act: Act, repository: Repository, path: str, blob: str | None) -> None:
    """Refuse a workflow that is on no branch yet to a token without the `workflow` scope; REST says "Not Found"."""
    if act.viewer is None or act.viewer.unrestricted or blob is None or not path.startswith(_FOLDER):
        return
    if not act.viewer.has_scope("workflow") and not _is_known_workflow(act, repository, path, blob):
        raise NotFoundRefusal(WORKFLOW_REFUSED.format(path=path))


def _is_known_workflow(act: Act, repository: Repository, path: str, blob: str) -> bool:
    git = act.git(repository)
    found = (git.entry(tip, path) for tip in git.refs("refs/heads/").values())
    return any(entry is not None and entry.sha == blob for entry in found)
