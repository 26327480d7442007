"""Environments, deployments and their statuses."""

from typing import Any, ClassVar

from ghx_twin.graphql import git_lookup
from ghx_twin.graphql.views.base import RecordView
from ghx_twin.queries.actions.deployments import latest_status, statuses_of
from ghx_twin.state.columns import canonical_json
from ghx_twin.state.records import Deployment, DeploymentStatus, Environment, Repository

_ENDED = frozenset({"success", "inactive"})


class DeploymentView(RecordView[Deployment]):
    """A deployment of a commit."""

    typename: ClassVar[str] = "Deployment"
    sources: ClassVar = {"subject": Deployment}
    __slots__ = ()

    def commit(self) -> Any:
        """Return what is deployed."""
        return self.context.view_of(git_lookup.git_object(self.context, self._home(), self.subject.sha))

    def commit_oid(self) -> str:
        """Return the sha of what is deployed."""
        return self.subject.sha

    def creator(self) -> Any:
        """Return who asked for it."""
        return self.context.view_of(self.context.user(self.subject.creator_id))

    def latest_environment(self) -> str:
        """Return where it went last."""
        latest = latest_status(self.context.world, self.subject)
        return latest.environment if latest else self.subject.environment

    def latest_status(self) -> Any:
        """Return what was said of it last."""
        return self.context.view_of(latest_status(self.context.world, self.subject))

    def original_environment(self) -> str:
        """Return where it was to go."""
        return self.subject.environment

    def payload(self) -> str:
        """Return what those who deploy are told, as JSON."""
        return canonical_json(self.subject.payload)

    def ref(self) -> Any:
        """Return the branch that was deployed, if it still exists."""
        return self.context.view_of(git_lookup.ref(self.context, self._home(), f"refs/heads/{self.subject.ref}"))

    def repository(self) -> Any:
        """Return what is deployed from."""
        return self.context.view_of(self._home())

    def state(self) -> str:
        """Return how it stands: one that succeeded is active until another one does."""
        latest = latest_status(self.context.world, self.subject)
        return "PENDING" if latest is None else "ACTIVE" if latest.state == "success" else latest.state.upper()

    def statuses(self) -> list[DeploymentStatus]:
        """Return what was said of it, newest first."""
        return statuses_of(self.context.world, self.subject)

    def _home(self) -> Repository:
        return self.context.home(self.subject.repository_id)


class DeploymentStatusView(RecordView[DeploymentStatus]):
    """How a deployment went on."""

    typename: ClassVar[str] = "DeploymentStatus"
    sources: ClassVar = {"subject": DeploymentStatus}
    __slots__ = ()

    def creator(self) -> Any:
        """Return who said so."""
        return self.context.view_of(self.context.user(self.subject.creator_id))

    def deployment(self) -> Any:
        """Return what it is of."""
        return self.context.view_of(self.context.database.get(Deployment, self.subject.deployment_id))

    def environment_url(self) -> str | None:
        """Return where people use what was deployed."""
        return self.subject.environment_url or None

    def log_url(self) -> str | None:
        """Return where more is told."""
        return self.subject.log_url or None

    def state(self) -> str:
        """Return how it went."""
        return self.subject.state.upper()


class EnvironmentView(RecordView[Environment]):
    """Where a repository is deployed to."""

    typename: ClassVar[str] = "Environment"
    sources: ClassVar = {"subject": Environment}
    __slots__ = ()

    def latest_completed_deployment(self) -> Any:
        """Return the latest deployment to it that succeeded."""
        place = self.subject
        deployments = self.context.database.all(
            Deployment, order="id DESC", repository_id=place.repository_id, environment=place.name
        )
        latest = ((one, latest_status(self.context.world, one)) for one in deployments)
        return self.context.view_of(next((one for one, states in latest if states and states.state in _ENDED), None))
