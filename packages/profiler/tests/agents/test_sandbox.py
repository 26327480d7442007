"""Programs of a session in namespaces of their own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import anyio.abc
import psutil
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream
from bubblewrap import needs_bubblewrap

from ghx_profiler.agents.processes import sandbox as sandboxes
from ghx_profiler.agents.processes.process import process_group, program
from ghx_profiler.agents.processes.sandbox import (
    MountsFor,
    NoSandboxError,
    expose_host,
    expose_port,
    open_sandbox,
    require_sandbox,
)
from ghx_profiler.agents.tools.toolbelt import ShellResult, open_shell, read_result

pytestmark = [pytest.mark.anyio, pytest.mark.process]

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/"}
MACHINE = ("--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/run")


def show(mounts: Sequence[str]) -> MountsFor:
    """Return what shows every program the same."""
    return lambda _: mounts


async def run(command: str, environment: Mapping[str, str] = ENVIRONMENT) -> ShellResult:
    async with open_shell(command, environment=environment) as process:
        return await read_result(process)


@needs_bubblewrap
async def test_a_program_has_its_own_processes_network_and_host_name() -> None:
    async with open_sandbox(show(MACHINE)):
        done = await run("cat /proc/sys/kernel/hostname; ls -d /proc/[0-9]*; tail -n +3 /proc/net/dev; exit 7")

    assert done.exit_code == 7
    name, *lines = done.stdout.split("\n")
    assert name == "sandbox"
    assert f"/proc/{os.getpid()}" not in lines
    assert [line.split(":")[0].strip() for line in lines if ":" in line] == ["lo"]


@needs_bubblewrap
async def test_a_program_has_the_same_variables_as_without_a_sandbox() -> None:
    environment = {**ENVIRONMENT, "WORD": "two words\nand a line"}
    plain = await run("env -0 | sort -z | grep -zv ^GHX_BENCH_PROCESS=", environment)
    async with open_sandbox(show(MACHINE)):
        isolated = await run("env -0 | sort -z | grep -zv ^GHX_BENCH_PROCESS=", environment)

    plain_lines, isolated_lines = (set(done.stdout.split("\0")) for done in (plain, isolated))
    assert "WORD=two words\nand a line" in isolated_lines
    assert {line.split("=")[0] for line in isolated_lines} == {line.split("=")[0] for line in plain_lines}


@needs_bubblewrap
async def test_a_program_that_is_not_there_is_missing_as_without_a_sandbox() -> None:
    async with open_sandbox(show(MACHINE)), AsyncExitStack() as held:
        with pytest.raises(FileNotFoundError):
            await held.enter_async_context(program(["no-such-program"], environment=ENVIRONMENT))


@needs_bubblewrap
async def test_a_program_is_asked_to_end_before_it_is_killed(tmp_path: Path) -> None:
    polite = f"trap 'echo ended > {tmp_path}/word; exit' TERM; echo ready; while :; do sleep 0.05; done"
    writable = (*MACHINE, "--bind", str(tmp_path), str(tmp_path))
    async with open_sandbox(show(writable)), open_shell(polite, environment=ENVIRONMENT) as process:
        assert process.stdout is not None
        await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", 100)

    assert (tmp_path / "word").read_text() == "ended\n"


@needs_bubblewrap
async def test_nothing_of_a_command_outlives_it_however_it_detaches() -> None:
    async with process_group() as group, open_sandbox(show(MACHINE)):
        command = "setsid env -i sleep 987.25 > /dev/null 2>&1 & disown; sleep 0.2; grep -l 987.25 /proc/*/cmdline"
        async with open_shell(command, environment=ENVIRONMENT, group=group) as process:
            done = await read_result(process)

    assert done.stdout.strip(), "the daemon was not there while the command was"
    assert [each.pid for each in psutil.process_iter() if "987.25" in _words(each)] == []


@needs_bubblewrap
def test_nothing_outlives_a_bench_that_is_killed() -> None:
    bench = f"""
