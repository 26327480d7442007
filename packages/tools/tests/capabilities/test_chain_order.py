"""Chains end as if their steps had been called one after the other, whatever they have to do with each other."""

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import anyio
import pytest
from capability_calls import NAME, OWNER, Ghx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scripted_server import json_answer, scripted_server

from ghx_tools.capabilities.chain import ChainResult, read_steps, run_chain
from ghx_tools.capabilities.chain.scheduling import resolve_references
from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.entries import Entry
from ghx_tools.capabilities.envelope import Envelope
from ghx_tools.capabilities.index import ENTRIES
from ghx_twin.pytest_plugin import GitHubTwin
from ghx_twin.queries import lookup
from ghx_twin.server.loopback import Server
from ghx_twin.world import World

pytestmark = pytest.mark.slow

WIDGETS = {"owner": OWNER, "name": NAME}
TOOLS = {"owner": OWNER, "name": "tools"}
THIRD = {**WIDGETS, "issueNumber": 3}
PULL = {**TOOLS, "prNumber": 1}
BUG = {"labels": ["bug"]}

Steps = Sequence[tuple[str, Mapping[str, Any]]]


def shared_requests(ghx: Ghx) -> list[str]:
    """Return the requests in which several steps asked together."""
    return [entry.operation for entry in ghx.twin.world.journal if "Chain" in entry.operation]


def changes(ghx: Ghx) -> list[str]:
    return [entry.operation for entry in ghx.twin.world.journal if entry.mutation]


@pytest.mark.parametrize(
    "number", [3, "3", " 3", "03", "3 ", 3.0, "{{steps.0.data.number}}", "0{{steps.0.data.number}}"]
)
def test_one_thing_is_one_thing_however_its_number_is_written(ghx: Ghx, number: object) -> None:
    result = ghx.chain(
        ("issue.view", THIRD),
        ("issue.labels.add", {**THIRD, **BUG}),
        ("issue.labels.remove", {"owner": OWNER.upper(), "repo": NAME, "issue_number": number, **BUG}),
    )

    assert [each.data and each.data.get("removed") for each in result.steps][2] == ["bug"]


def test_two_references_may_lead_to_one_thing(ghx: Ghx) -> None:
    numbers = ["{{steps.0.data.number}}", "{{steps.1.data.items.0.number}}"]
    result = ghx.chain(
        ("issue.view", THIRD),
        ("issue.list", WIDGETS),
        *(
            (task, {**WIDGETS, "issueNumber": each, **BUG})
            for task, each in zip(("issue.labels.add", "issue.labels.remove"), numbers, strict=True)
        ),
    )

    assert result.steps[1].data["items"][0]["number"] == 3
    assert result.steps[3].data == {"issueNumber": 3, "removed": ["bug"]}


def test_references_to_different_things_still_share_their_round_trips(ghx: Ghx) -> None:
    result = ghx.chain(
        ("issue.list", WIDGETS),
        *(
            (
                "issue.comments.create",
                {**WIDGETS, "issueNumber": f"{{{{steps.0.data.items.{each}.number}}}}", "body": "x"},
            )
            for each in (0, 1)
        ),
    )

    assert (result.status, result.requests) == ("success", 3)


def test_a_later_change_does_not_overtake_one_whose_target_is_not_known_yet(ghx: Ghx) -> None:
    result = ghx.chain(
        ("issue.update", {**WIDGETS, "issueNumber": 1, "title": "3"}),
        ("issue.update", {**WIDGETS, "issueNumber": "{{steps.0.data.title}}", "title": "Earlier"}),
        ("issue.update", {**THIRD, "title": "Later"}),
    )

    assert result.status == "success"
    assert ghx.on_issue("issue.view", 3)["title"] == "Later"


def test_a_new_issue_does_not_overtake_one_that_waits(ghx: Ghx) -> None:
    result = ghx.chain(
        ("issue.create", {**WIDGETS, "title": "a"}),
        ("issue.create", {**WIDGETS, "title": "b, after {{steps.0.data.title}}"}),
        ("issue.create", {**WIDGETS, "title": "c"}),
    )

    numbers = [each.data["number"] for each in result.steps]
    assert numbers == sorted(numbers)


