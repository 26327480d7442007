"""Agents with recipes in an evaluation: one of the user's own in YAML, without Python, and those of the package."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from bench_command import ghx_bench, rows_of, run_in, write_files

from ghx_bench.agents.controls.solution import Solution
from ghx_bench.agents.drivers.recipe import recipe_names
from ghx_bench.agents.testing import Fault, Script, ScriptedEndpoint
from ghx_bench.eval.cli.main import run
from ghx_bench.profiler.causes import Cause

TINY = Path(__file__).parents[1] / "support" / "tiny_acp_agent.py"
RECIPE: dict[str, Any] = {
    "name": "tiny",
    "description": "a small agent of my own",
    "command": [sys.executable, "-S", "./tiny_acp_agent.py"],
    "wire": "openai-chat",
    "environment": {"TINY_URL": "${BASE_URL}", "TINY_KEY": "${KEY}", "TINY_MODEL": "${MODEL}"},
}
SOLUTION = Solution.model_validate(
    {
        "steps": [{"shell": "gh issue view 1 --repo ghx-bench/fixtures --json title; env"}],
        "answer": "I have looked at it.",
    }
)


def write_project(folder: Path, *, url: str = "http://127.0.0.1:9", **changes: Any) -> None:
    config = {
        "modes": ["baseline"],
        "models": ["scripted-1"],
        "agents": [{"id": "agents/tiny.yaml", "options": {"base_url": f"{url}/v1", "key_env": "MY_KEY"}}],
        "scenarios": {"ids": ["issue-triage-001"]},
        "execution": {"repetitions": 1, "warmup": False, "retries": 0},
        **changes,
    }
    files = {"eval.config.yaml": yaml.safe_dump(config), "agents/tiny.yaml": yaml.safe_dump(RECIPE)}
    write_files(folder, {**files, "agents/tiny_acp_agent.py": TINY.read_text()})


@pytest.fixture
def endpoint() -> Any:
    made = ScriptedEndpoint()
    made.start()
    yield made
    made.stop()


@pytest.mark.process
def test_an_agent_in_yaml_is_evaluated_metered_and_holds_no_real_key(
    tmp_path: Path, endpoint: ScriptedEndpoint
) -> None:
    endpoint.add(Script(solution=SOLUTION))
    write_project(tmp_path, url=endpoint.url)

    done = ghx_bench(tmp_path, "run", "--yes", extra={"MY_KEY": "sk-real-4711"})

    assert done.returncode == 0, done.stderr
    (row,) = rows_of(run_in(tmp_path))
    assert row.agent == "tiny"
    assert row.tokens == endpoint.claimed_usage()
    assert row.tool_calls.by_category == {"gh_cli": 1}
    assert row.extensions["agent"]["agentVersion"] == "0.3"
    assert {key for call in endpoint.calls for key in call.keys} == {"sk-real-4711"}
    shown = endpoint.calls[1].results[0]
    assert "TINY_KEY=" in shown
    assert "sk-real-4711" not in shown
    for file in run_in(tmp_path).rglob("*"):
        assert not file.is_file() or b"sk-real-4711" not in file.read_bytes(), file


@pytest.mark.process
def test_a_command_in_yaml_is_evaluated_and_metered(tmp_path: Path, endpoint: ScriptedEndpoint) -> None:
    endpoint.add(Script(solution=SOLUTION))
    write_project(tmp_path, url=endpoint.url)
    command = [*RECIPE["command"], "--print", "${PROMPT}"]
    recipe = {**RECIPE, "protocol": "command", "output": "text", "command": command}
    (tmp_path / "agents" / "tiny.yaml").write_text(yaml.safe_dump(recipe))

    done = ghx_bench(tmp_path, "run", "--yes", extra={"MY_KEY": "sk-real-4711"})

    assert done.returncode == 0, done.stderr
    (row,) = rows_of(run_in(tmp_path))
    assert row.tokens == endpoint.claimed_usage()
    assert row.tool_calls.by_category == {"gh_cli": 1}
    assert row.extensions["agent"]["protocol"] == "command"
    assert {key for call in endpoint.calls for key in call.keys} == {"sk-real-4711"}


@pytest.mark.process
def test_an_answer_that_follows_a_failed_call_is_the_model_providers_fault(
    tmp_path: Path, endpoint: ScriptedEndpoint
) -> None:
    endpoint.add(Script(solution=SOLUTION, faults=(Fault(status=529),)))
    write_project(tmp_path, url=endpoint.url)

    done = ghx_bench(tmp_path, "run", "--yes", extra={"MY_KEY": "sk"})

    assert done.returncode == 3, done.stderr
    (row,) = rows_of(run_in(tmp_path))
    assert row.cause == Cause.MODEL_PROVIDER
    assert "529" in (row.error or "")


@pytest.mark.process
def test_a_session_that_has_spent_its_budget_is_stopped_and_says_so(tmp_path: Path, endpoint: ScriptedEndpoint) -> None:
    endpoint.add(Script(solution=SOLUTION))
    write_project(tmp_path, url=endpoint.url, budget={"session": {"max_model_calls": 1}})

    refused = ghx_bench(tmp_path, "run", extra={"MY_KEY": "sk"})
    done = ghx_bench(tmp_path, "run", "--yes", extra={"MY_KEY": "sk"})

    assert (refused.returncode, "--max-usd" in refused.stderr) == (2, True)
    assert done.returncode == 0, done.stderr
    (row,) = rows_of(run_in(tmp_path))
    assert row.cause == Cause.AGENT_BUDGET
    assert len(endpoint.calls) == 1


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = run(list(words))
    printed = capsys.readouterr()
    return code, printed.out + printed.err


@pytest.mark.parametrize(
    ("changes", "agent", "words"),
    [
        ({"models": ["none"]}, None, "agent tiny: needs a model; name it with --model, or under `models`"),
        ({}, None, "the variable MY_KEY is not set; put its key there"),
        (
            {"agents": [{"id": "agents/tiny.yaml", "options": {"base_ulr": "x"}}]},
            None,
            "agent agents/tiny.yaml: options.base_ulr: unknown key 'base_ulr'; did you mean 'base_url'?",
        ),
        ({}, "agents/tiney.yaml", "agent agents/tiney.yaml: there is no such file"),
        ({}, "gose", "no agent 'gose'; did you mean 'goose'?"),
        ({}, "goose", "agent goose: version 1.52.0 is not installed in"),
    ],
)
def test_what_keeps_an_agent_from_being_run_is_said_in_a_line(
    in_folder: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], agent: str | None, words: str
) -> None:
    write_project(in_folder, **changes)

    code, printed = told(capsys, "run", "--dry-run", *(() if agent is None else ("--agent", agent)))

    assert code == 2
    assert words in printed
    assert "Traceback" not in printed


def test_agents_are_listed_with_what_they_need(in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_project(in_folder)

    _, printed = told(capsys, "list", "agents", "--json")

    agents = {each["name"]: each for each in json.loads(printed)}
    assert set(recipe_names()) <= set(agents)
    goose, own = agents["goose"], agents["agents/tiny.yaml"]
    assert (goose["protocol"], goose["version"], goose["installed"]) == ("acp", "1.52.0", False)
    assert "ghx-bench doctor --install goose" in goose["needs"]
    assert (own["protocol"], own["installed"], own["chosen"]) == ("acp", True, True)


def test_a_recipe_is_checked_like_any_file_of_a_project(in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_project(in_folder)
    right, shown = told(capsys, "check", "agents")
    Path("agents/tiny.yaml").write_text(yaml.safe_dump({**RECIPE, "environment": {"A": "${MODLE}"}}))
    wrong, complaint = told(capsys, "check", "agents")

    assert (right, "1 agent" in shown) == (0, True)
    assert wrong == 2
    assert "nothing is called ${MODLE} in a recipe" in complaint


@pytest.mark.usefixtures("in_folder")
def test_doctor_names_the_agents_that_it_can_install(capsys: pytest.CaptureFixture[str]) -> None:
    code, printed = told(capsys, "doctor", "--install", "gose")

    assert code == 2
    assert "no agent 'gose'; did you mean 'goose'?" in printed
