"""A project with an agent, a scenario and a fixture of its own, whose model traffic is recorded and replayed."""

import json
import sys
from pathlib import Path
from typing import Any

import yaml
from bench_command import fork_ghx_bench, run_in, write_files
from labelling_project import SCENARIO

from ghx_profiler.agents.controls.solution import Solution
from ghx_profiler.agents.testing import Script, ScriptedEndpoint

TINY = Path(__file__).parent / "tiny_acp_agent.py"
REAL_KEY = "sk-real-4711"
REPO = "ghx-bench/fixtures"
RECIPE: dict[str, Any] = {
    "name": "tiny",
    "description": "a small agent of my own",
    "command": [sys.executable, "-S", "./tiny_acp_agent.py"],
    "wire": "openai-chat",
    "environment": {"TINY_URL": "${BASE_URL}", "TINY_KEY": "${KEY}", "TINY_MODEL": "${MODEL}"},
}
FIXTURE = {
    "version": 1,
    "name": "slow_page",
    "description": "A report of a slow page.",
    "labels": [{"name": "performance", "color": "fbca04", "description": "Too slow"}],
    "issues": [{"id": "slow", "title": "Searching takes half a minute", "body": "It was instant before."}],
}
CONDITION = "{type: contains_item, path: labels, value: performance}"
SOLUTION = Solution.model_validate(
    {
        "steps": [
            {"shell": f"gh issue view 1 --repo {REPO} --json title,url,createdAt; echo $GH_TOKEN $TINY_KEY $HOME"},
            {"shell": f"gh issue edit 1 --repo {REPO} --add-label performance"},
        ],
        "answer": "It is labelled.",
    }
)


def write_project(folder: Path, url: str, **changes: Any) -> None:
    """Write a project whose agent has its model at an address; a change may be a function of that."""
    config = {
        "modes": ["baseline"],
        "models": ["scripted-1"],
        "agents": [{"id": "tiny.yaml", "options": {"base_url": f"{url}/v1", "key_env": "MY_KEY"}}],
        "scenarios": {"ids": ["mine-001"]},
        "execution": {"repetitions": 2, "warmup": False, "retries": 0},
        **{key: each(url) if callable(each) else each for key, each in changes.items()},
    }
    scenario = SCENARIO.replace("issue_for_triage", "slow_page").replace("CONDITION", CONDITION)
    write_files(
        folder,
        {
            "eval.config.yaml": yaml.safe_dump(config),
            "tiny.yaml": yaml.safe_dump(RECIPE),
            "tiny_acp_agent.py": TINY.read_text(),
            "scenarios/mine-001.yaml": scenario,
            "fixtures/slow_page.yaml": yaml.safe_dump(FIXTURE),
        },
    )


def record_run(folder: Path, **changes: Any) -> None:
    """Write a project, and record a run of it in its folder `recorded`; its model is gone then."""
    endpoint = ScriptedEndpoint()
    endpoint.start()
    try:
        endpoint.add(Script(solution=SOLUTION))
        write_project(folder, endpoint.url, **changes)
        done = fork_ghx_bench(folder, "run", "--record-model", "--yes", "--no-report", extra={"MY_KEY": REAL_KEY})
        assert done.returncode == 0, done.stderr
    finally:
        endpoint.stop()
    run_in(folder).rename(folder / "recorded")


def change_title(folder: Path) -> None:
    fixture = folder / "fixtures/slow_page.yaml"
    fixture.write_text(fixture.read_text().replace("half a minute", "ten seconds"))


def calls_in(run: Path) -> list[list[tuple[str, object]]]:
    """Return the tool calls of all sessions of a run."""
    traces = [json.loads(file.read_text()) for file in sorted(run.glob("sessions/*/*/*/*/?.json"))]
    return [[(e["name"], e["input"]) for e in trace["events"] if e["type"] == "tool_call"] for trace in traces]