def test_the_branch_of_a_pull_request_is_brought_up_to_date_after_another_was_merged_into_it(ghx: Ghx) -> None:
    ghx.data("repo.contents.put", **TOOLS, path="new.md", content="new", message="New")
    number = ghx.data("pr.create", **TOOLS, title="Stacked", head="spare", base="fix")["number"]

    result = ghx.chain(("pr.merge", {**TOOLS, "prNumber": number}), ("pr.branch.update", PULL))

    assert result.status == "success", result.to_wire()


def test_a_branch_that_two_pull_requests_have_is_brought_up_to_date_for_one_after_the_other(ghx: Ghx) -> None:
    ghx.data("repo.contents.put", **TOOLS, path="new.md", content="new", message="New")
    number = ghx.data("pr.create", **TOOLS, title="The same", head="fix", base="guarded")["number"]

    result = ghx.chain(("pr.branch.update", PULL), ("pr.branch.update", {**TOOLS, "prNumber": number}))

    assert result.status == "success", result.to_wire()


COMMENT = ("issue.comments.create", {**THIRD, "body": "x"})


@pytest.mark.parametrize(
    "far",
    [
        ("pr.merge", PULL),
        ("pr.branch.update", PULL),
        ("pr.ready", {**TOOLS, "prNumber": 2}),
        ("pr.update", {**TOOLS, "prNumber": 2, "draft": False}),
        ("pr.close", {**PULL, "deleteBranch": True}),
        ("pr.close", {**PULL, "comment": "Superseded"}),
        ("pr.reopen", PULL),
        ("pr.reviews.submit", {**PULL, "event": "APPROVE"}),
        ("pr.checks.rerun.all", {**TOOLS, "prNumber": 4, "runId": 601}),
        ("pr.checks.rerun.failed", {**TOOLS, "prNumber": 4, "runId": 601}),
        ("issue.delete", {**WIDGETS, "issueNumber": 1}),
        ("issue.create", {**WIDGETS, "title": "New"}),
        ("pr.create", {**TOOLS, "title": "New", "head": "spare", "base": "main"}),
        ("issue.comments.create", {**TOOLS, "issueNumber": 3, "body": "This may be the same repository"}),
        ("pr.threads.reply", {"threadId": "MDIzOlB1bGxSZXF1ZXN0UmV2aWV3VGhyZWFkMQ==", "body": "x"}),
    ],
    ids=lambda step: step[0],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_what_may_reach_further_is_alone(ghx: Ghx, far: tuple[str, Any], is_first: bool) -> None:
    ghx.chain(far, COMMENT) if is_first else ghx.chain(COMMENT, far)

    assert len(ghx.twin.world.journal) > 2
    assert shared_requests(ghx) == []


def test_a_thread_is_part_of_a_pull_request(ghx: Ghx) -> None:
    thread = ghx.data("pr.threads.list", **PULL)["items"][0]["id"]

    result = ghx.chain(
        ("pr.close", {**PULL, "comment": "Enough"}),
        ("pr.threads.resolve", {"threadId": thread}),
        ("pr.reopen", PULL),
    )

    assert result.status == "success"
    fields = ["addComment", "closePullRequest", "resolveReviewThread", "reopenPullRequest"]
    assert [field in asked for field, asked in zip(fields, changes(ghx), strict=True)] == [True] * 4


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=lambda entry: entry.id)
def test_every_capability_that_changes_something_says_how_far_it_reaches(entry: Entry) -> None:
    assert (entry.reach is None) == (entry.effect == "reads")
    if entry.reach is None:
        return
    assert {each.partition("=")[0] for each in entry.reach.unless} <= set(entry.signature.names)
    names_an_object = {"issueNumber", "prNumber", "threadId"} & set(entry.signature.required)
    assert entry.reach.scope != "named object" or names_an_object, "a chain could not tell it from another object"


