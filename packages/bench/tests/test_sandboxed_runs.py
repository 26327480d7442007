"""Runs whose sessions are isolated: the modes work in them, and rows, reports and resuming know of it."""

import json
import os
import shlex
import shutil
import stat
import sys
from pathlib import Path

import anyio
import anyio.abc
import pytest
from bench_command import fork_ghx_bench, rows_of, run_in, write_files
from bubblewrap import needs_bubblewrap
from eval_stage import LIBRARY, scenario
from node_packages import NotObtainableError, node_modules
from traffic_project import REAL_KEY, write_project

from ghx_base.own_code import own_folders
from ghx_bench.modes.definitions import ModeDefinition
from ghx_bench.modes.presets import PRESETS
from ghx_bench.modes.resolver import open_modes
from ghx_bench.stages.sandbox_stage import Sandboxes, SandboxPlan
from ghx_bench.stages.twin_stage import TwinLifecycle
from ghx_profiler.agents.controls.solution import Solution
from ghx_profiler.agents.processes.sandbox import bounded_tmpfs
from ghx_profiler.agents.testing import Script, ScriptedEndpoint
from ghx_profiler.agents.tools.toolbelt import ShellResult, open_shell, read_result
from ghx_profiler.agents.tools.toolserver import connect
from ghx_profiler.agents.tools.toolset import ToolSet
from ghx_profiler.evidence import Mode, Stage
from ghx_profiler.testing import sample_cell

pytestmark = pytest.mark.usefixtures("usual_temporary_folder")

TASK = scenario()
CONFIG = """
modes: [baseline, ghx, ghx-mcp]
scenarios: {ids: [issue-triage-001]}
execution: {repetitions: 1, warmup: false}
"""
NO_BWRAP = {"PATH": "/nowhere"}


@needs_bubblewrap
def test_every_built_in_mode_solves_a_scenario_in_a_sandbox(tmp_path: Path) -> None:
    write_files(tmp_path, {"eval.config.yaml": f"{CONFIG}sandbox: bwrap\n"})

    done = fork_ghx_bench(tmp_path, "run", "--no-report", "--max-concurrency", "3")

    rows = rows_of(run_in(tmp_path))
    assert {(row.mode, row.success, row.error) for row in rows} == {
        ("baseline", True, None),
        ("ghx", True, None),
        ("ghx-mcp", True, None),
    }, done.stdout
    assert {row.extensions["mode"]["sandbox"] for row in rows} == {"bwrap"}
    record = json.loads((run_in(tmp_path) / "run.json").read_bytes())
    assert record["provenance"][0]["ingredients"]["sandbox"] == "bwrap"


def test_rows_and_the_report_say_that_a_run_had_no_sandbox(tmp_path: Path) -> None:
    write_files(tmp_path, {"eval.config.yaml": CONFIG})

    assert fork_ghx_bench(tmp_path, "run", "--mode", "baseline", "--agent", "nop").returncode == 0

    (row,) = rows_of(run_in(tmp_path))
    assert row.extensions["mode"]["sandbox"] == "plain"
    report = (run_in(tmp_path) / "report" / "report.md").read_text()
    header, _, line = report[report.index("| mode | tools |") :].splitlines()[:3]
    assert dict(zip(header.split(" | "), line.split(" | "), strict=True))["sandbox"] == "plain"


def test_a_run_does_not_start_where_its_sandbox_cannot_be_made(tmp_path: Path) -> None:
    write_files(tmp_path, {"eval.config.yaml": CONFIG})

    done = fork_ghx_bench(tmp_path, "run", "--sandbox", "bwrap", extra=NO_BWRAP)

    assert done.returncode == 2, done.stderr
    line = done.stderr.strip().splitlines()[-1]
    assert "bubblewrap" in line
    assert "sandbox: plain" in line
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("target: github\nfixtures: {repo: octo/box}", "embedded GitHub"),
        ("target: github\nagents: [prying]\nsandbox: plain", "on the embedded GitHub only"),
        ("reachable_hosts: [.example.com]", "'.example.com' stands for all hosts of a domain"),
        ("visible_paths: [tools/lib]", "tools/lib; correct it"),
        ("sandbox: docker", "sandbox"),
    ],
)
def test_what_a_sandbox_cannot_do_is_refused_in_a_line(tmp_path: Path, settings: str, words: str) -> None:
    ring = "" if "sandbox" in settings else "sandbox: bwrap\n"
    write_files(tmp_path, {"eval.config.yaml": f"{CONFIG}{ring}{settings}\n"})

    done = fork_ghx_bench(tmp_path, "run")

    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.nightly
