"""How deployments stand."""

from ghx_twin.state.records import Deployment, DeploymentStatus
from ghx_twin.world import World


def statuses_of(world: World, deployment: Deployment) -> list[DeploymentStatus]:
    """Return what was said of a deployment, newest first."""
    return world.database.all(DeploymentStatus, order="id DESC", deployment_id=deployment.id)


def latest_status(world: World, deployment: Deployment) -> DeploymentStatus | None:
    """Return what was said last of a deployment."""
    return next(iter(statuses_of(world, deployment)), None)
