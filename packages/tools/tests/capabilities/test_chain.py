"""Chains: steps that happen as if one after the other, in fewer round trips."""

from typing import Any

import anyio
import pytest
from capability_calls import NAME, OWNER, Ghx
from issue_calls import ISSUE_CALLS
from pr_calls import PR_CALLS
from project_calls import PROJECT_CALLS
from repo_calls import REPO_CALLS
from search_calls import SEARCH_CALLS
from workflow_calls import WORKFLOW_CALLS

from ghx_tools.capabilities.chain import MOST_STEPS, ChainResult, read_steps, run_chain
from ghx_tools.capabilities.errors import InvalidInputError
from ghx_tools.capabilities.index import ENTRIES
from ghx_twin.faults import Fault

CALLS = {**ISSUE_CALLS, **PR_CALLS, **PROJECT_CALLS, **REPO_CALLS, **SEARCH_CALLS, **WORKFLOW_CALLS}
WIDGETS = {"owner": OWNER, "name": NAME}
TOOLS = {"owner": OWNER, "name": "tools"}
FIRST = {**WIDGETS, "issueNumber": 1}
THIRD = {**WIDGETS, "issueNumber": 3}
PULL = {**TOOLS, "prNumber": 1}


def data(result: Any) -> list[Any]:
    assert result.status == "success", result.to_wire()
    return [envelope.data for envelope in result.steps]


def asked(ghx: Ghx) -> list[str]:
    """Return what the server was asked, by kind."""
    return ["mutation" if entry.mutation else "query" for entry in ghx.twin.world.journal]


def test_reads_of_different_things_take_one_round_trip(ghx: Ghx) -> None:
    issue, threads, checks = data(ghx.chain(("issue.view", FIRST), ("pr.threads.list", PULL), ("pr.checks.list", PULL)))

    assert len(ghx.twin.world.journal) == 1
    assert issue == ghx.data("issue.view", **FIRST)
    assert threads == ghx.data("pr.threads.list", **PULL)
    assert checks == ghx.data("pr.checks.list", **PULL)


def test_a_chain_takes_fewer_round_trips_than_its_steps_alone(ghx: Ghx) -> None:
    steps = [
        ("issue.comments.create", {**FIRST, "body": "Done"}),
        ("issue.comments.create", {**THIRD, "body": "Done"}),
        ("pr.comments.create", {**WIDGETS, "prNumber": 7, "body": "Done"}),
    ]
    result = ghx.chain(*steps)
    together = len(ghx.twin.world.journal)
    for task, given in steps:
        ghx.data(task, **given)

    assert result.status == "success"
    assert result.requests == together == 2  # what they look up, then what they change
    assert len(ghx.twin.world.journal) - together == 6


def test_every_step_returns_its_data_in_order(ghx: Ghx) -> None:
    result = ghx.chain(("issue.close", FIRST), ("issue.labels.add", {**THIRD, "labels": ["bug"]}))

    closed, labelled = data(result)
    assert (closed["number"], closed["closed"]) == (1, True)
    assert set(labelled["labels"]) >= {"bug", "enhancement"}


def test_a_step_uses_what_an_earlier_one_gave(ghx: Ghx) -> None:
    created, labelled, commented = data(
        ghx.chain(
            ("issue.create", {**WIDGETS, "title": "New"}),
            ("issue.labels.set", {**WIDGETS, "issueNumber": "{{steps.0.data.number}}", "labels": ["bug"]}),
            (
                "issue.comments.create",
                {
                    **WIDGETS,
                    "issueNumber": "{{ steps.0.data.number }}",
                    "body": "#{{steps.0.data.number}} {{ x }} ${{ steps.0.data.number }}",
                },
            ),
        )
    )

    assert labelled["labels"] == ["bug"]
    assert commented["body"] == f"#{created['number']} {{{{ x }}}} ${{{{ steps.0.data.number }}}}"


def test_a_chain_reads_its_own_writes_and_not_its_later_ones(ghx: Ghx) -> None:
    before, _, between, _, after = data(
        ghx.chain(
            ("issue.view", FIRST),
            ("issue.close", FIRST),
            ("issue.view", FIRST),
            ("issue.reopen", FIRST),
            ("issue.view", FIRST),
        )
    )

    assert [each["state"] for each in (before, between, after)] == ["OPEN", "CLOSED", "OPEN"]