# Whatever chain: numbers in all spellings, by reference and not, on few things, so that they meet often.

SEEN: Steps = (("issue.list", WIDGETS), ("issue.view", THIRD), ("pr.threads.list", PULL))
ISSUES = st.sampled_from([3, "03", " 3", 3.0, "{{steps.1.data.number}}", "{{steps.0.data.items.0.number}}", 1, 99])
PULLS = st.sampled_from([1, "01", 2, 4])
THREADS = st.sampled_from(["{{steps.2.data.items.0.id}}", "{{steps.2.data.items.1.id}}", "PRRT_none"])
LABELS = st.lists(st.sampled_from(["bug", "question", "wontfix"]), min_size=1, max_size=2, unique=True)


def step(*tasks: str, **inputs: Any) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    return st.tuples(st.sampled_from(tasks), st.fixed_dictionaries(inputs))


ON_ISSUES = {**{name: st.just(value) for name, value in WIDGETS.items()}, "issueNumber": ISSUES}
ON_PULLS = {**{name: st.just(value) for name, value in TOOLS.items()}, "prNumber": PULLS}
STEPS = st.one_of(
    step("issue.labels.add", "issue.labels.remove", "issue.labels.set", **ON_ISSUES, labels=LABELS),
    step("issue.close", "issue.reopen", "issue.view", "issue.delete", **ON_ISSUES),
    step("issue.update", **ON_ISSUES, title=st.sampled_from(["a", "b"])),
    step("issue.assignees.add", "issue.assignees.remove", **ON_ISSUES, assignees=st.just(["hubot"])),
    step(
        "issue.create", owner=st.just(OWNER), name=st.just(NAME), title=st.sampled_from(["new", "{{steps.3.data.id}}"])
    ),
    step("pr.close", **ON_PULLS, deleteBranch=st.booleans(), comment=st.just("Enough")),
    step("pr.reopen", "pr.merge", "pr.ready", "pr.branch.update", "pr.view", **ON_PULLS),
    step("pr.threads.resolve", "pr.threads.unresolve", threadId=THREADS),
    step("pr.threads.reply", threadId=THREADS, body=st.just("Done")),
)


@contextmanager
def forked(parent: World, server: Server) -> Generator[Ghx]:
    """Somebody who calls capabilities in a fork of a world."""
    with parent.fork() as world:
        server.add(world)
        user = lookup.user(world, "octo")
        token = server.hosting.issue_token(world, user)
        twin = GitHubTwin(url=server.url, user=user.login, token=token, environment={}, world=world, server=server)
        try:
            yield Ghx(twin=twin, token=token)
        finally:
            server.remove(world)


def one_after_the_other(ghx: Ghx, steps: Steps) -> list[Envelope]:
    done: list[Envelope] = []
    for task, inputs in steps:
        known = [*done, *[None] * (len(steps) - len(done))]
        try:
            done.append(ghx.run(task, **resolve_references(inputs, known)))
        except Exception:  # noqa: BLE001 - a reference to what failed; the chain says the same in an envelope
            done += ghx.chain((task, {"owner": "{{steps.9.data}}"})).steps
    return done


def told(envelopes: Sequence[Envelope]) -> list[object]:
    """What the steps gave, without what is counted up: ids, and the addresses that they are in."""
    return [[each.ok, each.error and each.error.code, plain(each.data)] for each in envelopes]


def plain(value: object) -> object:
    match value:
        case dict():
            return {
                name: plain(each)
                for name, each in value.items()
                if not name.lower().endswith(("id", "url", "at", "cursor"))
            }
        case list():
            return [plain(each) for each in value]
        case _:
            return value


