"""Faults in files: in a seed, in the extensions of a scenario, or in a file of their own."""

import os

from pydantic import Field

from ghx_base.documents import read_document, validate_document
from ghx_twin.faults import Fault, InjectedChange
from ghx_twin.queries import lookup
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.rest.errors import UNKNOWN
from ghx_twin.seed.format import SeedFault, SeedModel
from ghx_twin.seed.mistakes import SeedError
from ghx_twin.viewer import Viewer
from ghx_twin.world import World


class FaultFile(SeedModel):
    """A file of faults."""

    faults: tuple[SeedFault, ...] = Field(description="What happens to which requests.")


def load_faults(path: str | os.PathLike[str]) -> tuple[Fault, ...]:
    """Read a file of faults, YAML or JSON; raise `DocumentError` with everything wrong with it."""
    return validate_document(read_document(path), FaultFile).faults


def script_faults(world: World, faults: tuple[Fault, ...]) -> None:
    """Add faults to a world; raise `SeedError` for one that cannot happen in it."""
    for number, fault in enumerate(faults, start=1):
        if problem := find_misfit(world, fault):
            raise SeedError(f"faults: {fault.name or number}: {problem}")
    world.faults.add(*faults)


def find_misfit(world: World, fault: Fault) -> str | None:
    """Return why a fault cannot happen in a world: its change has no author there, or is none that the twin knows."""
    return next((problem for change in fault.changes if (problem := find_unmakeable(world, change))), None)


def find_unmakeable(world: World, change: InjectedChange) -> str | None:
    """Return why a change cannot be made in a world: it has no author there, or is none that the emulator knows."""
    try:
        actor = Viewer(user=lookup.user(world, change.actor))
    except NotFoundRefusal:
        return f"this world has no user {change.actor!r} who could make the change; name one of its users"
    from ghx_twin.rest import dispatch  # noqa: PLC0415 - all handlers, and few seeds have such a fault

    if dispatch.operation_of(world, actor, change.method, change.path) == UNKNOWN:
        return f"GitHub's REST API has no {change.method} {change.path}; write a request that changes something"
    return None
