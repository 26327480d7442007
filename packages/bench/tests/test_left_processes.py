"""Processes that agents start to outlive their session: none of them outlives session or bench, however these end."""

import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from bench_command import ghx_bench, left_in, printed, rows_of, run_in, start, write_files
from nightly import mostly_nightly

RUN = (
    "run",
    "--agent",
    "agent.py",
    "--mode",
    "baseline",
    "--scenario",
    "issue-find-and-close-001",
    "--repetitions",
    "1",
)
QUICK = (*RUN, "--skip-warmup", "--json")

# Each leaves processes behind that have nothing in common with it any more: another session, another parent, and an
# environment without any variable of ours. The names of the programs are how the test finds them.
ESCAPES = {
    "detached": "{setsid} {env} -i {sleep} 3001 >/dev/null 2>&1 &",
    "daemon": "{env} -i {bash} -c '{setsid} {bash} -c \"{sleep} 3002 & disown\" & disown' >/dev/null 2>&1",
    "chain": (
        "echo '{setsid} {bash} $0 & exit' > chain.sh; {env} -i {setsid} {bash} chain.sh >/dev/null 2>&1 & "
        "{setsid} {env} -i {sleep} 3003 >/dev/null 2>&1 &"
    ),
    "stopping its parent": (
        "trap '' TERM; {setsid} {env} -i {sleep} 3007 >/dev/null 2>&1 & {sleep} 3008 >/dev/null 2>&1 & kill -STOP $PPID"
    ),
    "killing its parent": "{setsid} {env} -i {sleep} 3004 >/dev/null 2>&1 & {sleep} 0.3; kill -9 $PPID; {sleep} 3005",
}

AGENT = """
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from ghx_profiler.agents.tools.toolbelt import tool_belt
from ghx_profiler import Answer, TraceRecorder

HERE = Path(__file__).parent


class Agent:
    name = "leaving"

    @asynccontextmanager
    async def session(self, request):
        recorder = TraceRecorder()
        async with tool_belt(request, recorder) as belt:
            yield Session(belt, recorder)


class Session:
    def __init__(self, belt, recorder):
        self.belt, self.recorder = belt, recorder

    async def prompt(self, text):
        answer = await self.belt.shell((HERE / "command").read_text())
        assert not answer.text, answer.text
        (HERE / "left").touch()
        if (HERE / "wait").exists():
            await anyio.sleep_forever()
        return Answer(text="done")

    async def trace(self):
        return self.recorder.trace()
"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A folder with the agent; its programs are copies with names of their own, and ended after a failed test."""
    for name in ("sleep", "bash", "setsid", "env"):
        shutil.copy(shutil.which(name) or "", tmp_path / f"{name}-of-the-agent")
    yield write_files(tmp_path, {"agent.py": AGENT})
    while left := alive_in(tmp_path):
        for each in left:
            with suppress(psutil.NoSuchProcess):
                each.kill()


def escape(project: Path, name: str) -> None:
    programs = {each: str(project / f"{each}-of-the-agent") for each in ("sleep", "bash", "setsid", "env")}
    # What was started in the background gets the time to leave the family.
    (project / "command").write_text(f"{ESCAPES[name]}\n{{sleep}} 0.5".format(**programs))


def alive_in(folder: Path) -> list[psutil.Process]:
    """Return the processes of programs in a folder."""
    found: list[psutil.Process] = []
    for each in psutil.process_iter():
        try:
            if each.exe().startswith(str(folder)) and each.status() != psutil.STATUS_ZOMBIE:
                found.append(each)
        except psutil.Error:
            continue
    return found


