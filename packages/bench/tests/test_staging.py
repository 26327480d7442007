"""A private copy of the world for each attempt: isolated, complete, and gone afterwards."""

import os
import tempfile
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from eval_stage import agent_on, folders_in, handles_of, lifecycle_for, scenario, staged
from shell_runs import run_in_shell

from ghx_bench.fixtures.embedded import AGENT, DEFAULT_REPO
from ghx_bench.scenario.binding import BindingError
from ghx_bench.scenario.eval_scenario import EvalScenario, required_fixtures
from ghx_bench.stages.handles import keep_path
from ghx_bench.stages.twin_stage import TwinLifecycle
from ghx_profiler.evidence import Mode, Stage
from ghx_twin.difference import diff
from ghx_twin.git.program import home

pytestmark = [pytest.mark.anyio, pytest.mark.process]


@dataclass
class Place:
    """A lifecycle whose run is on, and the folder in which all its temporary files are."""

    lifecycle: TwinLifecycle
    folder: Path
    at_rest: list[str]
    """What is there when no cell is."""


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Place]:
    folder = tmp_path_factory.mktemp("tmp")
    home()  # belongs to this process, not to a run
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tempfile, "tempdir", str(folder))
        lifecycle = lifecycle_for(scenario())
        async with lifecycle.run(Path("run_1")):
            yield Place(lifecycle, folder, list(folders_in(folder)))
    assert folders_in(folder) == [], "the run left something behind"


async def comment(stage: Stage[Any], text: str) -> None:
    bound = handles_of(stage).bindings
    await agent_on(stage).post(f"/repos/{bound['repo']}/issues/{bound['issue_number']}/comments", {"body": text})


async def comments(stage: Stage[Any]) -> list[str]:
    bound = handles_of(stage).bindings
    answer = await agent_on(stage).get(f"/repos/{bound['repo']}/issues/{bound['issue_number']}/comments")
    return [each["body"] for each in answer.data]


async def test_attempts_see_neither_each_other_nor_what_was_before(place: Place) -> None:
    async with staged(place.lifecycle, scenario()) as one, staged(place.lifecycle, scenario()) as other:
        await comment(one, "one")
        await comment(other, "other")
        seen = await comments(one), await comments(other)
        tokens = {stage.environment["GITHUB_TOKEN"] for stage in (one, other)}
        folders = {stage.directory for stage in (one, other)}
    async with staged(place.lifecycle, scenario()) as later:
        afterwards = await comments(later)
        seeded, world = handles_of(later).seeded, handles_of(later).world
        assert seeded is not None
        assert world is not None
        assert diff(seeded, world) == ()

    assert seen == (["one"], ["other"])
    assert afterwards == []
    assert len(tokens) == len(folders) == 2


async def test_a_stage_binds_the_scenario_and_says_so(place: Place) -> None:
    async with staged(place.lifecycle, scenario()) as stage:
        bound = handles_of(stage).bindings

    assert stage.facts["target"] == "twin"
    assert stage.facts["repo"] == DEFAULT_REPO
    assert stage.facts["bindings"] == bound
    assert bound["run_id"] == "run_1"
    assert bound["owner"] == "ghx-bench"
    issue, pull = bound["issue_number"], bound["pr_number"]
    assert stage.scenario.prompt == f"Look at {DEFAULT_REPO}#{issue} and {DEFAULT_REPO}#{pull} (run_1)."


async def test_an_agent_is_itself_in_a_home_and_a_folder_of_its_own(place: Place) -> None:
    async with staged(place.lifecycle, scenario()) as stage:
        who = (await agent_on(stage).get("/user")).data["login"]
        assert stage.directory is not None
        assert folders_in(stage.directory) == []
        private = stage.directory.parent
        homes = [stage.environment[name] for name in ("HOME", "TMPDIR", "GH_CONFIG_DIR", "GIT_CONFIG_GLOBAL")]
        assert [each for each in homes if not Path(each).is_relative_to(private)] == []
        assert private.stat().st_mode & 0o077 == 0

    assert who == AGENT == handles_of(stage).agent
    assert not private.exists()


