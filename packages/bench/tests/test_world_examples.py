"""The scenarios in `examples/worlds` can be done in every mode, and not by mistaken agents.

Each mistake is a mode of its own, whose solution the reference agent follows.
"""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from bench_command import fork_ghx_bench, rows_of, run_in
from nightly import mostly_nightly

EXAMPLE = Path(__file__).parents[3] / "examples" / "worlds"
FORK, RERUN, MERGE = "pr-from-fork-001", "workflow-rerun-failed-001", "pr-approve-and-merge-001"
REPAIR, PUBLISH = "workflow-repair-001", "release-publish-draft-001"

_COMMIT = "git add src/prices.py && git commit --quiet --message Fix"
_CREATE = 'gh pr create --base {{base_branch}} --title Fix --body "Fixes #{{issue_number}}"'
_APPROVE = "gh pr review {{pr_number}} --repo {{repo}} --approve"
_SQUASH = "gh pr merge {{pr_number}} --repo {{repo}} --squash"
_MEND = 'sed -i \'s/"single": 33/"single": 45/\' src/turntable.py'
_PUSH = "git add --all && git commit --quiet --message Fix && git push --quiet origin HEAD"
_CI = ".github/workflows/ci.yml"
_EDIT = "gh release edit {{tag}} --repo {{repo}} --notes"
_NOTES = '"The moon (#1), later sun (#3)"'
MISTAKES: dict[str, dict[str, list[str]]] = {
    FORK: {
        "commits-everything": ["git add --all && git commit --quiet --message Fix", "git push --quiet", _CREATE],
        "pushes-upstream": [
            _COMMIT,
            "git push --quiet upstream HEAD",
            f"{_CREATE} --repo {{{{repo}}}} --head {{{{head_branch}}}}",
        ],
        "opens-it-in-the-fork": [
            _COMMIT,
            "git push --quiet origin HEAD",
            'gh pr create --repo {{fork}} --base main --title Fix --body "Fixes {{repo}}#{{issue_number}}"',
        ],
        "into-the-default-branch": [
            _COMMIT,
            "git push --quiet origin HEAD",
            _CREATE.replace("{{base_branch}}", "main"),
        ],
        "does-not-say-what-it-closes": [
            _COMMIT,
            "git push --quiet origin HEAD",
            "gh pr create --base {{base_branch}} --title Fix --body Done.",
        ],
        "pushes-a-second-branch": [
            _COMMIT,
            "git push --quiet origin HEAD HEAD:refs/heads/more",
            _CREATE,
        ],
    },
    RERUN: {
        "runs-all-again": ["gh run rerun {{run_id_of_ci}} --repo {{repo}}"],
        "runs-the-other-too": [
            "gh run rerun {{run_id_of_ci}} --repo {{repo}} --failed",
            "gh run rerun $(gh run list --repo {{repo}} --branch bench/broken-export --json databaseId"
            " --jq '.[0].databaseId') --repo {{repo}} --failed",
        ],
        "runs-the-other-instead": [
            "gh run rerun $(gh run list --repo {{repo}} --branch bench/broken-export --json databaseId"
            " --jq '.[0].databaseId') --repo {{repo}} --failed"
        ],
        "says-something": [
            "gh run rerun {{run_id_of_ci}} --repo {{repo}} --failed",
            "gh pr comment {{pr_number}} --repo {{repo}} --body Done.",
        ],
    },
    MERGE: {
        "does-not-merge": [_APPROVE],
        "approves-another-too": [
            _APPROVE,
            _SQUASH,
            "gh pr review 8 --repo {{repo}} --approve",
        ],
        "deletes-the-branch": [_APPROVE, f"{_SQUASH} --delete-branch"],
        "says-more": [_APPROVE, _SQUASH, "gh issue comment 1 --repo {{repo}} --body Done."],
    },
    REPAIR: {
        "deletes-the-test": ["sed -i '/def test_singles/,$d' tests/test_turntable.py", _PUSH],
        "lowers-the-test": ["sed -i 's/== 45/== 33/' tests/test_turntable.py", _PUSH],
        "ignores-the-failure": [f"sed -i 's/- run: pytest/- {{run: pytest, continue-on-error: true}}/' {_CI}", _PUSH],
        "switches-the-job-off": [f"sed -i 's/^  test:/  test:\\n    if: false/' {_CI}", _PUSH],
        "renames-the-job": [f"sed -i 's/^  test:/  other:/' {_CI}", _PUSH],
        "gives-its-name-to-another": [f"sed -i 's/^  test:/  old:/; s/^  lint:/  test:/' {_CI}", _PUSH],
        "deletes-the-code": ["git rm --quiet src/turntable.py", _PUSH],
        "mends-a-comment": ["echo '# \"single\": 45' >> src/turntable.py", _PUSH],
        "skips-the-test-too": [_MEND, "sed -i '1i import pytest\\n\\npytest.skip()' tests/test_turntable.py", _PUSH],
        "changes-the-workflow-too": [_MEND, f"sed -i 's/run: pytest/run: pytest -x/' {_CI}", _PUSH],
        "empties-the-workflow": [f": > {_CI}", _PUSH],
        "does-not-push": [_MEND, "git commit --quiet --all --message Fix"],
        "pushes-a-second-branch": [_MEND, _PUSH, "git push --quiet origin HEAD:refs/heads/more"],
    },
    PUBLISH: {
        "leaves-the-draft": [f"{_EDIT} {_NOTES}"],
        "as-a-prerelease": [f"{_EDIT} {_NOTES} --draft=false --prerelease"],
        "names-what-was-closed": [f'{_EDIT} "#1, #2 and #3" --draft=false --latest'],
        "names-another-branch": [f'{_EDIT} "#1, #3 and #4" --draft=false --latest'],
        "makes-another": [
            "gh release delete {{tag}} --repo {{repo}} --yes",
            f"gh release create {{{{tag}}}} --repo {{{{repo}}}} --notes {_NOTES}",
        ],
        "publishes-all-drafts": [
            f"{_EDIT} {_NOTES} --draft=false --latest",
            "gh release edit {{other}} --repo {{repo}} --draft=false --latest=false",
        ],
    },
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    return tmp_path


def results_of(folder: Path, *flags: str) -> dict[tuple[str, str], bool | None]:
    """Run, and return of each scenario and mode whether it was right; every step of every solution must work."""
    done = fork_ghx_bench(folder, "run", "--repetitions", "1", "--max-concurrency", "2", "--no-report", *flags)
    assert done.returncode == 0, done.stderr
    return {(row.scenario_id, row.mode): row.success for row in rows_of(run_in(folder))}


@pytest.mark.process
def test_the_examples_have_no_problems(project: Path) -> None:
    done = fork_ghx_bench(project, "check", "--strict")

    assert (done.returncode, done.stdout) == (
        0,
        "1 configuration, 5 fixtures, 5 scenarios, 3 seeds, 5 solutions: no problems\n",
    )


@pytest.mark.nightly
@pytest.mark.slow
def test_the_examples_are_proved_in_every_mode(project: Path) -> None:
    done = fork_ghx_bench(project, "check", "--solve", *(word for id_ in MISTAKES for word in ("--scenario", id_)))

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("baseline, ghx, ghx-mcp") == len(MISTAKES)


@pytest.mark.slow
@pytest.mark.parametrize("id_", mostly_nightly(MISTAKES, keep=[MERGE]))
def test_no_mistaken_agent_passes(id_: str, project: Path) -> None:
    mistakes = MISTAKES[id_]
    config: dict[str, Any] = yaml.safe_load((project / "eval.config.yaml").read_text())
    config["modes"] = [{"name": name, "extends": "baseline"} for name in mistakes]
    (project / "eval.config.yaml").write_text(yaml.safe_dump(config))
    solution = {"version": 1, "modes": {name: [{"shell": each} for each in steps] for name, steps in mistakes.items()}}
    (project / "scenarios" / f"{id_}.solution.yaml").write_text(yaml.safe_dump(solution))

    found = results_of(project, "--scenario", id_)

    assert found == dict.fromkeys(((id_, name) for name in mistakes), False)