def test_changes_of_one_thing_happen_in_order(ghx: Ghx) -> None:
    titles = [f"Title {number}" for number in range(6)]

    result = ghx.chain(
        *(("issue.update", {**FIRST, "title": title}) for title in titles),
        ("issue.view", FIRST),
    )

    assert [each["title"] for each in data(result)] == [*titles, titles[-1]]


def test_issues_are_opened_in_order_and_together(ghx: Ghx) -> None:
    result = ghx.chain(*(("issue.create", {**WIDGETS, "title": f"Number {number}"}) for number in range(5)))

    numbers = [each["number"] for each in data(result)]
    assert numbers == sorted(numbers)
    assert result.requests == 2


def test_replies_to_threads_that_were_just_listed_share_their_round_trips(ghx: Ghx) -> None:
    places = [f"{{{{steps.0.data.items.{index}.id}}}}" for index in range(3)]
    result = ghx.chain(
        ("pr.threads.list", PULL),
        *(("pr.threads.reply", {"threadId": place, "body": "Done"}) for place in places),
        *(("pr.threads.resolve", {"threadId": place}) for place in places),
        ("pr.threads.list", PULL),
        ("pr.threads.list", {**PULL, "unresolvedOnly": False}),
    )

    *_, unresolved, every = data(result)
    assert unresolved["items"] == []
    assert sum(thread["comments"][-1]["body"] == "Done" for thread in every["items"]) == 3
    assert result.requests == 5  # list, look up, reply, resolve, list


def test_one_bad_step_does_not_sink_its_neighbours(ghx: Ghx) -> None:
    result = ghx.chain(
        ("issue.view", FIRST),
        ("issue.view", {**FIRST, "issueNumber": 99}),
        ("issue.veiw", FIRST),
        ("issue.view", {**FIRST, "isueNumber": 1}),
        ("issue.view", THIRD),
    )

    assert result.status == "partial"
    assert [envelope.ok for envelope in result.steps] == [True, False, False, False, True]
    assert [envelope.error.code for envelope in result.steps if envelope.error] == [
        "NOT_FOUND",
        "VALIDATION",
        "VALIDATION",
    ]
    assert "issue.view" in str(result.steps[2].error)


def test_one_bad_change_does_not_sink_its_neighbours(ghx: Ghx) -> None:
    ghx.data("issue.delete", **THIRD)
    gone = {"threadId": "PRRT_kwDOAAAAAM4AAAAA"}
    thread = {"threadId": ghx.data("pr.threads.list", **PULL)["items"][0]["id"]}

    result = ghx.chain(("pr.threads.resolve", gone), ("pr.threads.resolve", thread))

    assert [envelope.ok for envelope in result.steps] == [False, True]
    assert asked(ghx).count("mutation") == 2  # the deletion before, and both of these together


def test_a_step_that_needs_a_failed_one_fails_alone(ghx: Ghx) -> None:
    result = ghx.chain(
        ("issue.view", {**FIRST, "issueNumber": 99}),
        ("issue.comments.create", {**FIRST, "body": "{{steps.0.data.title}}"}),
        ("issue.comments.create", {**FIRST, "body": "Fine"}),
    )

    assert [envelope.ok for envelope in result.steps] == [False, False, True]
    assert result.steps[1].error is not None
    assert (result.steps[1].error.code, result.steps[1].error.details) == ("VALIDATION", {"step": 0})
    assert [each["body"] for each in ghx.on_issue("issue.comments.list")["items"]][-1] == "Fine"


@pytest.mark.parametrize(
    ("reference", "hint"),
    [
        ("{{steps.1.data.id}}", "before it"),
        ("{{steps.9.data.id}}", "before it"),
        ("{{steps.0.dta.id}}", "steps.0.data"),
        ("{{steps.0.data.titel}}", "'title'"),
        ("{{steps.0.data.labels.5}}", "a list of 1"),
        ("{{steps.0.data.labels.x}}", "a list of 1"),
        ("{{steps.0.data.title.first}}", "and has no 'first'"),
    ],
)
def test_a_reference_to_nothing_is_explained(ghx: Ghx, reference: str, hint: str) -> None:
    result = ghx.chain(("issue.view", FIRST), ("issue.comments.create", {**FIRST, "body": reference}))

    assert result.status == "partial"
    assert result.steps[1].error is not None
    assert result.steps[1].error.code == "VALIDATION"
    assert hint in result.steps[1].error.message


