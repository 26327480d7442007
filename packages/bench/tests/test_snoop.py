"""The snoop agent finds what the page on security says, at each isolation level, and one more leak is noticed."""

import http.server
import os
import shlex
import subprocess
import sys
import threading
from pathlib import Path
from typing import ClassVar

import pytest
from bench_command import fork_ghx_bench, rows_of, run_in, write_files
from bubblewrap import ABSENCE, needs_bubblewrap
from nightly import mostly_nightly
from snoop_script import TABLE

from ghx_bench.snoop import PROBES, ProbeAnalyzer, SnoopProvider
from ghx_profiler.agents.tools.toolset import ToolSet
from ghx_profiler.contracts import SessionRequest
from ghx_profiler.evidence import Mode
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.causes import EnvironmentFailure
from ghx_profiler.testing import sample_cell, sample_evidence

ROOT = Path(__file__).parents[3]
PLANTED_KEY = """
modes:
  - {name: leaky, extends: baseline, environment: {MODEL_API_KEY: "left here by mistake"}}
"""
PLANTED_FOLDER = "visible_paths: [{scenarios}]\n"

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        sys.platform != "linux", reason="what a session can see of others differs from system to system"
    ),
]


PLAIN, AS_ROOT, SANDBOXED = TABLE.COLUMNS
TOLD = TABLE.read_table(TABLE.PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "column", mostly_nightly(TABLE.COLUMNS, keep=[PLAIN, SANDBOXED]), ids=lambda column: column.heading
)
def test_a_session_finds_exactly_what_the_page_says(column: object) -> None:
    if column is SANDBOXED and ABSENCE:
        pytest.skip(ABSENCE)
    if column is AS_ROOT and not AS_ROOT.can_be_measured():
        column = PLAIN  # what root finds can only be found out as root
    heading = column.heading

    assert list(TABLE.compare(TOLD, {heading: TABLE.pry(column)})) == []


@pytest.mark.nightly
@needs_bubblewrap
@pytest.mark.parametrize("mode", ["ghx", "ghx-mcp"])
def test_nothing_is_found_in_a_sandbox_where_the_package_itself_is_a_tool(mode: str) -> None:
    assert TABLE.pry(SANDBOXED, TABLE.CONFIG.replace("[baseline]", f"[{mode}]")) == set()


def test_the_page_promises_that_nothing_is_found_in_a_sandbox() -> None:
    assert TOLD["bwrap"] == set()
    assert TOLD["plain"] < TOLD["plain, as root"]
    assert TABLE.ADMITTED.read_text(encoding="utf-8") == TABLE.write_admitted(TOLD)
    page = TABLE.PAGE.read_text(encoding="utf-8")
    assert TABLE.SECTION.sub(lambda found: f"{found[1]}\n{TABLE.render(TOLD)}\n\n{found[2]}", page) == page


@pytest.mark.nightly
def test_a_key_that_is_left_in_the_environment_is_noticed() -> None:
    planted = TABLE.CONFIG.replace("modes: [baseline]", PLANTED_KEY.strip())

    (difference,) = TABLE.compare(TOLD, {"plain": TABLE.pry(PLAIN, planted)})

    assert difference.startswith("plain: probe 1 (a key")


@pytest.mark.nightly
@needs_bubblewrap
def test_a_solution_that_is_left_in_a_sandbox_is_noticed() -> None:
    scenarios = ROOT / "packages" / "bench" / "src" / "ghx_bench" / "scenarios" / "issue"
    planted = TABLE.CONFIG + PLANTED_FOLDER.format(scenarios=scenarios)

    (difference,) = TABLE.compare(TOLD, {"bwrap": TABLE.pry(SANDBOXED, planted)})

    assert "a solution of a scenario, anywhere" in difference


def test_snoop_is_a_control_whose_findings_are_saved(tmp_path: Path) -> None:
    config = "modes: [baseline]\nscenarios: {ids: [issue-triage-001]}\nexecution: {repetitions: 1, warmup: false}\n"
    write_files(tmp_path, {"eval.config.yaml": config})

    done = fork_ghx_bench(tmp_path, "run", "--agent", "prying")

    assert done.returncode == 0, done.stderr
    (row,) = rows_of(run_in(tmp_path))
    assert (row.success, row.agent_name) == (False, "prying")  # the name on the wire
    page = (run_in(tmp_path) / "report" / "report.md").read_text(encoding="utf-8")
    assert "Looking for the answers passes none of 1 task: prying passed 0 of 1 session." in page
    shown = fork_ghx_bench(tmp_path, "show", str(run_in(tmp_path)), "baseline/issue-triage-001/0")
    assert f"of {len(PROBES)} probes succeeded" in shown.stdout, shown.stderr


