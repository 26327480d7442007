"""The wheel in an environment of its own, without extras: light, and a run in it ends with its table."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import toy_mcp_server
from bench_command import write_files
from installations import build_wheel, copy_sources, require_uv
from nightly import mostly_nightly

from ghx_bench.cli.main import COMMANDS, GROUPS
from ghx_tools.cli import main as ghx_main
from ghx_twin.cli.main import app as twin_app

ROOT = Path(__file__).parents[2]
MOST_MEGABYTES = 120
HEAVY = ("altair", "numpy", "scipy", "vl_convert")

RUN, CELL, SHARD = "whole/run", "baseline/issue-answer-001/0", "part/run"
WORKS = (
    "ghx-bench analyze RUN",
    "ghx-bench bless RUN --name main",
    "ghx-bench check",
    "ghx-bench check --solve --mode baseline --scenario issue-answer-001",
    "ghx-bench compare --mode toy --mode same --questions calls.yaml --html change.html --markdown change.md",
    "ghx-bench doctor",
    "ghx-bench export RUN --format atif",
    "ghx-bench expose toy",
    "ghx-bench fixture list",
    "ghx-bench fixture show issue_with_question",
    "ghx-bench import axi axi.jsonl",
    "ghx-bench init --mcp 'ghx mcp' with-server",
    "ghx-bench init another",
    "ghx-bench list agents",
    "ghx-bench list fixtures",
    "ghx-bench list modes",
    "ghx-bench list runs",
    "ghx-bench list scenarios",
    "ghx-bench list sets",
    "ghx-bench merge merged SHARD",
    "ghx-bench new fixture mine --from issue_with_question --dir drafts",
    "ghx-bench new scenario issue-mine-001 --dir drafts",
    "ghx-bench pack RUN",
    "ghx-bench profile EXAMPLE --repetitions 1 --output-dir profiles",
    "ghx-bench rescore RUN",
    "ghx-bench resume RUN",
    "ghx-bench run --mode baseline --dry-run",
    "ghx-bench run --mode baseline --fail-on wrong --junit junit.xml --markdown run.md",
    "ghx-bench scenario show issue-answer-001",
    "ghx-bench schema scenario",
    "ghx-bench shell RUN CELL -- gh issue list -R ghx-bench/fixtures",
    "ghx-bench show RUN",
    "ghx-bench show RUN CELL",
    "ghx-bench show RUN CELL --json",
    "ghx-bench surface toy --questions calls.yaml",
    "ghx capabilities list",
    "ghx mcp",
    "ghx skill",
    "ghx-twin check seed.yaml",
    "ghx-twin exec --seed seed.yaml -- sh -e calls.sh",
    "ghx-twin exec --seed seed.yaml -- sh -e fixtures.sh",
    "ghx-twin schema",
    "bash -e serve.sh",
)
SOME = ["ghx-bench check", "ghx-bench show RUN CELL", "ghx-bench pack RUN", "ghx-bench list modes", "ghx mcp"]
"""Commands of which each loads much that others have: statistics, agents, models and servers."""
NEEDS = {
    "ghx-bench compare --mode baseline --mode toy RUN": "report",
    "ghx-bench compare RUN SHARD": "report",
    "ghx-bench doctor --install goose": "agents",
    "ghx-bench merge judged SHARD --against RUN --fail-on worse": "report",
    "ghx-bench plan --effect 20": "report",
    "ghx-bench report RUN": "report",
    "ghx-bench report RUN --format parquet": "report",
    "ghx-bench run --against RUN --fail-on worse": "report",
    "ghx-bench run --agent goose --model openai/gpt-4.1 --yes": "agents",
    "ghx-bench run --agent loop --model openai/gpt-4.1 --yes": "loop",
    "ghx-bench run --mode baseline --executor ray": "ray",
}
SCRIPTS = {
    "calls.sh": """
