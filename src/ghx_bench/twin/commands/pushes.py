"""The end of every change of refs, whoever made it: a push by git, a command, a merge."""

from collections.abc import Sequence

from ghx_bench.twin.commands import automerge, kernel, workflows
from ghx_bench.twin.commands.synchronization import BRANCHES, open_pulls_of_base, open_pulls_of_head, synchronize
from ghx_bench.twin.git.errors import GitError
from ghx_bench.twin.git.repository import RefUpdate
from ghx_bench.twin.queries.protections import push_obstacle
from ghx_bench.twin.refusals import InvalidRefusal
from ghx_bench.twin.state.records import Pull, Repository
from ghx_bench.twin.world import Act


def push(act: Act, repository: Repository, updates: Sequence[RefUpdate]) -> None:
    """Change refs as the viewer, who may write to the repository, and follow with all that depends on them."""
    git = act.git(repository)
    for update in updates:
        if reason := push_obstacle(act.world, act.viewer, repository, update):
            raise InvalidRefusal(reason)
        try:
            git.set_ref(update.ref, update.new)
        except GitError as error:
            raise InvalidRefusal("Reference update failed") from error
    record_push(act, repository, updates)


def record_push(act: Act, repository: Repository, updates: Sequence[RefUpdate]) -> None:
    """Bring pull requests and issues up to date with refs that have moved; merges what waited for that."""
    current = kernel.reload(act, repository)
    synchronize(act, current, updates)
    for update in updates:
        if update.ref == f"{BRANCHES}{current.default_branch}":
            workflows.discover(act, current, update.old, update.new)
    for pull in _auto_merging_pulls(act, current, updates):
        automerge.attempt_auto_merge(act, pull)


def _auto_merging_pulls(act: Act, repository: Repository, updates: Sequence[RefUpdate]) -> list[Pull]:
    found: dict[int, Pull] = {}
    for update in updates:
        branch = update.ref.removeprefix(BRANCHES)
        if branch != update.ref:
            pulls = open_pulls_of_head(act, repository, branch) + open_pulls_of_base(act, repository, branch)
            found |= {pull.id: pull for pull in pulls if pull.auto_merge}
    return list(found.values())
