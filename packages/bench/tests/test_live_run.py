"""`--target github` against a second twin that plays github.com, with two identities."""

import json
import shutil
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
import yaml
from bench_command import fork_ghx_bench, left_in, printed, rows_of, run_in, write_files
from nightly import mostly_nightly

from ghx_bench.cli.main import run
from ghx_bench.fixtures.embedded import AGENT, AUTHOR, MAINTAINER, embedded_world
from ghx_bench.fixtures.library import load_fixtures
from ghx_bench.fixtures.repository_claims import claim_repository
from ghx_bench.project.config_sections import FixtureChoice
from ghx_bench.project.folders import BUILT_IN_SCENARIOS
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_bench.scenario.manifest import (
    FixtureManifest,
    FixtureResource,
    load_fixture_manifest,
    write_fixture_manifest,
)
from ghx_bench.stages.github_stage import LiveLifecycle
from ghx_profiler.evidence import Mode
from ghx_profiler.plan.cell import Cell
from ghx_tools.capabilities.client import GitHubClient
from ghx_twin.commands import users
from ghx_twin.difference import Difference, diff
from ghx_twin.queries import lookup
from ghx_twin.server.loopback import Server
from ghx_twin.world import World

pytestmark = pytest.mark.slow

REPO = "acme/playground"
EXAMPLE = Path(__file__).parents[3] / "examples" / "worlds"
LABEL = "bench-fixture"

CONFIG = f"""
modes: [baseline]
target: github
scenarios: {{ids: [issue-triage-001, merge-it-001]}}
fixtures: {{repo: {REPO}, author_token_env: AUTHOR_TOKEN}}
execution: {{repetitions: 2, warmup: false, max_concurrency: 2}}
"""
# Unlike the built-in ones it works on fixtures that all iterations share.
SCENARIO = """
id: merge-it-001
name: Merge it
description: A task after which its fixture cannot be used again
category: pr
difficulty: basic
prompt: "Merge #{{number}} in {{repo}}."
timeoutMs: 60000
fixture:
  repo: "{{fixture_repo}}"
  requires: [pr_ready_to_merge]
  bindings: {number: pr_ready_to_merge.number}
  reseedPerIteration: true
assertions:
  checkpoints:
    - id: merged
      description: It is merged
      task: pr.view
      input: {owner: "{{owner}}", name: "{{repo_name}}", prNumber: "{{number}}"}
      condition: {type: field_equals, path: state, value: MERGED}
"""
SOLUTION = """
version: 1
modes:
  baseline:
    - shell: gh pr merge {{number}} --repo {{repo}} --squash
  ghx:
    - shell: ghx run pr.merge --owner {{owner}} --name {{repo_name}} --prNumber {{number}} --method squash
"""
FILES = {
    "eval.config.yaml": CONFIG,
    "scenarios/merge-it-001.yaml": SCENARIO,
    "scenarios/merge-it-001.solution.yaml": SOLUTION,
}


@dataclass(frozen=True)
class GitHub:
    """What the command takes for github.com: a world, and the variables that lead there."""

    world: World
    server: Server
    variables: dict[str, str]

    def token(self, login: str) -> str:
        return self.server.hosting.issue_token(self.world, lookup.user(self.world, login))


@pytest.fixture
def github(github_server: Server) -> Generator[GitHub]:
    """A repository in which others have an issue, a pull request and branches of their own."""
    with embedded_world(REPO) as world:
        github_server.add(world)
        served = GitHub(world, github_server, {})
        anyio.run(live_there, github_server.url, served.token(MAINTAINER))
        served.variables.update(
            GHX_UNIX_SOCKET=str(github_server.socket_path),
            GITHUB_SERVER_URL=github_server.url,  # leads git there as well
            GITHUB_TOKEN=served.token(AGENT),
            AUTHOR_TOKEN=served.token(AUTHOR),
        )
        yield served
        github_server.remove(world)