ghx doctor
ghx run issue.list --owner acme --name bench
ghx chain --steps '[{"task": "issue.list", "input": {"owner": "acme", "name": "bench"}}]'
""",
    "fixtures.sh": """
export AUTHOR_TOKEN=t-hubot
ghx-bench fixture seed --repo acme/bench --author-token-env AUTHOR_TOKEN
ghx-bench fixture status --repo acme/bench --author-token-env AUTHOR_TOKEN
ghx-bench fixture reset --repo acme/bench --author-token-env AUTHOR_TOKEN
ghx-bench fixture cleanup --repo acme/bench --author-token-env AUTHOR_TOKEN
""",
    "serve.sh": """
coproc ghx-twin serve --seed seed.yaml --data-dir world
read -r served <&"${COPROC[0]}"
url=$(cut -d '"' -f 4 <<< "$served")
TOKEN=t-octocat ghx-twin import acme/bench --api "$url" --token-env TOKEN --output imported.yaml
kill "$COPROC_PID"
wait "$COPROC_PID" || true
ghx-twin export --data-dir world
""",
}
SEED = {
    "users": [{"login": each, "tokens": [{"token": f"t-{each}"}]} for each in ("octocat", "hubot")],
    "organizations": [{"login": "acme", "members": {"octocat": "admin", "hubot": "admin"}}],
    "repositories": [{"name": "acme/bench", "files": {"README.md": "# Bench"}}],
}
AXI_ROW = {
    "condition": "tool",
    "task": "read_it",
    "run": 1,
    "model": "a-model",
    "timestamp": "2026-03-21T18:00:10.000Z",
    "usage": {},
    "grade": {"task_success": True, "details": ""},
    "agent_output": "",
}


@pytest.fixture(scope="module")
def light(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of programs of an environment with the wheel and what it needs, and nothing else."""
    uv, folder = require_uv(), tmp_path_factory.mktemp("light")
    source, python = folder / "source", folder / "venv" / "bin" / "python"
    copy_sources(source)
    wheel = build_wheel(source, folder / "dist")
    make = [uv, "venv", "--python", sys.executable, str(folder / "venv")]
    subprocess.run(make, cwd=source, capture_output=True, check=True)
    install = ("pip", "install", "--python", str(python), "--constraint", "requirements.lock", str(wheel))
    result = subprocess.run([uv, *install], cwd=source, capture_output=True, text=True, check=False)
    if result.returncode:
        pytest.skip(f"the wheel cannot be installed here: {result.stderr.strip().splitlines()[-1]}")
    return python.parent


