"""What a workspace names: whether there are such repositories, such a branch, and the files that it removes."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from ghx_base.documents import Complaint
from ghx_base.problems import Tokens, did_you_mean, listed, shortened
from ghx_bench.scenario.extensions import Workspace
from ghx_bench.scenario.placeholders import WORKSPACE_PLACE


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRepository:
    """A repository of a world, as far as a workspace may name what is in it."""

    default_branch: str
    branches: Collection[str]
    files: Callable[[str], Collection[str] | None]
    """Returns the paths of the files on a branch; None where these are not known."""
    may_write: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """Everybody in the world, and whether they may write to the repository."""


def workspace_errors(workspace: Workspace, known: Mapping[str, KnownRepository]) -> Iterator[Complaint]:
    """Yield what a workspace, with its variables replaced, names and these repositories do not have."""
    names = {name.casefold(): name for name in known}
    for key, name in (("repo", workspace.repo), ("upstream", workspace.upstream)):
        if name is not None and name.casefold() not in names:
            yield _unknown((key,), f"there is no repository {shortened(name)}", name, known)
    if workspace.upstream is not None and workspace.upstream.casefold() == workspace.repo.casefold():
        reason = f"{workspace.repo} is `origin` already"
        yield Complaint(tokens=(*WORKSPACE_PLACE, "upstream"), reason=reason, suggestion="leave it out")
    if (full_name := names.get(workspace.repo.casefold())) is None:
        return
    repository = known[full_name]
    branch = workspace.branch or repository.default_branch
    if branch not in repository.branches:
        yield _unknown(("branch",), f"{full_name} has no branch {shortened(branch)}", branch, repository.branches)
        return
    files = repository.files(branch)
    for path, content in workspace.changes.items():
        if content is None and files is not None and path not in files:
            reason = f"{full_name} has no file {shortened(path)} on {branch} that could be removed"
            yield _unknown(("changes", path), reason, path, files)


def _unknown(keys: Tokens, reason: str, name: str, known: Collection[str]) -> Complaint:
    names = sorted(known)
    hint = did_you_mean(name, names, otherwise=f"there is {listed(names)}" if names else "there is none")
    return Complaint(tokens=(*WORKSPACE_PLACE, *keys), reason=reason, suggestion=hint)
