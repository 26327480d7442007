"""Sessions have programs of their own: what one changes is noticed, and reaches no other and nothing installed."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from shutil import which

import anyio
import pytest
from bench_command import fork_ghx_bench, rows_of, run_in, write_files
from eval_stage import LIBRARY, scenario
from nightly import mostly_nightly

from ghx_bench.modes.definitions import ModeDefinition
from ghx_bench.modes.program_path import fill_folder, find_tool, targets_of
from ghx_bench.modes.resolver import open_modes
from ghx_bench.modes.session_programs import LentPrograms
from ghx_bench.stages.twin_stage import TwinLifecycle
from ghx_profiler.records.causes import Cause, EnvironmentFailure, TamperedToolsError
from ghx_profiler.testing import sample_cell

TASK = scenario()
CALCULATOR = Path(__file__).parents[3] / "tests" / "support" / "calculator_mcp.py"
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
COMMANDS = ["echo '#!/bin/sh' >", "rm", "cp -f /bin/true", "ln -sf /bin/true"]
ANYWHERE = pytest.mark.parametrize(
    "command",
    mostly_nightly(COMMANDS, keep=COMMANDS[:1]),
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

    done = fork_ghx_bench(tmp_path, "run", "--no-report", "--keep-worlds", "all")

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

    done = fork_ghx_bench(tmp_path, "run", "--no-report")

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "seen").read_text() == "1 links, mode 555\n"


def names_in(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


@pytest.mark.anyio
async def test_each_session_has_copies_of_its_own_tools() -> None:
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

            original = Path(mode.environment["PATH"])
            links = [each.resolve() for each in path.iterdir() if each.is_symlink()]
            assert [each for each in links if os.access(each, os.W_OK) and each.parent != original] == []
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
            assert [each.name for each in own] == ["snake", "ghx"]
            # What is written through a link reaches the run's copy, and not the machine's own program.
            linked = [each.resolve() for each in tools if each not in own]
            assert [
                each for each in linked if os.access(each, os.W_OK) and str(each.parent) != mode.environment["PATH"]
            ] == []
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


def change(program: Path) -> None:
    program.chmod(0o755)
    program.write_text("#!/bin/sh\n")


def own_gh(lent: LentPrograms) -> Path:
    return Path(lent.mode.environment["PATH"], "gh")


@pytest.mark.anyio
async def test_nobody_is_blamed_for_a_change_that_one_of_two_sessions_at_once_made() -> None:
    async with open_modes(environ=os.environ) as modes:
        mode, other = await modes.resolve("baseline"), await modes.resolve("ghx")
        async with modes.lend(mode) as one:
            async with modes.lend(other) as two:
                change(own_gh(one))
                two.check()
            with pytest.raises(EnvironmentFailure, match="gh: changed while the session ran, by this session or one"):
                one.check()
        async with modes.lend(mode) as alone:
            alone.check()
            change(own_gh(alone))
            with pytest.raises(TamperedToolsError):
                alone.check()


@pytest.mark.anyio
async def test_a_run_goes_on_after_a_session_has_changed_its_copies_of_programs(tmp_path: Path) -> None:
    gh = write_own_gh(tmp_path)
    async with open_modes([ModeDefinition(name="mine", tools=(f"gh={gh}",))], environ=os.environ) as modes:
        mode = await modes.resolve("mine")
        original = Path(mode.environment["PATH"], "gh")
        async with modes.lend(mode) as one, modes.lend(mode) as two:
            change(original)
            for each in (one, two):
                with pytest.raises(EnvironmentFailure, match="gh: changed while the session ran"):
                    each.check()
        async with modes.lend(mode) as third:
            assert own_gh(third).read_bytes() == gh.read_bytes()
            assert own_gh(third).resolve().parent != original.parent
            third.check()
        async with modes.lend(mode) as last:
            assert own_gh(last) == own_gh(third)
            last.check()


@pytest.mark.anyio
async def test_no_cell_is_measured_while_the_installed_program_has_changed_as_well(tmp_path: Path) -> None:
    gh = write_own_gh(tmp_path)
    async with open_modes([ModeDefinition(name="mine", tools=(f"gh={gh}",))], environ=os.environ) as modes:
        mode = await modes.resolve("mine")
        async with modes.lend(mode):
            change(Path(mode.environment["PATH"], "gh"))
        installed = gh.read_bytes()
        change(gh)
        with pytest.raises(EnvironmentFailure, match=r"gh: .* installed program have changed"):
            async with modes.lend(mode):
                pytest.fail("lent what is another program now")
        gh.write_bytes(installed)
        async with modes.lend(mode) as lent:
            assert own_gh(lent).read_bytes() == installed


@pytest.mark.anyio
async def test_sessions_in_a_sandbox_use_the_runs_folder_and_are_checked() -> None:
    async with open_modes(environ=os.environ) as modes:
        mode = await modes.resolve("baseline")
        mode = replace(mode, facts={**mode.facts, "sandbox": "bwrap"})
        async with modes.lend(mode) as one, modes.lend(mode) as two:
            assert one.mode.environment == two.mode.environment == mode.environment
            one.check()
        async with modes.lend(mode) as alone:
            change(own_gh(alone))
            with pytest.raises(EnvironmentFailure, match="gh: changed while the session ran"):
                alone.check()
        async with modes.lend(mode) as fresh:
            assert own_gh(fresh) != own_gh(alone)
            fresh.check()


@pytest.mark.anyio
async def test_only_the_tools_of_the_mode_are_copied_for_a_session(tmp_path: Path) -> None:
    cat = tmp_path / "cat"
    cat.write_text("#!/bin/sh\necho cat 1.0\n")
    cat.chmod(0o755)
    mine = ModeDefinition(name="mine", tools=(str(cat), "gh"))
    async with open_modes([mine], environ=os.environ) as modes, modes.lend(await modes.resolve("mine")) as lent:
        folder = own_gh(lent).parent
        assert {each.name for each in folder.iterdir() if not each.is_symlink()} == {"cat", "gh"}


@pytest.mark.anyio
async def test_no_more_folders_wait_than_sessions_have_run_at_once() -> None:
    async with open_modes(environ=os.environ) as modes:
        folders = list[Path]()
        for name in ("baseline", "ghx", "baseline"):
            async with modes.lend(await modes.resolve(name)) as lent:
                folders.append(own_gh(lent).parent)
        assert [each.exists() for each in folders] == [False, False, True]

    assert not folders[2].exists()


@pytest.mark.anyio
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no list of open files on this system")
async def test_folders_that_sessions_touch_leave_no_file_open() -> None:
    async with open_modes(environ=os.environ) as modes:
        mode, counts = await modes.resolve("baseline"), list[int]()
        for _ in range(20):
            async with modes.lend(mode) as lent:
                own_gh(lent).touch()
            counts.append(len(os.listdir("/proc/self/fd")))  # noqa: PTH208 - of this very moment

    assert counts[-1] == counts[0]


@pytest.mark.anyio
async def test_what_a_server_writes_itself_is_no_program(tmp_path: Path) -> None:
    script, log, data = (tmp_path / name for name in ("server.py", "server.log", "data.db"))
    script.write_bytes(CALCULATOR.read_bytes())
    for file in (log, data):
        file.write_text("begun")
    server = {"command": sys.executable, "args": [str(script), "--log-file", str(log), str(data)]}
    mine = ModeDefinition.model_validate({"name": "mine", "mcp_servers": {"calc": server}})
    async with open_modes([mine], environ=os.environ) as modes, modes.lend(await modes.resolve("mine")) as lent:
        log.write_text("gone on")
        data.write_text("gone on")
        lent.check()
        script.write_text("")
        with pytest.raises(EnvironmentFailure, match=r"server\.py: changed since the run began"):
            lent.check()


@pytest.mark.anyio
@pytest.mark.skipif(sys.platform != "linux" or not which("gcc"), reason="no C compiler (gcc) on this machine")
async def test_a_program_that_finds_its_library_from_where_it_is_works(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        {
            "greet.c": 'const char *greet(void) { return "greeter 1.0"; }\n',
            "main.c": "#include <stdio.h>\nconst char *greet(void);\nint main(void) { return puts(greet()) < 0; }\n",
        },
    )
    for folder in ("bin", "lib"):
        (tmp_path / folder).mkdir()
    for words in (
        "gcc -shared -fPIC -o lib/libgreet.so greet.c",
        "gcc -o bin/greeter main.c -Llib -lgreet -Wl,-rpath,$ORIGIN/../lib",
    ):
        await anyio.run_process(words.split(), cwd=tmp_path)
    mine = ModeDefinition(name="mine", tools=(str(tmp_path / "bin" / "greeter"),))
    async with open_modes([mine], environ=os.environ) as modes, modes.lend(await modes.resolve("mine")) as lent:
        said = await anyio.run_process(["greeter"], env=lent.mode.environment)

    assert said.stdout == b"greeter 1.0\n"


@pytest.mark.parametrize(
    ("beside", "is_copied"),
    [
        ("dist/notes.txt", True),
        ("dist/_internal/base.zip", False),
        ("dist/libz.so.1", False),
        ("dist/tool.dll", False),
        ("dist/tool.runtimeconfig.json", False),
        ("bin/other.so", True),
    ],
)
def test_a_program_with_libraries_in_its_folder_is_not_copied(tmp_path: Path, beside: str, is_copied: bool) -> None:
    write_files(tmp_path, {beside: ""})
    program = tmp_path / Path(beside).parts[0] / "tool"
    program.write_bytes(b"\x7fELF")
    program.chmod(0o755)

    fill_folder(tmp_path / "path", [str(program)], os.environ)

    assert targets_of(tmp_path / "path" / "tool") == (() if is_copied else (program,))


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
