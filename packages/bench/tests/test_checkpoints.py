"""Checkpoints asked of a real embedded GitHub: what was done, what was not, and what cannot be known."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from eval_stage import (
    ISSUE,
    MODE,
    REPOSITORY,
    agent_on,
    checkpoint,
    handles_of,
    lifecycle_for,
    scenario,
    scored,
    staged,
    with_observer,
)
from hypothesis import given
from hypothesis import strategies as st
from profiler_fakes import FakeProvider

from ghx_bench.checking.scenario_rules import Known, scenario_errors, scenario_warnings
from ghx_bench.fixtures.embedded import MAINTAINER
from ghx_bench.scenario.allowed_changes import (
    COLLATERAL_CHECKPOINT,
    KINDS,
    PRIVATE_FIELDS,
    PRIVATE_TABLES,
    fits,
    public_name,
)
from ghx_bench.scenario.binding import BindingError
from ghx_bench.scoring.checkpoints import CheckpointScorer, UnreadableStateError
from ghx_bench.stages.twin_stage import TwinLifecycle
from ghx_profiler.evidence import Stage
from ghx_profiler.records.causes import Cause
from ghx_profiler.records.outcome import Failed
from ghx_profiler.records.score import CheckpointDetail, Score
from ghx_profiler.runner.instruments import Instruments
from ghx_profiler.runner.iteration import Task, measure
from ghx_profiler.testing import sample_cell
from ghx_tools.capabilities.client import GitHubClient, RetryPolicy
from ghx_tools.capabilities.environment import client_from_environment
from ghx_tools.capabilities.transports.plain import PlainTransport
from ghx_twin.commands.actions import progress, starting, workflows
from ghx_twin.faults import Fault
from ghx_twin.queries import lookup
from ghx_twin.queries.actions.workflow_files import JobDefinition
from ghx_twin.state.records import RECORDS, CheckRun, Repository
from ghx_twin.viewer import Viewer

pytestmark = pytest.mark.anyio

LABELLED = checkpoint("issue.view", ISSUE, {"type": "contains_item", "path": "labels", "value": "bug"}, "labelled")
IS_OPEN = checkpoint("issue.view", ISSUE, {"type": "field_equals", "path": "state", "value": "OPEN"}, "open")
NO_RETRIES = RetryPolicy(attempts=1)


@pytest.fixture(scope="module")
async def lifecycle(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[TwinLifecycle]:
    lifecycle = lifecycle_for(scenario())
    async with lifecycle.run(tmp_path_factory.mktemp("run")):
        yield lifecycle


async def on_issue(stage: Stage[Any], method: str, path: str, body: Mapping[str, Any]) -> Any:
    """Change the issue as the agent."""
    bindings = handles_of(stage).bindings
    client = agent_on(stage)
    return (
        await getattr(client, method)(f"/repos/{bindings['repo']}/issues/{bindings['issue_number']}{path}", body)
    ).data


def by_id(score: Score) -> dict[str, CheckpointDetail]:
    return {each.id: each for each in score.checkpoints}


async def test_a_checkpoint_passes_once_the_agent_has_done_what_it_asks(lifecycle: TwinLifecycle) -> None:
    async with staged(lifecycle, scenario(LABELLED, IS_OPEN)) as stage:
        before = await scored(stage)
        await on_issue(stage, "post", "/labels", {"labels": ["bug"]})
        after = await scored(stage)

    assert not before.success
    assert [each.passed for each in before.checkpoints] == [False, True]
    assert after.success
    assert by_id(after)["labelled"].expected == 'labels contains item "bug"'
    assert by_id(after)["labelled"].actual["labels"] == ["bench-fixture", "bug"]  # type: ignore[index, call-overload]


async def test_runs_have_ended_before_anything_is_asked(lifecycle: TwinLifecycle) -> None:
    async with staged(lifecycle, scenario(IS_OPEN)) as stage:
        world = handles_of(stage).world
        assert world is not None
        maintainer = lookup.user(world, MAINTAINER)
        with world.acting(Viewer(user=maintainer, unrestricted=True)) as act:
            home = world.database.all(Repository)[0]
            workflow = workflows.create_or_update(act, home, name="CI")
            workflow = act.database.update(workflow, script={"jobs": {}})
            sha = world.git(home).ref(f"refs/heads/{home.default_branch}") or ""
            run = starting.insert_run(act, workflow, sha=sha, event="push", title="Push")
            starting.queue_jobs(act, run, starting.insert_attempt(act, run), [JobDefinition(key="a", name="a")])
        assert progress.is_pending(world)
        await scored(stage)

        assert [job.conclusion for job in world.database.all(CheckRun, name="a")] == ["success"]


async def test_what_is_not_there_is_a_failed_checkpoint_that_says_so(lifecycle: TwinLifecycle) -> None:
    missing = checkpoint("issue.view", {**REPOSITORY, "issueNumber": 999}, {"type": "non_empty"}, "missing")
    async with staged(lifecycle, scenario(missing, IS_OPEN)) as stage:
        score = await scored(stage)

    assert [each.passed for each in score.checkpoints] == [False, True]
    assert (score.checkpoints[0].error or "").startswith("NOT_FOUND: ")
    assert score.checkpoints[0].expected == "non-empty result"


async def test_a_later_checkpoint_uses_what_an_earlier_one_returned(lifecycle: TwinLifecycle) -> None:
    listed = checkpoint("issue.list", REPOSITORY, {"type": "non_empty"}, "listed")
    number = {**REPOSITORY, "issueNumber": "{{checkpoints.listed.items.0.number}}"}
    title = {"type": "field_equals", "path": "title", "value": "{{checkpoints.listed.items.0.title}}"}
    async with staged(lifecycle, scenario(listed, checkpoint("issue.view", number, title, "same"))) as stage:
        score = await scored(stage)

    assert score.success
    assert "{{" not in str(by_id(score)["same"].expected)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("items.7.number", "checkpoint 'listed' returned nothing at 'items.7.number'"),
        ("items.0.title", "VALIDATION: issue.view: issueNumber: expected an integer"),
    ],
)
async def test_a_checkpoint_that_an_earlier_one_left_without_input_has_failed(
    path: str, reason: str, lifecycle: TwinLifecycle
) -> None:
    listed = checkpoint("issue.list", REPOSITORY, {"type": "non_empty"}, "listed")
    number = {**REPOSITORY, "issueNumber": f"{{{{checkpoints.listed.{path}}}}}"}
    later = checkpoint("issue.view", number, {"type": "non_empty"}, "later")
    async with staged(lifecycle, scenario(listed, later, IS_OPEN)) as stage:
        score = await scored(stage)

    assert [each.passed for each in score.checkpoints] == [True, False, True]
    assert reason in (by_id(score)["later"].error or "")


async def test_a_reference_to_a_checkpoint_that_found_nothing_has_failed_too(lifecycle: TwinLifecycle) -> None:
    missing = checkpoint("issue.view", {**REPOSITORY, "issueNumber": 999}, {"type": "non_empty"}, "missing")
    number = {**REPOSITORY, "issueNumber": "{{checkpoints.missing.number}}"}
    later = checkpoint("issue.view", number, {"type": "non_empty"}, "later")
    async with staged(lifecycle, scenario(missing, later)) as stage:
        score = await scored(stage)

    assert [each.passed for each in score.checkpoints] == [False, False]
    assert "nothing is known of {{checkpoints.missing.number}}" in (score.checkpoints[1].error or "")


async def test_a_refused_token_says_nothing_about_the_agent(lifecycle: TwinLifecycle) -> None:
    async with staged(lifecycle, scenario(IS_OPEN)) as stage:
        nobody = {**stage.environment, "GH_TOKEN": "ghp_nobody"}
        blind = with_observer(stage, lambda: client_from_environment(nobody))
        with pytest.raises(UnreadableStateError, match=r"checkpoint open: issue\.view: AUTH: "):
            await scored(blind)


@pytest.mark.parametrize("status", [405, 409, 410, 422])
async def test_a_refusal_about_what_the_agent_left_behind_is_a_failed_checkpoint(
    status: int, lifecycle: TwinLifecycle
) -> None:
    async with staged(lifecycle, scenario(IS_OPEN)) as stage:
        world = handles_of(stage).world
        assert world is not None
        world.faults.add(Fault(status=status, message="This issue was deleted"))
        # As the agent: the bench's own observer meets no fault.
        score = await scored(with_observer(stage, lambda: client_from_environment(stage.environment)))

    assert [each.passed for each in score.checkpoints] == [False]
    assert "This issue was deleted" in (score.checkpoints[0].error or "")


async def test_a_connection_that_breaks_says_nothing_and_keeps_what_was_found_before(lifecycle: TwinLifecycle) -> None:
    async with staged(lifecycle, scenario(IS_OPEN, LABELLED)) as stage:
        world = handles_of(stage).world
        assert world is not None
        world.faults.add(Fault(surface="graphql", status=502, skip=1))
        token = stage.environment["GITHUB_TOKEN"]
        transport = PlainTransport(socket_path=stage.environment["GHX_UNIX_SOCKET"])
        observer = with_observer(
            stage, lambda: GitHubClient("https://api.github.com", token, transport=transport, retries=NO_RETRIES)
        )
        with pytest.raises(UnreadableStateError, match=r"checkpoint labelled: issue\.view: SERVER: ") as raised:
            await scored(observer)

    assert [(each.id, each.passed) for each in raised.value.checkpoints] == [("open", True)]


async def test_nobody_at_the_other_end_says_nothing(lifecycle: TwinLifecycle) -> None:
    async with staged(lifecycle, scenario(IS_OPEN)) as stage:
        away = with_observer(stage, lambda: GitHubClient("http://127.0.0.1:9", "t", retries=NO_RETRIES))
        with pytest.raises(UnreadableStateError, match="NETWORK"):
            await scored(away)


@pytest.mark.parametrize(
    ("task", "given", "reason"),
    [
        ("issue.view", {**REPOSITORY, "issueNumber": "many"}, "issueNumber: expected an integer"),
        ("issue.view", {**ISSUE, "colour": "red"}, "unknown input 'colour'"),
        ("issue.paint", ISSUE, "no capability 'issue.paint'"),
    ],
)
async def test_an_input_that_no_capability_takes_is_the_scenarios_mistake(
    task: str, given: dict[str, Any], reason: str, lifecycle: TwinLifecycle
) -> None:
    async with staged(lifecycle, scenario(checkpoint(task, given, {"type": "non_empty"}))) as stage:
        with pytest.raises(UnreadableStateError, match=reason):
            await scored(stage)


CLOSING = checkpoint("issue.close", ISSUE, {"type": "non_empty"}, "closing")
CLOSES = (
    "scenario staged-001: /assertions/checkpoints/1/task: issue.close changes GitHub; "
    "a checkpoint may only look: did you mean 'issue.view'?"
)


async def test_a_checkpoint_that_would_change_github_is_refused_before_any_cell(tmp_path: Path) -> None:
    lifecycle = lifecycle_for(scenario(IS_OPEN, CLOSING))

    with pytest.raises(BindingError) as caught:
        async with lifecycle.run(tmp_path):
            pytest.fail("no cell may start")

    assert str(caught.value) == CLOSES


async def test_the_scorer_makes_no_checkpoint_of_a_scenario_with_one_that_would_change_github(
    lifecycle: TwinLifecycle,
) -> None:
    async with staged(lifecycle, scenario(IS_OPEN)) as stage:
        unbound = scenario(IS_OPEN, CLOSING)
        checkpoints = (*stage.scenario.assertions.checkpoints, *unbound.assertions.checkpoints[1:])
        assertions = stage.scenario.assertions.model_copy(update={"checkpoints": checkpoints})
        changing = replace(stage, scenario=stage.scenario.model_copy(update={"assertions": assertions}))

        with pytest.raises(BindingError) as caught:
            await scored(changing)

        assert str(caught.value) == CLOSES
        assert (await scored(stage)).success


async def test_a_cell_that_cannot_be_scored_is_not_measured_and_the_scorer_is_to_blame(
    lifecycle: TwinLifecycle,
) -> None:
    bad = scenario(IS_OPEN, checkpoint("issue.view", {**ISSUE, "colour": "red"}, {"type": "non_empty"}, "bad"))
    instruments = Instruments(provider=FakeProvider(), scorer=CheckpointScorer(), lifecycle=lifecycle)
    cell = sample_cell(agent=FakeProvider.name, scenario_id=bad.id)
    outcome = await measure(Task(cell=cell, scenario=bad, mode=MODE, instruments=instruments))

    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.SCORER
    assert isinstance(outcome.error, UnreadableStateError)
    assert outcome.evidence is not None
    assert outcome.evidence.trace is not None


def custom(**params: Any) -> dict[str, Any]:
    return checkpoint("issue.view", ISSUE, {"type": "custom", "scorer": "mine", "params": params})


async def test_a_custom_scorer_is_given_the_output_and_its_parameters_with_variables_replaced(
    lifecycle: TwinLifecycle,
) -> None:
    given: list[Any] = []

    def mine(data: Any, params: Mapping[str, Any]) -> bool:
        given.append((data["number"], params))
        return True

    async with staged(lifecycle, scenario(custom(number="{{issue_number}}"))) as stage:
        score = await scored(stage, {"mine": mine})
        number = handles_of(stage).bindings["issue_number"]

    assert score.success
    assert given == [(number, {"number": number})]


def breaks(_data: Any, _params: Mapping[str, Any]) -> bool:
    raise KeyError("state")


@pytest.mark.parametrize(
    ("scorers", "reason"),
    [
        ({"mine": breaks}, "checkpoint check: custom scorer 'mine' failed: KeyError: 'state'"),
        ({"mine": lambda _data, _params: "yes"}, "custom scorer 'mine' returned 'yes'"),
        ({"other": lambda _data, _params: True}, "no custom scorer 'mine'"),
    ],
)
async def test_a_custom_scorer_that_misbehaves_leaves_the_cell_unscored(
    scorers: dict[str, Any], reason: str, lifecycle: TwinLifecycle
) -> None:
    async with staged(lifecycle, scenario(custom())) as stage:
        with pytest.raises(UnreadableStateError, match=reason):
            await scored(stage, scorers)


async def test_what_the_agent_may_change_is_no_damage_and_the_rest_is_named(lifecycle: TwinLifecycle) -> None:
    allowed = ["created comments {{repo}}#{{issue_number}} *"]
    async with staged(lifecycle, scenario(IS_OPEN, allowed=allowed)) as stage:
        await on_issue(stage, "post", "/comments", {"body": "Done."})
        harmless = await scored(stage)
        await on_issue(stage, "patch", "", {"title": "Another title"})
        await on_issue(stage, "post", "/labels", {"labels": ["bug"]})
        harmful = await scored(stage)
        repo, number = (handles_of(stage).bindings[each] for each in ("repo", "issue_number"))

    assert harmless.success
    assert by_id(harmless)[COLLATERAL_CHECKPOINT].passed
    assert not harmful.success
    assert by_id(harmful)[COLLATERAL_CHECKPOINT].actual == [
        f"changed issues.title {repo}#{number}",
        f"created issue_labels {repo}#{number} label bug",
    ]


async def test_a_damage_is_told_in_the_words_of_the_pattern_that_allows_it(lifecycle: TwinLifecycle) -> None:
    async with staged(lifecycle, scenario(IS_OPEN, allowed=[])) as stage:
        await on_issue(stage, "patch", "", {"title": "Another title", "state": "closed", "assignees": ["bench-agent"]})
        told = by_id(await scored(stage))[COLLATERAL_CHECKPOINT].actual
        forgiven = stage.scenario.model_copy(update={"extensions": {"allowedChanges": told}})
        again = await scored(Stage(scenario=forgiven, handles=stage.handles))

    assert isinstance(told, list)
    assert len(told) >= 3
    assert by_id(again)[COLLATERAL_CHECKPOINT].passed


async def test_only_the_agent_does_damage(lifecycle: TwinLifecycle) -> None:
    async with staged(lifecycle, scenario(IS_OPEN, allowed=[])) as stage:
        repo, number = (handles_of(stage).bindings[each] for each in ("repo", "issue_number"))
        async with handles_of(stage).observer() as maintainer:
            await maintainer.post(f"/repos/{repo}/issues/{number}/comments", {"body": "Actual."})
        score = await scored(stage)

    assert score.success


async def test_a_scenario_that_does_not_say_allows_everything(lifecycle: TwinLifecycle) -> None:
    async with staged(lifecycle, scenario(IS_OPEN)) as stage:
        await on_issue(stage, "patch", "", {"title": "Another title"})
        score = await scored(stage)

    assert [each.id for each in score.checkpoints] == ["open"]


THREADS = """
query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) { id reviewThreads(first: 1) { nodes { id } } }
  }
}
"""
REPLY = """
mutation($thread: ID!) {
  addPullRequestReviewThreadReply(input: {pullRequestReviewThreadId: $thread, body: "Like this."}) { comment { id } }
}
"""
REVIEW = "mutation($pull: ID!) { addPullRequestReview(input: {pullRequestId: $pull}) { pullRequestReview { id } } }"


async def test_what_github_writes_down_by_itself_is_no_damage(lifecycle: TwinLifecycle) -> None:
    """A reply brings a review around it, an event, and a new time of the last change."""
    allowed = ["review_comments {{repo}}#{{pr_number}} thread *"]
    async with staged(lifecycle, scenario(IS_OPEN, allowed=allowed)) as stage:
        client, bound = agent_on(stage), handles_of(stage).bindings
        where = {"owner": bound["owner"], "name": bound["repo_name"], "number": bound["pr_number"]}
        pull = (await client.graphql(THREADS, where))["repository"]["pullRequest"]
        await client.graphql(REPLY, {"thread": pull["reviewThreads"]["nodes"][0]["id"]})
        harmless = await scored(stage)
        await client.graphql(REVIEW, {"pull": pull["id"]})  # pending: begun, and left lying about
        harmful = await scored(stage)

    assert harmless.success, by_id(harmless)[COLLATERAL_CHECKPOINT].actual
    assert not by_id(harmful)[COLLATERAL_CHECKPOINT].passed


async def test_a_branch_that_was_pushed_is_damage_unless_it_is_allowed(lifecycle: TwinLifecycle) -> None:
    async with staged(lifecycle, scenario(IS_OPEN, allowed=["refs {{repo}} refs/heads/mine-*"])) as stage:
        client, repo = agent_on(stage), handles_of(stage).bindings["repo"]
        sha = (await client.get(f"/repos/{repo}/git/ref/heads/main")).data["object"]["sha"]
        await client.post(f"/repos/{repo}/git/refs", {"ref": "refs/heads/mine-1", "sha": sha})
        harmless = await scored(stage)
        await client.post(f"/repos/{repo}/git/refs", {"ref": "refs/heads/other", "sha": sha})
        harmful = await scored(stage)

    assert harmless.success
    assert by_id(harmful)[COLLATERAL_CHECKPOINT].actual == [f"created refs {repo} refs/heads/other"]


@pytest.mark.parametrize("is_allowed", [True, False])
async def test_the_head_of_a_pull_request_follows_its_branch(lifecycle: TwinLifecycle, is_allowed: bool) -> None:
    allowed = ["refs {{repo}} *"] if is_allowed else ["refs {{repo}} refs/heads/other"]
    async with staged(lifecycle, scenario(IS_OPEN, allowed=allowed)) as stage:
        client, bound = agent_on(stage), handles_of(stage).bindings
        pull = f"{bound['repo']}#{bound['pr_number']}"
        branch = (await client.get(f"/repos/{bound['repo']}/pulls/{bound['pr_number']}")).data["head"]["ref"]
        body = {"message": "Add it", "content": "aGk=", "branch": branch}
        await client.put(f"/repos/{bound['repo']}/contents/added.txt", body)
        damage = by_id(await scored(stage))[COLLATERAL_CHECKPOINT].actual

    assert isinstance(damage, list)
    if is_allowed:
        assert damage == []
    else:
        assert {f"changed pulls.head_sha {pull}", f"changed refs {bound['repo']} refs/heads/{branch}"} <= {*damage}


async def test_a_pattern_may_name_what_a_checkpoint_returned(lifecycle: TwinLifecycle) -> None:
    made = checkpoint("search.issues", {"query": "repo:{{repo}} Made"}, {"type": "count_eq", "value": 1}, "made")
    allowed = ["created issues {{repo}}#{{checkpoints.made.items.0.number}}"]
    async with staged(lifecycle, scenario(made, allowed=allowed)) as stage:
        client, repo = agent_on(stage), handles_of(stage).bindings["repo"]
        nothing = await scored(stage)
        asked_for = (await client.post(f"/repos/{repo}/issues", {"title": "Made"})).data["number"]
        harmless = await scored(stage)
        other = (await client.post(f"/repos/{repo}/issues", {"title": "Another"})).data["number"]
        harmful = await scored(stage)

    assert [by_id(each)[COLLATERAL_CHECKPOINT].actual for each in (nothing, harmless)] == [[], []]
    assert harmless.success
    assert by_id(harmful)[COLLATERAL_CHECKPOINT].actual == [f"created issues {repo}#{other}"]
    assert asked_for != other


async def test_a_pattern_covers_nothing_where_the_checkpoint_returned_nothing(lifecycle: TwinLifecycle) -> None:
    made = checkpoint("search.issues", {"query": "repo:{{repo}} Made"}, {"type": "count_eq", "value": 1}, "made")
    allowed = ["created issues {{repo}}#{{checkpoints.made.items.0.number}}"]
    async with staged(lifecycle, scenario(made, allowed=allowed)) as stage:
        repo = handles_of(stage).bindings["repo"]
        await agent_on(stage).post(f"/repos/{repo}/issues", {"title": "Another"})
        score = await scored(stage)

    assert not by_id(score)[COLLATERAL_CHECKPOINT].passed


async def test_attempts_are_scored_at_the_same_time_without_seeing_each_other(lifecycle: TwinLifecycle) -> None:
    scores: dict[int, Score] = {}

    async def attempt(number: int) -> None:
        async with staged(lifecycle, scenario(LABELLED, allowed=["issue_labels"]), iteration=number) as stage:
            if number % 2:
                await on_issue(stage, "post", "/labels", {"labels": ["bug"]})
            scores[number] = await scored(stage)

    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(attempt, number)

    assert {number: score.success for number, score in scores.items()} == {each: bool(each % 2) for each in range(6)}


@pytest.mark.parametrize(
    ("pattern", "change", "what", "name", "covers"),
    [
        ("comments", "created", "comments", "a/b#1 comment 3", True),
        ("comments", "created", "review_comments", "a/b#1 comment 3", False),
        ("issues", "changed", "issues.state", "a/b#1", True),
        ("issues.state", "changed", "issues.state", "a/b#1", True),
        ("issues.state", "created", "issues", "a/b#1", False),
        ("issues.*", "changed", "issues.title", "a/b#1", True),
        ("issues.*", "created", "issues", "a/b#1", False),
        ("issues.state a/b#1", "changed", "issues.state", "a/b#12", False),
        ("comments a/b#1 *", "created", "comments", "a/b#1 comment 3", True),
        ("comments a/b#1 *", "created", "comments", "a/b#12 comment 3", False),
        ("created issues", "changed", "issues.state", "a/b#1", False),
        ("created  issues  a/b#*", "created", "issues", "a/b#1", True),
        ("refs a/b refs/heads/fix-*", "changed", "refs", "a/b refs/heads/fix-1", True),
        ("refs a/b refs/heads/fix-[1]", "changed", "refs", "a/b refs/heads/fix-1", False),
        ("*", "deleted", "labels", "a/b label bug", True),
        ("deleted *", "changed", "labels.name", "a/b label bug", False),
    ],
)
def test_a_pattern_covers_what_it_names(pattern: str, change: str, what: str, name: str, covers: bool) -> None:
    assert fits(pattern, change, what, name) is covers


@given(st.sampled_from(sorted(KINDS)), st.text(st.characters(exclude_characters="*"), min_size=1))
def test_a_name_covers_itself_and_nothing_longer(kind: str, name: str) -> None:
    name = " ".join(name.split()) or "x"

    assert fits(f"{kind} {name}", "changed", kind, name)
    assert not fits(f"{kind} {name}", "changed", kind, f"{name}x")
    assert fits(f"{kind} {name}*", "changed", kind, f"{name}x")


def told(allowed: object) -> list[str]:
    mistaken = scenario(IS_OPEN, allowed=allowed)
    known = Known(variables=("repo", "issue_number"))
    return [f"{each.tokens[-1]}: {each}" for each in scenario_errors(mistaken, known) if each.tokens[0] == "extensions"]


@pytest.mark.parametrize(
    ("allowed", "complaint"),
    [
        ("comments", "allowedChanges: expected a list, got the string 'comments'"),
        (["comments", 7], "1: expected a pattern, got the number 7"),
        (["  "], "0: expected a pattern"),
        (["review_comment"], "0: 'review_comment' is no kind of object on GitHub; did you mean 'review_comments'?"),
        (["created isues"], "0: 'isues' is no kind of object on GitHub; did you mean 'issues'?"),
        (["issues.stat"], "0: issues have no field 'stat'; did you mean 'state'?"),
        (["issues {{repo}}#{{issue_nmber}}"], "0: nothing is bound to {{issue_nmber}}; did you mean {{issue_number}}?"),
        (["issues {{re-po}}#7"], "0: {{re-po}} is not replaced; write {{repo}} for the variable"),
        (
            ["issues {{repo}}#{{checkpoints.opn.number}}"],
            "0: {{checkpoints.opn.number}} names no checkpoint of this scenario; did you mean 'open'?",
        ),
    ],
)
def test_a_pattern_that_can_cover_nothing_is_refused(allowed: object, complaint: str) -> None:
    assert [each for each in told(allowed) if each.startswith(complaint)], told(allowed)


@pytest.mark.parametrize("allowed", [None, [], ["*"], ["issues.author", "issues.*", "*.state", "deleted refs a/b *"]])
def test_a_pattern_that_may_cover_something_is_not(allowed: object) -> None:
    assert told(allowed) == []


def test_mistaken_patterns_are_found_with_the_rest_of_a_scenario() -> None:
    mistaken = scenario(IS_OPEN, allowed=["isues", "threads {{repo}}#{{pr_number}} *"])

    assert [each.tokens for each in scenario_errors(mistaken, Known())] == [("extensions", "allowedChanges", 0)]
    assert list(scenario_warnings(mistaken, Known(), solution=Path("none"))) == []  # pr_number is used by a pattern


def test_every_kind_and_field_of_a_difference_can_be_named_or_is_private_on_purpose() -> None:
    for record in RECORDS:
        yielded = {field.name.removesuffix("_id") for field in fields(record)}
        if record.table not in PRIVATE_TABLES:
            public = KINDS[public_name(record.table)].fields
            assert yielded <= public | PRIVATE_FIELDS, record.table
            assert public <= yielded, record.table


def test_every_kind_is_one_of_the_twins() -> None:
    assert {kind.table for kind in KINDS.values()} | PRIVATE_TABLES == {*(each.table for each in RECORDS), "refs"}


def test_nothing_private_is_only_a_leftover() -> None:
    assert {field.name.removesuffix("_id") for record in RECORDS for field in fields(record)} >= PRIVATE_FIELDS


@pytest.mark.parametrize("pattern", ["protections", "statuses.state", "created dependencies", "run_attempts.status"])
def test_names_of_version_0_1_are_still_understood(pattern: str) -> None:
    change, _, what = pattern.rpartition(" ")
    table, dot, field = what.partition(".")

    assert told([pattern]) == []
    assert fits(pattern, change or "changed", f"{public_name(table)}{dot}{field}", "a/b")


def test_a_key_of_extensions_that_is_probably_misspelt_is_doubted() -> None:
    doubted = scenario(IS_OPEN).model_copy(update={"extensions": {"allowedChange": ["*"], "mine": 1}})

    (doubt,) = scenario_warnings(doubted, Known(), solution=Path("none"))
    assert str(doubt) == "the bench reads no 'allowedChange' here; did you mean 'allowedChanges'?"
