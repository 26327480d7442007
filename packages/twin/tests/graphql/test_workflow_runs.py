"""Workflow runs behind the checks of a commit."""

from graphql_world import Town

from ghx_twin.commands.actions import checks, workflow_runs
from ghx_twin.state.records import WorkflowRun

_SELECTION = (
    '{ repository(owner: "acme", name: "widgets") { pullRequest(number: 7) { commits(last: 1) { nodes { commit { '
    "statusCheckRollup { state contexts(first: 9) { nodes { ... on CheckRun { databaseId name status conclusion url "
    "detailsUrl checkSuite { status conclusion createdAt workflowRun { id databaseId runNumber event url "
    "checkSuite { status } workflow { id name state resourcePath } } } } } } } } } } } } }"
)


def jobs(town: Town, query: str = _SELECTION) -> list[dict]:
    shown = town.ask(query).data
    rollup = shown["repository"]["pullRequest"]["commits"]["nodes"][0]["commit"]["statusCheckRollup"]
    return [one for one in rollup["contexts"]["nodes"] if one]


def test_a_job_leads_to_its_run_and_workflow(town: Town) -> None:
    (run,) = town.world.database.all(WorkflowRun)

    (job,) = jobs(town)

    page = f"https://github.com/acme/widgets/actions/runs/{run.id}"
    assert job["url"] == job["detailsUrl"] == f"{page}/job/{job['databaseId']}"
    suite = job["checkSuite"]
    assert (suite["status"], suite["conclusion"], suite["createdAt"]) == ("COMPLETED", "SUCCESS", run.created_at)
    shown = suite["workflowRun"]
    assert (shown["databaseId"], shown["runNumber"], shown["event"]) == (run.id, 1, "pull_request")
    assert (shown["url"], shown["checkSuite"]) == (page, {"status": "COMPLETED"})
    assert (shown["workflow"]["name"], shown["workflow"]["state"]) == ("CI", "ACTIVE")
    assert shown["workflow"]["resourcePath"] == "/acme/widgets/actions/workflows/ci.yml"


def test_runs_and_workflows_are_nodes(town: Town) -> None:
    shown = jobs(town)[0]["checkSuite"]["workflowRun"]
    for identity, kind in ((shown["id"], "WorkflowRun"), (shown["workflow"]["id"], "Workflow")):
        answer = town.ask("query($id: ID!) { node(id: $id) { __typename id } }", {"id": identity})
        assert answer.data["node"] == {"__typename": kind, "id": identity}


def test_only_the_latest_attempt_is_in_the_rollup(town: Town) -> None:
    (run,) = town.world.database.all(WorkflowRun)
    before = jobs(town)[0]["databaseId"]
    with town.acting("octo") as act:
        workflow_runs.rerun(act, run)

    (job,) = jobs(town)

    assert job["databaseId"] != before
    assert (job["status"], job["conclusion"]) == ("QUEUED", None)
    assert (job["checkSuite"]["status"], job["checkSuite"]["conclusion"]) == ("QUEUED", None)


def test_a_check_of_a_tool_has_a_suite_without_a_run(town: Town) -> None:
    with town.acting("octo") as act:
        checks.create_check_run(act, town.repository, sha=town.pull().head_sha, name="lint", conclusion="failure")

    lint = jobs(town)[-1]

    assert (lint["name"], lint["detailsUrl"], lint["checkSuite"]["workflowRun"]) == ("lint", None, None)
    assert (lint["checkSuite"]["status"], lint["checkSuite"]["conclusion"]) == ("COMPLETED", "FAILURE")


_SUITES = (
    '{ repository(owner: "acme", name: "widgets") { pullRequest(number: 7) { commits(last: 1) { nodes { commit { '
    "checkSuites(first: 9%s) { totalCount nodes { id databaseId status url branch { name } creator { login } "
    "checkRuns(first: 9%s) { nodes { name conclusion } } } } } } } } } }"
)


def suites(town: Town, which: str = "", runs: str = "") -> list[dict]:
    shown = town.ask(_SUITES % (which, runs)).data
    return shown["repository"]["pullRequest"]["commits"]["nodes"][0]["commit"]["checkSuites"]["nodes"]


def test_the_suites_of_a_commit_are_its_runs_and_the_checks_of_tools(town: Town) -> None:
    (run,) = town.world.database.all(WorkflowRun)
    with town.acting("octo") as act:
        lint = checks.create_check_run(
            act, town.repository, sha=town.pull().head_sha, name="lint", conclusion="failure"
        )
        workflow_runs.rerun(act, run)

    of_run, alone = suites(town)

    assert (of_run["databaseId"], of_run["status"], len(of_run["checkRuns"]["nodes"])) == (run.id, "QUEUED", 1)
    assert of_run["url"] == f"https://github.com/acme/widgets/actions/runs/{run.id}"
    assert (alone["databaseId"], alone["creator"], alone["branch"]) == (lint.id, None, None)
    assert alone["checkRuns"]["nodes"] == [{"name": "lint", "conclusion": "FAILURE"}]
    for suite in (of_run, alone):
        answer = town.ask("query($id: ID!) { node(id: $id) { ... on CheckSuite { id } } }", {"id": suite["id"]})
        assert answer.data["node"] == {"id": suite["id"]}
    assert [each["id"] for each in suites(town, ', filterBy: {checkName: "lint"}')] == [alone["id"]]
    assert [each["id"] for each in suites(town, ", filterBy: {appId: 15368}")] == [of_run["id"]]
    assert len(suites(town, runs=", filterBy: {checkType: ALL}")[0]["checkRuns"]["nodes"]) == 2
    assert suites(town, runs=", filterBy: {conclusions: [SUCCESS]}")[0]["checkRuns"]["nodes"] == []


def test_a_job_shows_its_annotations_and_steps(town: Town) -> None:
    asked = (
        "annotations(first: 5) { totalCount nodes { path message annotationLevel blobUrl title "
        "location { start { line column } end { line } } } } "
        "steps(first: 5) { nodes { name number status conclusion secondsToCompletion } } "
        "none: steps(first: 5, number: 2) { totalCount }"
    )
    query = _SELECTION.replace("detailsUrl", f"detailsUrl {asked}")
    (job,) = jobs(town, query)

    (annotation,) = job["annotations"]["nodes"]
    assert (annotation["path"], annotation["message"], annotation["annotationLevel"]) == (
        "poem.txt",
        "Too long",
        "NOTICE",
    )
    assert annotation["location"] == {"start": {"line": 2, "column": None}, "end": {"line": 2}}
    assert annotation["blobUrl"].endswith("/poem.txt")
    assert job["steps"]["nodes"] == [
        {"name": "Set up job", "number": 1, "status": "COMPLETED", "conclusion": "SUCCESS", "secondsToCompletion": 0}
    ]
    assert job["none"]["totalCount"] == 0
