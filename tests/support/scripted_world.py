"""A world whose workflow fails until the commit mends what is wrong."""

from collections.abc import Mapping

from seeds import world_of

from ghx_twin.commands.actions import progress
from ghx_twin.commands.kernel import user_signature
from ghx_twin.commands.repositories import refs
from ghx_twin.git.repository import RefUpdate, TreeChange
from ghx_twin.queries import lookup
from ghx_twin.queries.actions import workflow_runs
from ghx_twin.state.records import Repository, WorkflowRun
from ghx_twin.viewer import Viewer
from ghx_twin.world import World

WORKFLOW = """\
name: CI
on:
  push: {branches: [main, "fix/**"], paths-ignore: ["docs/**"]}
  pull_request:
  workflow_dispatch:
    inputs:
      level: {type: choice, options: [low, high], default: low}
      dry: {type: boolean}
      who: {required: true}
jobs:
  build:
    runs-on: ubuntu-latest
    steps: [{uses: actions/checkout@v4}, {run: make}]
  test:
    needs: build
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - {name: Run tests, run: pytest}
      - {name: Upload, run: upload}
"""
SEED = """\
users:
  - {login: octocat, tokens: [{token: secret}]}
  - {login: reader}
repositories:
  - name: octocat/widgets
    allow_auto_merge: true
    collaborators: {reader: read}
    files:
      .github/workflows/ci.yml: |
WORKFLOW
      turn.py: "RPM = 10\\n"
      test_turn.py: "assert RPM == 33\\n"
    history:
      - {branch: faster, message: Turn faster, files: {README.md: "Fast\\n"}}
    workflows:
      - name: CI
        path: .github/workflows/ci.yml
        script:
          jobs:
            test:
              steps: [{name: Run tests, seconds: 20, log: "1 passed\\n"}]
              rules:
                - when: [{file: test_turn.py, lacks: "assert RPM == 33"}]
                  step: Run tests
                  log: "no tests ran\\n"
                - when: [{file: turn.py, lacks: "RPM = 33"}]
                  step: Run tests
                  log: |
                    FAILED test_turn.py - assert 10 == 33
                  annotations: [{path: turn.py, start_line: 1, message: Too slow}]
        runs: [{id: 101, commit: main}]
    protection: [{pattern: main, required_checks: [test], enforce_admins: true}]
    pulls: [{title: Turn faster, head: faster, body: Faster}]
""".replace("WORKFLOW", "".join(f"        {line}\n" for line in WORKFLOW.splitlines()).rstrip("\n"))


def scripted_world(seed: str = SEED) -> World:
    return world_of(seed)


def widgets(world: World) -> Repository:
    return lookup.repository(world, None, "octocat", "widgets")


def push(world: World, files: Mapping[str, str | None], branch: str = "faster", message: str = "Change") -> str:
    """Commit files to a branch as octocat."""
    octocat = lookup.user(world, "octocat")
    with world.acting(Viewer(user=octocat)) as act:
        home, name = widgets(world), f"refs/heads/{branch}"
        git, own = act.git(home), user_signature(octocat, act.now)
        old = git.ref(name)
        start = old or git.ref("refs/heads/main")
        changes = [TreeChange(path=p, sha=None if t is None else git.write_blob(t.encode())) for p, t in files.items()]
        sha = git.write_commit(
            tree=git.write_tree(start, changes), parents=(start or "",), message=message, author=own, committer=own
        )
        refs.push(act, home, [RefUpdate(name, old, sha)])
    return sha


def runs_of(world: World, sha: str) -> list[WorkflowRun]:
    return world.database.all(WorkflowRun, repository_id=widgets(world).id, head_sha=sha)


def conclusions(world: World, sha: str) -> dict[str, str | None]:
    """Play everything to its end, and return how the jobs of a commit's runs ended."""
    progress.finish(world)
    latest = workflow_runs.latest_attempts(world, runs_of(world, sha)).values()
    return {job.name: job.conclusion for attempt in latest for job in workflow_runs.jobs(world, attempt)}
