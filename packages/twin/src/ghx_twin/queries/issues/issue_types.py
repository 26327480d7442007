"""The types that issues of an organization can have."""

from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.state.records import IssueType, Repository
from ghx_twin.world import World


def issue_types_of(world: World, repository: Repository) -> list[IssueType]:
    """Return the types that issues of a repository can have; only organizations have any."""
    return world.database.all(IssueType, organization_id=repository.owner_id)


def find_issue_type(world: World, repository: Repository, name: str | None) -> IssueType | None:
    """Return the type of this name, in any case, where issues of a repository can have it."""
    return world.database.one(IssueType, organization_id=repository.owner_id, name=name) if name else None


def issue_type_by_id(world: World, organization_id: int, identity: int) -> IssueType:
    """Return a type of an organization by its database id."""
    issue_type = world.database.one(IssueType, organization_id=organization_id, id=identity)
    if issue_type is None:
        raise NotFoundRefusal(f"Could not resolve to an IssueType with the id of {identity}.")
    return issue_type
