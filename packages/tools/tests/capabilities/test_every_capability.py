"""What holds for each capability: its outputs, and what becomes of GitHub's main refusals."""

from typing import Any

import jsonschema
import pytest
from capability_calls import KINDS, Ghx, call_input
from issue_calls import ISSUE_CALLS
from pr_calls import PR_CALLS
from project_calls import PROJECT_CALLS
from promised_capabilities import promised
from release_calls import RELEASE_CALLS
from repo_calls import REPO_CALLS
from search_calls import SEARCH_CALLS
from workflow_calls import WORKFLOW_CALLS

from ghx_tools.capabilities.environment import blocking_client_from_environment
from ghx_tools.capabilities.execution import execute_task
from ghx_tools.capabilities.index import ENTRIES
from ghx_tools.capabilities.registry import capability
from ghx_tools.capabilities.transports.blocking import run_to_end
from ghx_twin.faults import Fault, primary_rate_limit, secondary_rate_limit

pytestmark = pytest.mark.slow

CALLS = {
    **ISSUE_CALLS, **PR_CALLS, **PROJECT_CALLS, **RELEASE_CALLS, **REPO_CALLS, **SEARCH_CALLS, **WORKFLOW_CALLS,
}  # fmt: skip
IDS = sorted(CALLS)
ADDED = frozenset({
    "issue.labels.list", "issue.timeline.list", "pr.comments.list", "pr.commits.list", "pr.files.list", "pr.ready",
    "pr.reopen", "release.assets.list", "release.delete", "repo.branches.list", "repo.commits.list",
    "repo.contents.get", "repo.contents.put",
    "repo.file.delete", "repo.tags.list", "search.code", "search.issues", "search.prs",
})  # fmt: skip
"""What there is beyond the catalogue."""
MORE = {
    "issue.view": {"assignees", "milestone"},
    "pr.view": {"assignees", "milestone", "headBranch", "baseBranch", "isDraft", "reviewers"},
    "workflow.dispatch": {"runId", "url"},
    "workflow.job.logs.view": {"failedSteps", "excerpt"},
    "release.view": {"isLatest", "notes"},
    "workflow.run.view": {"failedSteps", "title"},
}
"""What capabilities of the catalogue give beyond it."""
MORE_OF_ITEMS = {"workflow.runs.list": {"title"}}
"""What the items of lists have beyond it."""
MORE_INPUTS = {"workflow.job.logs.view": {"failedSteps", "lastLines", "search", "context"}}
"""What capabilities of the catalogue take beyond it."""
FIELDS = {
    "issue.comments.list": "id body authorLogin url createdAt",
    "issue.list": "id number title state url",
    "issue.relations.view": "issue parent children blockedBy",
    "issue.view": "id number title state url body labels assignees milestone",
    "pr.threads.list": "id path line isResolved isOutdated comments",
    "pr.view": "id number title state url body labels assignees milestone headBranch baseBranch isDraft reviewers",
    "repo.labels.list": "id name description color isDefault",
    "repo.view": "id name nameWithOwner isPrivate url defaultBranch",
}
FAR_AWAY = 4 * 10**9  # in seconds of unix time: later than anybody waits


def test_every_capability_is_called_here() -> None:
    assert list(ENTRIES) == IDS


def test_there_are_no_other_kinds_than_those_that_refusals_are_tried_on() -> None:
    kind_of = {id_: (capability(id_).operation.route, entry.effect) for id_, entry in ENTRIES.items()}

    assert set(kind_of.values()) == set(KINDS)
    assert {kind: kind_of[id_] for kind, id_ in KINDS.items()} == {kind: kind for kind in KINDS}


@pytest.mark.parametrize("id_", IDS)
def test_an_entry_names_what_the_input_takes(id_: str) -> None:
    schema = capability(id_).input_schema

    signature = ENTRIES[id_].signature

    assert set(signature.required) == set(schema.get("required", ()))
    assert set(signature.names) == set(schema.get("properties", ()))


@pytest.mark.parametrize("id_", IDS)
def test_the_example_is_an_input(id_: str) -> None:
    called = capability(id_)

    called.operation.input.model_validate(called.operation.example)
    jsonschema.validate(dict(called.operation.example), called.input_schema)


@pytest.mark.parametrize("id_", IDS)
def test_inputs_and_outputs_are_those_of_the_catalogue(id_: str) -> None:
    called, documented = capability(id_), promised().get(id_)
    if documented is None:
        assert id_ in ADDED
        return

    assert set(called.input_schema.get("required", ())) == documented.required
    assert set(called.input_schema["properties"]) == documented.inputs | MORE_INPUTS.get(id_, set())
    assert (ENTRIES[id_].effect != "reads") == documented.mutates
    assert _required(called.output_schema) >= set(documented.output_schema["required"])
    assert set(called.output_schema["properties"]) == set(documented.output_schema["properties"]) | MORE.get(id_, set())


