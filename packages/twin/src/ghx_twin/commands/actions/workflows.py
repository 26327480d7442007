"""The workflows of a repository: added by a seed, or found in the files of the default branch."""

import re

from ghx_twin.commands import kernel, texts
from ghx_twin.queries import lookup, permissions
from ghx_twin.queries.actions.workflow_runs import FOLDER
from ghx_twin.state.records import Repository, Workflow
from ghx_twin.world import Act

STATES = ("active", "deleted", "disabled_fork", "disabled_inactivity", "disabled_manually")
_NAME = re.compile(rb"^name:[ \t]*(?P<quote>[\"']?)(?P<name>[^#\r\n]*?)(?P=quote)[ \t]*(?:#.*)?$", re.MULTILINE)
_SUFFIXES = (".yml", ".yaml")


def create_or_update(
    act: Act, repository: Repository, *, name: str, path: str | None = None, state: str | None = None
) -> Workflow:
    """Add a workflow, or update the one with the same file (or, without a file, the same name)."""
    permissions.require(act, repository, "write")
    texts.check_unicode_all({"name": name, "path": path}, resource="Workflow")
    if not name.strip():
        raise texts.missing("Workflow", "name")
    if state is not None and state not in STATES:
        raise texts.invalid("Workflow", "state", value=state)
    same = {"name": name} if path is None else {"path": path}
    workflow = act.database.one(Workflow, repository_id=repository.id, **same)
    if workflow is not None:
        return act.database.update(workflow, name=name, state=state or workflow.state)
    file_name = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "workflow"
    return _insert(act, repository, name, _check_path(path or f"{FOLDER}{file_name}.yml"), state or "active")


def set_enabled(act: Act, workflow: Workflow, *, on: bool) -> Workflow:
    """Enable or disable a workflow; a disabled one is set off by nothing."""
    current = kernel.reload(act, workflow)
    permissions.require(act, lookup.repository_by_id(act.world, act.viewer, current.repository_id), "write")
    return act.database.update(current, state="active" if on else "disabled_manually", updated_at=act.now)


def discover(act: Act, repository: Repository, before: str | None, after: str | None) -> None:
    """Add the workflows whose files a push brought to the default branch; those whose files are gone stay."""
    git = act.git(repository)
    old, new = (None if tip is None else git.entry(tip, FOLDER.rstrip("/")) for tip in (before, after))
    if new is None or new.type != "tree" or (old is not None and old.sha == new.sha):
        return
    for entry in git.tree(new.sha):
        if entry.type == "blob" and entry.path.endswith(_SUFFIXES):
            path = FOLDER + entry.path
            # Found by its line, not by parsing YAML: a file with mistakes is a workflow too, named by its path.
            match = _NAME.search(git.blob(entry.sha) or b"")
            name = (match["name"].decode("utf-8", "replace").strip() if match else "") or path
            workflow = act.database.one(Workflow, repository_id=repository.id, path=path)
            if workflow is None:
                _insert(act, repository, name, path, "active")
            elif workflow.name != name:
                act.database.update(workflow, name=name, updated_at=act.now)


def _insert(act: Act, repository: Repository, name: str, path: str, state: str) -> Workflow:
    return act.database.insert(
        Workflow,
        repository_id=repository.id,
        name=name,
        path=path,
        state=state,
        created_at=act.now,
        updated_at=act.now,
    )


def _check_path(path: str) -> str:
    file = path.removeprefix(FOLDER)
    if file == path or "/" in file or not file.endswith(_SUFFIXES):
        raise texts.invalid("Workflow", "path", message=f"path must be a .yml or .yaml file in {FOLDER}, not {path!r}")
    return path
