"""What docs/seeds.md shows is a seed, and what it says of it is true."""

import re
from pathlib import Path

import pytest
from seeds import seed_of, world_of

from ghx_twin.commands.actions import progress
from ghx_twin.commands.repositories import refs
from ghx_twin.git.objects import RefUpdate
from ghx_twin.queries import lookup
from ghx_twin.queries.actions import workflow_runs
from ghx_twin.queries.apps import app_access
from ghx_twin.queries.issues.issue_relations import blocking_issues, sub_issues_of
from ghx_twin.queries.permissions import user_role
from ghx_twin.queries.projects import projects
from ghx_twin.queries.repositories.releases import latest_release
from ghx_twin.seed.building import SeedError
from ghx_twin.seed.document import WorldSeed
from ghx_twin.state.records import (
    Label,
    LinkedBranch,
    ProjectItem,
    ProjectItemValue,
    Ruleset,
    Step,
    Thread,
    Token,
    WorkflowRun,
)

PAGE = Path(__file__).parents[4] / "docs" / "seeds.md"


@pytest.fixture(scope="module")
def example() -> str:
    found = re.search(r"^```yaml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


def test_the_example_is_a_world(example: str) -> None:
    with world_of(example) as world:
        widgets = lookup.repository(world, None, "acme", "widgets")
        assert lookup.issue(world, widgets, 1).created_at == "2025-12-24T18:00:00Z"
        assert lookup.pull(world, widgets, 7).head_ref == "faster"
        assert [(thread.path, thread.line) for thread in world.database.all(Thread)] == [("src/widget.py", 2)]
        assert world.database.count(Label, repository_id=widgets.id) == 9
        assert user_role(world, lookup.user(world, "agent"), widgets) == "read"
        assert lookup.repository(world, None, "agent", "widgets").parent_id == widgets.id


def block_of(heading: str) -> str:
    """Return the YAML that a section of the page shows."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    (shown,) = re.findall(r"^```yaml\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    return shown


def with_section(example: str, heading: str) -> str:
    """Return the example with what a section of the page shows of a repository."""
    indented = "".join(f"    {line}\n" for line in block_of(heading).splitlines())
    return example.replace("    issues:\n", f"{indented}    issues:\n", 1)


def test_the_releases_that_are_shown_fit_the_example(example: str) -> None:
    with world_of(with_section(example, "Releases")) as world:
        home = lookup.repository(world, None, "acme", "widgets")
        latest = latest_release(world, home)
        assert latest is not None
        assert latest.tag_name == "v1.0.0"
        assert set(world.git(home).refs("refs/tags/")) == {"refs/tags/v1.0.0", "refs/tags/v1.1.0-rc1"}


def test_the_repeated_entries_that_are_shown_are_a_large_world(example: str) -> None:
    start, end = example.index("    issues:\n"), example.index("    pulls:\n")
    shown = with_section("    issues:\n", "Many of them").removesuffix("    issues:\n")
    with world_of(example[:start] + shown + example[end:].replace("number: 7", "number: 200")) as world:
        home = lookup.repository(world, None, "acme", "widgets")
        assert world.database.count(Label, repository_id=home.id) == 126
        last = lookup.issue(world, home, 320)
        assert (last.title, last.created_at) == ("Broken link on page 120", "2026-01-06T08:00:00Z")


def test_the_issues_that_are_shown_are_parts_blockers_and_duplicates(example: str) -> None:
    start = example.index("    issues:\n")
    shown = with_section("    issues:\n", "Issues and each other").removesuffix("    issues:\n")
    other = "  - {name: acme/gears, issues: [{number: 5, title: Elsewhere}]}\n"
    with world_of(example[:start] + shown + other) as world:
        home = lookup.repository(world, None, "acme", "widgets")
        whole, part, same = (lookup.issue(world, home, number) for number in (1, 2, 4))
        assert [one.number for one in sub_issues_of(world, whole)] == [3, 2]
        assert len(blocking_issues(world, part)) == 2
        assert same.duplicate_of_id == whole.id
        assert world.database.one(LinkedBranch, issue_id=whole.id, name="faster") is not None


def test_the_app_that_is_shown_is_installed_in_the_example(example: str) -> None:
    with world_of(example + block_of("GitHub Apps")) as world:
        token = world.database.one(Token, token="ghs_fixer")
        assert token is not None
        access = app_access(world, token)
        assert access is not None
        assert access.reaches(lookup.repository(world, None, "acme", "widgets"))
        assert lookup.user_by_id(world, token.user_id).login == "fixer[bot]"


def test_the_runs_that_are_shown_fit_the_example(example: str) -> None:
    with world_of(with_section(example, "Workflow runs")) as world:
        run = workflow_runs.run(world, lookup.repository(world, None, "acme", "widgets"), 101)
        latest = workflow_runs.latest_attempt(world, run)
        assert (latest.number, latest.status, run.head_branch) == (2, "in_progress", "faster")
        assert [(job.name, job.conclusion) for job in workflow_runs.jobs(world, latest)] == [
            ("build", "success"),
            ("test", None),
        ]


def test_the_script_that_is_shown_makes_the_run_red_until_the_cause_is_mended(example: str) -> None:
    files = (
        '      .github/workflows/ci.yml: "on: push\\njobs: {test: {steps: [{name: Run tests, run: pytest}]}}\\n"\n'
        '      tests/test_turn.py: "assert turn(90) == 180\\n"\n'
    )
    seed = with_section(example, "What runs do").replace("    files:\n", f"    files:\n{files}", 1)
    with world_of(seed) as world:
        widgets = lookup.repository(world, None, "acme", "widgets")
        run = workflow_runs.run(world, widgets, 102)
        (job,) = workflow_runs.jobs(world, workflow_runs.latest_attempt(world, run))
        assert job.conclusion == "failure"
        assert "assert 90 == 180" in (world.database.all(Step, job_id=job.id, name="Run tests")[0].log or "")
        mended = world.git(widgets).ref("refs/heads/faster")
        with world.acting(None) as act:
            act.git(widgets).set_ref("refs/heads/mended", mended)
            refs.record_push(act, widgets, [RefUpdate("refs/heads/mended", None, mended)])
        progress.finish(world)
        (run,) = world.database.all(WorkflowRun, head_sha=mended, event="push", head_branch="mended")
        assert workflow_runs.latest_attempt(world, run).conclusion == "success"


def test_the_project_that_is_shown_fits_the_example(example: str) -> None:
    with world_of(example + block_of("Projects")) as world:
        board = projects.find(world, None, lookup.organization(world, "acme"), 1)
        draft, issue = sorted(world.database.all(ProjectItem, project_id=board.id), key=lambda one: one.issue_id or 0)
        assert (issue.position < draft.position, draft.issue_id) == (True, None)
        assert world.database.count(ProjectItemValue, item_id=issue.id) == 4


def test_the_actors_that_are_shown_bypass_the_ruleset(example: str) -> None:
    with world_of(with_section(example, "Rulesets, environments, variables and caches")) as world:
        (shown,) = world.database.all(Ruleset)
        assert [actor["actor_type"] for actor in shown.bypass_actors] == [
            "RepositoryRole", "Team", "User", "OrganizationAdmin",
        ]  # fmt: skip


def test_the_same_example_makes_the_same_world(example: str) -> None:
    with world_of(example) as one, world_of(example) as two:
        assert one.snapshot() == two.snapshot()


def test_the_complaint_is_the_one_shown(example: str) -> None:
    with pytest.raises(SeedError) as caught:
        world_of(example.replace("labels: [bug]", "labels: [bgu]"))
    shown = re.search(r"^error: (.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert shown is not None
    assert f"seed.yaml: {caught.value}" == shown[1]


def test_every_key_says_what_it_is_for_or_needs_no_words() -> None:
    schema = WorldSeed.model_json_schema(by_alias=True)
    assert all(part.get("description") for part in schema["$defs"].values())
    assert seed_of("version: 1") == WorldSeed()
