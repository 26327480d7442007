"""The commands as they are installed: they start, they start fast, and they know their version."""

import re
import subprocess
import sys
import sysconfig
from importlib.metadata import distribution
from pathlib import Path

import pytest

DISTRIBUTION = distribution("ghx-bench")
COMMANDS = sorted(entry.name for entry in DISTRIBUTION.entry_points if entry.group == "console_scripts")
SCRIPTS = Path(sysconfig.get_path("scripts"))

HEAVY = re.compile(r"\| +(pydantic|numpy|scipy|httpx2|anyio|yaml|ghx_profiler)(\.|$)", re.MULTILINE)
"""Modules that nobody needs who only asks for help, as `-X importtime` prints them."""


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(arguments, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def test_all_three_commands_are_installed() -> None:
    assert COMMANDS == ["ghx", "ghx-bench", "ghx-twin"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_the_command(command: str) -> None:
    result = run(SCRIPTS / command, "--help")

    assert result.returncode == 0, result.stderr
    assert f"Usage: {command}" in result.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_loads_nothing_heavy(command: str) -> None:
    result = run(sys.executable, "-X", "importtime", SCRIPTS / command, "--help")

    assert "ghx_base" in result.stderr, "importtime did not print what was loaded"
    assert HEAVY.findall(result.stderr) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_version_is_the_one_of_the_distribution(command: str) -> None:
    assert run(SCRIPTS / command, "--version").stdout.strip() == DISTRIBUTION.version


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_command_is_bad_usage_told_without_a_traceback(command: str) -> None:
    result = run(SCRIPTS / command, "no-such-command")

    assert result.returncode == 2
    assert "no-such-command" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_run_is_ready_without_what_only_a_report_needs() -> None:
    script = "import sys, ghx_bench.cli.running.run, ghx_bench.cli.running.measuring; print(*sys.modules)"
    result = run(sys.executable, "-c", script)

    loaded = set(result.stdout.split())
    assert "ghx_bench.cli.running.measuring" in loaded, result.stderr
    assert loaded & {"scipy", "altair", "vl_convert", "mcp"} == set()


def test_the_twin_starts_without_what_only_its_proxy_and_graphql_need() -> None:
    script = "import sys, ghx_twin.seed.worlds, ghx_twin.server.loopback; print(*sys.modules)"
    result = run(sys.executable, "-c", script)

    loaded = set(result.stdout.split())
    assert "ghx_twin.server.loopback" in loaded, result.stderr
    assert loaded & {"cryptography", "graphql"} == set()