def test_a_run_is_resumed_in_its_own_ring(tmp_path: Path) -> None:
    write_files(tmp_path, {"eval.config.yaml": CONFIG})
    assert fork_ghx_bench(tmp_path, "run", "--mode", "baseline", "--agent", "nop", "--no-report").returncode == 0
    run = run_in(tmp_path)
    record = json.loads((run / "run.json").read_bytes())
    record["provenance"][0]["ingredients"]["sandbox"] = "bwrap"  # as of one that was started in the other
    (run / "run.json").write_text(json.dumps(record))
    (run / "rows.jsonl").write_text("")

    done = fork_ghx_bench(tmp_path, "resume", str(run))

    assert done.returncode != 0
    assert "sandbox" in done.stderr


@pytest.mark.parametrize(("settings", "state"), [("", "optional"), ("sandbox: bwrap", "missing")])
def test_doctor_says_whether_a_sandbox_can_be_had(tmp_path: Path, settings: str, state: str) -> None:
    write_files(tmp_path, {"eval.config.yaml": f"{CONFIG}{settings}\n"})

    done = fork_ghx_bench(tmp_path, "doctor", "--json", extra=NO_BWRAP)

    (need,) = [each for each in json.loads(done.stdout) if each["name"] == "sandbox"]
    assert need["state"] == state
    assert need["remedy"]


async def look(mode: Mode, plan: SandboxPlan, command: str) -> tuple[ShellResult, Stage[object]]:
    lifecycle = TwinLifecycle(None, [TASK], LIBRARY, reachable_hosts=plan.reachable_hosts, sandboxes=Sandboxes(plan))
    async with lifecycle.run(Path("run")), lifecycle.cell(sample_cell(), TASK, mode) as stage:
        environment = {**mode.environment, **stage.environment}
        async with open_shell(command, environment=environment, directory=stage.directory) as process:
            return await read_result(process), stage


@needs_bubblewrap
@pytest.mark.anyio
@pytest.mark.process
async def test_tools_of_a_project_are_seen_and_the_project_is_not(tmp_path: Path) -> None:
    project = tmp_path / "project"
    write_files(
        project,
        {
            "tools/mine": f"#!{sys.executable}\nimport ghx_tools.cli, json; print(json.dumps('mine 1.0 works'))\n",
            "lib/words": "beside\n",
            "scenarios/x.solution.yaml": "the answer\n",
            "lib/scenarios/y.solution.yaml": "the answer\n",
        },
    )
    (project / "tools/mine").chmod(stat.S_IRWXU)
    plan = SandboxPlan(visible=(project / "lib",), hidden=(project, project / "lib/scenarios"))
    command = f"mine; cat {project}/lib/words; find {project} -type f -o -name '*.yaml'; ls -A {Path.home()} /home /srv"
    mine = ModeDefinition(name="mine", tools=(str(project / "tools/mine"), "ghx"))
    async with open_modes([mine], environ=os.environ) as modes:
        done, _ = await look(await modes.resolve("mine"), plan, command)

    seen = done.stdout.splitlines()
    assert seen[:2] == ['"mine 1.0 works"', "beside"], done.stderr
    assert {line for line in seen[2:] if line.startswith(str(project))} == {
        f"{project}/tools/mine",
        f"{project}/lib/words",
    }


@needs_bubblewrap
@pytest.mark.anyio
@pytest.mark.process
async def test_of_our_packages_a_session_sees_what_ghx_consists_of_and_nothing_else() -> None:
    base, tools, *hidden = sorted(own_folders(), key=lambda folder: folder.name not in {"ghx_base", "ghx_tools"})
    command = f"ls -d {base}/errors.py {tools}/mcp {shlex.join(map(str, hidden))}; ghx --version; touch {tools}/x"
    everything = shlex.join(map(str, own_folders()))
    async with open_modes(environ=os.environ) as modes:
        done, _ = await look(await modes.resolve("ghx"), SandboxPlan(), command)
        without, _ = await look(await modes.resolve("baseline"), SandboxPlan(), f"ls -A {everything}; gh --version")

    *found, version = done.stdout.split()
    assert found == [f"{base}/errors.py", f"{tools}/mcp"]
    assert [folder.name for folder in hidden] == ["ghx_twin", "ghx_profiler", "ghx_bench"]
    assert done.stderr.count("No such file or directory") == len(hidden)
    assert version[0].isdigit()
    assert "Read-only file system" in done.stderr
    assert without.stdout.startswith("gh version"), without.output


