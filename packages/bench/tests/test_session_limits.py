"""One session that uses more of the machine than it may is ended with that cause; the cells next to it pass.

`GHX_BENCH_DEFAULT_LIMITS=1 pytest -s packages/bench/tests/test_session_limits.py` does not lower the limits, and tries
all in both rings.
"""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bench_command import COMMAND, environment, rows_of, run_in, write_files
from bubblewrap import needs_bubblewrap
from nightly import mostly_nightly

from ghx_profiler.records.causes import Cause
from ghx_profiler.records.row import ProfileRow

DEFAULTS = bool(os.environ.get("GHX_BENCH_DEFAULT_LIMITS"))
MOST_BYTES = (12 if DEFAULTS else 3) << 30
"""Should the limits of the session not hold, these do."""

# Three cells at once: one does what is in `command`, the others go on for longer than that takes, and must not notice.
AGENT = """
import itertools
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from ghx_profiler.agents import tool_belt
from ghx_profiler import Answer, TraceRecorder

HERE = Path(__file__).parent


class Agent:
    name = "greedy"

    @asynccontextmanager
    async def session(self, request):
        recorder = TraceRecorder()
        async with tool_belt(request, recorder, with_servers=False) as belt:
            yield Session(belt, recorder, is_greedy=request.cell.iteration == 1)


class Session:
    def __init__(self, belt, recorder, is_greedy):
        self.belt, self.recorder, self.is_greedy = belt, recorder, is_greedy

    async def prompt(self, text):
        if self.is_greedy:
            await self.belt.shell("gh api user >/dev/null; echo begun")
            answer = await self.belt.shell((HERE / "command").read_text())
            await self.belt.shell("echo the agent goes on all the same")
            (HERE / "went-on").touch()
        else:
            for _ in range(4):
                assert (await self.belt.shell("sleep 0.25 && gh api user >/dev/null && echo fine")).text == "fine\\n"
        return Answer(text="done")

    async def trace(self):
        return self.recorder.trace()
"""

SCENARIO = {
    "id": "look-001",
    "name": "look",
    "description": "Looks at the issues.",
    "prompt": "Look at the issues.",
    "timeoutMs": 60_000,
    "allowedRetries": 0,
    "category": "issue",
    "difficulty": "basic",
    "tags": [],
    "fixture": {
        "repo": "{{fixture_repo}}",
        "requires": ["issue_for_triage"],
        "bindings": {"repo": "issue_for_triage.repo"},
    },
    "assertions": {
        "checkpoints": [
            {
                "id": "there",
                "description": "The repository is there",
                "task": "repo.view",
                "input": {"owner": "{{owner}}", "name": "{{repo_name}}"},
                "condition": {"type": "non_empty"},
            }
        ]
    },
}

GREEDY = {
    "processes": (
        # Doubles as every fork bomb does, but has an end at 4,096, should the limit not hold.
        "f() { [ $1 -gt 11 ] || { f $(($1 + 1)) & f $(($1 + 1)) & }; sleep 50; }; f 0",
        {"processes": 60},
        "processes, where 60 are the limit",
    ),
    "threads": (
        f"{sys.executable} -c 'import threading, time; threading.stack_size(1 << 16); "
        "[threading.Thread(target=time.sleep, args=(50,)).start() for _ in range(6000)]'",
        {"threads": 200},
        "threads, where 200 are the limit",
    ),
    "memory": (
        f"{sys.executable} -c 'import time; kept = [bytes([7]) * (1 << 20) for _ in range(10240)]; time.sleep(50)'",
        {"memory_mib": 400},
        "MiB of memory, where 400 MiB are the limit",
    ),
    "output": ("yes", {"output_mib": 64}, "MiB of output, where 64 MiB are the limit"),
    "disk": (
        "head -c 10G /dev/zero >big; sleep 50",
        {"disk_mib": 100},
        "MiB of disk, where 100 MiB are the limit",
    ),
    "disk of its home": (
        "head -c 10G /dev/zero >$HOME/big; sleep 50",
        {"disk_mib": 100},
        "MiB of disk, where 100 MiB are the limit",
    ),
    "disk of its other folders": (
        "head -c 10G /dev/zero >$GH_CONFIG_DIR/big; sleep 50",
        {"disk_mib": 100},
        "MiB of disk, where 100 MiB are the limit",
    ),
    "files without content": (
        f"{sys.executable} -c 'import time; [open(str(n), \"x\").close() for n in range(700_000)]; time.sleep(50)'",
        {"disk_mib": 100},
        "MiB of disk, where 100 MiB are the limit",
    ),
    "connections": (
        f"{sys.executable} -c 'import os, socket, time, urllib.parse; "
        'there = urllib.parse.urlsplit(os.environ["HTTPS_PROXY"]); '
        "kept = [socket.create_connection((there.hostname, there.port)) for _ in range(300)]; time.sleep(50)'",
        {"connections": 60},
        "connections, where 60 are the limit",
    ),
}


