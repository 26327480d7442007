"""A call: how its input may be written, and that nothing GitHub says makes it raise."""

import json
import subprocess
import sys
from typing import Any

import anyio
import pytest
from capability_calls import KINDS, NAME, OWNER, Ghx
from hypothesis import given, settings
from hypothesis import strategies as st

from ghx_tools.capabilities.client import GitHubClient, RetryPolicy
from ghx_tools.capabilities.envelope import Envelope
from ghx_tools.capabilities.execution import execute_task
from ghx_tools.capabilities.index import ENTRIES
from ghx_tools.capabilities.registry import capability
from ghx_tools.capabilities.transports.exchange import Request, Response

ISSUE = {"owner": OWNER, "name": NAME, "issueNumber": 1}

KEYS = st.sampled_from(["data", "errors", "repository", "issue", "nodes", "pageInfo", "labels", "id", "state", "type"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


class Parrot:
    """A transport that always answers the same."""

    def __init__(self, status: int, body: bytes) -> None:
        self.response = Response(status=status, headers={}, body=body)

    async def send(self, request: Request, *, patience_s: float) -> Response:
        return self.response

    async def aclose(self) -> None:
        pass


def called(task: str, given: dict[str, Any], *, status: int, body: bytes) -> Envelope:
    async def call() -> Envelope:
        transport = Parrot(status, body)
        client = GitHubClient("http://127.0.0.1:1", "t", transport=transport, retries=RetryPolicy(attempts=1))
        return await execute_task(client, task, given)

    return anyio.run(call)


@pytest.mark.parametrize(
    "given",
    [
        ISSUE,
        {"owner": OWNER, "repo": NAME, "issueNumber": 1},
        {"owner": OWNER, "name": NAME, "issue_number": 1},
        {"owner": OWNER, "repo": NAME, "issue_number": "1"},
        {**ISSUE, "repo": NAME},
        {**ISSUE, "issueNumber": 1.0},
    ],
)
def test_inputs_are_understood_as_people_write_them(ghx: Ghx, given: dict[str, Any]) -> None:
    assert ghx.data("issue.view", **given)["title"] == "A crash"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({**ISSUE, "nmae": "x"}, "did you mean 'name'?"),
        ({**ISSUE, "number": 1}, "did you mean 'issueNumber'?"),
        ({**ISSUE, "zzz": 1}, "known: 'owner', 'name', 'issueNumber'"),
        ({**ISSUE, "repo": "other"}, "'name' is given twice"),
        ({"owner": OWNER, "name": NAME}, "'issueNumber'"),
        ({**ISSUE, "issueNumber": "one"}, "issueNumber: expected an integer, got the string 'one'"),
        ({**ISSUE, "issueNumber": True}, "issueNumber"),
        ({**ISSUE, "issueNumber": 0}, "issueNumber"),
        ({**ISSUE, "issueNumber": 1.5}, "issueNumber"),
        ({**ISSUE, "owner": ""}, "owner"),
        ({**ISSUE, "owner": None}, "owner: expected a string, got null"),
        ({**ISSUE, "owner": ["acme"]}, "owner"),
    ],
)
def test_an_input_that_is_wrong_is_refused_before_anything_is_asked(
    ghx: Ghx, given: dict[str, Any], words: str
) -> None:
    asked = len(ghx.twin.world.journal)

    envelope = ghx.run("issue.view", **given)

    assert envelope.error is not None
    assert envelope.error.code == "VALIDATION"
    assert words in envelope.error.message
    assert (envelope.meta.reason, envelope.meta.route_used) == ("INPUT_VALIDATION", None)
    assert len(ghx.twin.world.journal) == asked


def test_an_unknown_capability_is_refused_with_the_nearest(ghx: Ghx) -> None:
    envelope = ghx.run("issue.lables.add")

    assert envelope.error is not None
    assert "did you mean 'issue.labels.add'?" in envelope.error.message
    assert envelope.meta.capability_id == "issue.lables.add"


def test_an_envelope_has_data_or_an_error_and_says_how_it_went(ghx: Ghx) -> None:
    fine, failed = (
        ghx.run("issue.view", **ISSUE).to_wire(),
        ghx.run("issue.view", **{**ISSUE, "issueNumber": 99}).to_wire(),
    )

    assert fine["meta"].pop("timings")["total_ms"] > 0
    assert set(fine) == {"ok", "data", "meta"}
    assert fine["meta"] == {"capability_id": "issue.view", "route_used": "graphql", "reason": "CARD_PREFERRED"}
    assert set(failed) == {"ok", "error", "meta"}
    assert failed["error"] == {
        "code": "NOT_FOUND",
        "message": "Could not resolve to an Issue with the number of 99.",
        "retryable": False,
        "details": {"type": "NOT_FOUND", "path": ["repository", "issue"]},
    }
    assert Envelope.model_validate({**fine, "meta": {**fine["meta"]}}).data == fine["data"]


def test_the_compact_form_keeps_what_an_agent_needs(ghx: Ghx) -> None:
    fine, failed = ghx.run("issue.view", **ISSUE), ghx.run("issue.view", **{**ISSUE, "issueNumber": 99})

    assert fine.to_compact() == {"ok": True, "data": fine.data}
    assert failed.to_compact()["error"].keys() == {"code", "message"}


def test_a_list_says_in_its_meta_where_it_goes_on(ghx: Ghx) -> None:
    envelope = ghx.run("issue.comments.list", **ISSUE, first=1)

    assert envelope.meta.pagination is not None
    assert envelope.meta.pagination.has_next_page
    assert envelope.meta.pagination.end_cursor == envelope.data["pageInfo"]["endCursor"]  # type: ignore[index]


@pytest.mark.slow
@settings(max_examples=4 * settings.default.max_examples)
@given(task=st.sampled_from(sorted(ENTRIES)), status=st.sampled_from([200, 201, 204, 404, 500]), answer=JSON)
def test_nothing_that_github_says_makes_a_call_raise(task: str, status: int, answer: object) -> None:
    given_input = dict(capability(task).operation.example)

    envelope = called(task, given_input, status=status, body=json.dumps(answer).encode())

    assert envelope.ok == (envelope.error is None)


@pytest.mark.slow
@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"data": {}}', b'{"data": {"repository": {}}}'])
@pytest.mark.parametrize("task", KINDS.values())
def test_an_answer_of_another_shape_is_a_failure_of_the_server(task: str, body: bytes) -> None:
    envelope = called(task, dict(capability(task).operation.example), status=200, body=body)

    if not envelope.ok:
        assert envelope.error is not None
        assert envelope.error.code in {"SERVER", "NOT_FOUND"}
        assert not envelope.error.retryable


def test_listing_what_there_is_loads_no_model_and_no_client() -> None:
    loaded = modules_after("import ghx_tools.capabilities.index")

    assert not loaded & {"pydantic", "anyio", "asyncio", "httpx2", "yaml"}


def test_a_capability_is_loaded_alone() -> None:
    loaded = modules_after("from ghx_tools.capabilities.registry import capability; capability('issue.view')")

    domains = {name for name in loaded if name.startswith("ghx_tools.capabilities.domains.") and name.count(".") == 4}
    assert {name for name in domains if not name.endswith(".index")} == {"ghx_tools.capabilities.domains.issue.view"}
    assert not loaded & {"httpx2", "yaml"}


def modules_after(code: str) -> set[str]:
    script = f"import json, sys\n{code}\nprint(json.dumps(list(sys.modules)))"
    return set(json.loads(subprocess.check_output([sys.executable, "-c", script], text=True)))