import anyio
from ghx_profiler.agents.processes.process import program
from ghx_profiler.agents.processes.sandbox import open_sandbox

async def main():
    async with open_sandbox(lambda _: {MACHINE}):
        async with program(["bash", "-c", "echo up; sleep 987.5"], environment={ENVIRONMENT}) as process:
            await process.stdout.receive()
            print("up", flush=True)
            await anyio.sleep_forever()

anyio.run(main)
"""
    started = subprocess.Popen([sys.executable, "-c", bench], stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    assert started.stdout.readline() == "up\n"
    # It is told before the last program is started.
    while not (there := [each for each in psutil.process_iter() if "987.5" in _words(each)]):
        assert started.poll() is None
        time.sleep(0.01)

    started.send_signal(signal.SIGKILL)
    started.communicate()

    assert psutil.wait_procs(there, timeout=30)[1] == []


@needs_bubblewrap
async def test_a_port_of_this_machine_is_reached_only_where_it_is_exposed() -> None:
    async def answer(client: anyio.abc.SocketStream) -> None:
        async with client:
            said = await client.receive()
            await client.send(b"heard " + said)

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as serving,
    ):
        serving.start_soon(listener.serve, answer)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        ask = f"exec 3<>/dev/tcp/127.0.0.1/{port} && printf hello >&3 && cat <&3"
        async with open_sandbox(show(MACHINE)):
            refused = await run(ask)
            async with expose_port(port):
                heard = await run(ask)
        serving.cancel_scope.cancel()

    assert heard.stdout == "heard hello", heard.stderr
    assert refused.exit_code != 0


@needs_bubblewrap
async def test_a_host_is_reached_by_its_name_at_an_address_of_its_own(tmp_path: Path) -> None:
    async def answer(client: anyio.abc.SocketStream) -> None:
        async with client:
            await client.send(b"the model")

    (tmp_path / "hosts").write_text("127.0.0.2 localhost\n")  # a name that leads to the test, whatever the network
    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as serving,
    ):
        serving.start_soon(listener.serve, answer)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        mounts = (*MACHINE, "--ro-bind", str(tmp_path / "hosts"), "/etc/hosts")
        async with (
            open_sandbox(show(mounts), {"localhost": "127.0.0.2"}),
            expose_host("localhost", port),
            expose_host("localhost", 443),
        ):
            done = await run(f"cat < /dev/tcp/localhost/{port}; exec 3<>/dev/tcp/127.0.0.2/443 && echo 443")
        serving.cancel_scope.cancel()

    assert done.stdout == "the model443\n", done.stderr


@needs_bubblewrap
async def test_programs_of_a_session_reach_each_other_and_no_other_sessions_programs() -> None:
    serve = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "8765"]
    ask = "for _ in {1..200}; do exec 3<>/dev/tcp/127.0.0.1/8765 && echo there && exit; sleep 0.1; done 2> /dev/null"
    async with open_sandbox(show(MACHINE)), program(serve, environment=ENVIRONMENT):
        reached = await run(ask)
        async with open_sandbox(show(MACHINE)):
            elsewhere = await run("exec 3<>/dev/tcp/127.0.0.1/8765")

    assert reached.stdout == "there\n"
    assert elsewhere.exit_code != 0


async def test_without_a_sandbox_ports_need_no_way_out() -> None:
    async with expose_port(9):
        done = await run("echo plain")

    assert done.stdout == "plain\n"


def test_a_machine_that_cannot_isolate_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sandboxes.sys, "platform", "linux")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoSandboxError, match="install bubblewrap"):
        require_sandbox()

    (tmp_path / "bwrap").write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    (tmp_path / "nsenter").symlink_to("/bin/true")
    with pytest.raises(NoSandboxError, match="No permissions to create new namespace"):
        require_sandbox()

    monkeypatch.setattr(sandboxes.sys, "platform", "darwin")
    with pytest.raises(NoSandboxError, match="needs Linux"):
        require_sandbox()


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
