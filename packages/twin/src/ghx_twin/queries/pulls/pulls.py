"""The issues that a pull request closes, and the pull requests that close an issue."""

from itertools import chain

from ghx_twin.queries import lookup
from ghx_twin.queries.issues.issue_relations import visible_issues
from ghx_twin.queries.permissions import is_visible
from ghx_twin.queries.references import closing_references
from ghx_twin.refusals import Refusal
from ghx_twin.state.records import Issue, LinkedBranch, Pull, Repository
from ghx_twin.viewer import Viewer
from ghx_twin.world import World


def closing_issues(world: World, pull: Pull, viewer: Viewer | None = None) -> list[Issue]:
    """Return the issues that a merge closes, by keywords or because its branch was made for them.

    Both count only where the default branch is the base.
    """
    repository, issue = lookup.repository_of(world, pull), lookup.issue_of(world, pull)
    if pull.base_ref != repository.default_branch:
        return []
    candidates = referenced_issues(world, viewer, repository, issue.body or "")
    ids = {one.id for one in candidates}
    return [*candidates, *(one for one in linked_issues(world, viewer, pull) if one.id not in ids)]


def linked_issues(world: World, viewer: Viewer | None, pull: Pull) -> list[Issue]:
    """Return the issues that the branch of a pull request was made for."""
    linked = world.database.all(LinkedBranch, repository_id=pull.head_repository_id, name=pull.head_ref)
    candidates = (world.database.get(Issue, one.issue_id) for one in linked)
    return visible_issues(world, viewer, (one for one in candidates if one is not None))


def closing_pulls(world: World, viewer: Viewer | None, issue: Issue) -> list[Pull]:
    """Return the pull requests that close an issue when merged and that a viewer may see, first opened first."""
    rest = "JOIN issues ON issues.id = pulls.issue_id WHERE pulls.repository_id = ? AND issues.body LIKE ?"
    # LIKE only narrows down: `%7%` also finds #17 and plain numbers; what closes is read from the text.
    pulls = world.database.select(Pull, rest, (issue.repository_id, f"%{issue.number}%"))
    branches = world.database.all(LinkedBranch, issue_id=issue.id)
    linked = (world.database.all(Pull, head_repository_id=one.repository_id, head_ref=one.name) for one in branches)
    pulls_by_id = sorted({one.id: one for one in (*pulls, *chain.from_iterable(linked))}.items())
    return [
        one
        for _, one in pulls_by_id
        # A branch in a private repository can be linked to an issue of a public one.
        if is_visible(world, viewer, lookup.repository_of(world, one))
        and any(each.id == issue.id for each in closing_issues(world, one, viewer))
    ]


def referenced_issues(world: World, viewer: Viewer | None, repository: Repository, text: str) -> list[Issue]:
    """Return the issues that a text written in a repository says it closes, each once."""
    issues: dict[int, Issue] = {}
    for reference in closing_references(text, lookup.full_name(world, repository)):
        try:
            home = lookup.repository(world, viewer, reference.owner, reference.name)
            issue = lookup.issue(world, home, reference.number)
        except Refusal:
            continue  # no such number, or one that the viewer may not know of
        issues[issue.id] = issue
    return list(issues.values())
