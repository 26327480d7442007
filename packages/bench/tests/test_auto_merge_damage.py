"""A merge by auto-merge counts as the agent's who enabled it, also where its run ends after the session."""

import json
from pathlib import Path

import pytest
from bench_command import fork_ghx_bench, rows_of, run_in, write_files

from ghx_bench.scenario.allowed_changes import COLLATERAL_CHECKPOINT
from ghx_profiler.records.row import ProfileRow

pytestmark = pytest.mark.process

SEED = """
version: 1
users: [{login: octocat}, {login: ada}]
repositories:
  - name: octocat/widgets
    collaborators: {ada: write}
    allow_auto_merge: true
    delete_branch_on_merge: true
    files:
      app.txt: "one\\n"
      .github/workflows/ci.yml: |
        on: pull_request
        jobs: {test: {runs-on: x, steps: [{run: make test}]}}
    workflows:
      - {name: CI, path: .github/workflows/ci.yml, script: {jobs: {test: {steps: [{name: Run make test, seconds: 9}]}}}}
    protection: [{pattern: main, required_checks: [test]}]
    issues: [{number: 1, title: Only one}]
"""
FIXTURE = """
version: 1
name: widgets
description: A repository with auto-merge, whose main branch waits for a check.
world: {seed: widgets.seed.yaml, repo: octocat/widgets, agent: ada, observer: octocat, number: 1}
"""
SCENARIO = """
id: open-it-001
name: Open a pull request
description: A change is to be proposed, and not to be merged
category: pr
difficulty: basic
prompt: In {{repo}}, open a pull request from a branch `two` that makes app.txt say two. Do not merge it.
timeoutMs: 120000
fixture:
  repo: "{{fixture_repo}}"
  requires: [widgets]
  bindings: {repo: widgets.repo}
assertions:
  checkpoints:
    - id: opened
      description: There is a pull request
      task: search.prs
      input: {query: "repo:{{repo}} is:pr head:two"}
      condition: {type: count_eq, value: 1}
extensions:
  targets: [twin]
  allowedChanges:
    - created refs {{repo}} refs/heads/two
    - created pulls {{repo}}#*
    - created issues {{repo}}#*
"""
SOLUTION = """
version: 1
modes:
  baseline:
    - shell: |
        git clone --quiet https://github.com/{{repo}}.git work && cd work && git switch --quiet --create two
        echo two > app.txt && git commit --quiet --all --message "Say two" && git push --quiet origin two
        gh pr create --head two --title "Say two" --body "Fixes #1"
    - shell: REST
answer: It is open.
"""


def row_after(folder: Path, command: str) -> ProfileRow:
    """Run the scenario with an agent that opens the pull request, and then runs a command in the checkout."""
    solution = SOLUTION.replace("REST", f"cd work && {command}")
    files = {
        "eval.config.yaml": "modes: [baseline]\nexecution: {repetitions: 1, warmup: false}\n",
        "fixtures/widgets.yaml": FIXTURE,
        "fixtures/widgets.seed.yaml": SEED,
        "scenarios/open-it-001.yaml": SCENARIO,
        "scenarios/open-it-001.solution.yaml": solution,
    }
    done = fork_ghx_bench(write_files(folder, files), "run", "--scenario", "open-it-001", "--keep-worlds", "all")
    (row,) = rows_of(run_in(folder))
    assert done.returncode == 0, done.stderr
    assert row.cause is None
    return row


def test_a_merge_that_waits_for_a_run_is_the_agents_who_enabled_it(tmp_path: Path) -> None:
    row = row_after(tmp_path, "gh pr merge two --auto --merge")

    verdicts = {each.id: (each.passed, each.actual) for each in row.checkpoint_details}
    assert verdicts["opened"][0]
    passed, damage = verdicts[COLLATERAL_CHECKPOINT]
    assert (row.success, passed) == (False, False)
    assert isinstance(damage, list)
    # The merge itself, the branch that went with it, and the issue that it closed.
    assert {
        "changed refs octocat/widgets refs/heads/main",
        "changed issues.state octocat/widgets#1",
    } <= {*damage}, damage
    # Nothing of what the run did by itself.
    assert not [each for each in damage if "check_runs" in each or "workflow" in each]
    # And GitHub names the agent for the merge.
    look = ("gh", "pr", "view", "2", "--repo", "octocat/widgets", "--json", "state,mergedBy")
    shown = fork_ghx_bench(tmp_path, "shell", "latest", "baseline/open-it-001/0", "--", *look)
    assert shown.returncode == 0, shown.stderr
    told = json.loads(shown.stdout)
    assert (told["state"], told["mergedBy"]["login"]) == ("MERGED", "ada")


@pytest.mark.nightly
def test_a_run_that_the_agents_push_starts_is_no_damage(tmp_path: Path) -> None:
    row = row_after(tmp_path, "gh pr checks two --watch --interval 1")

    assert row.success, row.checkpoint_details