@needs_bubblewrap
@pytest.mark.anyio
@pytest.mark.process
async def test_a_session_writes_to_its_own_folders_and_a_little_shared_memory_and_nowhere_else() -> None:
    hidden = Path("/usr/share")  # in a folder that is seen, so that it is covered
    places = ("/", "/run", "/dev", "/etc", "/usr", "/home", "/var", str(hidden))
    command = f"""
for place in {" ".join(places)}; do mkdir -p $place/new 2>/dev/null && echo $place; done
for place in /tmp /var/tmp $HOME $PWD $TMPDIR /dev/shm; do echo x >$place/new-file || echo not $place; done
head -c 300M /dev/zero >/dev/shm/large 2>/dev/null; stat -c %s /dev/shm/large; echo x >/dev/null && echo null
"""
    async with open_modes(environ=os.environ) as modes:
        done, _ = await look(await modes.resolve("ghx"), SandboxPlan(hidden=(hidden,)), command)

    *written, size, null = done.stdout.split()
    assert written == []
    assert (int(size) <= 256 << 20) is (bounded_tmpfs("/x", 1)[0] == "--size")
    assert null == "null"


OPEN_FOR_WRITING = """
import os, sys

own = [os.path.realpath(each) for each in sys.argv[1:]]
flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY

def can_write(path, is_folder):
    if is_folder:
        return os.access(path, os.W_OK)
    try:
        os.close(os.open(path, flags))
    except OSError:
        return False
    return True

for place, folders, files in os.walk("/"):
    folders[:] = [each for each in folders if os.path.join(place, each) not in own]
    for name in (*folders, *files):
        path = os.path.join(place, name)
        if not os.path.islink(path) and can_write(path, name in folders):
            print(path)
"""
DEVICES = {f"/dev/{name}" for name in ("full", "null", "pts", "pts/ptmx", "random", "urandom", "zero")}
"""Devices that every program can open for writing; none of them stores anything."""


@pytest.mark.nightly
@needs_bubblewrap
@pytest.mark.anyio
@pytest.mark.process
@pytest.mark.slow
async def test_a_session_can_open_nothing_for_writing_but_its_own_folders() -> None:
    script = shlex.join([sys.executable, "-c", OPEN_FOR_WRITING])
    async with open_modes(environ=os.environ) as modes:
        done, _ = await look(
            await modes.resolve("ghx"), SandboxPlan(), f"{script} $HOME $PWD $TMPDIR /tmp /var/tmp /dev/shm"
        )

    assert done.exit_code == 0, done.stderr
    assert set(done.stdout.splitlines()) <= DEVICES


@needs_bubblewrap
@pytest.mark.anyio
@pytest.mark.process
async def test_a_session_sees_of_the_kernel_what_programs_need_and_not_the_machine() -> None:
    command = """
cd /proc
for file in cpuinfo loadavg meminfo mounts stat self/status sys/kernel/pid_max; do
    cat $file > /dev/null || echo no $file
done
for file in cmdline interrupts iomem kallsyms keys kmsg locks slabinfo; do head -c 1 $file && echo $file; done
for file in consoles crypto devices diskstats misc partitions swaps version; do head -c 1 $file && echo $file; done
grep -v '^[0-]*$' sys/kernel/random/boot_id
ls -A bus fs irq | grep -v :
ls -l | grep -E '^-.{6}-' | while read line; do head -c 1 ${line##* } && echo for root: $line; done
echo it writes > /dev/stderr
"""
    async with open_modes(environ=os.environ) as modes:
        done, _ = await look(await modes.resolve("baseline"), SandboxPlan(), command)

    assert done.stdout.split() == []
    assert "it writes" in done.stderr


@needs_bubblewrap
@pytest.mark.anyio
@pytest.mark.process
async def test_a_session_does_not_see_from_which_options_its_sandbox_is_made() -> None:
    command = "tr '\\0' '\\n' < /proc/1/cmdline; ls /proc/1/fd | grep -x 9"
    async with open_modes(environ=os.environ) as modes:
        done, _ = await look(await modes.resolve("baseline"), SandboxPlan(), command)

    words = done.stdout.splitlines()
    assert "--args" in words, done.output
    assert not {"--ro-bind", "--ro-bind-try", "--bind", "--tmpfs"}.intersection(words)
    assert words.count("9") == 1  # as a word of the command; the file itself is closed


