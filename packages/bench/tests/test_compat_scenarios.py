"""Scenarios of others, unmodified: they run on the emulator, pass when they are solved, and fail when not."""

import shutil
from pathlib import Path

import pytest
from bench_command import fork_ghx_bench, printed, rows_of, run_in, write_files
from older_tools import scenario_files

from ghx_bench.project.config_file import load_eval_config

SOLUTIONS = {
    # GitHub lets nobody request changes of their own pull request; the one who opened it can only comment.
    "lifecycle": """
version: 1
modes:
  baseline:
    - shell: gh issue view {{issue_number}} --repo {{repo}}
    - shell: >-
        gh pr create --repo {{repo}} --head {{head_branch}} --base {{base_branch}} --title "Retry downloads"
        --body "Fixes #{{issue_number}}"
    - shell: gh pr list --repo {{repo}} --head {{head_branch}} --json number
      save: opened
    - shell: gh pr review {{opened.0.number}} --repo {{repo}} --request-changes --body "Name the constant."
      expect_failure: true
    - shell: gh pr review {{opened.0.number}} --repo {{repo}} --comment --body "Name the constant."
""",
    "triage": """
version: 1
modes:
  baseline:
    - shell: gh issue view {{issue_number}} --repo {{repo}}
    - shell: gh label list --repo {{repo}}
    - shell: gh issue edit {{issue_number}} --repo {{repo}} --add-label performance
    - shell: gh issue comment {{issue_number}} --repo {{repo}} --body "High priority, since every search is slow."
""",
    "threads": """
version: 1
modes:
  baseline:
    - shell: >-
        gh api graphql -F owner={{owner}} -F name={{repo_name}} -F number={{pr_number}} -f query='query($owner: String!,
        $name: String!, $number: Int!) { repository(owner: $owner, name: $name) { pullRequest(number: $number) {
        reviewThreads(first: 50) { nodes { id isResolved comments(first: 1) { nodes { databaseId } } } } } } }'
        --jq '[.data.repository.pullRequest.reviewThreads.nodes[] | select(.isResolved | not)]'
      save: threads
    - for_each: threads
      as: thread
      do:
        - shell: >-
            gh api repos/{{repo}}/pulls/{{pr_number}}/comments/{{thread.comments.nodes.0.databaseId}}/replies
            -f body="Check the input first."
""",
}


@pytest.fixture
def project(older_tools: Path, tmp_path: Path) -> Path:
    """A folder with the scenarios as they are, our solutions next to them, and the configuration as it is."""
    shutil.copytree(older_tools / "scenarios", tmp_path / "scenarios")
    shutil.copy(older_tools / "eval.config.yaml", tmp_path)
    ids = {task: path.stem for task, path in scenario_files(older_tools).items()}
    return write_files(tmp_path, {f"scenarios/{ids[task]}.solution.yaml": text for task, text in SOLUTIONS.items()})


def ids_in(project: Path) -> set[str]:
    return {path.stem for path in scenario_files(project).values()}


FLAGS = ("--mode", "baseline", "--scenario-set", "full", "--repetitions", "1", "--skip-warmup", "--no-report", "--json")


def test_scenarios_of_others_pass_when_they_are_solved(project: Path) -> None:
    told = printed(fork_ghx_bench(project, "run", *FLAGS, "--agent", "reference", "--max-concurrency", "2"))

    rows = rows_of(run_in(project))
    assert {row.scenario_id: row.success for row in rows} == dict.fromkeys(ids_in(project), True)
    config = load_eval_config(project / "eval.config.yaml")
    assert tuple({row.model for row in rows}) == config.model_ids
    assert told["modes"]["baseline"]["successes"] == 3
    bound = [row.extensions["stage"]["repo"] for row in rows]  # type: ignore[index, call-overload]
    assert set(bound) == {config.fixtures.repo}, "the configured repository is made on the twin"


def test_scenarios_of_others_fail_when_nothing_is_done(project: Path) -> None:
    done = fork_ghx_bench(project, "run", *FLAGS, "--agent", "nop")

    assert printed(done)["measured"] == 3
    assert {row.scenario_id: row.success for row in rows_of(run_in(project))} == dict.fromkeys(ids_in(project), False)
    assert "note: execution.timeout_default_ms is not used" in done.stderr


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--mode", "baseline"], "agent opencode: options.port: unknown key 'port'; known keys: 'base_url', 'key_env'"),
        (["--agent", "nop", "--mode", "mcp"], "mode 'mcp': github-mcp-server: not found on this machine; install"),
    ],
)
def test_what_a_configuration_of_others_asks_for_and_is_not_there_is_told(
    flags: list[str], says: str, project: Path
) -> None:
    done = fork_ghx_bench(project, "run", *flags)

    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