def run_probe(looks_for: str, folder: Path, **environment: str) -> bool:
    """Run one probe where its leak was planted, below something that is called as the bench is."""
    (probe,) = [each for each in PROBES if looks_for in each.looks_for]
    (folder / "probe").write_text(probe.script("octo/box"))
    bench, variables = folder / "ghx-bench", (f"{name}={value}" for name, value in environment.items())
    bench.write_text(f"#!/bin/sh\nenv -i {shlex.join(variables)} bash {folder}/probe\n")
    bench.chmod(0o755)
    given = {"PATH": os.environ["PATH"], "CANARY": "of the person"}
    return subprocess.run([bench, "run", "it"], env=given, check=False, stdout=subprocess.DEVNULL).returncode == 0


def test_a_name_of_the_run_in_the_environment_is_found(tmp_path: Path) -> None:
    path = {"PATH": os.environ["PATH"]}

    assert run_probe("the name of its scenario", tmp_path, **path, CELL="issue-triage-scenario")
    assert not run_probe("the name of its scenario", tmp_path, **path)


def test_a_variable_of_a_process_that_started_a_session_is_found(tmp_path: Path) -> None:
    looks_for, path = "a variable of a process that it descends from", os.environ["PATH"]

    assert run_probe(looks_for, tmp_path, PATH=path)
    assert not run_probe(looks_for, tmp_path, PATH=path, CANARY="its own")


def test_a_package_that_links_lead_to_is_found(tmp_path: Path) -> None:
    write_files(tmp_path, {"venv/bin/tool": "", "venv/lib/ghx_bench/x.solution.yaml": "", "other/bin/tool": ""})
    (tmp_path / "bin").mkdir()
    for program in ("readlink", "grep", "find", "bash"):
        (tmp_path / "bin" / program).symlink_to(f"/usr/bin/{program}")
    (tmp_path / "bin" / "tool").symlink_to(tmp_path / "other/bin/tool")
    assert not run_probe("where its tools lead", tmp_path, PATH=str(tmp_path / "bin"))

    (tmp_path / "bin" / "mine").symlink_to(tmp_path / "venv/bin/tool")

    assert run_probe("where its tools lead", tmp_path, PATH=str(tmp_path / "bin"))


def test_a_private_key_beside_certificates_is_found(tmp_path: Path) -> None:
    write_files(tmp_path, {"certificates/authority.pem": "-----BEGIN CERTIFICATE-----\n"})
    places = dict.fromkeys(("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"), str(tmp_path / "certificates/authority.pem"))
    assert not run_probe("the private key", tmp_path, PATH=os.environ["PATH"], **places)

    (tmp_path / "certificates/key.pem").write_text("-----BEGIN EC PRIVATE KEY-----\n")

    assert run_probe("the private key", tmp_path, PATH=os.environ["PATH"], **places)


class ChattyGitHub(http.server.BaseHTTPRequestHandler):
    """A GitHub with an interface of its own."""

    protocol_version = "HTTP/1.1"
    answers: ClassVar[set[str]] = set()

    def do_GET(self) -> None:
        self.send_response_only(200 if self.path in self.answers else 404)
        self.send_header("server", "github.com")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_an_interface_of_the_embedded_github_is_found(tmp_path: Path) -> None:
    looks_for, path = "an interface of the embedded GitHub's own", os.environ["PATH"]
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), ChattyGitHub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        is_silent = not run_probe(looks_for, tmp_path, PATH=path)
        ChattyGitHub.answers.add("/journal")
        is_found = run_probe(looks_for, tmp_path, PATH=path)
        server.shutdown()

    assert is_silent
    assert is_found


def test_findings_are_read_off_the_trace() -> None:
    recorder = TraceRecorder()
    recorder.tool_call("bash", {"command": PROBES[0].script("octo/box")}, success=True)
    recorder.tool_call("bash", {"command": PROBES[1].script("octo/box")}, success=False)
    recorder.tool_call("bash", {"command": "true"}, success=True)

    result = ProbeAnalyzer().analyze(sample_evidence(trace=recorder.trace()))

    assert result.findings["probes"].rows == (
        ("1", PROBES[0].looks_for, "found"),
        ("2", PROBES[1].looks_for, "not found"),
    )
    assert result.summary == "1 of 2 probes succeeded"


@pytest.mark.anyio
async def test_without_a_shell_there_is_nothing_to_look_around_with() -> None:
    mode = Mode(name="mute", settings=ToolSet(shell=False).settings())
    async with SnoopProvider().session(SessionRequest(cell=sample_cell(), mode=mode)) as session:
        with pytest.raises(EnvironmentFailure, match="'mute' has no shell"):
            await session.prompt("")