def test_a_whole_reference_keeps_its_type(ghx: Ghx) -> None:
    _, second = data(
        ghx.chain(
            ("issue.view", {**WIDGETS, "issueNumber": 3}),
            ("issue.labels.set", {**FIRST, "labels": "{{steps.0.data.labels}}"}),
        )
    )

    assert set(second["labels"]) == {"enhancement", "question"}


def test_a_server_that_fails_a_joint_request_fails_all_who_took_part(ghx: Ghx) -> None:
    ghx.twin.world.faults.add(Fault(status=503))

    result = ghx.chain(("issue.view", FIRST), ("issue.view", THIRD))

    assert result.status == "failed"
    assert [envelope.error.code for envelope in result.steps if envelope.error] == ["SERVER", "SERVER"]
    assert ghx.waits == [0.25, 0.5]


def test_a_joint_change_that_got_no_answer_is_not_repeated(ghx: Ghx) -> None:
    steps = [("issue.close", each) for each in (FIRST, THIRD)]
    ghx.twin.world.faults.add(Fault(status=502, skip=1, times=1))  # what they look up goes well

    result = ghx.chain(*steps)

    assert result.status == "failed"
    assert len(ghx.twin.world.journal) == 2
    assert ghx.waits == []


def test_rest_and_graphql_steps_go_together(ghx: Ghx) -> None:
    result = ghx.chain(("pr.view", PULL), ("pr.diff.view", PULL), ("pr.files.list", PULL), ("pr.commits.list", PULL))

    view, diff, files, commits = data(result)
    assert view["title"] == "Count from zero"
    assert diff["diff"].startswith("diff --git")
    assert len(files["items"]) == 3
    assert len(commits["items"]) == 2
    assert result.requests == 3  # two of REST, and one for both of GraphQL


def test_every_read_can_share_a_round_trip_with_every_other(ghx: Ghx) -> None:
    steps = [(id_, given) for id_, given in CALLS.items() if ENTRIES[id_].effect == "reads" and not callable(given)]

    result = ghx.chain(*steps)

    assert data(result) == [ghx.data(task, **given) for task, given in steps]
    assert result.requests < len(steps) / 2


@pytest.mark.parametrize(
    "bad", [("search.issues", {"query": "x", "after": "?"}), ("issue.list", {**WIDGETS, "after": "?"})]
)
def test_a_request_that_one_step_spoils_is_made_again_without_it(ghx: Ghx, bad: tuple[str, Any]) -> None:
    result = ghx.chain(("issue.view", FIRST), bad, ("search.prs", {"query": f"repo:{OWNER}/{NAME}"}))

    assert [envelope.ok for envelope in result.steps] == [True, False, True]


def test_a_long_chain_is_split_into_several_round_trips(ghx: Ghx) -> None:
    result = ghx.chain(*(("issue.view", FIRST) for _ in range(MOST_STEPS)))

    assert {each["title"] for each in data(result)} == {"A crash"}
    assert result.requests == 4


def test_a_chain_runs_on_either_event_loop(ghx: Ghx) -> None:
    async def run() -> ChainResult:
        async with ghx.client() as client:
            return await run_chain(client, read_steps([{"task": "issue.view", "input": FIRST}] * 3))

    for backend in ("asyncio", "trio"):
        assert anyio.run(run, backend=backend).requests == 1


def test_what_is_told_of_a_chain(ghx: Ghx) -> None:
    result = ghx.chain(("issue.view", FIRST), ("issue.view", {**FIRST, "issueNumber": 99}))

    assert result.to_compact()["status"] == "partial"
    assert [each.keys() for each in result.to_compact()["results"]] == [
        {"task", "ok", "data"},
        {"task", "ok", "error"},
    ]
    meta = result.to_wire()["meta"]
    assert (meta["total"], meta["succeeded"], meta["failed"], meta["requests"]) == (2, 1, 1, 1)
    assert meta["route_used"] == "graphql"


@pytest.mark.parametrize(
    ("steps", "hint"),
    [
        ({}, "a list"),
        ([], "between 1 and"),
        ([{"task": "issue.view"}] * (MOST_STEPS + 1), "between 1 and"),
        (["issue.view"], "step 0"),
        ([{"task": "issue.view", "inputs": {}}], "'input'"),
        ([{"input": {}}], "`task`"),
        ([{"task": "issue.view", "input": []}], "an object"),
    ],
)
def test_steps_that_are_none_are_refused(steps: object, hint: str) -> None:
    with pytest.raises(InvalidInputError, match=hint):
        read_steps(steps)
