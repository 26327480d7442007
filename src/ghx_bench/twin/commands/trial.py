"""The trial merge of an open pull request, kept in `refs/pull/N/merge`."""

from ghx_bench.twin.commands import kernel
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.queries.comparison import git_of
from ghx_bench.twin.state.records import Pull
from ghx_bench.twin.world import Act


def refresh_trial_merge(act: Act, pull: Pull) -> None:
    """Make the trial merge that of the present head and base; there is none where they conflict."""
    git, issue = git_of(act.world, pull), lookup.issue_of(act.world, pull)
    name, base = f"refs/pull/{issue.number}/merge", git.ref(f"refs/heads/{pull.base_ref}")
    tree = git.merge(base, pull.head_sha) if base else None
    if base is None or tree is None:
        git.set_ref(name, None)
        return
    current = git.ref(name)
    known = git.commit(current) if current else None
    if known and known.parents == (base, pull.head_sha):
        return
    author = lookup.user_by_id(act.world, issue.author_id)
    merged = git.write_commit(
        tree=tree,
        parents=(base, pull.head_sha),
        message=f"Merge {pull.head_sha} into {base}",
        author=kernel.user_signature(author, act.now),
        committer=kernel.github_signature(act.now),
    )
    git.set_ref(name, merged)


def remove_trial_merge(act: Act, pull: Pull) -> None:
    """Drop the trial merge of a pull request that is no longer open."""
    git_of(act.world, pull).set_ref(f"refs/pull/{lookup.issue_of(act.world, pull).number}/merge", None)
