"""The types that issues of an organization can have."""

from dataclasses import dataclass

from ghx_bench.twin.state.records import Repository, User
from ghx_bench.twin.world import World


@dataclass(frozen=True, slots=True)
class IssueType:
    """One of the types that issues of an organization can have."""

    organization_id: int
    number: int
    name: str
    description: str
    color: str


def issue_types(organization_id: int) -> list[IssueType]:
    """Return the types that GitHub gives to every organization; a world cannot make others yet."""
    return [
        IssueType(organization_id, 1, "Task", "A specific piece of work", "YELLOW"),
        IssueType(organization_id, 2, "Bug", "An unexpected problem or behavior", "RED"),
        IssueType(organization_id, 3, "Feature", "A request, idea, or new functionality", "BLUE"),
    ]


def issue_types_of(world: World, repository: Repository) -> list[IssueType]:
    """Return the types that issues of a repository can have; only organizations have any."""
    owner = world.database.get(User, repository.owner_id)
    return issue_types(owner.id) if owner is not None and owner.type == "Organization" else []


def find_issue_type(world: World, repository: Repository, name: str | None) -> IssueType | None:
    """Return the type of this name, in any case, where issues of a repository can have it."""
    wanted = (name or "").casefold()
    return next((one for one in issue_types_of(world, repository) if one.name.casefold() == wanted), None)
