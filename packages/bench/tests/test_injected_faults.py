"""A scenario asks for faults: its agent meets them in each attempt, the bench does not, and rows tell them apart."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from bench_command import agent_that_runs, fork_ghx_bench, rows_of, run_in, write_files
from eval_stage import ISSUE, agent_on, checkpoint, handles_of, lifecycle_for, scenario, scored, staged

from ghx_bench.fixtures.embedded import AGENT, MAINTAINER
from ghx_bench.scenario.binding import BindingError
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_bench.scoring.github_collectors import JournalCollector
from ghx_profiler.testing import sample_evidence
from ghx_tools.capabilities.errors import CapabilityError

pytestmark = pytest.mark.anyio

PATH = "/repos/{{repo}}/issues/{{issue_number}}"
OPEN = checkpoint("issue.view", ISSUE, {"type": "field_equals", "path": "state", "value": "OPEN"})


def faulty(*faults: Any, allowed: Sequence[str] | None = None) -> EvalScenario:
    extensions = {"targets": ["twin"], "faults": list(faults)}
    return scenario(OPEN, extensions=extensions if allowed is None else {**extensions, "allowedChanges": list(allowed)})


async def test_the_agent_meets_the_faults_of_its_scenario_and_the_bench_does_not() -> None:
    task = faulty({"status": 404, "path": PATH, "name": "hidden"}, {"status": 502, "method": "DELETE"})
    lifecycle = lifecycle_for(task)
    async with lifecycle.run(Path("run")), staged(lifecycle, task) as stage:
        number = handles_of(stage).bindings["issue_number"]
        async with agent_on(stage) as client:
            with pytest.raises(CapabilityError):
                await client.get(f"/repos/{stage.facts['repo']}/issues/{number}")
            await client.get("/user")
        numbers = {each.name: each.value for each in JournalCollector().collect(sample_evidence(stage=stage))}
        score = await scored(stage)
        activity = stage.observe() if stage.observe else None

    assert score.success
    assert [numbers[each] for each in ("api_calls", "api_faults", "api_rest_faults", "api_git_faults")] == [2, 1, 1, 0]
    assert activity is not None
    assert [each.fault for each in activity.requests] == ["status (hidden)", None]
    assert activity.faults_not_met == ("status (2)",)


async def test_every_attempt_begins_with_all_faults() -> None:
    task = faulty({"status": 404, "times": 1})
    lifecycle = lifecycle_for(task)
    async with lifecycle.run(Path("run")):
        for _ in range(2):
            async with staged(lifecycle, task) as stage, agent_on(stage) as client:
                with pytest.raises(CapabilityError):
                    await client.get("/user")
                assert (await client.get("/user")).status == 200


async def test_what_somebody_else_changes_meanwhile_is_not_the_agents() -> None:
    change = {"actor": MAINTAINER, "method": "PATCH", "path": PATH, "body": {"title": "Now {{issue_number}}"}}
    task = faulty({"path": PATH, "method": "GET", "skip": 1, "times": 1, "change": change}, allowed=["comments"])
    lifecycle = lifecycle_for(task)
    async with lifecycle.run(Path("run")), staged(lifecycle, task) as stage:
        number = handles_of(stage).bindings["issue_number"]
        async with agent_on(stage) as client:
            seen = [(await client.get(f"/repos/{stage.facts['repo']}/issues/{number}")).data["title"] for _ in range(2)]
        score = await scored(stage)
        activity = stage.observe() if stage.observe else None

    assert seen[0] != seen[1] == f"Now {number}"
    assert score.success
    assert activity is not None
    assert (activity.changes, len(activity.requests)) == ((), 2)


@pytest.mark.parametrize(
    ("actor", "complaint"),
    [
        ("nobody-here", "/extensions/faults/0/change: this world has no user 'nobody-here'"),
        (AGENT, f"/extensions/faults/0/change: {AGENT} is the agent, who would be blamed for the change"),
    ],
)
async def test_a_change_that_somebody_else_could_not_make_is_refused_before_the_first_cell(
    actor: str, complaint: str
) -> None:
    task = faulty({"change": {"actor": actor, "method": "PATCH", "path": PATH, "body": {"title": "x"}}})
    with pytest.raises(BindingError, match=complaint):
        async with lifecycle_for(task).run(Path("run")):
            pass


async def test_a_placeholder_without_a_value_is_refused() -> None:
    with pytest.raises(BindingError, match="/extensions/faults/0/path"):
        async with lifecycle_for(faulty({"status": 500, "path": "/repos/{{repository}}"})).run(Path("run")):
            pass


LACKING = agent_that_runs(
    """
import json, os, urllib.request
headers = {"Authorization": "token " + os.environ["GITHUB_TOKEN"]}
body = json.dumps({"query": "{ viewer { sponsorsActivities(first: 1) { totalCount } } }"}).encode()
for url, data in (("gists", None), ("gists", None), ("graphql", body)):
    try:
        urllib.request.urlopen(urllib.request.Request("https://api.github.com/" + url, data, headers))
    except OSError:
        pass
""",
    answer="That is not there.",
)


def test_what_a_session_asked_for_and_is_not_there_is_on_its_row_and_wherever_that_is_shown(tmp_path: Path) -> None:
    write_files(tmp_path, {"lacking.py": LACKING})
    words = ("--mode", "baseline", "--scenario", "issue-triage-001", "--repetitions", "1", "--skip-warmup")

    fork_ghx_bench(tmp_path, "run", "--agent", "lacking.py", *words)

    directory = run_in(tmp_path)
    [row] = rows_of(directory)
    assert row.not_implemented == {"GET /gists": 2, "User.sponsorsActivities": 1}
    assert row.known_metrics["not_implemented"] == 3
    shown = fork_ghx_bench(tmp_path, "show", str(directory), "baseline/issue-triage-001/0").stdout
    assert "  not implemented: GET /gists (2), User.sponsorsActivities (1)\n" in shown
    [page] = directory.glob("report/sessions/**/0.html")
    assert "GET /gists (2)" in page.read_text()
    assert "<td>User.sponsorsActivities</td>" in (directory / "report" / "index.html").read_text()


def test_a_cell_is_shown_with_the_faults_that_were_met_and_those_that_were_not(tmp_path: Path) -> None:
    task = faulty({"status": 502, "path": "/gists", "name": "down"}, {"status": 502, "path": "/user"})
    write_files(tmp_path, {"lacking.py": LACKING, f"scenarios/{task.id}.json": json.dumps(task.to_wire())})
    words = ("--mode", "baseline", "--scenario", task.id, "--repetitions", "1", "--skip-warmup")

    fork_ghx_bench(tmp_path, "run", "--agent", "lacking.py", *words)

    shown = fork_ghx_bench(tmp_path, "show", str(run_in(tmp_path)), f"baseline/{task.id}/0").stdout
    assert "fault status (down): met by 2 requests\n" in shown
    assert "fault status (2): scripted, and met by no request\n" in shown
    [page] = run_in(tmp_path).glob("report/sessions/**/0.html")
    assert "Scripted faults that no request met: status (2)." in page.read_text()
