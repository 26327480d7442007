"""Every mode of the bench sees the same GitHub: addresses are equal strings, and so are those that the bench sees."""

import json
import os
import sys
import sysconfig
from pathlib import Path
from typing import Any

import anyio
import pytest
from bench_command import agent_that_runs, fork_ghx_bench, rows_of, run_in, write_files
from eval_stage import LIBRARY, handles_of, lifecycle_for, scenario, staged

from ghx_bench.modes.presets import PRESETS
from ghx_bench.scoring.github_collectors import JournalCollector
from ghx_bench.stages.twin_stage import TwinLifecycle
from ghx_profiler.agents.tools.toolserver import connect
from ghx_profiler.evidence import Stage
from ghx_profiler.testing import sample_evidence

pytestmark = pytest.mark.anyio

TASK = scenario()
ELSEWHERE = "import urllib.request as r\ntry:\n    r.urlopen('https://example.com')\nexcept OSError as e:\n    print(e)"


async def run(stage: Stage[Any], *words: str) -> str:
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.defpath])
    done = await anyio.run_process(words, env={"PATH": path, **stage.environment}, cwd=stage.directory)
    return done.stdout.decode().strip()


async def test_every_mode_and_the_bench_see_the_same_address_of_an_issue() -> None:
    lifecycle = lifecycle_for(TASK)
    async with lifecycle.run(Path("run")), staged(lifecycle, TASK) as stage:
        handles = handles_of(stage)
        owner, name = stage.facts["repo"].split("/")
        number = handles.bindings["issue_number"]
        given = {"owner": owner, "name": name, "issueNumber": number}
        by_ghx = ("ghx", "run", "issue.view", "--input", json.dumps(given))
        api = f"https://api.github.com/repos/{owner}/{name}/issues/{number}"
        python = f"import os, urllib.request as r; print(r.urlopen(r.Request({api!r}, headers={{'Authorization': "
        python += "'token ' + os.environ['GITHUB_TOKEN']})).read().decode())"
        async with connect("ghx", PRESETS["ghx"], environment=stage.environment, directory=stage.directory) as server:
            by_mcp = await server.call("issue_view", given)
        async with handles.observer() as observer:
            by_bench = (await observer.get(f"/repos/{owner}/{name}/issues/{number}")).data

        seen = {
            "gh": await run(stage, "gh", "issue", "view", f"{number}", "-R", f"{owner}/{name}", "--json=url", "-q.url"),
            "ghx": json.loads(await run(stage, *by_ghx))["data"]["url"],
            "ghx-mcp": json.loads(by_mcp.text)["url"],
            "a library": json.loads(await run(stage, sys.executable, "-c", python))["html_url"],
            "the bench": by_bench["html_url"],
        }

    assert set(seen.values()) == {f"https://github.com/{owner}/{name}/issues/{number}"}, seen
    assert "127.0.0.1" not in json.dumps(dict(handles.bindings), default=str)


async def test_a_host_that_is_refused_is_in_the_journal_and_is_no_call_to_github() -> None:
    lifecycle = TwinLifecycle(None, [TASK], LIBRARY, reachable_hosts=["api.example.com"])
    async with lifecycle.run(Path("run")), staged(lifecycle, TASK) as stage:
        said = await run(stage, sys.executable, "-c", ELSEWHERE)
        numbers = {each.name: each.value for each in JournalCollector().collect(sample_evidence(stage=stage))}
        world = handles_of(stage).world
        assert world is not None

        assert "example.com:443 cannot be reached from here, only GitHub can" in said
        assert [entry.path for entry in world.journal if entry.surface == "proxy"] == ["example.com:443"]
        assert numbers["api_calls"] == 0
        assert stage.count_refused_hosts() == {"example.com": 1}
        assert stage.environment["NO_PROXY"].endswith(",api.example.com")


ASKING = agent_that_runs(
    """
import urllib.request
for url in ("https://example.com/a", "http://example.com/b", "http://stats.example.org:8080/?q=1"):
    try:
        urllib.request.urlopen(url)
    except OSError:
        pass
""",
    answer="There is no web here.",
)


def test_hosts_that_a_session_was_refused_are_on_its_row_and_wherever_that_is_shown(tmp_path: Path) -> None:
    write_files(tmp_path, {"asking.py": ASKING})
    words = ("--mode", "baseline", "--scenario", "issue-triage-001", "--repetitions", "1", "--skip-warmup")

    fork_ghx_bench(tmp_path, "run", "--agent", "asking.py", *words)

    directory = run_in(tmp_path)
    [row] = rows_of(directory)
    assert row.refused_hosts == {"example.com": 2, "stats.example.org:8080": 1}
    assert row.known_metrics["refused_hosts"] == 2
    assert (row.known_metrics["api_calls"], row.success) == (0, False)
    shown = fork_ghx_bench(tmp_path, "show", str(directory), "baseline/issue-triage-001/0").stdout
    assert "  refused hosts: example.com (2), stats.example.org:8080 (1)\n" in shown
    [page] = directory.glob("report/sessions/**/0.html")
    assert "refused hosts<" in page.read_text()
    assert ">example.com (2), stats.example.org:8080 (1)<" in page.read_text()
    report = (directory / "report" / "index.html").read_text()
    assert "Sessions asked for hosts that they may not reach" in report
    assert "example.com, stats.example.org:8080 1/1" in report
