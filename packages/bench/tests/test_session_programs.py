"""Sessions have programs of their own: what one changes is noticed, and reaches no other and nothing installed."""

import os
from pathlib import Path

import pytest
from bench_command import ghx_bench, rows_of, run_in, write_files
from eval_stage import LIBRARY, scenario

from ghx_bench.modes.definitions import ModeDefinition
from ghx_bench.modes.program_path import find_tool, targets_of
from ghx_bench.modes.resolver import open_modes
from ghx_bench.stages.twin_stage import TwinLifecycle
from ghx_profiler.causes import Cause, EnvironmentFailure, TamperedToolsError
from ghx_profiler.testing import sample_cell

TASK = scenario()
CONFIG = """
modes: [{name: mine, tools: [gh=./gh]}]
scenarios: {ids: [issue-triage-001]}
execution: {repetitions: 3, warmup: false, order: sequential}
agents: [./agents.py:Breaker]
"""
AGENT = """
from contextlib import asynccontextmanager

from ghx_profiler.agents import tool_belt
from ghx_profiler import Answer, TraceRecorder


class Breaker:
    name = "breaker"

    @asynccontextmanager
    async def session(self, request):
        self.repetition = request.cell.iteration
        async with tool_belt(request, TraceRecorder()) as self.belt:
            yield self

    async def prompt(self, text):
        works = await self.belt.shell("gh --version")
        if self.repetition == 1:
            await self.belt.shell("gh=$(command -v gh); chmod u+w $gh; COMMAND $gh")
        return Answer(text="works" if "gh version" in works.text else "broken")

    async def trace(self):
        return TraceRecorder().trace()
"""
ANYWHERE = pytest.mark.parametrize(
    "command",
    ["echo '#!/bin/sh' >", "rm", "cp -f /bin/true", "ln -sf /bin/true"],
    ids=["write", "remove", "copy", "link"],
)

pytestmark = pytest.mark.process


def write_own_gh(folder: Path) -> Path:
    """Return a `gh` made for the test: what a session breaks if it does not have a copy."""
    gh = folder / "gh"
    gh.write_text(f'#!/bin/sh\nexec {find_tool("gh", os.environ)} "$@"\n')
    gh.chmod(0o755)
    return gh


@ANYWHERE
def test_a_session_that_changes_its_tools_is_named_and_the_next_has_working_ones(tmp_path: Path, command: str) -> None:
    write_files(tmp_path, {"eval.config.yaml": CONFIG, "agents.py": AGENT.replace("COMMAND", command)})
    gh = write_own_gh(tmp_path)
    before = gh.read_bytes()

    done = ghx_bench(tmp_path, "run", "--no-report", "--keep-worlds", "all")

    assert done.returncode == 0, done.stderr
    first, breaker, next_one = sorted(rows_of(run_in(tmp_path)), key=lambda row: row.start_order)
    assert [first.cause, breaker.cause, next_one.cause] == [None, Cause.AGENT_TAMPERED, None]
    assert breaker.success is False
    assert "the session changed its tools: gh" in (breaker.error or "")
    sessions = [each for each in run_in(tmp_path).rglob("*.json") if '"answer":"broken"' in each.read_text()]
    assert sessions == []
    assert gh.read_bytes() == before


def test_a_session_finds_a_copy_of_gh_that_is_linked_nowhere_else(tmp_path: Path) -> None:
    look = f"stat -c '%h links, mode %a' $gh > {tmp_path}/seen; : "
    write_files(
        tmp_path,
        {
            "eval.config.yaml": CONFIG.replace("{name: mine, tools: [gh=./gh]}", "baseline"),
            "agents.py": AGENT.replace("COMMAND", look).replace("chmod u+w $gh; ", ""),
        },
    )

    done = ghx_bench(tmp_path, "run", "--no-report")

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "seen").read_text() == "1 links, mode 555\n"


