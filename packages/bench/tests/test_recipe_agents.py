"""Agents with recipes in an evaluation: one of the user's own in YAML, without Python, and those of the package."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from bench_command import fork_ghx_bench, rows_of, run_in, run_in_process, write_files

from ghx_profiler.agents.controls.solution import Solution
from ghx_profiler.agents.drivers.recipe import recipe_names
from ghx_profiler.agents.testing import Fault, Pace, Script, ScriptedEndpoint
from ghx_profiler.records.causes import Cause

TINY = Path(__file__).parents[3] / "tests" / "support" / "tiny_acp_agent.py"
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

    done = fork_ghx_bench(tmp_path, "run", "--yes", extra={"MY_KEY": "sk-real-4711"})

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

    done = fork_ghx_bench(tmp_path, "run", "--yes", extra={"MY_KEY": "sk-real-4711"})

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

    done = fork_ghx_bench(tmp_path, "run", "--yes", extra={"MY_KEY": "sk"})

    assert done.returncode == 3, done.stderr
    (row,) = rows_of(run_in(tmp_path))
    assert row.cause == Cause.MODEL_PROVIDER
    assert "529" in (row.error or "")


@pytest.mark.process
def test_a_session_that_has_spent_its_budget_is_stopped_and_scored(tmp_path: Path, endpoint: ScriptedEndpoint) -> None:
    endpoint.add(Script(solution=SOLUTION))
    write_project(tmp_path, url=endpoint.url, budget={"session": {"max_model_calls": 1}})

    refused = fork_ghx_bench(tmp_path, "run", extra={"MY_KEY": "sk"})
    unpriced = fork_ghx_bench(tmp_path, "run", "--max-usd", "5", extra={"MY_KEY": "sk"})
    done = fork_ghx_bench(tmp_path, "run", "--yes", extra={"MY_KEY": "sk"})

    assert (refused.returncode, "--max-usd" in refused.stderr) == (2, True)
    assert "max_usd cannot be kept: no price is known for model 'scripted-1'; limit the run with" in unpriced.stderr
    assert (unpriced.returncode, len(endpoint.calls)) == (2, 1)
    assert done.returncode == 0, done.stderr
    (row,) = rows_of(run_in(tmp_path))
    assert (row.cause, row.success) == (Cause.AGENT_SPEND, False)
    assert row.checkpoints_total
    assert "max_model_calls of the session is used up" in (row.error or "")
    assert len(endpoint.calls) == 1


@pytest.mark.nightly
@pytest.mark.process
def test_a_run_that_has_spent_its_budget_leaves_the_cell_to_be_measured_on_resuming(
    tmp_path: Path, endpoint: ScriptedEndpoint
) -> None:
    endpoint.add(Script(solution=SOLUTION))
    write_project(tmp_path, url=endpoint.url)

    stopped = fork_ghx_bench(tmp_path, "run", "--yes", "--max-model-calls", "1", extra={"MY_KEY": "sk"})

    assert stopped.returncode == 3, stopped.stderr
    assert "1 cell left: max_model_calls of the run is used up" in stopped.stdout
    assert rows_of(run_in(tmp_path)) == []

    resume = ("resume", str(run_in(tmp_path)), "--yes", "--max-model-calls")
    too_little = fork_ghx_bench(tmp_path, *resume, "2", extra={"MY_KEY": "sk"})  # of which it has made one before
    asked = len(endpoint.calls)
    rest = fork_ghx_bench(tmp_path, *resume, "9", extra={"MY_KEY": "sk"})

    assert (too_little.returncode, asked) == (3, 2)
    assert rest.returncode == 0, rest.stderr
    (row,) = rows_of(run_in(tmp_path))
    assert (row.cause, row.agent_turns) == (None, 2)


@pytest.mark.nightly
@pytest.mark.process
def test_agents_that_run_beside_each_other_spend_from_one_budget(tmp_path: Path, endpoint: ScriptedEndpoint) -> None:
    endpoint.add(Script(solution=SOLUTION, pace=Pace(before_first_s=0.5)))
    options = {"base_url": f"{endpoint.url}/v1", "key_env": "MY_KEY"}
    agents = [{"id": "agents/tiny.yaml", "name": name, "options": options} for name in ("one", "other")]
    execution = {"repetitions": 1, "warmup": False, "retries": 0, "max_concurrency": 2}
    write_project(tmp_path, url=endpoint.url, agents=agents, execution=execution)

    stopped = fork_ghx_bench(tmp_path, "run", "--yes", "--max-model-calls", "3", extra={"MY_KEY": "sk"})

    assert stopped.returncode == 3, stopped.stderr
    assert "max_model_calls of the run is used up (3 of 3)" in stopped.stdout
    assert len(endpoint.calls) == 3  # two of one agent, and one of the other
    assert [row.cause for row in rows_of(run_in(tmp_path))] == [None]


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

    code, printed = run_in_process(capsys, "run", "--dry-run", *(() if agent is None else ("--agent", agent)))

    assert code == 2
    assert words in printed
    assert "Traceback" not in printed


def test_agents_are_listed_with_what_they_need(in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_project(in_folder)

    _, printed = run_in_process(capsys, "list", "agents", "--json")

    agents = {each["name"]: each for each in json.loads(printed)}
    assert set(recipe_names()) <= set(agents)
    goose, own = agents["goose"], agents["agents/tiny.yaml"]
    assert (goose["protocol"], goose["version"], goose["installed"]) == ("acp", "1.52.0", False)
    assert "ghx-bench doctor --install goose" in goose["needs"]
    assert (own["protocol"], own["installed"], own["chosen"]) == ("acp", True, True)


def test_a_recipe_is_checked_like_any_file_of_a_project(in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_project(in_folder)
    right, shown = run_in_process(capsys, "check", "agents")
    Path("agents/tiny.yaml").write_text(yaml.safe_dump({**RECIPE, "environment": {"A": "${MODLE}"}}))
    wrong, complaint = run_in_process(capsys, "check", "agents")

    assert (right, "1 agent" in shown) == (0, True)
    assert wrong == 2
    assert "nothing is called ${MODLE} in a recipe" in complaint


@pytest.mark.usefixtures("in_folder")
def test_doctor_names_the_agents_that_it_can_install(capsys: pytest.CaptureFixture[str]) -> None:
    code, printed = run_in_process(capsys, "doctor", "--install", "gose")

    assert code == 2
    assert "no agent or mode 'gose'; did you mean 'goose'?" in printed
