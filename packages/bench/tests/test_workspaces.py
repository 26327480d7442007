"""A session may start in a checkout: a clone with GitHub's addresses, clean but for what the scenario declares."""

import os
import subprocess
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import yaml
from eval_stage import MODE

from ghx_base.documents import read_document
from ghx_bench.fixtures.embedded import AGENT, DEFAULT_REPO
from ghx_bench.fixtures.library import FixtureLibrary, LibraryEntry, read_fixture
from ghx_bench.scenario.binding import BindingError
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_bench.stages.twin_stage import TwinLifecycle
from ghx_profiler.evidence import Stage
from ghx_profiler.testing import sample_cell

pytestmark = [pytest.mark.anyio, pytest.mark.process]

FORK = f"{AGENT}/{DEFAULT_REPO.partition('/')[2]}"
FIXTURE: dict[str, Any] = {
    "name": "forked",
    "description": "A fork with a branch, and an issue.",
    "forks": ["agent"],
    "branches": [
        {"name": "base", "commits": [{"message": "Base", "files": {"src/base.py": "BASE = 1\n"}}]},
        {
            "name": "fix",
            "fork": "agent",
            "commits": [{"message": "Fix", "author": "agent", "files": {"src/fix.py": "FIX = 1\n"}}],
        },
    ],
    "issues": [{"id": "bug", "title": "A bug"}],
    "metadata": {"fork": "{{forks.agent}}", "head": "{{branches.fix}}", "base": "{{branches.base}}"},
}


def scenario(**workspace: Any) -> EvalScenario:
    return EvalScenario.model_validate(
        {
            "id": "checkout-001",
            "name": "Checkout",
            "description": "A task in a checkout",
            "prompt": "Do it.",
            "timeoutMs": 60_000,
            "category": "repo",
            "difficulty": "basic",
            "fixture": {
                "repo": "{{fixture_repo}}",
                "requires": ["forked"],
                "bindings": {
                    "fork": "forked.metadata.fork",
                    "head": "forked.metadata.head",
                    "base": "forked.metadata.base",
                },
            },
            "assertions": {"checkpoints": []},
            "extensions": {"workspace": workspace} if workspace else {},
        }
    )


IN_FORK = {
    "repo": "{{fork}}",
    "branch": "{{head}}",
    "upstream": "{{repo}}",
    "changes": {"src/fix.py": "FIX = 2\n", "src/new/more.py": "MORE = 1\n", "README.md": None},
}
ON_BASE = {"repo": "{{repo}}", "branch": "{{base}}"}
PLAIN = {"repo": "{{repo}}"}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> FixtureLibrary:
    path = tmp_path_factory.mktemp("fixtures") / "forked.yaml"
    path.write_text(yaml.safe_dump(FIXTURE))
    return FixtureLibrary({"forked": LibraryEntry(path=path, document=read_fixture(read_document(path)))})


@pytest.fixture(scope="module")
async def lifecycle(library: FixtureLibrary) -> AsyncGenerator[TwinLifecycle]:
    made = TwinLifecycle(None, [scenario(**each) for each in (IN_FORK, ON_BASE, PLAIN)], library)
    async with made.run(Path("run_1")):
        yield made


def on(lifecycle: TwinLifecycle, workspace: dict[str, Any]) -> Any:
    return lifecycle.cell(sample_cell(scenario_id="checkout-001"), scenario(**workspace), MODE)


