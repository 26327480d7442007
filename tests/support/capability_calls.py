"""Capabilities called over real HTTP in a world of the twin."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio

from ghx_tools.capabilities.chain import ChainResult, Step, read_steps, run_chain
from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.envelope import Envelope
from ghx_tools.capabilities.execution import execute_task
from ghx_twin.pytest_plugin import GitHubTwin

OWNER, NAME = "acme", "widgets"
KINDS = {
    ("graphql", "reads"): "issue.view",
    ("graphql", "mutates"): "issue.labels.add",
    ("graphql", "destructive"): "issue.delete",
    ("rest", "reads"): "workflow.runs.list",
    ("rest", "mutates"): "release.create",
    ("rest", "destructive"): "repo.file.delete",
}
"""A capability of each route and effect: what a client makes of an answer depends on nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ghx:
    """Calls capabilities as one user; waits are noted instead of waited for, and every envelope is kept."""

    twin: GitHubTwin
    token: str
    waits: list[float] = field(default_factory=list)
    envelopes: list[Envelope] = field(default_factory=list)

    def run(self, task: str, **given: Any) -> Envelope:
        """Call a capability, whatever comes of it."""
        envelope = anyio.run(partial(self._call, task, given))
        self.envelopes.append(envelope)
        return envelope

    def data(self, task: str, **given: Any) -> Any:
        """Call a capability that must go well, and return its data."""
        envelope = self.run(task, **given)
        assert envelope.ok, envelope
        return envelope.data

    def error(self, task: str, **given: Any) -> str:
        """Call a capability that must fail, and return the code of its error."""
        envelope = self.run(task, **given)
        assert envelope.error is not None, envelope
        return envelope.error.code.value

    def chain(self, *steps: tuple[str, Mapping[str, Any]]) -> ChainResult:
        """Call several capabilities in one chain."""
        read = read_steps([{"task": task, "input": dict(given)} for task, given in steps])
        result = anyio.run(partial(self._chained, read))
        self.envelopes.extend(result.steps)
        return result

    def on_issue(self, task: str, number: int = 1, **given: Any) -> Any:
        """Return the data of a capability for an issue of the first repository."""
        return self.data(task, owner=OWNER, name=NAME, issueNumber=number, **given)

    def on_pull(self, task: str, number: int = 7, **given: Any) -> Any:
        """Return the data of a capability for a pull request of the first repository."""
        return self.data(task, owner=OWNER, name=NAME, prNumber=number, **given)

    def on_repo(self, task: str, **given: Any) -> Any:
        """Return the data of a capability for the first repository."""
        return self.data(task, owner=OWNER, name=NAME, **given)

    def as_user(self, login: str) -> "Ghx":
        """Return the same for somebody else."""
        return Ghx(twin=self.twin, token=self.twin.environment_of(login)["GH_TOKEN"])

    async def _call(self, task: str, given: Mapping[str, Any]) -> Envelope:
        async with self.client() as client:
            return await execute_task(client, task, given)

    async def _chained(self, steps: Sequence[Step]) -> ChainResult:
        async with self.client() as client:
            return await run_chain(client, steps)

    def client(self) -> GitHubClient:
        """Return a client that notes what it would wait for."""

        async def note(wait: float) -> None:
            self.waits.append(wait)

        return GitHubClient(self.twin.url, self.token, sleep=note)


Call = Mapping[str, Any] | Callable[[Ghx], Mapping[str, Any]]
"""An input that goes well in the world of the tests; as a function where it needs ids."""


def call_input(call: Call, ghx: Ghx) -> Mapping[str, Any]:
    """Return the input of a call."""
    return call(ghx) if callable(call) else call
