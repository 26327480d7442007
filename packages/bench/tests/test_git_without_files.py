"""Git in a session whose agent keeps the user's files and questions from it, as Gemini CLI does."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import CompletedProcess

import anyio
import pytest
from eval_stage import lifecycle_for, scenario, staged

from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_profiler.evidence import Stage
from ghx_profiler.runner.redaction import Redaction

pytestmark = [pytest.mark.anyio, pytest.mark.process]

PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


@asynccontextmanager
async def stage_of_session(folder: Path) -> AsyncGenerator[Stage[EvalScenario]]:
    task = scenario()
    lifecycle = lifecycle_for(task)
    async with lifecycle.run(folder), staged(lifecycle, task) as stage:
        yield stage


async def git(environment: Mapping[str, str], folder: Path, *arguments: str) -> CompletedProcess[bytes]:
    return await anyio.run_process(["git", *arguments], cwd=folder, env=dict(environment), check=False)


def without_files(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a command as Gemini CLI makes it: no files, no questions, no helpers."""
    count = int(environment["GIT_CONFIG_COUNT"])
    return {
        **PATH,
        **environment,
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        "GIT_ASKPASS": "",
        "SSH_ASKPASS": "",
        "GIT_CONFIG_COUNT": str(count + 1),
        f"GIT_CONFIG_KEY_{count}": "credential.helper",
        f"GIT_CONFIG_VALUE_{count}": "",
    }


@pytest.mark.parametrize("address", ["https://github.com/{}.git", "git@github.com:{}.git"])
async def test_a_clone_a_commit_and_a_push_work_without_any_file_or_question(address: str, tmp_path: Path) -> None:
    async with stage_of_session(tmp_path) as stage:
        assert stage.directory is not None
        environment, repo = without_files(stage.environment), str(stage.facts["repo"])
        folder = stage.directory / "clone"

        clone = await git(environment, stage.directory, "clone", "--quiet", address.format(repo), "clone")
        branch = await git(environment, folder, "switch", "--quiet", "--create", "topic")
        commit = await git(environment, folder, "commit", "--quiet", "--allow-empty", "--message", "Empty")
        push = await git(environment, folder, "push", "--quiet", "origin", "topic")
        author = (await git(environment, folder, "log", "-1", "--format=%an")).stdout.decode().strip()

        assert [(step.returncode, step.stderr) for step in (clone, branch, commit)] == [(0, b"")] * 3
        assert (push.returncode, b"/pull/new/topic" in push.stderr) == (0, True)
        assert author == "Bench Agent"


async def test_the_token_in_a_setting_of_git_is_not_left_in_what_a_session_says(tmp_path: Path) -> None:
    async with stage_of_session(tmp_path) as stage:
        said = "\n".join(stage.environment.values())
        header = next(value for value in stage.environment.values() if value.startswith("Authorization: "))

        clean = Redaction.of(stage.secrets).text(said)

    assert header in said
    assert header not in clean
    assert header[-30:] not in clean