def gone_in(folder: Path, within_s: float = 20.0) -> bool:
    """Wait until no program of a folder runs, nor appears again."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if not any(alive_in(folder) for _ in range(3)):
            return True
    return False


@pytest.mark.parametrize("name", mostly_nightly(ESCAPES, keep=["chain", "killing its parent"]))
def test_what_an_agent_leaves_running_is_gone_with_its_session(name: str, project: Path) -> None:
    escape(project, name)
    printed(ghx_bench(project, *QUICK))

    assert (project / "left").exists()
    assert gone_in(project, within_s=3)


@pytest.fixture
def default_hangup() -> Iterator[None]:
    """Have programs end with their terminal; they would not where the tests were started with `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def interrupt_twice(process: int) -> None:
    os.kill(process, signal.SIGINT)
    time.sleep(0.05)
    os.kill(process, signal.SIGINT)


ENDINGS: dict[str, Callable[[int], None]] = {
    "kill -9": lambda process: os.kill(process, signal.SIGKILL),
    "a closed terminal": lambda process: os.kill(process, signal.SIGHUP),
    "Ctrl-C twice": interrupt_twice,
}


@pytest.mark.usefixtures("default_hangup")
@pytest.mark.parametrize("name", mostly_nightly(["detached", "chain"], keep=["detached"]))
@pytest.mark.parametrize("ending", ENDINGS)
def test_what_an_agent_leaves_running_is_gone_with_the_bench(ending: str, name: str, project: Path) -> None:
    escape(project, name)
    (project / "wait").touch()
    process = start(project, *QUICK)
    while process.poll() is None and not (project / "left").exists():
        time.sleep(0.01)
    left = alive_in(project)
    ENDINGS[ending](process.pid)
    _, errors = process.communicate()

    assert left, errors
    assert process.returncode == (-9 if ending == "kill -9" else 130), errors
    assert gone_in(project)


def test_a_run_that_was_killed_with_a_session_at_work_is_resumed_and_leaves_nothing(project: Path) -> None:
    escape(project, "daemon")
    (project / "wait").touch()
    process = start(project, *QUICK)
    while process.poll() is None and not (project / "left").exists():
        time.sleep(0.01)
    process.kill()
    process.communicate()
    (project / "wait").unlink()
    done = ghx_bench(project, "resume", str(run_in(project)), "--json")

    assert printed(done)["measured"] == len(rows_of(run_in(project))) == 1
    assert gone_in(project)
    assert left_in(project) == []


def kill_with_keepers(project: Path) -> list[psutil.Process]:
    """Start a run, kill it together with its keepers, and return the programs of its session that live on."""
    sleep = project / "sleep-of-the-agent"
    (project / "command").write_text(f"{project}/setsid-of-the-agent {sleep} 3006 >/dev/null 2>&1 & {sleep} 0.5")
    (project / "wait").touch()
    process = start(project, *QUICK)
    while process.poll() is None and not (project / "left").exists():
        time.sleep(0.01)
    bench = psutil.Process(process.pid)
    bench.suspend()  # at one moment, as the kernel does that runs out of memory; and it starts no keeper meanwhile
    keepers = [each for each in bench.children(recursive=True) if "keeper.py" in str(command_of(each))]
    for each in keepers:
        each.suspend()
    assert alive_in(project)
    for each in (*keepers, process):
        each.kill()
    process.communicate()
    psutil.wait_procs(keepers)
    assert len(keepers) == 2
    return alive_in(project)


def command_of(process: psutil.Process) -> list[str]:
    """Return the words of a command; of a program that has just ended, none."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_what_a_run_left_whose_keepers_were_killed_with_it_ends_when_it_is_resumed(project: Path) -> None:
    # Any other bench that starts on this machine meanwhile, as those of other tests do, ends what a killed one left. On
    # a busy machine that may be so each time: then those have shown that it ends.
    attempts = 0
    while not kill_with_keepers(project) and (attempts := attempts + 1) < 5:
        shutil.rmtree(project / "results")
        (project / "left").unlink()
    (project / "wait").unlink()
    printed(ghx_bench(project, "resume", str(run_in(project)), "--json"))

    assert gone_in(project)


def test_a_session_sees_nothing_of_the_bench_in_its_parent(project: Path) -> None:
    # Other accounts than root's may not read it at all.
    (project / "command").write_text(f"cat /proc/$PPID/environ 2>/dev/null | tr '\\0' '\\n' >{project}/seen")
    printed(ghx_bench(project, *QUICK, extra={"SECRET_OF_THE_BENCH": "s3cret"}))

    assert re.findall("^[A-Z_]+", (project / "seen").read_text(), re.MULTILINE) in ([], ["LD_LIBRARY_PATH"])
