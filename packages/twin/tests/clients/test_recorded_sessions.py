"""What a real model asked of the real GitHub through `gh`, asked again of a like world of the twin."""

import json
import os
from collections.abc import Generator
from pathlib import Path

import pytest
from gh_client import Done, GhClient, bundled_gh
from recorded_sessions import (
    Correspondence,
    RecordedCall,
    differences,
    leading_json,
    pull_number,
    recorded_calls,
)

from ghx_twin.pytest_plugin import GitHubTwin
from ghx_twin.seed.building import build_world
from ghx_twin.seed.document import WorldSeed
from ghx_twin.world import World

SESSIONS = Path(__file__).parents[4].parent / "shared" / "compat" / "sessions"
OWNER, APP = "aryeko", "ghx-benchmark-fixture-app"
PATH = "src/utils/mixed-helpers.ts"
BLOCK = "export function step{0}(value: any) {{\n  return value\n}}\n\n"


def like_world(number: int) -> WorldSeed:
    """A pull request by an app that adds one file, with a thread on every function; the first three are resolved."""
    text = "// Steps\n" + "".join(BLOCK.format(step) for step in range(1, 7))
    threads = [
        {
            "path": PATH,
            "line": line,
            "comments": [{"author": APP, "body": f"Line {line} wants a type."}],
            **({"resolved_by": OWNER} if line < 14 else {}),
        }
        for line in (2, 6, 10, 14, 18, 22)
    ]
    pull = {"number": number, "title": "Steps", "author": APP, "head": "steps", "labels": ["bug"], "threads": threads}
    repository = {
        "name": f"{OWNER}/ghx-bench-fixtures",
        "collaborators": {APP: "write"},
        "files": {"README.md": "# Fixtures\n"},
        "history": [{"branch": "steps", "message": "Add steps", "author": APP, "files": {PATH: text}}],
        "pulls": [pull],
    }
    users = [{"login": OWNER}, {"login": APP, "type": "Bot"}]
    return WorldSeed.model_validate_json(json.dumps({"users": users, "repositories": [repository]}))


@pytest.fixture
def session(request: pytest.FixtureRequest, shared: Path) -> list[RecordedCall]:
    return recorded_calls(shared / "compat" / "sessions" / f"{request.param}.json")


@pytest.fixture
def github_world(session: list[RecordedCall]) -> Generator[World]:
    with World.create() as world:
        build_world(world, like_world(pull_number(session)))
        yield world


@pytest.fixture
def agent(github_twin: GitHubTwin, tmp_path: Path) -> GhClient:
    path = os.pathsep.join([str(bundled_gh().parent), github_twin.environment["PATH"]])
    environment = {**github_twin.environment, "PATH": path}
    return GhClient(program=bundled_gh(), twin=github_twin, directory=tmp_path, environment=environment)


def names_of_sessions() -> list[str]:
    found = [path.stem for path in sorted(SESSIONS.glob("*.json")) if recorded_calls(path)]
    return found or ["none"]


@pytest.mark.parametrize("session", names_of_sessions(), indirect=True)
def test_the_twin_answers_a_recorded_session_as_github_did(session: list[RecordedCall], agent: GhClient) -> None:
    known = Correspondence()
    for call in session:
        done = agent.execute("sh", "-c", known.translated(call.command))
        recorded, ours = leading_json(call.output), leading_json(done.out)

        assert refused_with(done) == call.status, done
        assert differences(recorded, ours) == [], call.command
        known.learn(recorded, ours)


def refused_with(done: Done) -> int | None:
    """Return the status of the refusal, None where all went well; the exit code must say the same."""
    refused = [entry.status for entry in done.requests if entry.failed]
    assert done.requests
    assert bool(refused) == (done.code != 0), done
    return refused[-1] if refused else None
