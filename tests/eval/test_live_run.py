"""`--target github` against a second twin that plays github.com, with two identities."""

import json
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from bench_command import ghx_bench, left_in, printed, rows_of, run_in, write_files

from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.eval.cli.main import run
from ghx_bench.eval.fixtures.embedded import AGENT, AUTHOR, MAINTAINER, embedded_world
from ghx_bench.eval.manifest import load_fixture_manifest
from ghx_bench.twin.difference import Difference, diff
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.server.running import Server
from ghx_bench.twin.world import World

REPO = "acme/playground"
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
def github(github_server: Server, tmp_path: Path) -> Generator[GitHub]:
    """A repository in which others have an issue, a pull request and branches of their own."""
    with embedded_world(REPO) as world:
        github_server.add(world)
        identity = github_server.client_environment(world, AGENT, directory=tmp_path / "identity")
        served = GitHub(world, github_server, {})
        anyio.run(live_there, github_server.url, served.token(MAINTAINER))
        served.variables.update(
            GHX_UNIX_SOCKET=str(github_server.socket_path),
            GIT_CONFIG_GLOBAL=identity.variables["GIT_CONFIG_GLOBAL"],  # leads git there as well
            GITHUB_TOKEN=identity.variables["GITHUB_TOKEN"],
            AUTHOR_TOKEN=served.token(AUTHOR),
        )
        yield served
        github_server.remove(world)


async def live_there(url: str, token: str) -> None:
    """Do what people do in a repository that is not only there for the bench."""
    async with GitHubClient(url, token) as client:
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
        seeded = printed(ghx_bench(tmp_path, "fixture", "seed", "pr_ready_to_merge", "--json", extra=github.variables))
        done = ghx_bench(tmp_path, "run", "--no-report", "--json", extra=github.variables)
        told = printed(done)
        after_run = still_there(github.world)
        cleaned = ghx_bench(tmp_path, "fixture", "cleanup", extra=github.variables)

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

    done = ghx_bench(tmp_path, "run", "--scenario", "merge-it-001", "--no-report", "--json", extra=github.variables)

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
        3,
        "there is no fixture 'pr_ready_to_merge' yet; make it with `ghx-bench fixture seed`",
    ),
    "a token that is wrong": ({}, {"GITHUB_TOKEN": "ghp_wrong"}, 3, "no cell was started"),
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
        3,
        "the manifest is of the fixtures in acme/production, not acme/playground",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_keeps_a_run_from_github_is_told_before_anything_is_touched(
    case: str,
    github: GitHub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files, variables, code, says = CASES[case]
    monkeypatch.chdir(write_files(tmp_path, {**FILES, **files}))
    for name, value in {**github.variables, **variables}.items():
        monkeypatch.setenv(name, value)
    asked = len(github.world.journal)

    with github.world.fork() as before:
        assert run(["run"]) == code
        assert diff(before, github.world) == ()

    err = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("note: ")]
    assert says in err[-1]
    assert not [entry for entry in github.world.journal.since(asked) if entry.mutation]


def test_one_identity_is_not_two(
    github: GitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(write_files(tmp_path, FILES))
    for name, value in {**github.variables, "AUTHOR_TOKEN": github.variables["GITHUB_TOKEN"]}.items():
        monkeypatch.setenv(name, value)

    assert run(["run", "--scenario", "issue-triage-001"]) == 3
    assert f"the agent and the author are both {AGENT}" in capsys.readouterr().err