def said(stage: Stage[Any], *words: str) -> str:
    done = subprocess.run(
        words,
        cwd=stage.directory,
        env={"PATH": os.environ["PATH"], **stage.environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.rstrip("\n")


async def test_a_checkout_of_a_fork_has_its_branch_both_remotes_and_the_declared_changes(
    lifecycle: TwinLifecycle,
) -> None:
    async with on(lifecycle, IN_FORK) as stage:
        assert said(stage, "git", "status", "--porcelain=v1", "--untracked-files=all", "--branch").splitlines() == [
            "## bench/fix...origin/bench/fix",
            " D README.md",
            " M src/fix.py",
            "?? src/new/more.py",
        ]
        assert said(stage, "git", "remote", "-v").splitlines() == [
            f"origin\thttps://github.com/{FORK}.git (fetch)",
            f"origin\thttps://github.com/{FORK}.git (push)",
            f"upstream\thttps://github.com/{DEFAULT_REPO}.git (fetch)",
            f"upstream\thttps://github.com/{DEFAULT_REPO}.git (push)",
        ]
        assert "upstream/bench/base" in said(stage, "git", "branch", "--remotes")
        assert "upstream/bench/base" not in said(stage, "git", "branch", "--remotes", "--list", "origin/*")


async def test_nothing_in_a_checkout_tells_where_it_was_copied_from(lifecycle: TwinLifecycle) -> None:
    async with on(lifecycle, IN_FORK) as stage:
        assert stage.directory is not None
        texts = [each.read_bytes() for each in (stage.directory / ".git").rglob("*") if each.is_file()]
        assert not any(tempfile.gettempdir().encode() in text for text in texts)
        assert not (stage.directory / ".git/objects/info/alternates").exists()
        logs = [each.read_text() for each in (stage.directory / ".git/logs").rglob("*") if each.is_file()]
        assert any("clone: from https://github.com/" in log for log in logs)
        assert all(" Bench Agent <agent@example.com> " in line for log in logs for line in log.splitlines())


async def test_what_is_checked_out_is_clean_without_being_read_again(lifecycle: TwinLifecycle) -> None:
    async with on(lifecycle, ON_BASE) as stage:
        assert said(stage, "git", "diff-files") == ""
        assert said(stage, "git", "diff-index", "HEAD") == ""
        assert said(stage, "git", "log", "-1", "--format=%s") == "Base"


async def test_the_agent_commits_and_pushes_as_itself_and_gh_knows_the_repository(lifecycle: TwinLifecycle) -> None:
    async with on(lifecycle, PLAIN) as stage:
        assert said(stage, "git", "branch", "--show-current") == "main"
        assert said(stage, "gh", "repo", "view", "--json", "nameWithOwner", "--jq", ".nameWithOwner") == DEFAULT_REPO
        said(stage, "git", "commit", "--quiet", "--allow-empty", "--message", "Nothing")
        assert said(stage, "git", "log", "-1", "--format=%an <%ae>") == "Bench Agent <agent@example.com>"
        said(stage, "git", "push", "--quiet", "origin", "HEAD:refs/heads/more")
        assert "refs/heads/more" in said(stage, "git", "ls-remote", "origin")


async def test_gh_opens_pull_requests_of_a_fork_in_its_upstream(lifecycle: TwinLifecycle) -> None:
    async with on(lifecycle, IN_FORK) as stage:
        said(stage, "git", "commit", "--quiet", "--all", "--message", "Fix it again")
        said(stage, "git", "push", "--quiet")
        url = said(stage, "gh", "pr", "create", "--title", "Fix it", "--body", "Done.")
        assert url.splitlines()[-1].startswith(f"https://github.com/{DEFAULT_REPO}/pull/")
        assert said(
            stage, "gh", "pr", "view", "--json", "headRepositoryOwner", "--jq", ".headRepositoryOwner.login"
        ) == (AGENT)


async def test_attempts_share_nothing_of_a_checkout(lifecycle: TwinLifecycle) -> None:
    async with on(lifecycle, PLAIN) as one, on(lifecycle, PLAIN) as other:
        assert one.directory is not None
        for each in (one.directory / ".git/objects").rglob("*.pack"):
            each.chmod(0o600)
            each.write_bytes(b"")
        assert said(other, "git", "fsck", "--full") == ""
    async with on(lifecycle, PLAIN) as later:
        assert said(later, "git", "fsck", "--full") == ""


@pytest.mark.parametrize(
    ("workspace", "place", "hint"),
    [
        ({"repo": "ghx-bench/fixture"}, "/repo", "did you mean 'ghx-bench/fixtures'?"),
        ({**PLAIN, "branch": "mian"}, "/branch", "did you mean 'main'?"),
        ({**PLAIN, "upstream": "{{repo}}"}, "/upstream", "leave it out"),
        (
            {**PLAIN, "changes": {"READM.md": None}},
            "/changes/READM.md",
            "did you mean 'README.md'?",
        ),
        ({"repo": "fixtures"}, "/repo", "it has the form owner/repo"),
    ],
)
async def test_what_is_not_there_is_refused_before_any_cell(
    library: FixtureLibrary, workspace: dict[str, Any], place: str, hint: str
) -> None:
    with pytest.raises(BindingError) as refused:
        async with TwinLifecycle(None, [scenario(**workspace)], library).run(Path("run_1")):
            pass
    (problem,) = refused.value.problems
    assert (problem.pointer, problem.suggestion) == (f"/extensions/workspace{place}", hint)
