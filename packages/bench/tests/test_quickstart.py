"""`docs/quickstart.md` is true: what it lets its reader write works, and compares what it says."""

import re
from pathlib import Path

import pytest
import yaml
from bench_command import fork_ghx_bench, printed, rows_of, run_in

PAGE = (Path(__file__).parents[3] / "docs" / "quickstart.md").read_text()


def block(language: str, beginning: str) -> str:
    """Return the one block of the page that begins so."""
    found = re.findall(rf"^```{language}\n({re.escape(beginning)}.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (only,) = found
    return only


@pytest.fixture
def project(tmp_path: Path) -> Path:
    assert fork_ghx_bench(tmp_path, "init", "my-bench").returncode == 0
    folder = tmp_path / "my-bench"
    (folder / "bin").mkdir()
    (folder / "bin" / "answer").write_text(block("sh", "#!/bin/sh\n# answer"))
    (folder / "bin" / "answer").chmod(0o755)
    (folder / "eval.config.yaml").write_text(block("yaml", "modes:\n  - baseline\n"))
    solution = yaml.safe_load((folder / "scenarios" / "issue-answer-001.solution.yaml").read_text())
    solution["modes"] |= yaml.safe_load(block("yaml", "with-answer:"))
    (folder / "scenarios" / "issue-answer-001.solution.yaml").write_text(yaml.safe_dump(solution))
    return folder


def test_the_tool_of_the_page_is_compared_with_plain_gh(project: Path) -> None:
    told = printed(fork_ghx_bench(project, "run", "--repetitions", "1", "--fail-on", "wrong", "--no-report", "--json"))

    assert {name: mode["successes"] for name, mode in told["modes"].items()} == {"baseline": 1, "with-answer": 1}
    calls = {row.mode: row.tool_calls.total for row in rows_of(run_in(project))}
    assert calls == {"baseline": 2, "with-answer": 1}


def test_the_files_of_a_project_are_those_that_the_page_names(project: Path) -> None:
    named = set(re.findall(r"^\| `([\w./-]+\.yaml)` \|", PAGE, re.MULTILINE))

    written = {str(path.relative_to(project)) for path in project.rglob("*.yaml")}
    assert named == written


def test_the_workflow_of_the_page_calls_commands_that_exist() -> None:
    workflow = yaml.safe_load(block("yaml", "on: [push]"))
    (job,) = workflow["jobs"].values()
    commands = [step["run"] for step in job["steps"] if "run" in step]

    assert commands == [
        "pip install './.ghx-bench[all]'",
        "ghx-bench check --strict",
        "ghx-bench run --agent reference --repetitions 1 --max-concurrency 4 --fail-on wrong",
        "ghx-bench run --agent nop --repetitions 1 --max-concurrency 4 --fail-on right",
    ]