@pytest.fixture(scope="module")
def project(light: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a run whose worlds are saved, a shard, an MCP server, a seed, and results of another benchmark."""
    folder = tmp_path_factory.mktemp("project") / "mine"
    assert run(light, "ghx-bench init mine", cwd=folder.parent).returncode == 0
    server = {"toy": {"command": sys.executable, "args": [toy_mcp_server.__file__]}}
    modes = ["baseline", *({"name": name, "mcp_servers": server} for name in ("toy", "same"))]
    call = {"tool": "get_issue", "arguments": {"owner": "{{owner}}", "repo": "{{name}}", "issue_number": 1}}
    questions = {"version": 1, "questions": [{"id": "issue-view", "calls": {"toy": call}}]}
    documents = {
        "eval.config.yaml": {"modes": modes, "execution": {"repetitions": 1, "warmup": False}},
        "calls.yaml": questions,
        "seed.yaml": SEED,
        "axi.jsonl": AXI_ROW,
    }
    write_files(folder, SCRIPTS | {name: f"{json.dumps(each)}\n" for name, each in documents.items()})
    prepare = "ghx-bench run --mode baseline --keep-worlds all --output-dir"
    for results, shard in (("whole", ""), ("part", "--shard 1/1")):
        result = run(light, f"{prepare} {results} {shard}", cwd=folder)
        assert result.returncode == 0, result.stderr
        (made,) = (folder / results).iterdir()
        made.rename(folder / results / "run")
    return folder


def run(light: Path, line: str, *, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command line with the programs of the environment; the names of `RUN` and the like stand for paths."""
    paths = {"RUN": RUN, "CELL": CELL, "SHARD": SHARD, "EXAMPLE": str(ROOT / "examples" / "profile_my_agent.py")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "GH_", "GHX_"))}
    environment = {**kept, "PATH": f"{light}{os.pathsep}{os.environ['PATH']}", "HOME": str(cwd), "COLUMNS": "200"}
    words = [paths.get(word, word) for word in shlex.split(line)]
    return subprocess.run(
        ["env", *words], cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def test_the_installation_is_light(light: Path) -> None:
    files = [each for each in light.parent.rglob("*") if each.is_file() and not each.is_symlink()]
    # Bytecode is written when something is used, and does not count.
    size = sum(each.stat().st_size for each in files if each.suffix != ".pyc")

    assert {each.name for each in light.parent.rglob("site-packages/*")}.isdisjoint(HEAVY)
    assert size < MOST_MEGABYTES * 1_000_000


def test_a_run_ends_with_its_table_and_says_what_to_install_for_more(light: Path, tmp_path: Path) -> None:
    assert run(light, "ghx-bench init mine", cwd=tmp_path).returncode == 0

    result = run(light, "ghx-bench run --repetitions 1", cwd=tmp_path / "mine")

    assert result.returncode == 0, result.stderr
    directory = next((tmp_path / "mine" / "results").iterdir()).relative_to(tmp_path / "mine")
    *_, last = result.stdout.splitlines()
    assert "baseline  1/1" in result.stdout
    assert re.fullmatch(rf"for verdicts and a report: uv pip install .* && ghx-bench report {directory}", last)


def test_every_command_is_tried() -> None:
    whole = {f"ghx-bench {name}" for name in COMMANDS}
    whole |= {f"ghx-bench {group} {name}" for group, (_, commands) in GROUPS.items() for name in commands}
    whole |= {f"ghx {name}" for name in ghx_main.COMMANDS} | {f"ghx-twin {name}" for name in twin_app if name[0] != "-"}
    tried = "\n".join([*WORKS, *NEEDS, *SCRIPTS.values()])

    assert {name for name in whole if not re.search(rf"\b{name}(?![\w-])", tried)} == set()


@pytest.mark.parametrize("lines", mostly_nightly([SOME, [*WORKS]], keep=1), ids=["some", "all"])
def test_every_command_works_without_extras(lines: Sequence[str], light: Path, project: Path) -> None:
    with ThreadPoolExecutor(2) as both:
        results = list(both.map(lambda line: run(light, line, cwd=project), lines))

    failed = {line: each.stderr for line, each in zip(lines, results, strict=True) if each.returncode}
    assert failed == {}


def test_what_needs_an_extra_says_so_in_one_line(light: Path, project: Path) -> None:
    for line, extra in NEEDS.items():
        result = run(light, line, cwd=project)

        assert result.returncode == 2, line
        *before, last = result.stderr.splitlines()
        assert re.fullmatch(rf"error: .* needs the extra '{extra}': install it with `uv pip install .*`", last), line
        assert [each for each in before if not each.startswith("note: ")] == [], line


def test_statistics_as_a_library_say_the_same(light: Path, tmp_path: Path) -> None:
    script = "from ghx_profiler.stats import compare_modes"
    result = run(light, shlex.join(["python", "-c", script]), cwd=tmp_path)

    assert "ghx_profiler.stats.compare_modes needs the extra 'report'" in result.stderr


def test_the_twin_serves_gh(light: Path, tmp_path: Path) -> None:
    result = run(light, "ghx-twin exec -- gh api user --jq .login", cwd=tmp_path)

    assert (result.returncode, result.stdout.strip()) == (0, "octocat"), result.stderr