NEEDED = """
set -e
git ls-remote https://github.com/ghx-bench/fixtures HEAD
gh repo view ghx-bench/fixtures --json name
ghx --version
NODE -e 'console.log(os.release().length > 0, os.cpus().length > 0, os.totalmem() > 0, os.version().length > 0)'
PYTHON -c 'import os, platform; print(platform.platform() != "", os.cpu_count() > 0)'
"""


@pytest.mark.nightly
@needs_bubblewrap
@pytest.mark.anyio
@pytest.mark.process
async def test_programs_find_what_they_need_to_know_of_the_machine() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on this machine")
    tools = ("gh", "ghx", f"node={node}")
    async with open_modes([ModeDefinition(name="mine", tools=tools)], environ=os.environ) as modes:
        mode = await modes.resolve("mine")
        command = NEEDED.replace("NODE", "node").replace("PYTHON", sys.executable)
        done, _ = await look(mode, SandboxPlan(), command)

    assert done.exit_code == 0, done.output
    assert done.stdout.count("true") + done.stdout.count("True") == 6


@needs_bubblewrap
@pytest.mark.anyio
@pytest.mark.process
async def test_a_session_keeps_its_files_between_commands_and_can_remove_them() -> None:
    async with open_modes(environ=os.environ) as modes:
        mode = await modes.resolve("baseline")
        lifecycle = TwinLifecycle(None, [TASK], LIBRARY, sandboxes=Sandboxes(SandboxPlan()))
        async with lifecycle.run(Path("run")), lifecycle.cell(sample_cell(), TASK, mode) as stage:
            environment = {**mode.environment, **stage.environment}
            said: list[str] = []
            for command in (
                "echo 1 > /tmp/a; echo 2 > $TMPDIR/b; echo 3 > ~/c; echo 4 > d",
                "cat /tmp/a $TMPDIR/b ~/c d; rm -rf $PWD",
                "ls -A",
            ):
                async with open_shell(command, environment=environment, directory=stage.directory) as process:
                    said.append((await read_result(process)).stdout)

    assert said == ["", "1\n2\n3\n4\n", ""]


