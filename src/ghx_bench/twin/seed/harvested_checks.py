"""What tools reported on the commits of a world, written down."""

from collections.abc import Iterator
from datetime import UTC, datetime

from ghx_bench.twin.queries import lookup
from ghx_bench.twin.seed.checks import SeedCommitCheck
from ghx_bench.twin.state.records import CheckRun, Repository, Status
from ghx_bench.twin.world import World


def harvest_checks(world: World, repository: Repository) -> Iterator[SeedCommitCheck]:
    """Yield check runs and then statuses, each in the order they were reported."""
    for run in world.database.all(CheckRun, repository_id=repository.id):
        same = ("name", "status", "conclusion", "workflow", "event", "title", "summary")
        yield SeedCommitCheck.model_validate(
            {
                **{name: getattr(run, name) for name in same},
                "commit": run.head_sha,
                "url": run.details_url,
                "at": _moment(run.started_at),
                "completed_at": _moment(run.completed_at),
            }
        )
    for status in world.database.all(Status, repository_id=repository.id):
        yield SeedCommitCheck(
            kind="status",
            name=status.context,
            conclusion=status.state,
            description=status.description,
            url=status.target_url,
            commit=status.sha,
            creator=lookup.user_by_id(world, status.creator_id).login,
            at=status.created_at,
        )


def _moment(text: str | None) -> str | None:
    """Return a time that a tool gave, in GitHub's spelling; None where it is none."""
    try:
        given = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    aware = given if given.tzinfo else given.replace(tzinfo=UTC)
    return aware.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