def state(ghx: Ghx) -> list[object]:
    """Everything that can be seen."""
    issues = [
        (task, {**WIDGETS, "issueNumber": number})
        for number in (1, 3, 8, 9)
        for task in ("issue.view", "issue.timeline.list")
    ]
    pulls = [
        (task, {**TOOLS, "prNumber": number})
        for number in (1, 2, 4)
        for task in ("pr.view", "pr.comments.list", "pr.commits.list")
    ]
    threads = ("pr.threads.list", {**PULL, "unresolvedOnly": False})
    return told(ghx.chain(*issues, *pulls, threads, ("repo.branches.list", TOOLS)).steps)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(STEPS, min_size=3, max_size=8))
def test_any_chain_ends_as_if_its_steps_were_called_one_by_one(
    seeded_world: World, github_server: Server, more: list[tuple[str, dict[str, Any]]]
) -> None:
    steps = (*SEEN, *more)
    with forked(seeded_world, github_server) as one, forked(seeded_world, github_server) as other:
        together, apart = one.chain(*steps).steps, one_after_the_other(other, steps)

        assert told(together) == told(apart)
        assert state(one) == state(other)


# What a server that is not the twin may answer to changes that went out together.

ISSUE = {"id": "I_1", "comments": {"nodes": []}}
LOOKED_UP = json_answer(200, {"data": {f"s{index}_repository": {"subject": ISSUE} for index in (0, 1)}})
ADDED = {"commentEdge": {"node": {"id": "C0", "url": "https://github.com/c/0", "body": "x"}}}


async def two_comments(*answers: bytes) -> tuple[ChainResult, list[bytes]]:
    steps = [{"task": COMMENT[0], "input": {**COMMENT[1], "issueNumber": number}} for number in (1, 2)]
    with scripted_server([LOOKED_UP, *answers]) as server:
        async with GitHubClient(server.url, "t") as client:
            result = await run_chain(client, read_steps(steps))
    return result, server.requests[1:]


def test_what_was_done_before_a_limit_is_told_and_not_done_again() -> None:
    limited = {"type": "RATE_LIMITED", "path": ["s1_addComment"], "message": "was submitted too quickly"}
    partly = {"data": {"s0_addComment": ADDED, "s1_addComment": None}, "errors": [limited]}

    result, sent = anyio.run(two_comments, json_answer(200, partly))

    assert len(sent) == 1
    assert [each.ok for each in result.steps] == [True, False]
    assert result.steps[1].error is not None
    assert (result.steps[1].error.code, result.steps[1].error.retryable) == ("RATE_LIMIT", True)


def test_changes_that_were_answered_with_nothing_are_not_made_again() -> None:
    result, sent = anyio.run(two_comments, json_answer(200, {"data": None}))

    assert len(sent) == 1
    assert [each.error and each.error.code for each in result.steps] == ["SERVER", "SERVER"]
    assert not any(each.error and each.error.retryable for each in result.steps)


def test_changes_that_were_not_understood_are_made_one_by_one() -> None:
    refused = {"errors": [{"message": "no such field", "extensions": {"code": "undefinedField"}}]}
    added = json_answer(200, {"data": {"addComment": ADDED}})

    result, sent = anyio.run(two_comments, json_answer(200, refused), added, added)

    assert (result.status, len(sent)) == ("success", 3)


def test_reads_that_github_broke_at_together_are_made_one_by_one() -> None:
    wrong = json_answer(200, {"data": None, "errors": [{"message": "Something went wrong"}]})
    found = json_answer(200, {"data": {"repository": None}, "errors": [{"type": "NOT_FOUND", "message": "no"}]})
    steps = read_steps([{"task": "issue.view", "input": {**THIRD, "issueNumber": number}} for number in (1, 2)])

    async def run(url: str) -> ChainResult:
        async def at_once(_: float) -> None:
            pass

        async with GitHubClient(url, None, sleep=at_once) as client:
            return await run_chain(client, steps)

    with scripted_server([wrong, wrong, wrong, found, found]) as server:
        result = anyio.run(run, server.url)

    assert [each.error and each.error.code for each in result.steps] == ["NOT_FOUND", "NOT_FOUND"]
    assert len({json.dumps(request.decode()) for request in server.requests}) == 3