@needs_bubblewrap
@pytest.mark.anyio
@pytest.mark.process
async def test_links_that_one_command_leaves_lead_the_next_one_nowhere(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("the answer")
    left = (
        f"rm -rf $TMPDIR; ln -s {tmp_path} $TMPDIR",
        f"for each in /tmp/*/; do mv $each /tmp/moved-$RANDOM; ln -sT /oldroot{tmp_path} ${{each%/}}; done",
    )
    async with open_modes(environ=os.environ) as modes:
        mode = await modes.resolve("baseline")
        lifecycle = TwinLifecycle(None, [TASK], LIBRARY, sandboxes=Sandboxes(SandboxPlan()))
        async with lifecycle.run(Path("run")), lifecycle.cell(sample_cell(), TASK, mode) as stage:
            environment = {**mode.environment, **stage.environment}
            said = ""
            for command in (*left, "cat /tmp/secret $TMPDIR/secret; echo gone > /tmp/secret; gh --version"):
                async with open_shell(command, environment=environment, directory=stage.directory) as process:
                    said = (await read_result(process)).stdout

    assert said.startswith("gh version")
    assert [each.name for each in tmp_path.iterdir()] == ["secret"]
    assert (tmp_path / "secret").read_text() == "the answer"


@needs_bubblewrap
@pytest.mark.anyio
@pytest.mark.process
async def test_git_finds_github_by_its_name_and_no_other_host() -> None:
    async with open_modes(environ=os.environ) as modes:
        done, stage = await look(
            await modes.resolve("baseline"),
            SandboxPlan(),
            "git ls-remote https://github.com/ghx-bench/fixtures HEAD && ! git ls-remote https://example.com/x",
        )

    assert stage.facts["repo"] == "ghx-bench/fixtures"
    assert done.exit_code == 0, done.stderr
    assert "example.com:443 cannot be reached" in done.stderr or "403" in done.stderr


@needs_bubblewrap
@pytest.mark.anyio
@pytest.mark.process
async def test_a_local_model_is_reached_where_its_port_is_named() -> None:
    async def answer(client: anyio.abc.SocketStream) -> None:
        async with client:
            await client.send(b"a local model")

    listening = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listening as listener, anyio.create_task_group() as serving, open_modes(environ=os.environ) as modes:
        serving.start_soon(listener.serve, answer)
        port, mode = listener.extra(anyio.abc.SocketAttribute.local_port), await modes.resolve("baseline")
        command = f"cat < /dev/tcp/127.0.0.1/{port}"
        named, _ = await look(mode, SandboxPlan(reachable_ports=(port,)), command)
        unnamed, _ = await look(mode, SandboxPlan(), command)
        serving.cancel_scope.cancel()

    assert named.stdout == "a local model", named.stderr
    assert unnamed.exit_code != 0


@pytest.mark.nightly
@needs_bubblewrap
@pytest.mark.anyio
@pytest.mark.process
async def test_a_server_from_npm_works_in_a_sandbox() -> None:
    try:
        modules = node_modules("@modelcontextprotocol/server-github@2025.4.8")
    except NotObtainableError as error:
        pytest.skip(str(error))
    script = modules / "@modelcontextprotocol" / "server-github" / "dist" / "index.js"
    preset = PRESETS["npm"].model_copy(update={"command": "node", "args": (str(script),)})
    async with open_modes([ModeDefinition(name="npm", mcp_servers={"hub": preset})], environ=os.environ) as modes:
        mode = await modes.resolve("npm")
        lifecycle = TwinLifecycle(None, [TASK], LIBRARY, sandboxes=Sandboxes(SandboxPlan()))
        async with lifecycle.run(Path("run")), lifecycle.cell(sample_cell(), TASK, mode) as stage:
            environment = {**mode.environment, **stage.environment}
            server = ToolSet.of(mode).mcp_servers["hub"]
            async with connect("hub", server, environment=environment, directory=stage.directory) as hub:
                answer = await hub.call("list_issues", {"owner": "ghx-bench", "repo": "fixtures"})

    assert not answer.failed, answer.text
    assert "https://github.com/ghx-bench/fixtures/issues/" in answer.text


OWN_AGENT = """
from contextlib import asynccontextmanager

from ghx_profiler.agents import tool_belt
from ghx_profiler import Answer, TraceRecorder


class Mine:
    name = "mine"

    @asynccontextmanager
    async def session(self, request):
        self.recorder = TraceRecorder()
        async with tool_belt(request, self.recorder) as self.belt:
            yield self

    async def prompt(self, text):
        return Answer(text=(await self.belt.shell("cat /proc/sys/kernel/hostname; ls eval.config.yaml PROJECT")).text)

    async def trace(self):
        return self.recorder.trace()
"""


@pytest.mark.nightly
@needs_bubblewrap
def test_what_an_agent_of_a_project_starts_is_in_the_sandbox_though_it_has_a_thread_of_its_own(tmp_path: Path) -> None:
    config = f"{CONFIG.replace('[baseline, ghx, ghx-mcp]', '[baseline]')}sandbox: bwrap\n"
    agent = OWN_AGENT.replace("PROJECT", str(tmp_path / "mine.py"))
    write_files(tmp_path, {"eval.config.yaml": config, "mine.py": agent})

    done = fork_ghx_bench(tmp_path, "run", "--agent", "./mine.py:Mine", "--no-report")

    (row,) = rows_of(run_in(tmp_path))
    assert row.error is None, done.stderr
    (file,) = (run_in(tmp_path) / "sessions").rglob("*.json")
    (call,) = [each for each in json.loads(file.read_bytes())["events"] if each["type"] == "tool_call"]
    assert call["output"].startswith("sandbox\n")
    assert call["output"].count("No such file or directory") == 2


@pytest.mark.nightly
@needs_bubblewrap
def test_an_agent_of_a_recipe_sees_what_it_is_started_from_and_its_project_stays_hidden(tmp_path: Path) -> None:
    package = Path(sys.modules["ghx_bench"].__path__[0])
    look = f"ls {tmp_path} {package}; {sys.executable} -c 'import pydantic, ghx_bench'"
    endpoint = ScriptedEndpoint()
    endpoint.start()
    try:
        solution = Solution.model_validate({"steps": [{"shell": look}], "answer": "seen"})
        endpoint.add(Script(solution=solution))
        write_project(tmp_path, endpoint.url, sandbox="bwrap", execution={"repetitions": 1, "warmup": False})
        done = fork_ghx_bench(tmp_path, "run", "--yes", "--no-report", extra={"MY_KEY": REAL_KEY})
    finally:
        endpoint.stop()

    (row,) = rows_of(run_in(tmp_path))
    assert row.error is None, done.stderr
    assert row.tokens == endpoint.claimed_usage()
    (shown,) = endpoint.calls[-1].results
    assert "tiny_acp_agent.py" in shown
    assert not [name for name in ("eval.config.yaml", "scenarios", "results", "cli") if f"{name}\n" in shown], shown
    assert "No module named 'ghx_bench" in shown  # and pydantic is there: its interpreter has its libraries
