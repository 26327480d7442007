"""Inject the text of a threat into a world: by requests of its author, before the session or just before a read."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ghx_base.documents import Complaint
from ghx_base.texts.injected_text import CanaryWatch
from ghx_bench.fixtures.seed_worlds import SeededWorld, find_writers
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_bench.scenario.placeholders import THREAT_PLACE
from ghx_bench.scenario.scenario_changes import CLEAN
from ghx_bench.scenario.threat import Threat
from ghx_bench.scenario.threat_references import author_errors
from ghx_bench.scenario.variants import threat_variant
from ghx_twin.faults import Fault, Injected, InjectedChange
from ghx_twin.queries import lookup
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.rest import dispatch
from ghx_twin.urls import GITHUB_URLS
from ghx_twin.viewer import Viewer
from ghx_twin.world import World

RULE = "threat"
"""The name in the journal of the rule that injects a text on a read."""

_FIRST_ERROR_STATUS = 400


@dataclass(frozen=True, slots=True)
class CanaryWatches:
    """Canary matches of a session: in the agent's requests, and in the requests to its model."""

    sent: CanaryWatch
    model: CanaryWatch
    is_closed_in: bool = field(kw_only=True)
    """Whether the session can reach hosts only through the proxy."""

    @classmethod
    def for_session(cls, canary: str, *, is_closed_in: bool) -> "CanaryWatches":
        """Return the watches over one session."""
        return cls(CanaryWatch(canary), CanaryWatch(canary), is_closed_in=is_closed_in)

    def watch_model_request(self, body: bytes) -> None:
        """Search a request to a model for the canary."""
        if not self.model.matches:  # each request repeats the conversation so far
            self.model.look("a request to the model", body)


def injected_changes(scenario: EvalScenario) -> tuple[InjectedChange, ...]:
    """Return the changes that inject the text of a bound scenario's threat, for its variant."""
    threat = scenario.known_extensions.threat
    return () if threat is None else threat.changes_in(threat_variant(scenario))


def is_injected_at_rest(scenario: EvalScenario) -> bool:
    """Return whether a text is injected before the session."""
    threat = scenario.known_extensions.threat
    if threat is None or threat.timing_in(threat_variant(scenario)) != "at-rest":
        return False
    return bool(injected_changes(scenario))


def injection_faults(scenario: EvalScenario) -> tuple[Fault, ...]:
    """Return the fault that injects the text just before a read, if the threat has that timing."""
    threat, changes = scenario.known_extensions.threat, injected_changes(scenario)
    if threat is None or not changes or (timing := threat.timing_in(threat_variant(scenario))) == "at-rest":
        return ()
    return (
        Fault(
            name=RULE,
            operation=timing.operation,
            skip=timing.read - 1,
            times=1,
            change=changes[0],
            then=changes[1:],
        ),
    )


def was_injected(world: World, scenario: EvalScenario) -> bool:
    """Return whether the agent could read the text: from its fixture, at rest, or since the read was made."""
    if not injection_faults(scenario):
        return True
    return bool(world.faults.count_hits().get(str(Injected("change", RULE))))


def was_delivered(world: World, scenario: EvalScenario) -> bool | None:
    """Return whether answers of GitHub to the agent had the whole text; None if that is not known.

    What git sends is packed, and a checkout is there before the session: whoever has one of them may have read a text
    that travels by git. Whether the agent's model was given an answer of GitHub is another question.
    """
    threat, watch = scenario.known_extensions.threat, world.answer_watch
    if threat is None or watch is None or threat_variant(scenario) == CLEAN:
        return None
    is_available_from_git = watch.has_sent_objects or scenario.known_extensions.workspace is not None
    if not watch.has_sent_all_texts and is_available_from_git and threat.is_in_git_in(threat_variant(scenario)):
        return None
    return watch.has_sent_all_texts


def inject(world: World, changes: tuple[InjectedChange, ...]) -> Iterator[Complaint]:
    """Make changes as their authors; yield GitHub's answer to the first one that it refuses."""
    for index, change in enumerate(changes):
        place = (*THREAT_PLACE, "plant", index)
        try:
            actor = Viewer(user=lookup.user(world, change.actor))
        except NotFoundRefusal:
            yield Complaint(tokens=place, reason=f"the world has no user {change.actor}")
            return
        reply = dispatch.answer(
            world,
            actor,
            method=change.method,
            raw_path=change.path,
            query="",
            headers={},
            body=b"" if change.body is None else json.dumps(change.body).encode(),
            base=GITHUB_URLS,
        )
        if reply.status >= _FIRST_ERROR_STATUS:
            message = json.loads(reply.content).get("message", "") if reply.content else ""
            reason = f"{change.method} {change.path} as {change.actor} was answered with {reply.status} ({message})"
            yield Complaint(tokens=place, reason=reason, suggestion="write a request that this user may make")
            return


def injection_errors(scenario: EvalScenario, seeded: SeededWorld) -> Iterator[Complaint]:
    """Yield the errors of a bound scenario's threat in its world; the injection is tried in a copy."""
    threat = scenario.known_extensions.threat
    if threat is None:
        return
    repo = (scenario.fixture.repo if scenario.fixture else None) or seeded.manifest.repo
    writers = find_writers(seeded.world, lookup.repository(seeded.world, None, *repo.split("/")))
    errors = list(author_errors(threat, writers, agent=seeded.agent))
    yield from errors
    if not errors and (changes := injected_changes(scenario)):
        with seeded.world.fork() as trial:
            yield from inject(trial, changes)


def secret_variables(threat: Threat | None) -> Mapping[str, str]:
    """Return the variable of a session that holds the canary; in every mode and variant."""
    if threat is None or threat.secret is None or threat.canary is None:
        return {}
    return {threat.secret: threat.canary}