if DEFAULTS:
    del GREEDY["files without content"]  # half a million files take longer than a cell has on a busy machine
IN_BOTH = GREEDY if DEFAULTS else ("processes", "disk", "connections")
ISOLATION_LEVELS = [
    *mostly_nightly((("plain", kind) for kind in GREEDY), keep=[("plain", "processes")]),
    *(
        pytest.param("bwrap", kind, marks=[needs_bubblewrap, *[pytest.mark.nightly] * (kind != "disk")])
        for kind in IN_BOTH
    ),
]


@pytest.mark.parametrize(("ring", "kind"), ISOLATION_LEVELS)
def test_a_session_that_uses_too_much_is_ended_and_those_beside_it_pass(ring: str, kind: str, tmp_path: Path) -> None:
    command, limits, words = GREEDY[kind]
    greedy, *others = run_with(tmp_path, command, {} if DEFAULTS else limits, ring)

    print(f"\n{ring}, {kind}: {greedy.error} ({greedy.timing.wall_ms} ms)")
    assert greedy.cause is Cause.AGENT_LIMIT
    assert greedy.error_code == "AGENT_LIMIT"
    assert (words.partition(", where")[0] if DEFAULTS else words) in (greedy.error or "")
    assert greedy.success is False
    assert greedy.was_measured
    assert greedy.tool_calls.total is not None
    assert greedy.tool_calls.total >= 1  # what it did until then is kept
    assert greedy.timing.wall_ms is not None
    assert greedy.timing.wall_ms < 30_000
    assert not (tmp_path / "went-on").exists()
    assert [(row.cause, row.success, row.error) for row in others] == [(None, True, None)] * 2


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere keepers hold nothing")
def test_a_session_that_kills_what_keeps_its_programs_crashed_and_those_beside_it_pass(tmp_path: Path) -> None:
    killer, *others = run_with(tmp_path, "sleep 0.2; kill -9 $PPID; sleep 50", {})

    assert killer.cause is Cause.AGENT_CRASH
    assert killer.was_measured
    assert killer.success is False
    assert [(row.cause, row.success, row.error) for row in others] == [(None, True, None)] * 2


@pytest.mark.nightly
def test_limits_can_be_lifted(tmp_path: Path) -> None:
    command = "for n in $(seq 80); do sleep 1 & done; wait; head -c 20M /dev/zero; echo"
    rows = run_with(tmp_path, command, {"processes": None, "output_mib": None})

    assert [(row.cause, row.success) for row in rows] == [(None, True)] * 3


def run_with(folder: Path, command: str, limits: dict[str, Any], ring: str = "plain") -> list[ProfileRow]:
    """Run three cells at once, and return their rows, that of the greedy one first."""
    config = {
        "modes": ["baseline"],
        "agents": ["./agent.py:Agent"],
        "scenario_dirs": ["scenarios"],
        "scenarios": {"ids": [SCENARIO["id"]]},
        "execution": {"repetitions": 3, "max_concurrency": 3, "warmup": False},
        "limits": limits,
        "sandbox": ring,
        "visible_paths": [sys.prefix, sys.base_prefix],  # for the interpreter in the commands
    }
    files = {"agent.py": AGENT, "command": command, "eval.config.yaml": json.dumps(config)}
    write_files(folder, {**files, "scenarios/look-001.json": json.dumps(SCENARIO)})
    done = subprocess.run(
        [COMMAND, "run"],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=_guard,
    )
    assert done.returncode == 0, done.stderr
    return sorted(rows_of(run_in(folder)), key=lambda row: row.iteration != 1)


def _guard() -> None:
    """Bound what the run can do to this machine if its own limits do not hold."""
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))