@pytest.fixture
def at_home(github: GitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Work in the folder of a project, as somebody to whom the emulator is github.com."""
    monkeypatch.chdir(write_files(tmp_path, FILES))
    for name, value in {**github.variables, "GH_CONFIG_DIR": str(tmp_path / "gh")}.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


async def live_there(url: str, token: str) -> None:
    """Do what people do in a repository that is not only there for the bench."""
    async with GitHubClient(url, token) as client:
        # The server loads GraphQL in a thread, which must not happen while a command of this process loads its own:
        # `SystemError: AST constructor recursion depth mismatch` is what CPython 3.11 makes of that now and then.
        await client.graphql("{ viewer { login } }", {})
        sha = (await client.get(f"/repos/{REPO}/git/ref/heads/main")).data["object"]["sha"]
        await client.post(f"/repos/{REPO}/git/refs", {"ref": "refs/heads/work", "sha": sha})
        body = {"message": "Work", "content": "d29yaw==", "branch": "work"}
        await client.put(f"/repos/{REPO}/contents/work.txt", body)
        await client.post(f"/repos/{REPO}/pulls", {"title": "Work", "head": "work", "base": "main"})
        await client.post(f"/repos/{REPO}/issues", {"title": "Somebody's own", "body": "Leave it alone."})


def trespasses(before: World, after: World) -> list[Difference]:
    """Return every change that is not about a fixture's conversation, a fixture's branch, or the labels they need."""
    changes = diff(before, after)
    labelled = {each.name.split(" ")[0] for each in changes if each.name.endswith(f" label {LABEL}")}

    def is_about_fixtures(each: Difference) -> bool:
        match each.kind:
            case "refs":
                return each.name.startswith((f"{REPO} refs/heads/bench/", f"{REPO} refs/pull/"))
            case "labels":
                return each.change == "created"
            case "repositories":
                return each.is_bookkeeping
            case "statuses":
                return True  # of commits, which only fixtures have made
            case _:
                return each.name.split(" ")[0] in labelled

    return [each for each in changes if not is_about_fixtures(each)]


def still_there(world: World) -> tuple[set[str], set[str]]:
    """Name the open fixtures and their branches, as far as the bench has them."""
    with embedded_world(REPO) as empty:
        changes = diff(empty, world)
    created = {each.name: each for each in changes if each.change == "created"}
    labelled = {name.split(" ")[0] for name in created if name.endswith(f" label {LABEL}")}
    issues = {each.name for each in created.values() if each.kind == "issues" and each.after["state"] == "open"}  # type: ignore[index]
    refs = {name.removeprefix(f"{REPO} ") for name, each in created.items() if each.kind == "refs"}
    return issues & labelled, {ref for ref in refs if ref.startswith("refs/heads/bench/")}


def test_a_run_works_on_fixtures_and_on_nothing_else(github: GitHub, tmp_path: Path) -> None:
    write_files(tmp_path, FILES)
    with github.world.fork() as before:
        seeded = printed(
            fork_ghx_bench(tmp_path, "fixture", "seed", "pr_ready_to_merge", "--json", extra=github.variables)
        )
        done = fork_ghx_bench(tmp_path, "run", "--no-report", "--json", extra=github.variables)
        told = printed(done)
        after_run = still_there(github.world)
        cleaned = fork_ghx_bench(tmp_path, "fixture", "cleanup", extra=github.variables)

        assert trespasses(before, github.world) == []

    rows = rows_of(run_in(tmp_path))
    assert told["modes"]["baseline"]["successes"] == 4, [row.error for row in rows]
    assert {row.extensions["stage"]["target"] for row in rows} == {"github"}  # type: ignore[index, call-overload]
    assert all("api_calls" not in row.known_metrics for row in rows), "nobody sees what is asked of github.com"
    numbers = [row.extensions["stage"]["bindings"] for row in rows]  # type: ignore[index, call-overload]
    assert len({json.dumps(each) for each in numbers}) == 4, "each iteration has fixtures of its own, or new ones"
    manifest = load_fixture_manifest(tmp_path / "fixtures" / "latest.json")
    assert manifest.fixtures["pr_ready_to_merge"].number > seeded["fixtures"]["pr_ready_to_merge"]["number"]
    assert after_run[0] == set(), "what was made for an iteration is closed with it, and the rest is merged"
    assert {ref for ref in after_run[1] if "run_" in ref} == set()
    assert cleaned.returncode == 0, cleaned.stderr
    assert still_there(github.world) == (set(), set())
    assert left_in(tmp_path) == []
    for secret in github.variables["GITHUB_TOKEN"], github.variables["AUTHOR_TOKEN"]:
        assert secret not in done.stdout + done.stderr
        assert not [path for path in run_in(tmp_path).rglob("*.json*") if secret in path.read_text()]


def test_fixtures_are_made_if_missing_and_put_back_between_modes(github: GitHub, tmp_path: Path) -> None:
    config = CONFIG.replace("[baseline]", "[baseline, ghx]").replace("repetitions: 2", "repetitions: 1")
    config = config.replace("AUTHOR_TOKEN}", "AUTHOR_TOKEN, seed_if_missing: true, reseed_between_modes: true}")
    shared = SCENARIO.replace("reseedPerIteration: true", "reseedPerIteration: false")
    write_files(tmp_path, {**FILES, "eval.config.yaml": config, "scenarios/merge-it-001.yaml": shared})

    done = fork_ghx_bench(
        tmp_path, "run", "--scenario", "merge-it-001", "--no-report", "--json", extra=github.variables
    )

    modes = printed(done)["modes"]
    assert {name: mode["successes"] for name, mode in modes.items()} == {"baseline": 1, "ghx": 1}


CASES: dict[str, tuple[dict[str, str], dict[str, str], int, str]] = {
    "no repository": (
        {"eval.config.yaml": CONFIG.replace(f"repo: {REPO}, ", "")},
        {},
        2,
        "name the repository that a run on github.com may work in: --repo, or fixtures.repo",
    ),
    "no second identity": (
        {"eval.config.yaml": CONFIG.replace(", author_token_env: AUTHOR_TOKEN", "")},
        {},
        2,
        "fixtures need a second identity",
    ),
    "no token of it": ({}, {"AUTHOR_TOKEN": ""}, 2, "AUTHOR_TOKEN, which fixtures.author_token_env names, is not set"),
    "no fixtures yet": (
        {},
        {},
        2,
        "there is no fixture 'pr_ready_to_merge' yet; make it with `ghx-bench fixture seed`",
    ),
    "a token that is wrong": (
        {},
        {"GITHUB_TOKEN": "ghp_wrong"},
        2,
        "whose the token of the agent is (Bad credentials)",
    ),
    "fixtures of elsewhere": (
        {
            "fixtures/latest.json": json.dumps(
                {
                    "seedId": "default",
                    "createdAt": "2026-01-01T00:00:00.000Z",
                    "repo": "acme/production",
                    "fixtures": {"pr_ready_to_merge": {"type": "pr", "number": 1, "repo": "acme/production"}},
                }
            )
        },
        {},
        2,
        "the manifest is of the fixtures in acme/production, not acme/playground",
    ),
    "a binding that leads nowhere": (
        {
            "scenarios/merge-it-001.yaml": SCENARIO.replace("reseedPerIteration", "seedPerIteration").replace(
                "pr_ready_to_merge.number", "pr_ready_to_merge.metadata.nummer"
            )
        },
        {},
        2,
        "'pr_ready_to_merge.metadata' has no 'nummer' in the manifest",
    ),
    "tools that would go elsewhere": (
        {},
        {"GHX_UNIX_SOCKET": "", "GITHUB_API_URL": "http://127.0.0.1:9"},
        2,
        "but an agent's `gh` would go to https://api.github.com",
    ),
}


@pytest.mark.parametrize("case", mostly_nightly(CASES, keep=3))
def test_what_keeps_a_run_from_github_is_told_before_anything_is_touched(
    case: str, github: GitHub, at_home: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files, variables, code, says = CASES[case]
    write_files(Path(), files)
    for name, value in variables.items():
        at_home.setenv(name, value)
    asked = len(github.world.journal)

    with github.world.fork() as before:
        assert run(["run"]) == code
        assert diff(before, github.world) == ()

    err = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("note: ")]
    assert says in err[-1]
    assert not [entry for entry in github.world.journal.since(asked) if entry.mutation]


def test_one_identity_is_not_two(
    github: GitHub, at_home: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    at_home.setenv("AUTHOR_TOKEN", github.variables["GITHUB_TOKEN"])

    assert run(["run", "--scenario", "issue-triage-001"]) == 2
    assert f"the agent and the author are both {AGENT}" in capsys.readouterr().err


# Looks at every open issue with a label, and so comes across those of other iterations.
SWEEPING = """
id: sweep-labels-001
name: Sweep labels
description: A task about whatever the repository has
category: issue
difficulty: basic
prompt: "Comment on every open issue with the label stale in {{repo}}."
timeoutMs: 60000
fixture:
  repo: "{{fixture_repo}}"
  requires: [stale_labels]
  bindings: {number: stale_labels.number}
  seedPerIteration: true
assertions:
  checkpoints:
    - id: commented-once
      description: There is one comment more
      task: issue.comments.list
      input: {owner: "{{owner}}", name: "{{repo_name}}", issueNumber: "{{number}}"}
      condition: {type: count_eq, value: 3}
"""
SWEEPING_SOLUTION = """
version: 1
modes:
  baseline:
    - shell: |
        for number in $(gh issue list --repo {{repo}} --label stale --state open --json number --jq '.[].number'); do
          gh issue comment $number --repo {{repo}} --body "Still true?"
        done
"""


@pytest.mark.nightly
def test_cells_at_the_same_time_do_not_get_in_each_others_way(github: GitHub, tmp_path: Path) -> None:
    config = f"""
modes: [baseline, ghx-mcp]
target: github
fixtures: {{repo: {REPO}, author_token_env: AUTHOR_TOKEN}}
execution: {{repetitions: 1, warmup: false, max_concurrency: 4, retries: 0}}
"""
    (tmp_path / "eval.config.yaml").write_text(config)

    done = fork_ghx_bench(tmp_path, "run", "--no-report", "--json", extra=github.variables)

    rows = rows_of(run_in(tmp_path))
    assert len(rows) == 2 * len(json.loads((BUILT_IN_SCENARIOS / "scenario-sets.json").read_text())["default"])
    assert [(row.mode, row.scenario_id, row.error) for row in rows if not row.success] == [], done.stderr
    assert still_there(github.world) == (set(), set())


def test_a_task_about_the_whole_repository_is_alone_in_it(github: GitHub, tmp_path: Path) -> None:
    config = CONFIG.replace("[issue-triage-001, merge-it-001]", "[sweep-labels-001, issue-find-and-close-001]")
    config = config.replace("max_concurrency: 2", "max_concurrency: 4")
    files = {"scenarios/sweep-labels-001.yaml": SWEEPING, "scenarios/sweep-labels-001.solution.yaml": SWEEPING_SOLUTION}
    write_files(tmp_path, {"eval.config.yaml": config, **files})

    done = fork_ghx_bench(tmp_path, "run", "--no-report", "--json", extra=github.variables)

    assert printed(done)["modes"]["baseline"]["successes"] == 4, done.stderr


@pytest.mark.usefixtures("at_home")
def test_a_dry_run_names_the_repository_that_would_be_written_to(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "--dry-run"]) == 0
    assert f"writes to    {REPO}\n" in capsys.readouterr().out
    assert run(["run", "--dry-run", "--target", "twin"]) == 0
    assert "writes to" not in capsys.readouterr().out


@pytest.mark.usefixtures("at_home")
def test_seeding_makes_what_the_scenarios_require(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fixture", "seed", "--json"]) == 0

    said = capsys.readouterr()
    assert list(json.loads(said.out)["fixtures"]) == ["issue_for_triage", "pr_ready_to_merge"]
    assert "eval.config.yaml require issue_for_triage, pr_ready_to_merge; name fixtures to make others" in said.err


@pytest.mark.parametrize("command", [["cleanup"], ["reset", "issue_for_triage"], ["seed", "issue_for_triage"]])
@pytest.mark.usefixtures("at_home")
def test_fixtures_that_a_run_works_with_are_left_to_it(
    command: list[str], github: GitHub, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = len(github.world.journal)

    with claim_repository(REPO.upper(), by="run_7"):
        assert run(["fixture", *command]) == 2
        assert run(["fixture", "cleanup", "--dry-run"]) == 0
    assert f"run_7 is at work in {REPO}" in capsys.readouterr().err
    assert not [entry for entry in github.world.journal.since(asked) if entry.mutation]
    assert run(["fixture", *command]) == 0


@pytest.mark.parametrize(
    "case",
    [
        ({}, 0, f"{REPO}: {AGENT} is the agent (write), {AUTHOR} is the author (write)"),
        ({"AUTHOR_TOKEN": "ghp_wrong"}, 1, "GitHub does not tell whose the token of the author is"),
        ({"AUTHOR_TOKEN": "another of the agent's"}, 1, f"the agent and the author are both {AGENT}"),
        (
            {"GITHUB_TOKEN": "of a stranger"},
            1,
            "may not write to acme/playground; give them the role 'write' there",
        ),
    ],
)
def test_the_doctor_logs_in_as_both(
    case: tuple[dict[str, str], int, str],
    github: GitHub,
    at_home: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    changes, code, line = case
    with github.world.acting(None) as act:
        stranger = users.create_user(act, login="stranger")
    tokens = {"another of the agent's": github.token(AGENT), "of a stranger": github.token(stranger.login)}
    for name, value in changes.items():
        at_home.setenv(name, tokens.get(value, value))
    asked = len(github.world.journal)

    assert run(["doctor", "--target", "github"]) == code

    assert line in capsys.readouterr().out
    assert not [entry for entry in github.world.journal.since(asked) if entry.mutation]


FIRST, SECOND = (
    Cell(agent="fake", model="m", mode="baseline", scenario_id="merge-it-001", iteration=each) for each in (0, 1)
)
BASELINE = Mode(name="baseline")


def sharing(fixture: str) -> EvalScenario:
    """Return a scenario whose iterations share a fixture, and put nothing back."""
    written = yaml.safe_load(SCENARIO.replace("pr_ready_to_merge", fixture))
    return EvalScenario.model_validate({**written, "fixture": {**written["fixture"], "reseedPerIteration": False}})


def lifecycle_of(scenario: EvalScenario, github: GitHub, folder: Path) -> LiveLifecycle:
    choice = FixtureChoice(
        repo=REPO, author_token_env="AUTHOR_TOKEN", manifest=folder / "latest.json", seed_if_missing=True
    )
    environ = {**github.variables, "GH_CONFIG_DIR": str(folder)}
    return LiveLifecycle(choice, [scenario], load_fixtures(), environ)


@pytest.mark.anyio
async def test_another_attempt_finds_shared_fixtures_as_they_were_made(github: GitHub, tmp_path: Path) -> None:
    scenario = sharing("issue_for_triage")
    lifecycle = lifecycle_of(scenario, github, tmp_path)

    async def comments_left(cell: Cell) -> int:
        """Count what is there when an attempt begins, and leave one more."""
        async with lifecycle.cell(cell, scenario, BASELINE) as stage:
            token = stage.environment["GITHUB_TOKEN"]
            async with GitHubClient(github.server.url, token) as client:
                number = stage.facts["bindings"]["number"]  # type: ignore[index, call-overload]
                there = (await client.get(f"/repos/{REPO}/issues/{number}/comments")).data
                await client.post(f"/repos/{REPO}/issues/{number}/comments", {"body": "Me too"})
                return len(there)

    async with lifecycle.run(tmp_path / "run_1"), lifecycle.mode(BASELINE):
        assert await comments_left(FIRST) == 0
        assert await comments_left(SECOND) == 1, "what iterations share is as the last one left it"
        assert await comments_left(SECOND) == 0, "what a retry works on is not"


@pytest.mark.anyio
async def test_fixtures_that_were_made_by_hand_are_used_as_they_are(github: GitHub, tmp_path: Path) -> None:
    scenario = sharing("made_by_hand")
    by_hand = FixtureResource(type="pr", number=1, repo=REPO)
    manifest = FixtureManifest(seed_id="mine", created_at="today", repo=REPO, fixtures={"made_by_hand": by_hand})
    write_fixture_manifest(tmp_path / "latest.json", manifest)
    lifecycle = lifecycle_of(scenario, github, tmp_path)

    async with lifecycle.run(tmp_path / "run_1"), lifecycle.mode(BASELINE):
        for _ in range(2):
            async with lifecycle.cell(FIRST, scenario, BASELINE) as stage:
                assert stage.scenario.prompt == f"Merge #1 in {REPO}."


def test_a_session_starts_in_a_real_clone_of_a_fork(github: GitHub, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    config = CONFIG.replace("[issue-triage-001, merge-it-001]", "[pr-from-fork-001]")
    # Not `gh`: what leads git to this server changes the addresses of remotes as well, which `gh` goes by.
    config = config.replace("AUTHOR_TOKEN}", "AUTHOR_TOKEN, folders: [fixtures]}").replace("baseline", "ghx")
    write_files(tmp_path, {"eval.config.yaml": config})
    with github.world.fork() as before:
        done = fork_ghx_bench(tmp_path, "run", "--no-report", "--json", extra=github.variables)
        after = diff(before, github.world)

    told = printed(done)["modes"]
    assert {name: mode["successes"] for name, mode in told.items()} == {"ghx": 2}, done.stderr
    made = {each.name for each in after if (each.kind, each.change) == ("repositories", "created")}
    assert made == {f"{AGENT}/playground"}
    assert not [each for each in after if each.kind == "refs" and "refs/heads/bench/" in each.name], "all are removed"


def test_what_only_the_twin_has_is_refused_on_github(
    at_home: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    scenario = tmp_path / "scenarios" / "workflow-rerun-failed-001.yaml"
    scenario.write_text(scenario.read_text().replace("  targets: [twin]\n", ""))
    config = CONFIG.replace("[issue-triage-001, merge-it-001]", "[workflow-rerun-failed-001]")
    write_files(tmp_path, {"eval.config.yaml": config.replace("AUTHOR_TOKEN}", "AUTHOR_TOKEN, folders: [fixtures]}")})

    assert run(["run"]) == 2
    assert "fixture 'pr_with_failed_run' has workflow runs, and only the embedded GitHub" in capsys.readouterr().err