def names_in(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


@pytest.mark.anyio
async def test_each_session_has_copies_of_its_own_that_nobody_can_write() -> None:
    async with open_modes(environ=os.environ) as modes:
        mode = await modes.resolve("baseline")
        async with modes.lend(mode) as one, modes.lend(mode) as two:
            files = [Path(each.mode.environment["PATH"], "gh") for each in (one, two)]
            original = find_tool("gh", os.environ)
            assert original is not None
            assert len({(each.stat().st_dev, each.stat().st_ino) for each in (*files, original)}) == 3
            assert [each.is_symlink() for each in files] == [False, False]
            assert [each.stat().st_mode & 0o777 for each in files] == [0o555, 0o555]
            assert [each.stat().st_nlink for each in files] == [1, 1]
            assert names_in(files[0].parent) == names_in(Path(mode.environment["PATH"]))


@pytest.mark.anyio
async def test_an_untouched_folder_is_lent_again_and_a_touched_one_is_not() -> None:
    async with open_modes(environ=os.environ) as modes:
        mode = await modes.resolve("baseline")
        async with modes.lend(mode) as first:
            path = Path(first.mode.environment["PATH"])
        async with modes.lend(mode) as again:
            assert Path(again.mode.environment["PATH"]) == path
            (path / "gh").chmod(0o755)
            again.check()  # another mode of the file is no other program
        async with modes.lend(mode) as fresh:
            assert Path(fresh.mode.environment["PATH"]) != path
            assert not path.exists()
            (Path(fresh.mode.environment["PATH"]) / "more").write_text("added")
            fresh.check()  # nor is a program that was added
        async with modes.lend(mode) as last:
            assert "more" not in names_in(Path(last.mode.environment["PATH"]))


@pytest.mark.anyio
async def test_a_program_that_needs_what_is_beside_it_is_started_where_it_is_and_others_are_copied(
    tmp_path: Path,
) -> None:
    write_files(
        tmp_path,
        {
            "bin/plain": "#!/bin/sh\necho plain 1.0\n",
            "bin/where": '#!/bin/sh\nls "${0%/*}/beside.py" >/dev/null && echo where 1.0\n',
            "bin/snake": "#!/usr/bin/env python3\nimport beside\n",
            "bin/beside.py": "print('snake 1.0')\n",
        },
    )
    for name in ("plain", "where", "snake"):
        (tmp_path / "bin" / name).chmod(0o755)
    tools = (*(str(tmp_path / "bin" / name) for name in ("plain", "where", "snake")), "python3", "gh")
    async with open_modes([ModeDefinition(name="mine", tools=tools)], environ=os.environ) as modes:
        mode = await modes.resolve("mine")
        async with modes.lend(mode) as lent:
            path = Path(lent.mode.environment["PATH"])

            assert [each for each in path.iterdir() if each.is_symlink() and os.access(each, os.W_OK)] == []
            assert {name: len(targets_of(path / name)) for name in ("plain", "gh", "where", "snake", "python3")} == {
                "plain": 0,
                "gh": 0,
                "where": 1,
                "snake": 1,
                "python3": 1,
            }


@pytest.mark.anyio
async def test_what_a_session_writes_into_a_tool_does_not_reach_the_installed_program(tmp_path: Path) -> None:
    script = tmp_path / "snake"
    script.write_text("#!/usr/bin/env python3\nprint('snake 1.0')\n")
    script.chmod(0o755)
    mine = ModeDefinition(name="mine", tools=(str(script), "python3", "ghx"))
    async with open_modes([mine], environ=os.environ) as modes:
        mode = await modes.resolve("mine")
        installed = [find_tool("ghx", os.environ), find_tool("git", os.environ), script]
        before = [each.read_bytes() for each in installed if each is not None]
        async with modes.lend(mode) as lent:
            tools = [Path(lent.mode.environment["PATH"], name) for name in ("snake", "ghx", "git")]
            own = [each for each in tools if not each.is_symlink() and each.stat().st_nlink == 1]
            # Nothing is written through a link: it would reach the machine's own program.
            assert [each for each in tools if each not in own and os.access(each.resolve(), os.W_OK)] == []
            for tool in own:
                tool.chmod(0o755)
                tool.write_text("#!/bin/sh\n")
            with pytest.raises(TamperedToolsError, match="ghx"):
                lent.check()
        async with modes.lend(mode) as fresh:
            fresh.check()

        assert [each.read_bytes() for each in installed if each is not None] == before


@pytest.mark.anyio
async def test_a_program_that_all_sessions_share_and_that_changed_is_nobodys_fault(tmp_path: Path) -> None:
    script = tmp_path / "snake"
    script.write_text("#!/usr/bin/env python3\nprint('snake 1.0')\n")
    script.chmod(0o755)
    mine = ModeDefinition(name="mine", tools=(str(script), "python3"))
    async with open_modes([mine], environ=os.environ) as modes:
        mode = await modes.resolve("mine")
        async with modes.lend(mode) as lent:
            lent.check()
            script.touch()
            lent.check()
            script.write_text("#!/usr/bin/env python3\nprint('snake 2.0')\n")
            with pytest.raises(EnvironmentFailure, match="changed since the run began"):
                lent.check()
        with pytest.raises(EnvironmentFailure):
            async with modes.lend(mode):
                pytest.fail("lent what is another program now")


@pytest.mark.anyio
async def test_a_stage_has_its_sessions_programs_on_its_path_and_checks_them() -> None:
    async with open_modes(environ=os.environ) as modes:
        mode = await modes.resolve("baseline")
        lifecycle = TwinLifecycle(None, [TASK], LIBRARY, lend_programs=modes.lend)
        async with lifecycle.run(Path("run")), lifecycle.cell(sample_cell(), TASK, mode) as stage:
            path = Path(stage.environment["PATH"])
            assert path != Path(mode.environment["PATH"])
            assert str(path) in Path(stage.environment["HOME"], ".profile").read_text()
            assert stage.check_tools is not None
            stage.check_tools()
            (path / "gh").unlink()
            with pytest.raises(TamperedToolsError, match="gh"):
                stage.check_tools()
