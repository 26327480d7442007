"""Every captured command of `gh`, run again on the twin: it ends as it ended then, and is refused nothing."""

import json
import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from captured_situations import SITUATIONS, Situation
from gh_client import MISSING, Done, GhClient, bundled_gh, system_gh, version_of

from ghx_twin.nodes import node_id
from ghx_twin.pytest_plugin import GitHubTwin
from ghx_twin.queries import lookup
from ghx_twin.state.records import CheckRun, Project, ProjectField, ProjectItem
from ghx_twin.world import World

CAPTURES = Path(__file__).parents[4].parent / "shared" / "gh-requests"
OLD, NEW = "2.23.0", "2.103.3"
NOT_IMPLEMENTED = 501
PHRASES = ("A title", "not planned", "crash in:title", "is:open review-requested:@me sort:updated-desc")
REFUSED = frozenset({
    "ghx-release-list-cli", "label-notfound", "pr-create-exists", "pr-merge-mss-draft", "release-create-genassets",
    "release-view-draft404", "run-view-norun",
})  # fmt: skip
"""Captures beside err-* in which GitHub has to refuse something."""
EITHER = ("project-", "ghx-project-")
"""Starts of the names of captures in which `gh` asks for a user and an organization of one name: one is not there."""
LATER = {
    "gist-": "gists",
    "status": "notifications and feeds",
}
"""Starts of the names of captures whose part of GitHub the twin does not have yet."""
ENDLESS = frozenset({"run-watch-in-progress"})
"""Captures that wait for what never happens on their own: no job ends here unless somebody says so."""


@cache
def capture(name: str) -> dict[str, Any]:
    return json.loads((CAPTURES / f"{name}.json").read_bytes())


def captured_runs(*, later: bool) -> list[tuple[str, str]]:
    """Return the names and versions of the captures; a placeholder where there are none, for the test to be skipped."""
    names = sorted({path.stem for path in CAPTURES.glob("*.json")} - ENDLESS)
    wanted = [name for name in names if any(map(name.startswith, LATER)) == later]
    found = [(name, version) for name in wanted for version in capture(name)["runs"]]
    return [(name, version) for name, version in found if asks_something(name, version)] or [("none", NEW)]


def asks_something(name: str, version: str) -> bool:
    """Tell whether a command reached GitHub; of a later part only these matter, others have flags this gh lacks."""
    run = capture(name)["runs"][version]
    return bool(run["requests"]) or not any(map(name.startswith, LATER))


def words(command: str) -> list[str]:
    """Split a command as it was typed; captures have lost the quotes around the few words that hold spaces."""
    quoted = re.sub(r"(query=\S.*?\}+)(?= -|$)", lambda found: shlex.quote(found[1]), command)
    for phrase in PHRASES:
        quoted = quoted.replace(f" {phrase}", f" {shlex.quote(phrase)}")
    return shlex.split(quoted)[1:]


def program_of(version: str) -> Path:
    if version == NEW:
        return bundled_gh()
    found = system_gh()
    if found is None:
        pytest.skip(MISSING)
    if version_of(found) != version:
        pytest.skip(f"the gh of this machine is {version_of(found)}, the capture is of {version}")
    return found


def replayed(name: str, version: str, twin: GitHubTwin, clone: Path) -> Done:
    """Run a captured command in its situation."""
    situation = SITUATIONS.get(name, Situation())
    situation.set_up(twin.world)
    client = GhClient(
        program=program_of(version),
        twin=twin,
        directory=clone,
        environment={**twin.environment_of(situation.user), **situation.environment},
    )
    client.git("checkout", "--quiet", situation.branch)
    return client.run(*arguments(name, situation, twin.world))


def arguments(name: str, situation: Situation, world: World) -> list[str]:
    command = capture(name)["command"]
    if situation.replaced is not None:
        repository = lookup.repository(world, None, "acme", "widgets")
        old, new = situation.replaced
        command = command.replace(old, new).replace("HEAD-OF-PULL", lookup.pull(world, repository, 7).head_sha)
        command = command.replace("NEWEST-JOB", str(world.database.all(CheckRun)[-1].id))
    for placeholder, model in (("PVTI_x", ProjectItem), ("PVTF_x", ProjectField), ("PVT_x", Project)):
        if placeholder in command:
            command = command.replace(placeholder, node_id(world.database, world.database.all(model)[-1]))
    return words(command)


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize(("name", "version"), captured_runs(later=False))
def test_a_captured_command_ends_as_it_did(name: str, version: str, github_twin: GitHubTwin, clone: Path) -> None:
    if "PATH" in capture(name)["command"]:
        (clone / "PATH").write_text("what a release carries\n")
    expected = SITUATIONS.get(name, Situation()).code
    if expected is None:
        expected = capture(name)["runs"][version]["rc"]

    done = replayed(name, version, github_twin, clone)

    assert done.code == expected, done
    if not name.startswith(("err-", *EITHER)) and name not in REFUSED:
        assert not [entry for entry in done.requests if entry.failed], done


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize(("name", "version"), captured_runs(later=True))
def test_a_command_of_a_later_part_is_told_what_is_missing(
    name: str, version: str, github_twin: GitHubTwin, clone: Path
) -> None:
    done = replayed(name, version, github_twin, clone)

    assert done.code != 0, done
    assert any(entry.status == NOT_IMPLEMENTED for entry in done.requests), done
    told = done.out + done.err  # the answer to a HEAD request has no words
    assert "is not implemented by the twin" in told or "HTTP 501" in told, done