@pytest.mark.parametrize("id_", IDS)
def test_a_call_that_goes_well_gives_what_its_schema_says(id_: str, ghx: Ghx) -> None:
    data = ghx.data(id_, **call_input(CALLS[id_], ghx))

    called = capability(id_)
    jsonschema.validate(data, called.output_schema)
    assert called.operation.output.model_validate(data).to_wire() == data


@pytest.mark.parametrize("id_", IDS)
def test_a_call_needs_no_event_loop(id_: str, ghx: Ghx) -> None:
    given = call_input(CALLS[id_], ghx)
    client = blocking_client_from_environment({"GITHUB_API_URL": ghx.twin.url, "GITHUB_TOKEN": ghx.token})
    assert client is not None

    envelope = run_to_end(execute_task(client, id_, given))

    assert envelope.error is None


@pytest.mark.parametrize("id_", [id_ for id_ in IDS if id_ not in ADDED])
def test_what_a_call_gives_is_what_the_catalogue_says(id_: str, ghx: Ghx) -> None:
    data = ghx.data(id_, **call_input(CALLS[id_], ghx))

    known = {name: value for name, value in data.items() if name not in MORE.get(id_, ())}
    if more := MORE_OF_ITEMS.get(id_):
        known["items"] = [{name: item[name] for name in item if name not in more} for item in data["items"]]
    jsonschema.validate(known, promised()[id_].output_schema)


@pytest.mark.parametrize(("id_", "fields"), FIELDS.items())
def test_what_others_rely_on_is_given(id_: str, fields: str, ghx: Ghx) -> None:
    data = ghx.data(id_, **call_input(CALLS[id_], ghx))

    shown = data["items"][0] if "items" in data else data
    assert set(fields.split()) <= set(shown)


@pytest.mark.parametrize("id_", KINDS.values())
def test_a_refusal_for_lack_of_rights_is_told_as_such(id_: str, ghx: Ghx) -> None:
    given = call_input(CALLS[id_], ghx)
    ghx.twin.world.faults.add(Fault(status=403, message="Resource not accessible by integration"))

    envelope = ghx.run(id_, **given)

    assert envelope.error is not None
    assert (envelope.error.code, envelope.error.retryable) == ("AUTH", False)
    assert envelope.error.details == {"status": 403}
    assert ghx.waits == []


@pytest.mark.parametrize("id_", KINDS.values())
def test_a_refused_value_is_told_as_such(id_: str, ghx: Ghx) -> None:
    given = call_input(CALLS[id_], ghx)
    ghx.twin.world.faults.add(Fault(status=422, message="Validation Failed"))

    envelope = ghx.run(id_, **given)

    assert envelope.error is not None
    assert (envelope.error.code, envelope.error.retryable) == ("VALIDATION", False)


@pytest.mark.parametrize("id_", KINDS.values())
def test_a_rate_limit_that_passes_is_waited_for(id_: str, ghx: Ghx) -> None:
    given = call_input(CALLS[id_], ghx)
    ghx.twin.world.faults.add(secondary_rate_limit(times=1, retry_after_s=7))

    assert ghx.run(id_, **given).ok

    assert ghx.waits == [7.0]


@pytest.mark.parametrize("id_", KINDS.values())
def test_a_rate_limit_that_lasts_is_told_with_its_end(id_: str, ghx: Ghx) -> None:
    given = call_input(CALLS[id_], ghx)
    ghx.twin.world.faults.add(primary_rate_limit(reset_in_s=0, now_s=FAR_AWAY))

    envelope = ghx.run(id_, **given)

    assert envelope.error is not None
    assert (envelope.error.code, envelope.error.retryable) == ("RATE_LIMIT", True)
    assert (envelope.error.details or {})["rateLimitResetsAt"] == FAR_AWAY
    assert ghx.waits == []


@pytest.mark.parametrize("id_", [id_ for (_, effect), id_ in KINDS.items() if effect == "reads"])
def test_a_reading_call_survives_a_failing_server(id_: str, ghx: Ghx) -> None:
    given = call_input(CALLS[id_], ghx)
    ghx.twin.world.faults.add(Fault(status=502, times=2))

    assert ghx.run(id_, **given).ok

    assert ghx.waits == [0.25, 0.5]


@pytest.mark.parametrize("id_", KINDS.values())
def test_a_server_that_keeps_failing_is_told_as_such(id_: str, ghx: Ghx) -> None:
    given = call_input(CALLS[id_], ghx)
    ghx.twin.world.faults.add(Fault(status=503))

    envelope = ghx.run(id_, **given)

    assert envelope.error is not None
    assert (envelope.error.code, envelope.error.retryable) == ("SERVER", True)


@pytest.mark.parametrize("id_", [id_ for id_ in KINDS.values() if "name" in ENTRIES[id_].signature.names])
def test_a_repository_that_is_not_there_is_not_found(id_: str, ghx: Ghx) -> None:
    given = call_input(CALLS[id_], ghx)

    envelope = ghx.run(id_, **{**given, "name": "nowhere"})

    assert envelope.error is not None
    assert (envelope.error.code, envelope.error.retryable) == ("NOT_FOUND", False)


def _required(schema: dict[str, Any]) -> set[str]:
    return set(schema.get("required", ()))