async def test_what_an_agents_shell_does_ends_up_in_its_world_alone(place: Place) -> None:
    async with staged(place.lifecycle, scenario()) as stage:
        environment = {"PATH": os.environ["PATH"], **stage.environment}
        command = f"git clone -q https://github.com/{DEFAULT_REPO}.git copy && cd copy && git checkout -q -b mine && \
            echo hello > new.txt && git add new.txt && git commit -q -m 'Add a file' && git push -q origin mine"
        ran = await run_in_shell(command, environment=environment, directory=stage.directory)
        world, seeded = handles_of(stage).world, handles_of(stage).seeded
        assert world is not None
        assert seeded is not None
        changed = [(each.kind, each.name, each.by) for each in diff(seeded, world) if not each.is_bookkeeping]

    assert ran.exit_code == 0, ran.output
    assert changed == [("refs", f"{DEFAULT_REPO} refs/heads/mine", AGENT)]


async def test_the_journal_has_what_was_asked_on_this_stage(place: Place) -> None:
    async with staged(place.lifecycle, scenario()) as stage:
        assert list(handles_of(stage).journal or ()) == []
        await comment(stage, "one")
        entries = list(handles_of(stage).journal or ())

    assert [(entry.actor, entry.method, entry.mutation) for entry in entries] == [(AGENT, "POST", True)]


async def test_a_stage_that_is_over_is_not_served_any_more(place: Place) -> None:
    async with staged(place.lifecycle, scenario()) as stage:
        client = agent_on(stage)
        await client.get("/user")

    with pytest.raises(Exception, match="Bad credentials"):
        await client.get("/user")


async def test_nothing_is_left_of_a_stage_that_was_left_by_an_error(place: Place) -> None:
    with pytest.raises(ZeroDivisionError):
        async with staged(place.lifecycle, scenario()):
            raise ZeroDivisionError

    assert folders_in(place.folder) == place.at_rest


async def test_nothing_is_left_of_a_stage_that_was_cancelled(place: Place) -> None:
    reached = False
    with anyio.CancelScope() as scope:
        async with staged(place.lifecycle, scenario()) as stage:
            await comment(stage, "one")
            reached = True
            scope.cancel()
            await anyio.sleep_forever()

    assert reached
    assert scope.cancelled_caught
    assert folders_in(place.folder) == place.at_rest


async def test_nothing_is_left_of_a_scenario_that_cannot_be_bound(place: Place) -> None:
    unbound = scenario(prompt="{{nobody}}")
    with pytest.raises(BindingError, match=r"nothing is bound to \{\{nobody\}\}"):
        async with staged(place.lifecycle, unbound):
            pass

    assert folders_in(place.folder) == place.at_rest


async def test_a_scenario_that_does_not_fit_is_found_before_any_cell(tmp_path: Path) -> None:
    fixture = {"repo": "{{fixture_repo}}", "requires": ["issue_for_triage"], "bindings": {"n": "issue_for_triage.nr"}}
    lost = scenario(prompt="{{n}}", fixture=fixture)

    with pytest.raises(BindingError, match="'issue_for_triage' has no 'nr' in the manifest"):
        async with lifecycle_for(lost).run(tmp_path):
            pytest.fail("the run began")


async def test_the_repository_is_the_one_that_was_asked_for(tmp_path: Path) -> None:
    small = scenario(
        prompt="{{repo}}",
        fixture={"repo": "{{fixture_repo}}", "requires": ["issue_for_triage"], "bindings": {}},
    )
    lifecycle = lifecycle_for(small, repo="somebody-else/things")
    async with lifecycle.run(tmp_path), staged(lifecycle, small) as stage:
        issues = (await agent_on(stage).get("/repos/somebody-else/things/issues")).data

    assert stage.scenario.prompt == "somebody-else/things"
    assert len(issues) == 1


def test_fixtures_are_named_once_in_the_order_of_the_scenarios() -> None:
    def needs(*names: str) -> EvalScenario:
        return scenario(prompt="p", fixture={"repo": "a/b", "requires": list(names), "bindings": {}})

    without = needs().model_copy(update={"fixture": None})
    assert required_fixtures([needs("b", "a"), without, needs("a", "c")]) == ("b", "a", "c")


async def test_a_login_shell_keeps_the_path_of_its_mode(tmp_path: Path) -> None:
    keep_path(tmp_path, Mode(name="ghx", environment={"PATH": "/nowhere/it's here"}))

    said = await anyio.run_process(["/bin/bash", "-lc", "echo $PATH"], env={"HOME": str(tmp_path)})

    assert said.stdout == b"/nowhere/it's here\n"
